"""The documents of a build, ``manifest.json`` and ``report.html``: written only if they would differ."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.decisions import evidence_of
from adaptc.compile.analyse.demotions import demotions_of
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.evidence.scripts_seen import loaded_files, scripts_seen
from adaptc.compile.engine.proof.records import ProofRecord, last_proof, proof_diagnostics, proven_views
from adaptc.compile.engine.reporting import looking_diagnostics
from adaptc.compile.engine.state.damage import MALFORMED, discard, is_damage
from adaptc.config.config import CostConfig, recipe_text, with_severities
from adaptc.config.rulebook import Level
from adaptc.core.diagnostics import Diagnostic, Severity
from adaptc.core.digest import digest_parts
from adaptc.core.fs import write_atomic
from adaptc.core.media import HTML
from adaptc.core.sync import sync_each
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.report.figures import (
    GROUPS,
    SAMPLES,
    BrowserFigures,
    CodingFigures,
    DiagnosticFigures,
    DictionaryFigures,
    FileFigures,
    LevelFigures,
    PageShots,
    ScriptFigures,
    SiteFigures,
    TrafficFigures,
    TypeFigures,
    VisitFigures,
    capacity_factor,
)
from adaptc.report.ledger import Ledger, LevelSums
from adaptc.report.manifest import MANIFEST

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import DeliveryCost
    from adaptc.compile.analyse.popularity import Traffic
    from adaptc.compile.engine.dictionaries.records import LevelRecord
    from adaptc.compile.engine.reporting import BuildReport, Progress
    from adaptc.compile.engine.spec import BuildSpec
    from adaptc.compile.engine.state.state import State
    from adaptc.core.model import Resource
    from adaptc.report.entries import Entries, ManifestText
    from adaptc.report.ledger import Ledger

REPORT = "report.html"
LEDGER = "ledger.sqlite"


@dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Writes the documents of the build that ``report`` describes, with screenshots of ``screenshots`` pages."""

    spec: BuildSpec
    state: State
    report: BuildReport
    progress: Progress
    screenshots: int = 0

    def write(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        """Write the documents that would differ; return the figures and all diagnostics."""
        figures, stored = self._figures_and_diagnostics()
        self.state.set_meta("docroot", os.path.abspath(self.spec.docroot))
        self.state.set_meta("unbuilt", self.report.unbuilt)
        diagnostics = self._diagnostics(stored)
        counted = diagnostic_figures(diagnostics)
        return dataclasses.replace(figures, screenshots=(), diagnostics=counted), diagnostics

    def _figures_and_diagnostics(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        try:
            return self._last_figures() or self._write()
        except (sqlite3.DatabaseError, *MALFORMED) as error:
            if isinstance(error, sqlite3.Error) and not is_damage(error):
                raise
        discard(self._ledger_path)  # if it is the state that is damaged, the next try finds out
        return self._write()

    def _last_figures(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]] | None:
        """Return figures and diagnostics of the last build, ``None`` where its documents must be replaced."""
        if self.report.has_work or self.report.failures or self.screenshots:
            return None
        last, output = self.state.meta("build"), self.spec.output
        has_documents = (output / MANIFEST).exists() and (output / REPORT).exists()
        if not has_documents or not last or last["key"] != self._key(self._reported()):
            return None
        with self._ledger() as ledger:
            stored = ledger.diagnostics() if ledger.record == self.state.meta("documents") else None
        return None if stored is None else (unpack_figures(last["figures"], stored), stored)

    @contextlib.contextmanager
    def _ledger(self) -> Iterator[Ledger]:
        with contextlib.closing(Ledger(self._ledger_path)) as ledger:
            yield ledger
            ledger.leave()

    @property
    def _ledger_path(self) -> Path:
        return self.spec.private / LEDGER

    def _key(self, *parts: str) -> str:
        """Return a digest of everything in the documents that is not in the state, and of ``parts``."""
        config, traffic = self.spec.config, self.report.traffic
        return digest_parts(
            VERSION,
            recipe_text(config),
            repr(config.diagnostics),
            repr([level.name for level in self.spec.levels]),
            self.spec.docroot.name,
            repr(traffic and (traffic.share, traffic.hits)),
            repr(loaded_files(self.state)),
            *parts,
        )

    def _reported(self) -> str:
        return repr((self._own_diagnostics(), last_proof(self.state), proven_views(self.state)))

    def _own_diagnostics(self) -> list[Diagnostic]:
        """Return the diagnostics that are neither of a source nor of a unit."""
        report, seen = self.report, (*looking_diagnostics(self.state), *proof_diagnostics(self.state))
        return [*report.load_diagnostics, *report.failures, *seen]

    def _diagnostics(self, stored: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        return tuple(with_severities([*self._own_diagnostics(), *stored], self.spec.config))

    # ---- writing

    def _write(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        """Write manifest and report; return the figures and the diagnostics of sources and units."""
        import tempfile

        from adaptc.report.collector import Collector
        from adaptc.report.entries import Entries, status_of

        report, spec = self.report, self.spec
        hits = report.traffic.hits if report.traffic else {}
        collector = Collector(self.state, report.resources, spec.levels, hits)
        with self._ledger() as ledger:
            last = self.state.meta("documents")
            with tempfile.TemporaryFile(dir=spec.private / "tmp") as every:
                entries = Entries(collector, ledger, spec.config.cost, every)
                ledger.begin()
                entries.update(self._last_rows(ledger, last))
                stored = ledger.diagnostics()
                figures = self._figures(ledger, stored)
                digest = self._write_manifest(entries, ledger, figures)
                record = {"key": self._key(), "manifest": digest, "status": status_of(spec.output / MANIFEST)}
                ledger.commit(record)
            if self.screenshots:
                shots = self._screenshots(ledger)
                kinds = diagnostic_figures(self._diagnostics(stored))
                figures = dataclasses.replace(figures, screenshots=shots, diagnostics=kinds)
            self._write_report(figures, ledger)
        sync_each((os.fspath(spec.output),))
        self.state.note_documents(record)
        key = self._key(self._reported())
        self.state.set_meta("build", {"key": key, "figures": pack_figures(figures)})
        return figures, stored

    def _last_rows(self, ledger: Ledger, last: dict[str, str] | None) -> ManifestText | None:
        """Return the rows of the last manifest if only what was touched since must be written anew."""
        from adaptc.report.entries import read_rows

        if last is None or ledger.record != last or last["key"] != self._key():
            return None
        return read_rows(self.spec.output / MANIFEST, last["manifest"], last.get("status", ""))

    def _write_manifest(self, entries: Entries, ledger: Ledger, figures: SiteFigures) -> str:
        """Write the manifest; return its digest."""
        from adaptc.report.manifest_writer import manifest_chunks, manifest_head

        spec = self.spec
        head = manifest_head(spec.levels, spec.recipes, spec.config.site.base_url, figures)
        digest = hashlib.sha256()

        def digested() -> Iterator[bytes]:
            for chunk in manifest_chunks(head, entries.text(), ledger):
                digest.update(chunk)
                yield chunk

        write_atomic(os.fspath(spec.output / MANIFEST), digested(), keep_equal=True, durable=True)
        return digest.hexdigest()

    def _write_report(self, figures: SiteFigures, ledger: Ledger) -> None:
        from adaptc.report.comparisons import ProofViews
        from adaptc.report.html_report import stream_report

        demotions = demotions_of(self.state.decisions())
        proven = ProofViews.of(proven_views(self.state), demotions, Store(self.spec.cache).content)
        chunks = _encoded(stream_report(figures, ledger, proven=proven))
        write_atomic(os.fspath(self.spec.output / REPORT), chunks, keep_equal=True, durable=True)

    def _figures(self, ledger: Ledger, stored: tuple[Diagnostic, ...]) -> SiteFigures:
        from adaptc.report.html_report import site_name

        config, report = self.spec.config, self.report
        cost, (files, size, pages) = config.cost, self.state.totals(HTML)
        home_pages = [name for name in config.site.index if name in report.resources]
        return SiteFigures(
            site_name(self.spec.docroot, home_pages) or config.site.base_url or self.spec.docroot.name,
            files,
            pages,
            size,
            level_figures(ledger, self.spec.levels, cost, weighs_views=bool(report.traffic and report.traffic.hits)),
            diagnostic_figures(self._diagnostics(stored)),
            VERSION,
            config.build.effort,
            cost.request_ms,
            cost.kilobyte_ms,
            _traffic_figures(report.traffic),
            view_ms=cost.view_ms,
            dictionaries=tuple(_dictionary_figures(self.state, self.spec.cost)),
            browser=_browser_figures(self.state, report.resources.values()) if config.browser.pages else None,
            proof=last_proof(self.state),
            scripts=_script_figures(self.state, ledger, self.spec.levels[0].name),
        )

    def _screenshots(self, ledger: Ledger) -> tuple[PageShots, ...]:
        """Take screenshots of pages; a failure becomes a diagnostic of the report."""
        from adaptc.report.screenshots import Trees, sample_pages, take_screenshots
        from adaptc.site.docroot import site_of
        from adaptc.site.header_rules import PageHeaders
        from adaptc.site.host_files import host_rules

        spec, config = self.spec, self.spec.config
        levels = tuple(level.name for level in spec.levels)
        site = site_of(config, self.report.resources, self.state.linked_paths())
        headers = PageHeaders(config.site.csp, host_rules(config, spec.docroot, self.report.resources))
        trees = Trees(spec.output, spec.docroot, levels, site, headers, config.browser.program)
        pages = sample_pages(ledger.pages(), levels[0], self.screenshots)
        shots, diagnostics = take_screenshots(trees, pages, self.progress)
        self.report.load_diagnostics.extend(diagnostics)
        return shots


# Characters that are written to a file at once: a template yields a piece for each expression
_WRITTEN = 1 << 16


def _encoded(chunks: Iterator[str]) -> Iterator[bytes]:
    """Yield text as UTF-8, in larger pieces than it comes."""
    pieces, size = list[str](), 0
    for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size >= _WRITTEN:
            yield "".join(pieces).encode("utf-8", "replace")
            pieces, size = [], 0
    yield "".join(pieces).encode("utf-8", "replace")


def _traffic_figures(traffic: Traffic | None) -> TrafficFigures | None:
    if traffic is None or not traffic.hits:
        return None
    return TrafficFigures(traffic.views, len(traffic.hits), len(traffic.popular), traffic.share)


def _browser_figures(state: State, resources: Iterable[Resource]) -> BrowserFigures:
    pages = [each.path for each in resources if each.media_type == HTML and each.alias_of is None]
    known = evidence_of(state.decisions())
    inferred = sum(bool(known[path].like) for path in pages if path in known)
    seen = sum(path in known for path in pages) - inferred
    return BrowserFigures(seen, inferred, len(pages) - seen - inferred)


# Scripts of which it is said that little of them runs
_SCRIPTS = 3


def _script_figures(state: State, ledger: Ledger, level: str) -> tuple[ScriptFigures, ...]:
    found = [
        ScriptFigures(path, ledger.transfer(path, (level,)), script.share, script.pages)
        for path, script in scripts_seen(state).items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.transfer * (1 - each.share), each.path))[:_SCRIPTS])


def _dictionary_figures(state: State, cost: DeliveryCost) -> Iterator[DictionaryFigures]:
    from adaptc.compile.engine.dictionaries.records import dictionary_records

    for level, record in dictionary_records(state).items():
        sizes = (record.size, record.sent, record.first, record.next)
        visit = _visit_figures(record, cost) if record.path else None
        yield DictionaryFigures(level, record.path, record.digest, *sizes, record.reason, visit)


def _visit_figures(record: LevelRecord, cost: DeliveryCost) -> VisitFigures:
    from adaptc.compile.analyse.dictionary_search import Visit

    visit = Visit(cost, record.first, record.next, record.sent)
    return VisitFigures(cost.pages_per_visit, visit.first, visit.later, visit.without, visit.mean)


# ---- the figures of a build as JSON, for a later run that finds nothing to do


def pack_figures(figures: SiteFigures) -> dict[str, Any]:
    """Return a build's figures, without its diagnostics and pictures, as JSON values."""
    return dataclasses.asdict(dataclasses.replace(figures, diagnostics=(), screenshots=()))


def unpack_figures(values: dict[str, Any], diagnostics: tuple[Diagnostic, ...]) -> SiteFigures:
    """Return the figures that ``pack_figures`` packed, with these diagnostics."""
    plain = {**values, "levels": tuple(map(_level, values["levels"]))}
    plain["diagnostics"] = diagnostic_figures(diagnostics)
    plain["dictionaries"] = tuple(map(_dictionary, plain["dictionaries"]))
    plain["traffic"] = plain["traffic"] and TrafficFigures(**plain["traffic"])
    plain["browser"] = plain["browser"] and BrowserFigures(**plain["browser"])
    plain["proof"] = plain["proof"] and ProofRecord(**plain["proof"])
    plain["scripts"] = tuple(ScriptFigures(*row) for row in plain["scripts"])
    return SiteFigures(**plain)


def _dictionary(values: dict[str, Any]) -> DictionaryFigures:
    return DictionaryFigures(**{**values, "visit": values["visit"] and VisitFigures(**values["visit"])})


def _level(values: dict[str, Any]) -> LevelFigures:
    codings = tuple(CodingFigures(**row) for row in values["bytes_by_coding"])
    types = tuple(TypeFigures(**row) for row in values["bytes_by_type"])
    heaviest = tuple(FileFigures(*row) for row in values["heaviest"])
    return LevelFigures(**{**values, "bytes_by_coding": codings, "bytes_by_type": types, "heaviest": heaviest})


def diagnostic_figures(diagnostics: tuple[Diagnostic, ...]) -> tuple[DiagnosticFigures, ...]:
    """Count diagnostics by id and keep the first of each."""
    groups: dict[tuple[Severity, str], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        groups.setdefault((diagnostic.severity, diagnostic.id), []).append(diagnostic)
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    order = sorted(groups, key=lambda key: (ranks[key[0]], key[1]))
    return tuple(
        DiagnosticFigures(kind, severity, len(groups[severity, kind]), tuple(groups[severity, kind][:SAMPLES]))
        for severity, kind in order
    )


# ---- the figures of levels, from the sums of the ledger

_NOTHING = LevelSums(0, (), {})


def level_figures(
    ledger: Ledger, levels: Sequence[Level], cost: CostConfig, *, weighs_views: bool
) -> tuple[LevelFigures, ...]:
    """Return the figures of each level, those of the highest quality first.

    With ``weighs_views`` the means are over the views of pages and not over pages.
    """
    sums, times = ledger.sums(weighs_views), max(ledger.times(weighs_views), 1)
    first = sums.get(levels[0].name, _NOTHING)
    embedded = embedded_files(ledger, levels[0].name, times, weighs_views=weighs_views)
    return tuple(
        _level_figures(level, sums.get(level.name, _NOTHING), first, embedded.get(level.name, NOTHING), times, cost)
        for level in levels
    )


def _level_figures(
    level: Level, sums: LevelSums, first: LevelSums, embedded: Embedded, times: int, cost: CostConfig
) -> LevelFigures:
    factor = capacity_factor(
        sums.requests / times,
        sums.transfer / times,
        first.requests / times,
        first.transfer / times,
        request_ms=cost.request_ms,
        kilobyte_ms=cost.kilobyte_ms,
        view_ms=cost.view_ms,
    )
    return LevelFigures(
        level.name,
        level.number,
        sums.files,
        sum(kind.bytes_after for kind in sums.kinds.values()),
        sums.codings,
        tuple(sums.kinds[name] for name in GROUPS if name in sums.kinds),
        sums.requests / times,
        sums.identity / times,
        sums.transfer / times,
        factor,
        sums.pages,
        1 + embedded.requests,
        sums.own_transfer / times + embedded.transfer,
        embedded.heaviest,
    )


# ---- what pages embed: what the next page of a visit fetches, and which files have most bytes

_HEAVIEST = 3


@dataclass(frozen=True, slots=True)
class Embedded:
    """Requests and bytes of files that a page embeds and the one before it in a visit does not: means.

    ``heaviest`` are the files with most bytes of a mean page, the heaviest first.
    """

    requests: float = 0.0
    transfer: float = 0.0
    heaviest: tuple[FileFigures, ...] = ()


NOTHING = Embedded()


def embedded_files(ledger: Ledger, first: str, times: int, *, weighs_views: bool) -> Mapping[str, Embedded]:
    """Return what pages embed by level; a file that a level does not have is that of the level ``first``.

    Both pages are drawn by their views (``times`` in all): a file that n of N embed is fetched for a page and was not
    for the one before it with the probability n/N (1 - n/N).
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for level, paths, count in ledger.embedding(weighs_views=weighs_views):
        for path in paths:
            counts[level][path] += count
    return {level: _embedded(ledger, (level, first), found, times) for level, found in counts.items()}


def _embedded(ledger: Ledger, levels: tuple[str, str], counts: Counter[str], times: int) -> Embedded:
    files = [FileFigures(path, ledger.transfer(path, levels), count / times) for path, count in counts.items()]
    files.sort(key=lambda file: (-file.transfer * file.share, file.path))
    return Embedded(
        sum(file.share * (1 - file.share) for file in files),
        sum(file.share * (1 - file.share) * file.transfer for file in files),
        tuple(files[:_HEAVIEST]),
    )
