"""The content of ``<meta http-equiv=refresh>`` (WHATWG HTML, "shared declarative refresh steps")."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPACE = r"[\t\n\f\r ]*"
_REFRESH = re.compile(
    rf"{_SPACE}(?P<seconds>\d+|(?=\.))[\d.]*"  # the time; what follows the first dot is ignored
    rf"(?:(?P<gap>{_SPACE}[;,]?{_SPACE})(?P<rest>.*))?",
    re.DOTALL,
)
_URL_PREFIX = re.compile(rf"[uU][rR][lL]{_SPACE}={_SPACE}")


@dataclass(frozen=True, slots=True)
class Refresh:
    """A declarative refresh: whole seconds to wait, and the URL as written, or ``None`` for the page itself.

    ``start`` and ``end`` bound the URL in the content, so that it can be replaced.
    """

    seconds: int
    url: str | None
    start: int
    end: int


def parse_refresh(content: str) -> Refresh | None:
    """Parse the ``content`` attribute; ``None`` when a browser ignores it."""
    found = _REFRESH.match(content)
    if not found:
        return None
    seconds, rest, gap = int(found["seconds"] or 0), found["rest"], found["gap"]
    if rest and not gap:
        return None
    if not rest:
        return Refresh(seconds, None, len(content), len(content))
    start, end = _url_bounds(content, found.start("rest"))
    return Refresh(seconds, content[start:end], start, end)


def _url_bounds(content: str, start: int) -> tuple[int, int]:
    """Skip ``url =`` and a quote; a quoted URL ends at the same quote, any other at the end."""
    prefix = _URL_PREFIX.match(content, start)
    start = prefix.end() if prefix else start
    if content[start : start + 1] not in ("'", '"'):
        return start, len(content)
    closing = content.find(content[start], start + 1)
    return start + 1, closing if closing >= 0 else len(content)
