"""The notations of time in log lines, as functions from text to seconds since 1970 (UTC), None where it is no time.

Consecutive lines mostly share their second, so that results are remembered. A time without a zone counts as UTC.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[str], float | None]

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_COMMON = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-])(\d\d)(\d\d)", re.ASCII
)
# What the C library's strftime has and Python's strptime lacks.
_LONG_FORMS = {"%T": "%H:%M:%S", "%F": "%Y-%m-%d", "%R": "%H:%M", "%D": "%m/%d/%y", "%e": "%d", "%h": "%b", "%s": ""}


@lru_cache(maxsize=1024)
def common_time(text: str) -> float | None:
    """Read ``10/Oct/2000:13:55:36 -0700``, the time of the common log format."""
    found = _COMMON.fullmatch(text)
    if found is None or found[2] not in _MONTHS:
        return None
    day, month, year, hour, minute, second, fraction, sign, hours, minutes = found.groups()
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
    """Return a clock for counts since 1970 of which ``scale`` make a second."""

    def read(text: str) -> float | None:
        try:
            return float(text) / scale
        except ValueError:
            return None

    return read


def strftime_time(notation: str) -> Clock:
    """Return a clock for what ``strftime`` wrote."""
    known = re.sub(r"%.", lambda found: _LONG_FORMS.get(found[0], found[0]), notation)

    @lru_cache(maxsize=1024)
    def read(text: str) -> float | None:
        try:
            return _seconds(datetime.strptime(text, known))
        except ValueError:
            return None

    return read


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def clock(notation: str) -> Clock:
    """Return the clock of a notation: common, iso, sec, msec, usec, or a format of ``strftime``."""
    return _KNOWN.get(notation) or strftime_time(notation)


_KNOWN: dict[str, Clock] = {
    "common": common_time,
    "iso": iso_time,
    "sec": epoch_time(1),
    "msec": epoch_time(1e3),
    "usec": epoch_time(1e6),
}
