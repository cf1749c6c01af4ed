"""The text of log fields as values: times, paths of request targets, unescaped strings.

A clock reads one notation of time: from text to seconds since 1970 (UTC), or ``None`` for what is no time. Consecutive
lines mostly have the same second, so results are cached. A time without a zone is UTC.
"""

from __future__ import annotations

import calendar
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from adaptc.core.urls import unquote_path

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
