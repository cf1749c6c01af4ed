"""The stage of a build that looks at pages with a browser, as ``[browser]`` asks for."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from adaptc.browser.answers import docroot_server
from adaptc.browser.chromium import NAMES, Chromium, find_chromium, in_chromium
from adaptc.browser.look import NotSeen, look_at
from adaptc.browser.tab import BrowserError
from adaptc.compile.engine.look_records import LookRecords, Outcome, look_recipe
from adaptc.compile.engine.reporting import LOOKING, Progress
from adaptc.compile.engine.results import pack_diagnostics
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state import State
from adaptc.compile.engine.store import Store
from adaptc.config.config import ALL_PAGES
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_parts
from adaptc.core.model import Role
from adaptc.core.urls import SiteAddress
from adaptc.site.site import Site, Source

# Pages that are looked at side by side, and how often a browser that ended is started again
TABS, MOST_STARTS = 4, 3
_LOSS = "pages are built without what it would see"
_SKELETON = (Role.STYLESHEET.value, Role.SCRIPT.value, Role.MODULE.value)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at pages gave: the keys of evidence by path. ``is_blind`` says that the browser failed."""

    evidence: dict[str, str]
    is_blind: bool


def look_at_pages(spec: BuildSpec, state: State, sources: Mapping[str, Source], progress: Progress) -> Looked:
    """Look at the pages that ``[browser]`` asks for.

    What goes wrong costs pages their evidence, no more; the diagnostics are in the state (``looking_diagnostics``).
    """
    pages = chosen_pages(state, sources, spec.config.browser.pages)
    stage = LookStage(spec, sources)
    evidence = stage.run(pages, progress) if pages else {}
    state.set_meta(LOOKING, pack_diagnostics(tuple(stage.diagnostics)) or None)
    return Looked(evidence, any(diagnostic.location is None for diagnostic in stage.diagnostics))


def chosen_pages(state: State, sources: Mapping[str, Source], count: int | str) -> list[str]:
    """Return ``count`` pages of each template, or all. The choice does not change when other pages come and go."""
    templates: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, facts in state.facts():
        source = sources.get(path)
        if source is not None and source.media_type == media.HTML and source.alias_of is None:
            templates[tuple(sorted({file for role, file in facts.embeds if role in _SKELETON}))].append(path)
    if count != ALL_PAGES:
        templates = {key: sorted(pages, key=digest_parts)[: int(count)] for key, pages in templates.items()}
    return sorted(path for pages in templates.values() for path in pages)


@dataclass
class LookStage:
    """Looks at pages of ``sources``. ``diagnostics`` has what went wrong."""

    spec: BuildSpec
    sources: Mapping[str, Source]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def run(self, pages: Iterable[str], progress: Progress) -> dict[str, str]:
        """Return the keys of the evidence of ``pages``, as far as there is any."""
        wanted = self.spec.config.browser.program
        program = find_chromium(wanted)
        if program is None:
            self.diagnostics.append(diagnose("browser-missing", names=wanted or ", ".join(NAMES), loss=_LOSS))
            return {}
        try:
            records = self._records(program)
        except BrowserError as error:
            self._note_failure(program, error)
            return {}
        outcomes = {path: records.known(path) for path in pages}
        visit = _Visit(self.spec, records, [path for path, outcome in outcomes.items() if outcome is None])
        if visit.pending:
            progress.begin("looking", len(visit.pending), 0)
            try:
                in_chromium(program, visit.run, lambda done: progress.advance(done, 0, 0))
            except BrowserError as error:
                self._note_failure(program, error)
            progress.end()
        return dict(self._evidence({**outcomes, **visit.outcomes}))

    def _evidence(self, outcomes: Mapping[str, Outcome | None]) -> Iterator[tuple[str, str]]:
        for path, outcome in sorted(outcomes.items()):
            if outcome is not None and outcome.key is not None:
                yield path, outcome.key
            elif outcome is not None:
                self.diagnostics.append(diagnose("page-not-seen", Location(path), reason=outcome.reason))

    def _note_failure(self, program: str, reason: BrowserError) -> None:
        self.diagnostics.append(diagnose("browser-failed", program=program, reason=reason, loss=_LOSS))

    def _records(self, program: str) -> LookRecords:
        site = self.spec.config.site
        settings = {"base_url": site.base_url, "index": site.index, "csp": site.csp}
        recipe = look_recipe(major_version(program), settings)
        address = SiteAddress(site.base_url)
        return LookRecords(Store(self.spec.cache), Site.of(self.sources, address, site.index), recipe)


def major_version(program: str) -> str:
    """Return the major version of a browser: "156". Raises ``BrowserError``."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrowserError(str(error)) from None
    found = re.search(r"(\d+)\.\d", said.stdout)
    if found is None:
        raise BrowserError("it does not say its version")
    return found[1]


class _Visit:
    """A visit of a browser to the pages ``pending``; their ``outcomes`` are stored as they come."""

    def __init__(self, spec: BuildSpec, records: LookRecords, pending: list[str]) -> None:
        self.records, self.pending = records, pending
        csp = spec.config.site.csp
        self.server = docroot_server(spec.docroot, records.site, {"Content-Security-Policy": csp} if csp else {})
        self.outcomes: dict[str, Outcome] = {}
        self._starts = 0

    async def run(self, browser: Chromium) -> None:
        """Look at the pages, several side by side. Raises ``BrowserError``."""
        failures: list[BrowserError] = []
        left = iter(self.pending)

        async def lane() -> None:
            for path in left:
                if failures:
                    return
                try:
                    self.outcomes[path] = await self._outcome(browser, path)
                except BrowserError as error:
                    failures.append(error)
                browser.advance(1)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(TABS, len(self.pending))):
                group.create_task(lane())
        if failures:
            raise failures[0]

    async def _outcome(self, browser: Chromium, path: str) -> Outcome:
        while True:
            try:
                url = self.records.site.address.url_of(path)
                return self.records.put(path, await look_at(browser, self.server, url, self.records.path_of))
            except NotSeen as reason:
                if reason.is_final:
                    self.records.put_failure(path, reason.urls, str(reason))
                return Outcome(None, str(reason))
            except BrowserError:
                self._starts += 1
                if self._starts > MOST_STARTS:
                    raise
