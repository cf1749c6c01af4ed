"""Collects the figures of pages and files from the state of a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from adaptc.compile.analyse.facts import Facts
from adaptc.compile.engine.evidence.scripts_seen import loaded_files
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.unit.choices import held_files
from adaptc.config.rulebook import Level
from adaptc.core import media
from adaptc.core.model import Resource
from adaptc.report.figures import PageFigures
from adaptc.report.ledger import Ledger, Weight, Weights

_NO_FACTS = Facts("")


def group_of(media_type: str) -> str:
    """Return the group of ``figures.GROUPS`` that a media type belongs to."""
    if media_type in (media.HTML, media.XHTML):
        return "pages"
    if media_type in (media.CSS, media.JS):
        return "styles" if media_type == media.CSS else "scripts"
    kind = media_type.partition("/")[0]
    return {"image": "images", "font": "fonts"}.get(kind, "other")


class Collector:
    """The figures of files and pages, read from the state when they are asked for.

    ``hits`` are the views of each page.
    """

    def __init__(
        self, state: State, resources: Mapping[str, Resource], levels: Sequence[Level], hits: Mapping[str, int]
    ) -> None:
        self.state, self.resources, self.hits = state, resources, hits
        self.levels = tuple(level.name for level in levels)
        self.written_anew = frozenset(level.name for level in levels if level.promise == "article")
        self.loaded = loaded_files(state)
        self.first = self.levels[0]
        self.weights = Weights(state, resources)
        self._known: dict[tuple[str, str, str], tuple[int, int, int, int, int]] = {}
        self.facts = lru_cache(maxsize=1024)(self._facts)

    def _facts(self, path: str) -> Facts:
        return next((facts for _, facts in self.state.facts(path)), _NO_FACTS)

    def embeds(self, path: str) -> tuple[str, ...]:
        """Return the files that a source embeds, sheets by @import included."""
        return tuple(dict.fromkeys(target for _, target in self.facts(path).embeds))

    # ---- the ledger

    def enter(self, ledger: Ledger, path: str, results: Sequence[UnitResult]) -> None:
        """Add a path with its ``results`` to the ledger, which has no rows of it."""
        self._known.clear()
        units = tuple(dict.fromkeys(item for result in results for item in result.diagnostics))
        ledger.add_diagnostics(path, self.facts(path).diagnostics, units)
        by_level = {result.level: result for result in results if result.level in self.levels}
        for result in by_level.values():
            self._enter_files(ledger, result)
        if any(result.media_type == media.HTML for result in by_level.values()):
            for level in self.levels:
                served = self._served(level, path, by_level)
                ledger.add_page(self.page(served, level), self.objects(served, level), is_built=level in by_level)
            ledger.add_row(path, self.levels)

    def _enter_files(self, ledger: Ledger, result: UnitResult) -> None:
        size, weight = self.resources[result.path].size, self._weight(result.level, result.path)
        ledger.add_file(result.level, result.path, group_of(result.media_type), size, weight, result.outputs)
        for extra in result.extras:
            ledger.add_extra(result.level, extra, group_of(extra.media_type), self.weights.of_extra(extra))

    # ---- pages

    def page(self, result: UnitResult, level: str | None = None) -> PageFigures:
        """Return the figures of a page; with ``level``, of the page with its objects at that level."""
        level = level or result.level
        key = (result.path, result.level, level)
        costs = self._known.get(key)
        if costs is None:  # the ledger and the manifest both ask
            costs = self._known[key] = self._costs(result, level)
        return PageFigures(result.path, level, *costs, result.actions, result.demoted, self.hits.get(result.path, 0))

    def _costs(self, result: UnitResult, level: str) -> tuple[int, int, int, int, int]:
        """Return requests, bytes and transferred bytes of a page with its objects, and the bytes of the page alone."""
        objects = self.objects(result, level)
        own = self._weight(result.level, result.path)
        identity, transfer = own
        for path in objects:
            weight = self._weight(level, path)
            identity += weight.identity
            transfer += weight.transfer
        return (1 + len(objects), identity, transfer, *own)

    def page_at(self, level: str, path: str, results: Mapping[str, UnitResult]) -> PageFigures:
        """Return the figures of a page with these results by level, or else of the page that is served instead."""
        return self.page(self._served(level, path, results), level)

    def _served(self, level: str, path: str, results: Mapping[str, UnitResult]) -> UnitResult:
        return results.get(level) or results.get(self.first) or UnitResult(self.first, path, media.HTML)

    def _weight(self, level: str, path: str) -> Weight:
        """Return the weight of a file at a level; where it has none (a page in a frame), that at the first level."""
        weight = self.weights.at(level, path) or self.weights.at(self.first, path)
        if weight is None:
            size = self.resources[path].size if path in self.resources else 0
            weight = Weight(size, size)
        return weight

    def objects(self, result: UnitResult, level: str) -> set[str]:
        """Return the embedded objects of a page at a level, each once, with what its sheets import and show.

        A page that a browser saw has what its scripts load, too, unless they wait.
        """
        pending = list(result.embeds if result.embeds is not None else self.embeds(result.path))
        pending += self._loaded_by_scripts(result)
        objects: set[str] = set()
        while pending:
            path = pending.pop()
            if path not in objects and path != result.path:
                objects.add(path)
                pending.extend(self.weights.imports(level, path))
                backgrounds = self.weights.backgrounds(level, path)
                pending.extend(self.facts(result.path).styling.loaded(path, backgrounds) if backgrounds else ())
        return objects

    def _loaded_by_scripts(self, result: UnitResult) -> set[str]:
        """Return the files of the site that no markup names, and that the scripts of a page load by themselves."""
        if result.level in self.written_anew or result.path not in self.loaded:
            return set()
        return {*self.loaded[result.path]} - {*self.embeds(result.path)} - held_files(result)
