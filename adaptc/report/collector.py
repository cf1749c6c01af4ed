"""Collects the figures of a build from its state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from adaptc.compile.engine.results import Extra, UnitResult
from adaptc.compile.engine.state import State
from adaptc.config.rulebook import Level
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.model import IDENTITY, Resource
from adaptc.report.figures import (
    GROUPS,
    CodingFigures,
    LevelFigures,
    PageFigures,
    TypeFigures,
    capacity_factor,
)


def group_of(media_type: str) -> str:
    """Return the group of ``figures.GROUPS`` that a media type belongs to."""
    if media_type in (media.HTML, media.XHTML):
        return "pages"
    if media_type in (media.CSS, media.JS):
        return "styles" if media_type == media.CSS else "scripts"
    kind = media_type.partition("/")[0]
    return {"image": "images", "font": "fonts"}.get(kind, "other")


class Weight(NamedTuple):
    """Bytes of a resource at a level: as they are, and in the best coding."""

    identity: int
    transfer: int


@dataclass(slots=True)
class _Tally:
    """Sums over the files of a level."""

    files: int = 0
    pages: int = 0
    codings: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    groups: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0]))
    requests: int = 0
    identity: int = 0
    transfer: int = 0

    def add(self, result: UnitResult | Extra, before: int, weight: Weight) -> None:
        self.files += 1
        for output in result.outputs:
            self.codings[output.coding][0] += 1
            self.codings[output.coding][1] += output.size
        group = self.groups[group_of(result.media_type)]
        for place, amount in enumerate((1, before, weight.identity, weight.transfer)):
            group[place] += amount

    def weigh(self, page: PageFigures, times: int) -> None:
        self.requests += times * page.requests
        self.identity += times * page.identity_bytes
        self.transfer += times * page.transfer_bytes


class Collector:
    """Figures of the levels and pages, and all diagnostics; memory grows with the number of files, not with their size.

    ``hits`` are the views of each page; without any, every page counts once. ``embeds`` are the files that each source
    embeds, ``diagnostics`` those of sources and units.
    """

    def __init__(
        self, state: State, resources: Mapping[str, Resource], levels: Sequence[Level], hits: Mapping[str, int]
    ) -> None:
        self.state, self.resources, self.hits = state, resources, hits
        self.levels = {level.name: level for level in levels}
        self.first = levels[0].name
        self.weights: dict[str, dict[str, Weight]] = {name: {} for name in self.levels}
        self.imports: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in self.levels}
        self._costs: dict[tuple[str, str, str], tuple[int, int, int, int, int]] = {}
        self.diagnostics: list[Diagnostic] = []
        self.embeds = self._embeds()
        self.tallies = {name: _Tally() for name in self.levels}
        for result in state.results(notes=False):
            if result.level in self.levels and result.path in resources:
                self._add(result)
        self._times = self._weigh()

    def _embeds(self) -> dict[str, tuple[str, ...]]:
        """Return the files that each source embeds, sheets by @import included, and keep its diagnostics."""
        embeds = {}
        for path, facts in self.state.facts():
            self.diagnostics.extend(facts.diagnostics)
            targets = tuple(dict.fromkeys(target for _, target in facts.embeds))
            if targets:
                embeds[path] = targets
        return embeds

    def _add(self, result: UnitResult) -> None:
        before = self.resources[result.path].size
        sizes = {output.coding: output.size for output in result.outputs}
        identity = sizes.get(IDENTITY, before)
        weight = Weight(identity, min((*sizes.values(), identity)))
        self.weights[result.level][result.path] = weight
        for extra in result.extras:
            self._add_extra(result.level, extra)
        if result.embeds is not None and result.media_type == media.CSS:
            self.imports[result.level][result.path] = result.embeds
        self.tallies[result.level].add(result, before, weight)

    def _add_extra(self, level: str, extra: Extra) -> None:
        """Count a file that comes of no file of the docroot, once however many units refer to it."""
        if extra.path in self.weights[level]:
            return
        sizes = {output.coding: output.size for output in extra.outputs}
        weight = Weight(sizes[IDENTITY], min(sizes.values()))
        self.weights[level][extra.path] = weight
        self.tallies[level].add(extra, 0, weight)

    # ---- pages

    def pages(self) -> Iterator[PageFigures]:
        """Yield the figures of every page at every level, by path."""
        for result in self.state.results():
            if result.level in self.levels and self._is_page(result):
                yield self.page(result)

    def _is_page(self, result: UnitResult) -> bool:
        return result.media_type == media.HTML and result.path in self.resources

    def page(self, result: UnitResult, level: str | None = None) -> PageFigures:
        """Return the figures of a page; with ``level``, of the page with its objects at that level."""
        level = level or result.level
        key = (result.path, result.level, level)
        cost = self._costs.get(key)
        if cost is None:  # level by level, manifest and report each ask once
            cost = self._costs[key] = self._cost(result, level)
        return PageFigures(result.path, level, *cost, result.actions, result.demoted, self.hits.get(result.path, 0))

    def _cost(self, result: UnitResult, level: str) -> tuple[int, int, int, int, int]:
        """Return requests, bytes and transferred bytes of a page with its objects, and the bytes of the page alone."""
        objects = self._objects(result, level)
        own = self._weight(result.level, result.path)
        identity, transfer = own
        for path in objects:
            weight = self._weight(level, path)
            identity += weight.identity
            transfer += weight.transfer
        return (1 + len(objects), identity, transfer, *own)

    def page_at(self, level: str, path: str, results: Mapping[str, UnitResult]) -> PageFigures:
        """Return the figures of a page with these results by level, or else of the page that is served instead."""
        if level in results:
            return self.page(results[level])
        return self.page(results.get(self.first) or UnitResult(self.first, path, media.HTML), level)

    def _weight(self, level: str, path: str) -> Weight:
        """Return the weight of a file at a level; where it has none (a page in a frame), that at the first level."""
        weight = self.weights[level].get(path) or self.weights[self.first].get(path)
        if weight is None:
            size = self.resources[path].size if path in self.resources else 0
            weight = Weight(size, size)
        return weight

    def _objects(self, result: UnitResult, level: str) -> set[str]:
        """Return the embedded objects of a page, each once, with the sheets that its sheets import."""
        pending = list(result.embeds if result.embeds is not None else self.embeds.get(result.path, ()))
        imports = self.imports[level]
        objects: set[str] = set()
        while pending:
            path = pending.pop()
            if path not in objects and path != result.path:
                objects.add(path)
                pending.extend(imports.get(path, ()))
        return objects

    # ---- levels

    def level_figures(self, request_ms: float, kilobyte_ms: float) -> tuple[LevelFigures, ...]:
        """Return the figures of each level, those of the highest quality first."""
        first: tuple[float, float] | None = None
        rows = []
        for name, level in self.levels.items():
            tally, count = self.tallies[name], max(self._times, 1)
            mean = (tally.requests / count, tally.transfer / count)
            first = first or mean
            factor = capacity_factor(*mean, *first, request_ms=request_ms, kilobyte_ms=kilobyte_ms)
            rows.append(_level_figures(level, tally, count, factor))
        return tuple(rows)

    def _weigh(self) -> int:
        """Add every page to the costs of the levels, and keep the diagnostics of units, each once a path: those of
        levels are often equal. Return how many times pages count."""
        times = 0
        for path, group in groupby(self.state.results(), key=lambda result: result.path):
            units = list(group)
            self.diagnostics.extend(dict.fromkeys(item for result in units for item in result.diagnostics))
            results = {result.level: result for result in units if result.level in self.levels}
            if any(map(self._is_page, results.values())):
                times += self._weigh_page(path, results)
        return times

    def _weigh_page(self, path: str, results: Mapping[str, UnitResult]) -> int:
        """Add a page to the costs of each level; return how many times it counts."""
        times = self.hits.get(path, 0) if self.hits else 1
        for name, tally in self.tallies.items():
            tally.pages += name in results
            if times:
                tally.weigh(self.page_at(name, path, results), times)
        return times


def _level_figures(level: Level, tally: _Tally, times: int, factor: float) -> LevelFigures:
    return LevelFigures(
        level.name,
        level.number,
        tally.files,
        sum(group[2] for group in tally.groups.values()),
        tuple(CodingFigures(name, *tally.codings[name]) for name in sorted(tally.codings)),
        tuple(TypeFigures(name, *tally.groups[name]) for name in GROUPS if name in tally.groups),
        tally.requests / times,
        tally.identity / times,
        tally.transfer / times,
        factor,
        tally.pages,
    )
