"""Budgets, ``[budgets.LEVEL]``: the limits of the pages of a level, which ``adaptc check`` enforces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from adaptc.config.schema import Schema, TableReading, number, read_table, refuse, size
from adaptc.config.toml import TomlSource, nearest, shown


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a level, ``None`` for none: means over the pages, any one page, growth in percent."""

    level: str
    mean_requests: float | None = None
    mean_bytes: float | None = None
    page_requests: float | None = None
    page_bytes: float | None = None
    growth: float | None = None
    page_growth: float | None = None


_SIZE = size('a size, such as "200kB"')
_NUMBER = number(0)
_SCHEMA: Schema = {name: _SIZE if name.endswith("_bytes") else _NUMBER for name in Budget.__slots__ if name != "level"}


def read_budgets(source: TomlSource, levels: Collection[str] | None = None) -> tuple[Budget, ...]:
    """Read ``[budgets]``, of which each table must be of one of ``levels`` (None for any).

    Raises ``UsageError`` that names every mistake, one a line.
    """
    readings = {level: _read_budget(source, level, levels) for level in source.values}
    refuse(problem for reading in readings.values() for problem in reading.problems)
    return tuple(
        Budget(level, **{key: float(limit) for key, limit in reading.values.items()})
        for level, reading in readings.items()
    )


def _read_budget(source: TomlSource, level: str, levels: Collection[str] | None) -> TableReading:
    table = source.values[level]
    if levels is not None and level not in levels:
        problem = f"level {level} is not built{nearest(level, levels)}"
    elif not isinstance(table, Mapping):
        problem = f"budgets.{level} must be a table, not {shown(table)}"
    else:
        return read_table(source.below(level), _SCHEMA)
    return TableReading({}, (source.complaint((level,), problem),))
