"""Which parts of a page's scripts ran: by functions, as V8 counts them (DevTools protocol, domain ``Profiler``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from adaptc.browser.tab import Tab
from adaptc.core.values import dataclass

# Blocks of functions would be counted too, and slow pages down; how often a function ran is not asked for
_COUNTED = {"callCount": False, "detailed": False}


@dataclass(frozen=True, slots=True)
class ScriptCoverage:
    """A script file: its length in UTF-16 code units, and how many of them are in functions that ran."""

    path: str
    size: int
    ran: int


@dataclass(frozen=True, slots=True)
class RanParts:
    """A script: its length, and which of its code units ran, as a number with a byte of 0 or 1 for each."""

    size: int
    ran: int

    def __or__(self, other: RanParts) -> RanParts:
        return RanParts(max(self.size, other.size), self.ran | other.ran)


async def count_functions(tab: Tab) -> None:
    """Have the tab count from now on which functions run. Raises ``BrowserError``."""
    await tab.send("Profiler.enable")
    await tab.send("Profiler.startPreciseCoverage", _COUNTED)


async def parts_that_ran(tab: Tab, path_of: Callable[[str], str | None]) -> dict[str, RanParts]:
    """Return what ran of the script files of the page, by path. Raises ``BrowserError``."""
    paths = {load.url: path_of(load.url) for load in tab.seen.loads if load.kind == "script"}
    found: dict[str, RanParts] = {}
    for each in (await tab.send("Profiler.takePreciseCoverage"))["result"]:
        path = paths.get(each["url"])
        if path is not None:
            found[path] = found.get(path, RanParts(0, 0)) | ran_parts(each["functions"])
    return found


def ran_parts(functions: Iterable[Mapping[str, Any]]) -> RanParts:
    """Return what ran of a script by its functions, as the protocol has them: an inner one decides over its range."""
    ranges = [each for function in functions for each in function["ranges"]]
    size = max((each["endOffset"] for each in ranges), default=0)
    marks = bytearray(size)
    for each in sorted(ranges, key=lambda each: (each["startOffset"], -each["endOffset"])):
        start, end = each["startOffset"], each["endOffset"]
        marks[start:end] = (b"\1" if each["count"] else b"\0") * (end - start)
    return RanParts(size, int.from_bytes(marks, "little"))


def script_coverage(views: Iterable[Mapping[str, RanParts]]) -> tuple[ScriptCoverage, ...]:
    """Return what ran of scripts in any of several views of a page, in the order of paths."""
    joined: dict[str, RanParts] = {}
    for view in views:
        for path, parts in view.items():
            joined[path] = joined.get(path, RanParts(0, 0)) | parts
    return tuple(ScriptCoverage(path, joined[path].size, joined[path].ran.bit_count()) for path in sorted(joined))
