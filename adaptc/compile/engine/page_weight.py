"""No level is dearer than the one above it, page by page: where one would be, the page stays as it is above.

A pass is compared with the source already (``adaptc.compile.rewrite``). Two levels make different things of a page,
though: one inlines a sheet that the other cannot touch any more. So a page of a degrading level is compared with
that of the level above it, with all the files that a browser loads, in their best encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from adaptc.compile.engine.results import UnitResult
from adaptc.config.rulebook import Level


@dataclass(frozen=True, slots=True)
class PageWeight:
    """What a page costs: requests, and bytes in the best encodings."""

    requests: int
    size: int

    def excess(self, other: PageWeight) -> str | None:
        """Return in words by what this one is dearer, ``None`` when it is not."""
        if self.requests > other.requests:
            return f"{self.requests} requests instead of {other.requests}"
        return f"{self.size:,} bytes instead of {other.size:,}" if self.size > other.size else None


@dataclass(frozen=True, slots=True)
class AssetWeight:
    """What an asset costs at a level: bytes, the sheets it imports, and what was looked at to know it."""

    size: int
    imports: tuple[str, ...]
    dependencies: tuple[str, ...]


def levels_above(levels: Iterable[Level]) -> Mapping[str, str]:
    """Return for each degrading level the next dearer of those that are built, which are given dearest first.

    Beside the ladder a level that keeps the article alone (``text``) is below the lowest step; others, which do one
    thing to all that they keep, are above or below none.
    """
    chosen = list(levels)
    ladder = [level for level in chosen if level.number is not None]
    articles = [level for level in chosen if ladder and level.number is None and level.promise == "article"]
    return {lower.name: upper.name for upper, lower in pairwise(ladder) if lower.promise != "same"} | {
        level.name: ladder[-1].name for level in articles
    }


class PageWeigher:
    """Weighs pages. ``weigh(level, path)`` weighs an asset; that is done once."""

    def __init__(self, weigh: Callable[[str, str], AssetWeight]) -> None:
        self.weigh = weigh
        self._known: dict[tuple[str, str], AssetWeight] = {}

    def page(self, result: UnitResult, size: int, embeds: Iterable[str]) -> tuple[PageWeight, dict[str, None]]:
        """Return the weight of a page that loads ``embeds``, and what was looked at; ``size`` is that of its source."""
        extras = {extra.path: min(output.size for output in extra.outputs) for extra in result.extras}
        total, pending, seen, looked_at = smallest_size(result, size), list(embeds), {result.path}, dict[str, None]()
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
            looked_at.update(dict.fromkeys(asset.dependencies))
        return PageWeight(len(seen), total), looked_at

    def _asset(self, level: str, path: str) -> AssetWeight:
        known = self._known.get((level, path))
        if known is None:
            known = self._known[level, path] = self.weigh(level, path)
        return known


def smallest_size(result: UnitResult, size: int) -> int:
    """Return the bytes of a unit in its best encoding; a file that is not in the tree is the source."""
    return min((output.size for output in result.outputs), default=size)
