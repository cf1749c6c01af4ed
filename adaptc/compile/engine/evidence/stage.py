"""The stage of a build that looks at pages with a browser, as ``[browser]`` asks for."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from adaptc.browser import find_chromium, names_tried
from adaptc.browser.answers import Answer, Server, docroot_server, file_at
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import code_digest
from adaptc.browser.look import Look, NotSeen, look_at
from adaptc.browser.script_coverage import ScriptCoverage
from adaptc.browser.tab import BrowserError
from adaptc.compile.analyse.decisions import EvidenceKey, evidence_of
from adaptc.compile.engine.cache.derived import PageEvidenceStore
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.compile.engine.evidence.page_templates import Templates
from adaptc.compile.engine.evidence.scripts_seen import store_scripts_seen
from adaptc.compile.engine.reporting import LOOKING, BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import pack_diagnostics
from adaptc.compile.engine.state.state import State
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_parts
from adaptc.core.urls import SiteAddress
from adaptc.core.values import astuple, dataclass, replace
from adaptc.site.header_rules import PageHeaders
from adaptc.site.host_files import host_rules
from adaptc.site.site import Site, Source

# ---- what is known of pages that a browser looked at before, in the cache

# Of a file that a page asked for, and that there is not; of others a record has the digest, as which they must be
_MISSING = ""
# Looks that failed for lack of time or memory, after which another is not worth it
_MOST_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a look at a page: the key of its evidence, or why there is none, and how much of its scripts ran.

    ``is_sure`` says that the next build need not look again.
    """

    key: str | None
    reason: str | None = None
    scripts: tuple[ScriptCoverage, ...] = ()
    is_sure: bool = True


class LookRecords:
    """Reads and writes the records of the pages of ``site``; ``recipe`` is what else evidence depends on."""

    def __init__(self, store: Store, site: Site, recipe: str) -> None:
        self.store, self.site, self.recipe = store, site, recipe
        self.page_evidence = PageEvidenceStore(store)
        self.path_of = cache(partial(file_at, site))

    def known(self, path: str) -> Outcome | None:
        """Return the outcome of the last look at a page, if it would have the same now."""
        record: Any = self.store.record(self._key(path))
        if record is None or self._loads(record["loads"]) != record["loads"] or 0 < record["unsure"] < _MOST_LOOKS:
            return None
        scripts = tuple(ScriptCoverage(*script) for script in record["scripts"])
        outcome = Outcome(record["evidence"], record["reason"], scripts)
        return outcome if outcome.key is None or self._is_complete(outcome.key) else None

    def _is_complete(self, key: str) -> bool:
        """Whether the cache still has all of the evidence."""
        try:
            evidence = self.page_evidence.read(key)
        except ObjectGone:
            return False
        return all(each is None or self.store.has(each) for each in (evidence.document, evidence.written))

    def put(self, path: str, look: Look) -> Outcome:
        """Store what was seen of a page."""
        stored = (None if each is None else self.store.put(each) for each in (look.document, look.written))
        key = self.page_evidence.put(look.evidence_with(*stored))
        return self._put(path, look.urls, Outcome(key, scripts=look.scripts, is_sure=look.is_sure))

    def put_failure(self, path: str, reason: NotSeen) -> Outcome:
        """Store that a page cannot be looked at; what may be the machine's fault counts once it has failed often."""
        return self._put(path, reason.urls, Outcome(None, str(reason), is_sure=reason.is_final))

    def _put(self, path: str, urls: Iterable[str], outcome: Outcome) -> Outcome:
        before: Any = None if outcome.is_sure else self.store.record(self._key(path))
        unsure = 0 if outcome.is_sure else 1 + (before["unsure"] if before is not None else 0)
        record = {
            "loads": self._loads(sorted(urls)),
            "evidence": outcome.key,
            "reason": outcome.reason,
            "scripts": [astuple(script) for script in outcome.scripts],
            "unsure": unsure,
        }
        self.store.put_record(self._key(path), record)
        return replace(outcome, is_sure=unsure in (0, _MOST_LOOKS))

    def _key(self, path: str) -> str:
        return digest_parts("look", "2", self.recipe, self.site.url_for_readers(path), self.site.sources[path].digest)

    def _loads(self, urls: Iterable[str]) -> dict[str, str]:
        return {url: self._file_digest(self.path_of(url)) for url in urls}

    def _file_digest(self, path: str | None) -> str:
        """Return what identifies the answer that the browser gets."""
        source = self.site.sources.get(path) if path is not None else None
        return _MISSING if source is None else f"{path} {source.digest} {source.media_type}"


def look_recipe(version: str, settings: Mapping[str, Any]) -> str:
    """Return the digest of what evidence depends on: the code, the browser's version, settings of the site."""
    return digest_parts(code_digest(), version, repr(sorted(settings.items())))


# Pages that are looked at side by side, and how often a browser that ended is started again
TABS, MOST_STARTS = 4, 3
_LOSS = "pages are built without what it would see"


class LookStage:
    """Looks at pages of ``templates``. What goes wrong costs pages their evidence, no more.

    The build can go on with ``expected`` evidence until ``run`` has looked at the ``pending`` pages.
    """

    def __init__(self, spec: BuildSpec, state: State, sources: Mapping[str, Source], templates: Templates) -> None:
        self.spec, self.state, self.sources, self.templates = spec, state, sources, templates
        self.diagnostics: list[Diagnostic] = []
        self.outcomes: dict[str, Outcome] = {}
        self.program = ""
        self._records: LookRecords | None = None
        pages = templates.chosen()
        if pages:
            self._open_records()
        if self._records is not None:
            known = {path: self._records.known(path) for path in pages}
            self.outcomes = {path: outcome for path, outcome in known.items() if outcome is not None}
        self.pending = [path for path in pages if path not in self.outcomes]

    def _open_records(self) -> None:
        wanted = self.spec.config.browser.program
        program = find_chromium(wanted)
        if program is None:
            self.diagnostics.append(diagnose("browser-missing", names=names_tried(wanted), loss=_LOSS))
            return
        site, self.program = self.spec.config.site, program
        settings: dict[str, object] = {"base_url": site.base_url, "index": site.index, "csp": site.csp}
        settings["compares"] = self.spec.compares
        if self.spec.settings.bounds.parts:
            settings["bounds"] = self.spec.settings.bounds
        if binding := host_rules(self.spec.config, self.spec.docroot, self.sources, is_exported=False).binding():
            settings["hosts"] = binding
        try:
            recipe = look_recipe(major_version(program), settings)
        except BrowserError as error:
            self._note_failure(error)
            return
        linked = self.state.linked_paths()
        own = Site.of(self.sources, SiteAddress(site.base_url), site.index, linked=linked)
        self._records = LookRecords(Store(self.spec.cache), own, recipe)

    def expected(self) -> dict[str, EvidenceKey]:
        """Return the evidence by path; of ``pending`` pages, and others like them, that of the last build."""
        pending = set(self.pending)
        like = {path for each in self.templates.templates if pending & set(each.chosen) for path in each.others}
        last = {path: key for path, key in evidence_of(self.state.decisions()).items() if path in pending | like}
        return {**self.known(), **last}

    def run(self, progress: Progress, advance: Callable[[], None]) -> dict[str, EvidenceKey]:
        """Look at the pending pages; return the evidence by path. ``advance`` is called after each page."""
        if self.pending and self._records is not None:
            visit = Visit(self.spec, self._records, self.pending, self.outcomes)

            def note(pages: int) -> None:
                progress.advance(pages, 0, 0)
                advance()

            progress.begin("looking", len(self.pending), 0)
            try:
                in_chromium(self.program, visit.run, note)
            except BrowserError as error:
                self._note_failure(error)
            progress.end()
        return self.known()

    def known(self) -> dict[str, EvidenceKey]:
        """Return the evidence by path: of pages that were looked at, and what that says of others."""
        keys = {path: outcome.key for path, outcome in sorted(self.outcomes.items())}
        seen = {path: EvidenceKey(key) for path, key in keys.items() if key is not None}
        if self._records is None:
            return seen
        return {**self.templates.inferred(seen, self._records.site, self._records.page_evidence), **seen}

    def _note_failure(self, reason: BrowserError) -> None:
        self.diagnostics.append(diagnose("browser-failed", program=self.program, reason=reason, loss=_LOSS))

    def record(self, report: BuildReport, evidence: Mapping[str, EvidenceKey]) -> None:
        """Record the diagnostics in the state (``looking_diagnostics``), what scripts ran, and what pages load by them.

        A browser that failed is tried again, and so are looks that may have lacked time.
        """
        report.is_blind = bool(self.diagnostics) or not all(outcome.is_sure for outcome in self.outcomes.values())
        unseen = [
            diagnose("page-not-seen", Location(path), reason=outcome.reason)
            for path, outcome in sorted(self.outcomes.items())
            if outcome.key is None
        ]
        self.state.set_meta(LOOKING, pack_diagnostics((*self.diagnostics, *unseen)) or None)
        store, scripts = self._records, (outcome.scripts for outcome in self.outcomes.values())
        loaded = {path: store.page_evidence.read(each.key).loaded for path, each in evidence.items()} if store else {}
        store_scripts_seen(self.state, scripts, loaded)


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


class Visit:
    """A visit of a browser to the pages ``pending``; what comes of it is stored, and noted in ``outcomes``."""

    def __init__(
        self, spec: BuildSpec, records: LookRecords, pending: Sequence[str], outcomes: dict[str, Outcome]
    ) -> None:
        self.records, self.pending, self.outcomes = records, pending, outcomes
        self.bounds, self.compares = spec.settings.bounds, spec.compares
        headers = PageHeaders(
            spec.config.site.csp, host_rules(spec.config, spec.docroot, records.site.sources, is_exported=False)
        )
        self.server = docroot_server(spec.docroot, records.site, headers)
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

    def _server_of(self, page: str) -> Server:
        """Return what answers a page: its scripts get no file that visitors of the page may not read."""
        if not self.bounds.parts:
            return self.server
        inside = self.bounds.inside(page)

        def answer(url: str) -> Answer | None:
            path = self.records.path_of(url)
            return None if path is not None and self.bounds.between(path, inside) is not None else self.server(url)

        return answer

    async def _outcome(self, browser: Chromium, path: str) -> Outcome:
        while True:
            try:
                site, path_of = self.records.site, self.records.path_of
                url, home = site.url_for_readers(path), site.address.base
                seen = await look_at(browser, self._server_of(path), url, path_of, home, compares=self.compares)
                return self.records.put(path, seen)
            except NotSeen as reason:
                return self.records.put_failure(path, reason)
            except BrowserError:
                self._starts += 1
                if self._starts > MOST_STARTS:
                    raise
