"""Parse the lines of an access log: ``compile_format`` makes a parser of a log format."""

from __future__ import annotations

import calendar
import json
import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from adaptc.core.diagnostics import UsageError
from adaptc.core.urls import unquote_path
from adaptc.formats.accesslog.log_format import (
    GROUPS,
    HAPROXY,
    NICKNAMES,
    SEPARATED,
    VARIABLE,
    PatternBuilder,
    Piece,
    apache_pieces,
    nginx_pieces,
    separated_pieces,
)

# Common or combined, and whatever follows, or a line of a CDN or a proxy, line by line
AUTO = "auto"
_REQUEST = GROUPS[:6]
_TAIL = ' "%{Referer}i" "%{User-Agent}i"'


class Entry(NamedTuple):
    """A line of an access log. A field that the format lacks, or that is ``-``, is empty, 0 or ``None``.

    ``path`` is percent-decoded, without host and query, and begins with a slash (an encoded slash stays ``%2F``); it is
    empty for a request without a path (``OPTIONS *``, a TLS handshake on port 80). ``time`` is in seconds since 1970
    (UTC), ``size`` in bytes as the server counts them. Bytes that are not UTF-8 are surrogates (PEP 383).
    """

    client: str
    time: float | None
    method: str
    path: str
    status: int
    size: int
    referrer: str
    user_agent: str


class LineParser:
    """Parses the lines of one format; ``format`` is its name or format string."""

    __slots__ = ("_clock", "_fields", "_match", "_missing", "_path", "format")

    def __init__(
        self, text: str, pattern: str, missing: Sequence[str], notation: str, path: Callable[[str], str]
    ) -> None:
        self.format = text
        self._missing = frozenset(missing)
        # A line may contain any character but its end.
        self._match = re.compile(pattern, re.DOTALL | re.ASCII).fullmatch
        self._clock = clock(notation) if notation else _no_time
        self._path = path
        self._fields: LineParser | None = None  # for the fields that the log itself names

    def lacks(self, *groups: str) -> bool:
        """Whether the format is without one of ``log_format.GROUPS``."""
        return not self._missing.isdisjoint(groups)

    def request(self, line: str) -> tuple[str, float | None, str, str, int, int] | None:
        """Return the first six fields of the ``Entry`` of a line, in less than two thirds of the time of ``parse``."""
        match = self._match(line)
        if match is None:
            entry = self._other(line)
            return None if entry is None else entry[:6]
        client, time, method, target, status, size = match.group(*_REQUEST)
        return (
            client,
            self._clock(time),
            method or "",
            self._path(target) if target else "",
            int(status) if status and status != "-" else 0,
            int(size) if size and size != "-" else 0,
        )

    def parse(self, line: str) -> Entry | None:
        """Return the entry of a line (without line end), or ``None`` if it is not in the format."""
        match = self._match(line)
        if match is None:
            return self._other(line)
        client, time, method, target, status, size, referrer, agent = match.group(*GROUPS)
        return Entry(
            client,
            self._clock(time),
            method or "",
            self._path(target) if target else "",
            _number(status),
            _number(size),
            _value(referrer),
            _value(agent),
        )

    def _other(self, line: str) -> Entry | None:
        """Return the entry of a line whose format is known without being named, or named by a line before."""
        if line.startswith("#Fields: ") and "cs-uri-stem" in line and self.format in (AUTO, "cloudfront"):
            self._fields = _parser("", list(separated_pieces("\t", line.partition(" ")[2])))
        elif self._fields is not None and (entry := self._fields.parse(line)) is not None:
            return entry
        if self.format != AUTO:
            return None
        if line.startswith("{"):
            return _json_entry(line)
        name = "cloudfront" if "\t" in line else "bunny" if line.count("|") > 9 else "haproxy"
        return compile_format(name).parse(line)


def _no_time(_: str) -> None:
    return None


def _number(text: str) -> int:
    return 0 if text in {"-", ""} else int(text)


def _value(text: str | None) -> str:
    if text is None or text == "-":
        return ""
    return unescape(text) if "\\" in text else text


@lru_cache(maxsize=16)
def compile_format(text: str = AUTO) -> LineParser:
    r"""Return the parser of a log format.

    ``text`` is ``auto`` (line by line common or combined, JSON of a CDN or a proxy, or any of those that follow),
    ``common``, ``combined``, ``vhost_combined``, ``cloudfront``, ``bunny``, ``haproxy`` (``option httplog``), or a
    format string of Apache's LogFormat or nginx's log_format. Raises ``UsageError`` for anything else.
    """
    if text == AUTO:
        return _parser(text, list(apache_pieces(NICKNAMES["common"])), list(apache_pieces(_TAIL)))
    if text in SEPARATED:
        return _parser(text, list(separated_pieces(*SEPARATED[text])))
    if text == "haproxy":
        return LineParser(text, HAPROXY[0], GROUPS[6:], HAPROXY[1], served_path)
    if text in NICKNAMES:
        return _parser(text, list(apache_pieces(NICKNAMES[text])))
    if VARIABLE.search(text) and "%" not in text:
        return _parser(text, list(nginx_pieces(text)))
    if "%" in text:
        return _parser(text, list(apache_pieces(text)))
    names = ", ".join((AUTO, *NICKNAMES, *SEPARATED, "haproxy"))
    raise UsageError(f"a log format is one of {names}, or a format string of Apache or nginx")


def _parser(text: str, pieces: Sequence[Piece], optional: Sequence[Piece] = ()) -> LineParser:
    builder = PatternBuilder(pieces)
    pattern = builder.pattern(pieces)
    if optional:
        pattern += f"(?:{builder.pattern(optional)})?(?: .*+)?"
    missing = builder.missing()
    pattern += "".join(f"(?P<{name}>)" for name in missing)
    return LineParser(text, pattern, missing, builder.clock, unescape if builder.has_decoded_path else served_path)


# ---- Lines that are objects of JSON: logs of Cloudflare, Fastly, CloudFront, Akamai, Google, Azure, Vercel, Netlify,
# Caddy and Traefik
#
# The names of members by the fields of an entry, the first that is there counts. Some have those of the request in an
# object of their own, and header fields as lists.

_MEMBERS = tuple(
    names.split()
    for names in (
        "ClientIP client_ip remote_ip remote_addr c-ip cliIP remoteIp clientIp clientIP ClientHost",
        "EdgeStartTimestamp EdgeEndTimestamp timestamp ts time_iso8601 StartUTC time reqTimeSec timestamp(ms) msec",
        "ClientRequestMethod request_method cs-method reqMethod requestMethod httpMethod RequestMethod method",
        "ClientRequestURI ClientRequestPath request_uri cs-uri-stem reqPath requestUrl requestUri RequestPath "
        "uri url path",
        "EdgeResponseStatus response_status sc-status statusCode status_code httpStatusCode DownstreamStatus status",
        "EdgeResponseBytes response_body_size body_bytes_sent bytes_sent sc-bytes responseSize responseBytes "
        "response_size responseByteSize DownstreamContentSize size bytes",
        "ClientRequestReferer request_referer http_referer cs(Referer) request_Referer Referer referer referrer",
        "ClientRequestUserAgent request_user_agent http_user_agent cs(User-Agent) request_User-Agent User-Agent "
        "userAgent user_agent UA",
    )
)
_OBJECTS = ("request", "httpRequest", "proxy", "properties", "message")


def _json_entry(line: str) -> Entry | None:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    inner = {key: value for name in _OBJECTS if isinstance(part := read.get(name), dict) for key, value in part.items()}
    headers = inner.get("headers")
    members = {**(headers if isinstance(headers, dict) else {}), **inner, **read}
    found = [next((members[name] for name in names if name in members), None) for names in _MEMBERS]
    client, time, method, target, status, size, referrer, agent = (
        value[0] if isinstance(value, list) and value else value for value in found
    )
    if not isinstance(target, str) or _whole(status) is None:
        return None
    if "cs-uri-stem" in members and "date" in members:
        time = f"{members['date']}T{time}"
    if "reqPath" in members:  # Akamai leaves out the slash
        target = f"/{target.removeprefix('/')}"
    return Entry(
        _text(client),
        _moment(time),
        _text(method),
        served_path(target),
        _whole(status) or 0,
        _whole(size) or 0,
        _text(referrer),
        _text(agent),
    )


def _text(value: object) -> str:
    return _value(value) if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    """Return a number without its fraction, also one that is written as a string; ``None`` for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18
    return int(value) if is_number else None  # type: ignore[call-overload]


def _moment(value: object) -> float | None:
    """Read a time: ISO 8601, common, or since 1970 in seconds, or thousandths, millionths or billionths of them."""
    if isinstance(value, str) and not re.fullmatch(r"\d+(?:\.\d+)?", value, re.ASCII):
        return iso_time(value) or common_time(value.strip("[]"))
    if isinstance(value, bool) or not isinstance(value, str | int | float) or len(str(value)) > 30:
        return None
    number = float(value)
    for scale in (1e9, 1e6, 1e3):
        if number >= 1e8 * scale:
            return number / scale
    return number


# ---- The text of log fields as values: times, paths of request targets, unescaped strings
# A clock reads one notation of time: from text to seconds since 1970 (UTC), or ``None`` for what is no time.
# Consecutive lines mostly have the same second, so results are cached. A time without a zone is UTC.

Clock = Callable[[str], float | None]

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_COMMON = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-])(\d\d)(\d\d)", re.ASCII
)
# Directives of the C library's strftime that Python's strptime lacks
_LONG_FORMS = {"%T": "%H:%M:%S", "%F": "%Y-%m-%d", "%R": "%H:%M", "%D": "%m/%d/%y", "%e": "%d", "%h": "%b", "%s": ""}


@lru_cache(maxsize=1024)
def common_time(text: str) -> float | None:
    """Read ``10/Oct/2000:13:55:36 -0700``, the time of the common log format."""
    match = _COMMON.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        return None
    day, month, year, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    local = calendar.timegm((int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second)))
    offset = (int(hours) * 60 + int(minutes)) * 60
    return local + (offset if sign == "-" else -offset) + float(f"0.{fraction or 0}")


@lru_cache(maxsize=1024)
def iso_time(text: str) -> float | None:
    """Read ``2000-10-10T13:55:36-07:00`` (ISO 8601)."""
    try:
        return _seconds(datetime.fromisoformat(text))
    except ValueError:
        return None


def epoch_time(scale: float) -> Clock:
    """Return a clock for numbers since 1970, in units of 1/``scale`` seconds."""

    def read(text: str) -> float | None:
        try:
            return float(text) / scale
        except ValueError:
            return None

    return read


def strftime_time(notation: str) -> Clock:
    """Return a clock for times in a format of ``strftime``."""
    format_string = re.sub(r"%.", lambda match: _LONG_FORMS.get(match[0], match[0]), notation)

    @lru_cache(maxsize=1024)
    def read(text: str) -> float | None:
        try:
            return _seconds(datetime.strptime(text, format_string))
        except ValueError:
            return None

    return read


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def clock(notation: str) -> Clock:
    """Return the clock of a notation: common, iso, sec, msec, usec, or a format of ``strftime``."""
    return _CLOCKS_BY_NOTATION.get(notation) or strftime_time(notation)


_CLOCKS_BY_NOTATION: dict[str, Clock] = {
    "common": common_time,
    "iso": iso_time,
    "sec": epoch_time(1),
    "msec": epoch_time(1e3),
    "usec": epoch_time(1e6),
}


# Apache: \" \\ \n \r \t \v \b \f \xHH; nginx: \xHH, with escape=json \uHHHH and \/ too.
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b"b": b"\b", b"f": b"\f"}
# The form of a request through a proxy (RFC 9112, section 3.2.2)
_ABSOLUTE = re.compile(r"[a-z]+://[^/?#]*", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def served_path(target: str) -> str:
    """Return the decoded path of a logged request target (RFC 9112, section 3.2), or ``""`` if it has none."""
    plain = unescape(target) if "\\" in target else target
    if not plain.startswith("/"):
        absolute = _ABSOLUTE.match(plain)
        if absolute is None:
            return ""
        plain = plain[absolute.end() :] or "/"
    path = plain.partition("?")[0].partition("#")[0]
    return unquote_path(path) if "%" in path else path


def unescape(text: str) -> str:
    """Return logged text without the server's escapes."""
    if "\\" not in text:
        return text
    return os.fsdecode(_ESCAPE.sub(_unescape, os.fsencode(text)))


def _unescape(match: re.Match[bytes]) -> bytes:
    octet, unit, character = match.groups()
    if octet:
        return bytes([int(octet, 16)])
    if unit:
        return chr(int(unit, 16)).encode("utf-8", "surrogatepass")
    return _CONTROLS.get(character, character)
