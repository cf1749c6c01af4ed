"""The stage of a build that proves pages before they are published, as ``[browser]`` asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from adaptc.browser import find_chromium, names_tried
from adaptc.browser.answers import docroot_server
from adaptc.browser.chromium import in_chromium
from adaptc.browser.tab import BrowserError
from adaptc.compile.analyse.decisions import Decisions
from adaptc.compile.analyse.demotions import (
    NO_DEMOTIONS,
    Demotion,
    Demotions,
    demotions_of,
    for_pages_like,
    with_demotions,
)
from adaptc.compile.engine.evidence.page_templates import Templates, find_skeletons
from adaptc.compile.engine.proof.candidates import Candidates
from adaptc.compile.engine.proof.records import ProofRecord, count_dropped, store_proof
from adaptc.compile.engine.proof.search import ProofSite, Search
from adaptc.compile.engine.proof.verdict import VerdictStore, diagnostic_of, reason_of, views_of
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.workers.executor import Workers, weigh
from adaptc.compile.pipeline import plan_level
from adaptc.config.config import ALL_PAGES
from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.core.media import HTML
from adaptc.core.urls import SiteAddress
from adaptc.site.header_rules import HostRules, PageHeaders
from adaptc.site.site import Site, Source

_LOSS = "pages are published without a proof"


def proven_pages(sources: Mapping[str, Source], count: int | str) -> list[str]:
    """Return ``count`` pages, or all. Access logs do not count: no unit's bytes depend on a log."""
    sizes = {path: source.size for path, source in sources.items() if source.media_type == HTML and not source.alias_of}
    return sample_pages(sizes, {}, len(sizes) if count == ALL_PAGES else int(count))


class ProofStage:
    """Proves pages of ``sources``: finds the passes to drop so that they keep what every level promises."""

    def __init__(self, spec: BuildSpec, state: State, sources: Mapping[str, Source]) -> None:
        self.spec, self.state, self.sources = spec, state, sources
        self.pages = proven_pages(sources, spec.config.browser.prove)
        self.diagnostics: list[Diagnostic] = []
        self.search: Search | None = None
        self.demotions: Demotions = NO_DEMOTIONS
        self.built: dict[Unit, UnitResult] = {}

    def expected(self) -> Demotions:
        """Return the demotions of the last build, which the state's units have."""
        return demotions_of(self.state.decisions())

    def run(
        self, decisions: Decisions, report: BuildReport, workers: Workers, progress: Progress, check: Callable[[], None]
    ) -> Demotions:
        """Return the passes to drop; ``decisions`` have the expected ones. ``check`` is called after each page."""
        shared = self.spec.shared_snapshot(dict(self.sources), decisions)
        with Candidates(shared, workers, report.restriction) as candidates:
            candidates.prepare(weigh(self.state, self._units(report), self.sources), check)
            self.search = self._search(candidates, decisions.hosts)
            self.demotions = self._run(self.search, decisions.demotions, progress, check)
            if not self.diagnostics:
                self.demotions = self._for_pages_like(self.demotions, workers)
            self.built = candidates.unaffected(self.demotions)
        return self.demotions

    def _run(self, search: Search, expected: Demotions, progress: Progress, check: Callable[[], None]) -> Demotions:
        def note(pages: int) -> None:
            progress.advance(pages, 0, 0)
            check()

        wanted = self.spec.config.browser.program
        program = find_chromium(wanted)
        if program is None:
            self.diagnostics.append(diagnose("browser-missing", names=names_tried(wanted), loss=_LOSS))
            return expected
        progress.begin("proving", len(search.pages), 0)
        try:
            in_chromium(program, search.run, note)
        except BrowserError as error:
            self.diagnostics.append(diagnose("browser-failed", program=program, reason=error, loss=_LOSS))
            return with_demotions(expected, self._known_bad(search))
        finally:
            progress.end()
        return search.demotions

    def _for_pages_like(self, demotions: Demotions, workers: Workers) -> Demotions:
        """Add what was dropped for proven pages to other pages of their templates."""
        proven = frozenset(self.pages)
        if proven.isdisjoint(path for _, path in demotions):
            return demotions
        skeletons = find_skeletons(self.spec, self.sources, workers)
        templates = Templates(self.state, self.sources, skeletons, ALL_PAGES)
        return for_pages_like(demotions, proven, templates.pages_like)

    def _known_bad(self, search: Search) -> Iterator[tuple[Unit, Demotion]]:
        """Yield what was found to be dropped before the browser failed; pages that are broken are as above."""
        yield from ((unit, each) for unit, dropped in search.demotions.items() for each in dropped)
        for verdict in search.verdicts.values():
            if verdict.differences:
                level = verdict.case.level
                yield (level, verdict.case.page), Demotion(level, reason_of(verdict, verdict.case.page))

    def _search(self, candidates: Candidates, hosts: HostRules) -> Search:
        config = self.spec.config
        headers = PageHeaders(config.site.csp, hosts)
        address, linked = SiteAddress(config.site.base_url), self.state.linked_paths()
        site = Site.of(self.sources, address, config.site.index, linked=linked)
        original = docroot_server(self.spec.docroot, site, headers)
        plans = {level.name: plan_level(level) for level in self.spec.levels}
        return Search(ProofSite(original, site, plans, headers), candidates, VerdictStore(candidates.store), self.pages)

    def _is_page(self, path: str) -> bool:
        return path in self.sources and self.sources[path].media_type == HTML

    def _units(self, report: BuildReport) -> Iterator[Unit]:
        """Yield the outdated units of the pages and of what they embed."""
        pending, known = list(self.pages), set[str]()
        while pending:
            path = pending.pop()
            if path in known or path not in self.sources:
                continue
            known.add(path)
            for _, facts in self.state.facts(path):
                pending += [target for _, target in facts.embeds]
        for level in self.spec.recipes:
            for path in sorted(known):
                if (level, path) in report.reasons:
                    yield level, path

    def record(self, report: BuildReport) -> None:
        """Record in the state what was proven. What failed in the browser is tried again by the next build."""
        assert self.search is not None
        report.is_blind |= bool(self.diagnostics) or self.search.is_unsure
        verdicts = self.search.verdicts.values()
        left = {(each.case.level, each.case.page) for each in verdicts if each.differences}
        unproven = {(each.case.level, each.case.page) for each in verdicts if each.reason is not None}
        bad = sorted(map(diagnostic_of, (each for each in verdicts if not each.is_kept)), key=str)
        proven = frozenset(self.pages)
        other = {
            unit: found for unit, found in self.demotions.items() if self._is_page(unit[1]) and unit[1] not in proven
        }
        dropped = count_dropped({unit: found for unit, found in self.demotions.items() if unit not in other})
        alike = len({path for _, path in other})
        record = ProofRecord(len(self.pages), len(self.search.broken), len(left), len(unproven), *dropped, alike)
        order = {page: number for number, page in enumerate(self.pages)}
        views = views_of(sorted(verdicts, key=lambda verdict: order[verdict.case.page]))
        store_proof(self.state, record, (*self.diagnostics, *bad), views)


def sample_pages(sizes: Mapping[str, int], hits: Mapping[str, int], count: int) -> list[str]:
    """Return ``count`` pages, or all; ``sizes`` has the bytes of each page, ``hits`` the views of those viewed.

    The most viewed come first, then pages of each directory in turn, the directory with the most pages first: its
    largest page, its smallest, its middle one, and so on.
    """
    viewed = sorted((path for path in sizes if hits.get(path)), key=lambda path: (-hits[path], path))
    directories: dict[str, list[str]] = {}
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        directories.setdefault(os.path.dirname(path), []).append(path)
    groups = sorted(directories.items(), key=lambda group: (-len(group[1]), group[0]))
    spread = _in_turn([list(_halved(paths)) for _, paths in groups])
    return list(dict.fromkeys([*viewed, *spread]))[:count]


def _halved(paths: Sequence[str]) -> Iterator[str]:
    """Yield the first, the last, that in their middle, those in the middle of the halves, and so on."""
    yield from paths[:1]
    yield from paths[:0:-1][:1]
    halves = [(0, len(paths) - 1)]
    for first, last in halves:
        middle = (first + last) // 2
        if middle > first:
            yield paths[middle]
            halves += [(first, middle), (middle, last)]


def _in_turn(groups: Sequence[Sequence[str]]) -> Iterator[str]:
    for turn in range(max(map(len, groups), default=0)):
        yield from (group[turn] for group in groups if turn < len(group))
