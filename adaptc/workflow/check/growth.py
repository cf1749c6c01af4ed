"""What became heavier since a baseline: an older manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adaptc.workflow.check.weights import MEASURES, LevelWeights, Weight


@dataclass(frozen=True, slots=True)
class Growth:
    """A measure ("requests" or "bytes") that is larger than it was; of a page, or the mean of a level."""

    level: str
    path: str | None
    measure: str
    before: float
    now: float

    @property
    def percent(self) -> float:
        """By how much it grew; something that came of nothing grew without end."""
        return 100 * (self.now / self.before - 1) if self.before else float("inf")


def growth(before: Mapping[str, LevelWeights], now: Mapping[str, LevelWeights]) -> list[Growth]:
    """Return what became heavier at levels and pages that both have: means first, then the pages that grew most."""
    shared = [level for level in now if level in before]
    means = [row for level in shared for row in _grown(level, None, before[level].mean, now[level].mean)]
    pages = [
        row
        for level in shared
        for path, page in now[level].pages.items()
        if path in before[level].pages
        for row in _grown(level, path, before[level].pages[path], page)
    ]
    return [*means, *sorted(pages, key=lambda row: (-row.percent, row.path, row.level, row.measure))]


def _grown(level: str, path: str | None, before: Weight, now: Weight) -> Iterator[Growth]:
    for measure in MEASURES:
        old, new = getattr(before, measure), getattr(now, measure)
        if new > old:
            yield Growth(level, path, measure, old, new)
