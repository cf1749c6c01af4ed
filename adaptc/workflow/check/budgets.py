"""Budgets: how heavy the pages of a level may be, and how much they may grow (``[budgets.LEVEL]``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adaptc.config.budgets import Budget
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.workflow.check.growth import Growth
from adaptc.workflow.check.weights import MEASURES, LevelWeights, Weight, in_words, written


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
