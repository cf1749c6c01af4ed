"""A page at a level is never larger than at the level above: if it would be, it stays as it is there.

Verification compares each pass with the source already (``adaptc.compile.rewrite``). But two levels process a page
differently: one inlines a sheet that the other can no longer reduce. So a page of a degrading level is compared with
that of the level above, with all the files that a browser loads, in their smallest encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from adaptc.compile.engine.results import UnitResult
from adaptc.config.rulebook import Level


@dataclass(frozen=True, slots=True)
class PageWeight:
    """What a page costs: requests, and bytes in the smallest encodings."""

    requests: int
    size: int

    def excess(self, other: PageWeight) -> str | None:
        """Return in words by what this page is larger, or ``None``."""
        if self.requests > other.requests:
            return f"{self.requests} requests instead of {other.requests}"
        return f"{self.size:,} bytes instead of {other.size:,}" if self.size > other.size else None


@dataclass(frozen=True, slots=True)
class AssetWeight:
    """What an asset costs at a level: bytes, the sheets it imports, and the dependencies of this knowledge."""

    size: int
    imports: tuple[str, ...]
    dependencies: tuple[str, ...]


def levels_above(levels: Iterable[Level]) -> Mapping[str, str]:
    """Return the next higher built level for each degrading level; ``levels`` are in order, highest first.

    Of the levels without a number, one that keeps the article alone (``text``) is below the lowest number; others have
    no level above or below them.
    """
    chosen = list(levels)
    ladder = [level for level in chosen if level.number is not None]
    articles = [level for level in chosen if ladder and level.number is None and level.promise == "article"]
    return {lower.name: upper.name for upper, lower in pairwise(ladder) if lower.promise != "same"} | {
        level.name: ladder[-1].name for level in articles
    }


class PageWeigher:
    """Weighs pages. ``weigh(level, path)`` weighs an asset, once."""

    def __init__(self, weigh: Callable[[str, str], AssetWeight]) -> None:
        self.weigh = weigh
        self._known: dict[tuple[str, str], AssetWeight] = {}

    def page(self, result: UnitResult, size: int, embeds: Iterable[str]) -> tuple[PageWeight, dict[str, None]]:
        """Return the weight of a page that loads ``embeds``, and its dependencies; ``size`` is that of its source."""
        extras = {extra.path: min(output.size for output in extra.outputs) for extra in result.extras}
        total, pending, seen, dependencies = smallest_size(result, size), list(embeds), {result.path}, dict[str, None]()
        while pending:
            path = pending.pop()
            if path in seen:
                continue
            seen.add(path)
            if path in extras:
                total += extras[path]
                continue
            asset = self._asset(result.level, path)
            total += asset.size
            pending += asset.imports
            dependencies.update(dict.fromkeys(asset.dependencies))
        return PageWeight(len(seen), total), dependencies

    def _asset(self, level: str, path: str) -> AssetWeight:
        known = self._known.get((level, path))
        if known is None:
            known = self._known[level, path] = self.weigh(level, path)
        return known


def smallest_size(result: UnitResult, size: int) -> int:
    """Return the bytes of a unit in its smallest encoding; a file that is not in the tree is the source."""
    return min((output.size for output in result.outputs), default=size)
