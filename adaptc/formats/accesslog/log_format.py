"""Log formats of Apache and nginx as fields, and the regular expression of a format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from adaptc.core.diagnostics import UsageError


class Meaning(Enum):
    """What a field of a log line holds."""

    CLIENT = auto()  # one address or host name
    FORWARDED = auto()  # X-Forwarded-For: the client's address, then those of proxies
    USER = auto()  # of HTTP authentication: may hold spaces
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
    """A field; ``written`` is how the format spells it. ``clock`` names the notation of a time, see ``clocks``."""

    written: str
    meaning: Meaning
    clock: str = ""


Piece = str | Field


# The nicknames that Apache's own configuration and Debian's define.
NICKNAMES = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
}

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
    r"""Yield the pieces of a LogFormat string, with or without the backslashes that the configuration file has."""
    format_string = _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)
    at = 0
    for found in _DIRECTIVE.finditer(format_string):
        yield format_string[at : found.start()]
        yield from _directive(found[0], found[1], found[2])
        at = found.end()
    yield format_string[at:]


def _directive(written: str, argument: str | None, letter: str) -> Iterator[Piece]:
    if letter == "%":
        yield "%"
    elif letter == "t":
        yield from _time_directive(written, argument)
    elif letter == "i":
        yield Field(written, _HEADERS.get((argument or "").lower(), Meaning.OTHER))
    else:
        yield Field(written, _APACHE_MEANINGS.get(letter, Meaning.OTHER))


def _time_directive(written: str, argument: str | None) -> Iterator[Piece]:
    """Without an argument a time has brackets of its own; ``begin:`` and ``end:`` say which time it is."""
    notation = re.sub(r"^(?:begin|end):", "", argument or "")
    if notation:
        yield Field(written, Meaning.OTHER if notation.endswith("_frac") else Meaning.TIME, notation)
    else:
        yield from ("[", Field(written, Meaning.TIME, "common"), "]")


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
    """Yield the pieces of a log_format string; of several strings in a row, written as one."""
    at = 0
    for found in VARIABLE.finditer(text):
        yield text[at : found.start()]
        yield _variable(found[0], found[1] or found[2])
        at = found.end()
    yield text[at:]


def _variable(written: str, name: str) -> Field:
    if name in _CLOCKS:
        return Field(written, Meaning.TIME, _CLOCKS[name])
    return Field(written, _NGINX_MEANINGS.get(name, Meaning.OTHER))


# The groups of every pattern, in this order; a format that lacks a field has an empty group at its end.
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


class PatternWriter:
    """Writes patterns of pieces. Of two fields for one group the first counts, for the target a whole request line."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.clock = ""
        self.decoded = False  # whether the target is a path that the server has decoded
        self._taken: set[str] = set()
        self._has_request = any(isinstance(one, Field) and one.meaning is Meaning.REQUEST for one in pieces)

    def pattern(self, pieces: Sequence[Piece]) -> str:
        """Return the pattern of pieces. Raises ``UsageError`` where nothing tells two fields apart."""
        kept = [one for one in pieces if one]
        return "".join(
            re.escape(one) if isinstance(one, str) else self._field(one, _before(kept, at), _stops(kept, at))
            for at, one in enumerate(kept)
        )

    def missing(self) -> tuple[str, ...]:
        """Return the groups of ``GROUPS`` that no pattern so far has."""
        return tuple(name for name in GROUPS if name not in self._taken)

    def _field(self, field: Field, before: str, stops: str) -> str:
        text = _text(stops)
        if before.endswith('"') and stops == '"':
            text = _quoted(stops)
        if field.meaning is Meaning.REQUEST:
            return self._request(text, stops)
        if field.meaning is Meaning.USER:
            return ".*?"
        group = _GROUP.get(field.meaning)
        if group is None or group in self._taken or (self._has_request and group in ("method", "target")):
            return text
        self._take(field, group)
        return self._group(field.meaning, group, text, stops)

    def _take(self, field: Field, group: str) -> None:
        self._taken.add(group)
        if field.meaning is Meaning.TIME:
            self.clock = field.clock
        if field.meaning is Meaning.PATH:
            self.decoded = True

    def _group(self, meaning: Meaning, group: str, text: str, stops: str) -> str:
        if meaning is Meaning.FORWARDED:
            one = _text(stops + ", ")
            return f"(?P<{group}>{one})(?:, ?{one})*+"
        if meaning is Meaning.TIME:
            text = _time_pattern(self.clock, text, stops)
        return f"(?P<{group}>{_NUMBERS.get(meaning, text)})"

    def _request(self, text: str, stops: str) -> str:
        """A request line, or what a client sent instead of one."""
        if "target" in self._taken:
            return text
        self._taken.update(("method", "target"))
        word = _quoted(stops + " ")
        return f"(?:(?P<method>{_text(stops + ' ')}) (?P<target>{word})(?: {word})?|{text})"


def _text(stops: str) -> str:
    return f"[^{re.escape(stops)}]*+" if stops else ".*+"


def _time_pattern(notation: str, text: str, stops: str) -> str:
    """A time may hold the character that ends it, as often as its notation does: ``%F %T`` before a space."""
    inner = notation.count(stops[:1]) if stops and "%" in notation else 0
    return f"{text}(?:{re.escape(stops)}{text}){{{inner}}}" if inner else text


def _quoted(stops: str) -> str:
    r"""Text in quotes, in which ``\"`` is no end."""
    plain = rf"[^{re.escape(stops)}\\]*+"
    return rf"{plain}(?:\\.{plain})*+"


def _before(pieces: Sequence[Piece], at: int) -> str:
    before = pieces[at - 1] if at else ""
    return before if isinstance(before, str) else ""


def _stops(pieces: Sequence[Piece], at: int) -> str:
    """Return the characters at which a field ends; none at the end of the line."""
    if at + 1 == len(pieces):
        return ""
    following, field = pieces[at + 1], pieces[at]
    if isinstance(following, str):
        return following[0]
    if following.meaning is Meaning.QUERY:
        return "?" + _stops(pieces, at + 1)
    assert isinstance(field, Field)
    raise UsageError(f"nothing in the log format tells where {field.written} ends and {following.written} begins")
