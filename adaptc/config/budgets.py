"""Budgets, ``[budgets.LEVEL]``: the limits of the pages of a level, which ``adaptc check`` and ``ci`` enforce."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from adaptc.config.schema import InvalidSetting, Schema, TableReading, number, read_table, refuse, size
from adaptc.config.schema import table as any_table
from adaptc.config.toml import TomlSource, nearest_or_all, shown
from adaptc.core.values import dataclass, fields

# Groups of media types, as in reports: adaptc.report.figures.GROUPS
TYPES = ("pages", "styles", "scripts", "images", "fonts", "other")
# Figures of a page that a browser loads, for which there are limits
_SHOWN = ("largest_paint", "layout_shift", "blocking_time")


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a level, ``None`` for none: means over the pages, any one page, growth in percent.

    ``types`` are pairs of a group of media types and the bytes in files of it that any page may load. ``largest_paint``
    and ``blocking_time`` (ms) and ``layout_shift`` are those of ``adaptc.browser.paint.Paint``. ``paths`` are pairs of
    a pattern of paths, as in ``site.exclude``, and limits for the pages that match.
    """

    level: str
    mean_requests: float | None = None
    mean_bytes: float | None = None
    page_requests: float | None = None
    page_bytes: float | None = None
    growth: float | None = None
    page_growth: float | None = None
    largest_paint: float | None = None
    layout_shift: float | None = None
    blocking_time: float | None = None
    types: tuple[tuple[str, float], ...] = ()
    paths: tuple[tuple[str, Budget], ...] = ()

    @property
    def limits_growth(self) -> bool:
        """Whether there are limits that need a baseline."""
        limits = (self.growth, self.page_growth, *(budget.page_growth for _, budget in self.paths))
        return any(limit is not None for limit in limits)

    @property
    def limits_paints(self) -> bool:
        """Whether there are limits of what a browser measures."""
        budgets = (self, *(budget for _, budget in self.paths))
        return any(getattr(budget, figure) is not None for budget in budgets for figure in _SHOWN)


_SIZE = size('a size, such as "200kB"')
_NUMBER = number(0)
_PLAIN: Schema = {
    field.name: _SIZE if field.name.endswith("_bytes") else _NUMBER
    for field in fields(Budget)
    if field.name not in ("level", "types", "paths")
}
_OF_PAGES: Schema = {
    **{name: check for name, check in _PLAIN.items() if name.startswith("page_") or name in _SHOWN},
    "types": dict.fromkeys(TYPES, _SIZE),
}


def _paths(value: Any, base: Path) -> Mapping[str, Mapping[str, Any]]:
    rows = {}
    for pattern, limits in any_table(value, base).items():
        reading = read_table(TomlSource(f"paths.{pattern}", any_table(limits, base)), _OF_PAGES)
        if reading.problems:
            raise InvalidSetting(f"has a mistake: {reading.problems[0]}")
        rows[pattern] = reading.values
    return rows


_SCHEMA: Schema = {**_PLAIN, "types": _OF_PAGES["types"], "paths": _paths}


def read_budgets(source: TomlSource, levels: Collection[str] | None = None) -> tuple[Budget, ...]:
    """Read ``[budgets]``, of which each table must be of one of ``levels`` (None for any).

    Raises ``UsageError`` that names every mistake, one a line.
    """
    readings = {level: _read_budget(source, level, levels) for level in source.values}
    refuse(problem for reading in readings.values() for problem in reading.problems)
    return tuple(_budget(level, reading.values) for level, reading in readings.items())


def _budget(level: str, values: Mapping[str, Any]) -> Budget:
    plain = {key: float(limit) for key, limit in values.items() if key in _PLAIN}
    types = tuple((group, float(limit)) for group, limit in values.get("types", {}).items())
    paths = tuple((pattern, _budget(level, limits)) for pattern, limits in values.get("paths", {}).items())
    return Budget(level, **plain, types=types, paths=paths)


def _read_budget(source: TomlSource, level: str, levels: Collection[str] | None) -> TableReading:
    table = source.values[level]
    if levels is not None and level not in levels:
        problem = f"level {level} is not built{nearest_or_all(level, levels)}"
    elif not isinstance(table, Mapping):
        problem = f"budgets.{level} must be a table, not {shown(table)}"
    else:
        return read_table(source.below(level), _SCHEMA)
    return TableReading({}, (source.complaint((level,), problem),))
