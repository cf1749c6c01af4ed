"""Budgets: how heavy the pages of a level may be, and how much they may grow (``[budgets.LEVEL]``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adaptc.config.config import bytes_of
from adaptc.config.toml import TomlSource, nearest, shown
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.workflow.check.growth import Growth
from adaptc.workflow.check.weights import MEASURES, LevelWeights, Weight, in_words, written


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


_SIZES = frozenset({"mean_bytes", "page_bytes"})
KEYS = tuple(name for name in Budget.__slots__ if name != "level")


def read_budgets(source: TomlSource, levels: Iterable[str]) -> tuple[Budget, ...]:
    """Read ``[budgets]``; ``levels`` are those that are built. Raises ``UsageError`` that names every mistake."""
    known = tuple(levels)
    problems = [source.complaint(place, said) for place, said in _problems(source.values, known)]
    if problems:
        raise UsageError("\n".join(problems))
    return tuple(
        Budget(level, **{key: float(_limit(key, value) or 0) for key, value in table.items()})
        for level, table in source.values.items()
    )


def _problems(values: Mapping[str, Any], levels: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for level, table in values.items():
        if level not in levels:
            yield (level,), f"level {level} is not built{nearest(level, levels)}"
        elif not isinstance(table, Mapping):
            yield (level,), f"budgets.{level} must be a table, not {shown(table)}"
        else:
            yield from (((level, key), said) for key, value in table.items() if (said := _problem(key, value)))


def _problem(key: str, value: Any) -> str | None:
    if key not in KEYS:
        return f"unknown key {key}{nearest(key, KEYS)}"
    if _limit(key, value) is None:
        wanted = 'a size, such as "200kB"' if key in _SIZES else "a number of at least 0"
        return f"{key} must be {wanted}, not {shown(value)}"
    return None


def _limit(key: str, value: Any) -> float | None:
    if key in _SIZES:
        return bytes_of(value)
    return value if type(value) in (int, float) and 0 <= value < float("inf") else None


def exceeded(budget: Budget, weights: LevelWeights) -> Iterator[Diagnostic]:
    """Yield where the pages of a level are heavier than its budget."""
    for measure in MEASURES:
        yield from _over(budget, "mean", measure, weights.mean, None)
        for path, page in weights.pages.items():
            yield from _over(budget, "page", measure, page, path)


def _over(budget: Budget, scope: str, measure: str, weight: Weight, path: str | None) -> Iterator[Diagnostic]:
    limit, got = getattr(budget, f"{scope}_{measure}"), getattr(weight, measure)
    if limit is not None and got > limit:
        yield diagnose(
            "budget-exceeded",
            Location(path) if path else None,
            level=f"level {budget.level}",
            what=in_words(measure, path),
            got=written(measure, got),
            limit=written(measure, limit),
        )


def outgrown(budget: Budget, rows: Iterable[Growth]) -> Iterator[Diagnostic]:
    """Yield where a level or a page grew by more than its budget allows."""
    for row in rows:
        limit = budget.growth if row.path is None else budget.page_growth
        if row.level == budget.level and limit is not None and row.percent > limit:
            yield diagnose(
                "budget-growth",
                Location(row.path) if row.path else None,
                level=f"level {row.level}",
                what=in_words(row.measure, row.path),
                growth=f"{row.percent:.1f} %",
                before=written(row.measure, row.before),
                now=written(row.measure, row.now),
                limit=f"{limit:g} %",
            )
