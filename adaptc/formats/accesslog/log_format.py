"""Log formats of Apache and nginx: parsed into literal text and fields, then compiled to one regular expression.

Log lines contain what clients sent, so no line may take long to match: every field except the user's name is matched
possessively, and ends at a quote or at the first character of the text after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass


class Meaning(Enum):
    """What a field of a log line contains."""

    CLIENT = auto()  # one address or host name
    FORWARDED = auto()  # X-Forwarded-For: the client's address, then those of proxies
    USER = auto()  # of HTTP authentication: may contain spaces
    TIME = auto()
    REQUEST = auto()  # the request line: method, target, protocol
    METHOD = auto()
    TARGET = auto()  # as the client wrote it: percent-encoded, with the query
    PATH = auto()  # decoded by the server, without the query
    QUERY = auto()  # with its question mark, or empty
    STATUS = auto()
    SIZE = auto()
    REFERRER = auto()
    USER_AGENT = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """A field; ``source`` is its spelling in the format. ``clock`` is the notation of a time, see ``parser``."""

    source: str
    meaning: Meaning
    clock: str = ""


Piece = str | Field


# Nicknames in the default configurations of Apache and Debian
NICKNAMES = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
}

# Logs of CDNs with a separator: CloudFront's standard logs (W3C extended log file format, whose line #Fields may name
# other fields) and those of Bunny, by the names that W3C's format would give them
SEPARATED = {
    "cloudfront": ("\t", "date time - sc-bytes c-ip cs-method - cs-uri-stem sc-status cs(Referer) cs(User-Agent) -"),
    "bunny": ("|", "- sc-status timestamp(ms) sc-bytes - c-ip cs(Referer) cs-uri-stem - cs(User-Agent) - -"),
}
_W3C_MEANINGS = {
    "date+time": Meaning.TIME,
    "timestamp": Meaning.TIME,
    "timestamp(ms)": Meaning.TIME,
    "sc-bytes": Meaning.SIZE,
    "c-ip": Meaning.CLIENT,
    "cs-method": Meaning.METHOD,
    "cs-uri-stem": Meaning.TARGET,
    "sc-status": Meaning.STATUS,
    "cs(Referer)": Meaning.REFERRER,
    "cs(User-Agent)": Meaning.USER_AGENT,
}


def separated_pieces(separator: str, names: str) -> Iterator[Piece]:
    """Yield the pieces of a line with these fields (``names`` in one text); a last one ``-`` takes what follows."""
    clocks = {"date+time": f"%Y-%m-%d{separator}%H:%M:%S", "timestamp": "sec", "timestamp(ms)": "msec"}
    for number, name in enumerate(names.replace("date time", "date+time").split()):
        if number:
            yield separator
        yield Field(name, _W3C_MEANINGS.get(name, Meaning.OTHER), clocks.get(name, ""))


# HAProxy's `option httplog`, with what syslog puts before it; its time has no zone, and the request may be cut
HAPROXY = (
    r"(?:.{0,200}?\bhaproxy(?:\[\d{1,9}\])?: )?(?P<client>[^ ]{1,60}):\d{1,5} \[(?P<time>[^\]]{1,40})\] "
    r"[^ ]++ [^ ]++ [-+\d/]++ (?P<status>-1|\d{1,3}) \+?(?P<size>\d{1,18}) "
    r'[^"]*+"(?:(?P<method>[^ "]++) (?P<target>[^ "]++)(?: [^"]*+)?|[^"]*+)"?(?P<referrer>)(?P<user_agent>)',
    "%d/%b/%Y:%H:%M:%S.%f",
)

_APACHE_MEANINGS = {
    "h": Meaning.CLIENT,
    "a": Meaning.CLIENT,
    "u": Meaning.USER,
    "r": Meaning.REQUEST,
    "m": Meaning.METHOD,
    "U": Meaning.PATH,
    "q": Meaning.QUERY,
    "s": Meaning.STATUS,
    "b": Meaning.SIZE,
    "B": Meaning.SIZE,
    "O": Meaning.SIZE,
}
_HEADERS = {
    "referer": Meaning.REFERRER,
    "user-agent": Meaning.USER_AGENT,
    "x-forwarded-for": Meaning.FORWARDED,
}

# %>s, %{Referer}i, %!200,304{User-Agent}i, %^FB
_DIRECTIVE = re.compile(r"%(?:!?\d{3}(?:,\d{3})*)?[<>]?(?:\{([^}]*)\})?[<>]?(\^[A-Za-z]{2}|[A-Za-z%])")
_ESCAPES = {r"\"": '"', r"\\": "\\", r"\t": "\t", r"\n": "\n"}
_ESCAPE = re.compile(r'\\["\\tn]')


def apache_pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a LogFormat string of Apache (mod_log_config), with or without backslash escapes."""
    format_string = _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)
    position = 0
    for match in _DIRECTIVE.finditer(format_string):
        yield format_string[position : match.start()]
        yield from _directive(match[0], match[1], match[2])
        position = match.end()
    yield format_string[position:]


def _directive(source: str, argument: str | None, letter: str) -> Iterator[Piece]:
    if letter == "%":
        yield "%"
    elif letter == "t":
        yield from _time_directive(source, argument)
    elif letter == "i":
        yield Field(source, _HEADERS.get((argument or "").lower(), Meaning.OTHER))
    else:
        yield Field(source, _APACHE_MEANINGS.get(letter, Meaning.OTHER))


def _time_directive(source: str, argument: str | None) -> Iterator[Piece]:
    """Without an argument a time is in brackets; ``begin:`` and ``end:`` select which time it is."""
    notation = re.sub(r"^(?:begin|end):", "", argument or "")
    if notation:
        yield Field(source, Meaning.OTHER if notation.endswith("_frac") else Meaning.TIME, notation)
    else:
        yield from ("[", Field(source, Meaning.TIME, "common"), "]")


_NGINX_MEANINGS = {
    "remote_addr": Meaning.CLIENT,
    "realip_remote_addr": Meaning.CLIENT,
    "http_x_forwarded_for": Meaning.FORWARDED,
    "proxy_add_x_forwarded_for": Meaning.FORWARDED,
    "remote_user": Meaning.USER,
    "request": Meaning.REQUEST,
    "request_method": Meaning.METHOD,
    "request_uri": Meaning.TARGET,
    "uri": Meaning.PATH,
    "document_uri": Meaning.PATH,
    "is_args": Meaning.QUERY,
    "args": Meaning.QUERY,
    "query_string": Meaning.QUERY,
    "status": Meaning.STATUS,
    "body_bytes_sent": Meaning.SIZE,
    "bytes_sent": Meaning.SIZE,
    "http_referer": Meaning.REFERRER,
    "http_user_agent": Meaning.USER_AGENT,
}
_CLOCKS = {"time_local": "common", "time_iso8601": "iso", "msec": "sec"}

VARIABLE = re.compile(r"\$(?:\{([a-z0-9_]+)\}|([a-z0-9_]+))")


def nginx_pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a log_format string of nginx (ngx_http_log_module), of which all parts are joined."""
    position = 0
    for match in VARIABLE.finditer(text):
        yield text[position : match.start()]
        yield _variable(match[0], match[1] or match[2])
        position = match.end()
    yield text[position:]


def _variable(source: str, name: str) -> Field:
    if name in _CLOCKS:
        return Field(source, Meaning.TIME, _CLOCKS[name])
    return Field(source, _NGINX_MEANINGS.get(name, Meaning.OTHER))


# The groups of every pattern, in this order; the pattern of a format without a field has an empty group at its end.
GROUPS = ("client", "time", "method", "target", "status", "size", "referrer", "user_agent")

_GROUP = {
    Meaning.CLIENT: "client",
    Meaning.FORWARDED: "client",
    Meaning.TIME: "time",
    Meaning.METHOD: "method",
    Meaning.TARGET: "target",
    Meaning.PATH: "target",
    Meaning.STATUS: "status",
    Meaning.SIZE: "size",
    Meaning.REFERRER: "referrer",
    Meaning.USER_AGENT: "user_agent",
}
_NUMBERS = {Meaning.STATUS: r"\d{1,3}|-", Meaning.SIZE: r"\d{1,18}|-"}


class PatternBuilder:
    """Builds the pattern of a format. Of several fields for a group the first counts, for the target a request line."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.clock = ""
        self.has_decoded_path = False  # whether the target is a path that the server has decoded
        self._groups: set[str] = set()
        self._has_request = any(isinstance(piece, Field) and piece.meaning is Meaning.REQUEST for piece in pieces)

    def pattern(self, pieces: Sequence[Piece]) -> str:
        """Return the pattern of pieces. Raises ``UsageError`` for two fields without text between them."""
        pieces = [piece for piece in pieces if piece]
        return "".join(
            re.escape(piece)
            if isinstance(piece, str)
            else self._field(piece, _text_before(pieces, i), _stops(pieces, i))
            for i, piece in enumerate(pieces)
        )

    def missing(self) -> tuple[str, ...]:
        """Return the groups of ``GROUPS`` that no pattern so far has."""
        return tuple(name for name in GROUPS if name not in self._groups)

    def _field(self, field: Field, before: str, stops: str) -> str:
        text = _text(stops)
        if before.endswith('"') and stops == '"':
            text = _quoted(stops)
        if field.meaning is Meaning.REQUEST:
            return self._request(text, stops)
        if field.meaning is Meaning.USER:
            return ".*?"
        group = _GROUP.get(field.meaning)
        if group is None or group in self._groups or (self._has_request and group in ("method", "target")):
            return text
        self._add_group(field, group)
        return self._group(field.meaning, group, text, stops)

    def _add_group(self, field: Field, group: str) -> None:
        self._groups.add(group)
        if field.meaning is Meaning.TIME:
            self.clock = field.clock
        if field.meaning is Meaning.PATH:
            self.has_decoded_path = True

    def _group(self, meaning: Meaning, group: str, text: str, stops: str) -> str:
        if meaning is Meaning.FORWARDED:
            address = _text(stops + ", ")
            return f"(?P<{group}>{address})(?>(?:, ?{address})*)"
        if meaning is Meaning.TIME:
            # a user may be any text, so that a time may be looked for at each bracket of a line
            text = _time_pattern(self.clock, text.replace("*+", "{0,80}+"), stops)
        return f"(?P<{group}>{_NUMBERS.get(meaning, text)})"

    def _request(self, text: str, stops: str) -> str:
        """Return the pattern of a request line, or of what a client sent instead."""
        if "target" in self._groups:
            return text
        self._groups.update(("method", "target"))
        word = _quoted(stops + " ")
        return f"(?:(?P<method>{_text(stops + ' ')}) (?P<target>{word})(?: {word})?|{text})"


def _text(stops: str) -> str:
    return f"[^{re.escape(stops)}]*+" if stops else ".*+"


def _time_pattern(notation: str, text: str, stops: str) -> str:
    """Return the pattern of a time, which may contain the character that ends it (``%F %T`` before a space)."""
    inner = notation.count(stops[:1]) if stops and "%" in notation else 0
    return f"{text}(?:{re.escape(stops)}{text}){{{inner}}}" if inner else text


def _quoted(stops: str) -> str:
    r"""Return the pattern of text in quotes, which ``\"`` does not end."""
    plain = rf"[^{re.escape(stops)}\\]*+"
    return rf"{plain}(?>(?:\\.{plain})*)"


def _text_before(pieces: Sequence[Piece], index: int) -> str:
    previous = pieces[index - 1] if index else ""
    return previous if isinstance(previous, str) else ""


def _stops(pieces: Sequence[Piece], index: int) -> str:
    """Return the characters that end a field, none for the end of the line."""
    if index + 1 == len(pieces):
        return ""
    following, field = pieces[index + 1], pieces[index]
    if isinstance(following, str):
        return following[0]
    if following.meaning is Meaning.QUERY:
        return "?" + _stops(pieces, index + 1)
    assert isinstance(field, Field)
    raise UsageError(f"nothing in the log format separates {field.source} and {following.source}")
