"""The weights of pages, requests and bytes: read from a manifest, compared with an older one and with budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adaptc.config.budgets import Budget
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.quantities import written_bytes, written_count
from adaptc.report.manifest import Manifest, PageCost, read_manifest

MEASURES = ("requests", "bytes")


@dataclass(frozen=True, slots=True)
class Weight:
    """Requests, and bytes in the best coding, of a page with all that a browser loads with it; or their means."""

    requests: float
    bytes: float


@dataclass(frozen=True, slots=True)
class LevelWeights:
    """The mean of a level as the manifest has it (over page views, where there are logs), and each page by path."""

    mean: Weight
    pages: Mapping[str, Weight]


def measure_name(measure: str, path: str | None) -> str:
    """Return the name of a measure of a page, or of the mean of a level."""
    return f"the mean of {measure} a page" if path is None else f"the {measure} of this page with all it loads"


def written_amount(measure: str, amount: float) -> str:
    """Return an amount for people."""
    if measure == "bytes":
        return written_bytes(amount)
    return written_count(int(amount) if amount == int(amount) else amount)


def read_weights(path: Path) -> dict[str, LevelWeights]:
    """Return the weights by level of a manifest, or of the output directory ``path``. Raises ``UsageError``."""
    try:
        manifest = read_manifest(path)
    except OSError as error:
        raise UsageError(f"manifest {path} cannot be read ({error.strerror})") from None
    return {level.name: LevelWeights(_weight(level.mean), _pages(manifest, level.name)) for level in manifest.levels}


def _pages(manifest: Manifest, level: str) -> dict[str, Weight]:
    resources = manifest.resources.items()
    return {path: _weight(resource.pages[level]) for path, resource in resources if level in resource.pages}


def _weight(cost: PageCost) -> Weight:
    return Weight(cost.requests, cost.transfer)


# ---- growth since a baseline: an older manifest


@dataclass(frozen=True, slots=True)
class Growth:
    """A measure ("requests" or "bytes") that grew: of a page, or the mean of a level (``path`` None)."""

    level: str
    path: str | None
    measure: str
    before: float
    now: float

    @property
    def percent(self) -> float:
        """By how much it grew; infinite for growth from 0."""
        return 100 * (self.now / self.before - 1) if self.before else float("inf")


def growth(before: Mapping[str, LevelWeights], now: Mapping[str, LevelWeights]) -> list[Growth]:
    """Return what grew at levels and pages that both have: means first, then the pages that grew most."""
    shared = [level for level in now if level in before]
    means = [row for level in shared for row in _grown_measures(level, None, before[level].mean, now[level].mean)]
    pages = [
        row
        for level in shared
        for path, page in now[level].pages.items()
        if path in before[level].pages
        for row in _grown_measures(level, path, before[level].pages[path], page)
    ]
    return [*means, *sorted(pages, key=lambda row: (-row.percent, row.path, row.level, row.measure))]


def _grown_measures(level: str, path: str | None, before: Weight, now: Weight) -> Iterator[Growth]:
    for measure in MEASURES:
        old, new = getattr(before, measure), getattr(now, measure)
        if new > old:
            yield Growth(level, path, measure, old, new)


# ---- budgets


def exceeded(budget: Budget, weights: LevelWeights) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each weight of a level that is above its budget."""
    for measure in MEASURES:
        yield from _over(budget, "mean", measure, weights.mean, None)
        for path, page in weights.pages.items():
            yield from _over(budget, "page", measure, page, path)


def _over(budget: Budget, scope: str, measure: str, weight: Weight, path: str | None) -> Iterator[Diagnostic]:
    limit, amount = getattr(budget, f"{scope}_{measure}"), getattr(weight, measure)
    if limit is not None and amount > limit:
        yield diagnose(
            "budget-exceeded",
            Location(path) if path else None,
            level=f"level {budget.level}",
            what=measure_name(measure, path),
            got=written_amount(measure, amount),
            limit=written_amount(measure, limit),
        )


def outgrown(budget: Budget, rows: Iterable[Growth]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each growth of a level or a page beyond its budget."""
    for row in rows:
        limit = budget.growth if row.path is None else budget.page_growth
        if row.level == budget.level and limit is not None and row.percent > limit:
            yield diagnose(
                "budget-growth",
                Location(row.path) if row.path else None,
                level=f"level {row.level}",
                what=measure_name(row.measure, row.path),
                growth=f"{row.percent:.1f} %",
                before=written_amount(row.measure, row.before),
                now=written_amount(row.measure, row.now),
                limit=f"{limit:g} %",
            )
