"""The documents of a build, ``manifest.json`` and ``report.html``: written only if they would differ."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.config.config import recipe_text, with_severities
from adaptc.core.diagnostics import Diagnostic, Severity
from adaptc.core.digest import digest_parts
from adaptc.core.fs import write_atomic
from adaptc.core.media import HTML
from adaptc.core.version import VERSION
from adaptc.report.figures import (
    SAMPLES,
    CodingFigures,
    DiagnosticFigures,
    LevelFigures,
    PageShots,
    SiteFigures,
    TrafficFigures,
    TypeFigures,
)
from adaptc.report.manifest import MANIFEST

REPORT = "report.html"

if TYPE_CHECKING:
    from adaptc.compile.analyse.popularity import Traffic
    from adaptc.compile.engine.reporting import BuildReport, Progress
    from adaptc.compile.engine.spec import BuildSpec
    from adaptc.compile.engine.state import State
    from adaptc.report.collector import Collector


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Writes the documents of the build that ``report`` describes, with screenshots of ``screenshots`` pages."""

    spec: BuildSpec
    state: State
    report: BuildReport
    progress: Progress
    screenshots: int = 0

    def write(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        """Write the documents that would differ; return the figures, without pages, and all diagnostics."""
        figures, stored = self._last_figures() or self._write()
        self.state.set_meta("docroot", os.path.abspath(self.spec.docroot))
        self.state.set_meta("unbuilt", self.report.unbuilt)
        diagnostics = self._diagnostics(stored)
        return _without_pages(figures, diagnostics), diagnostics

    def _last_figures(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]] | None:
        """Return figures and diagnostics of the last build, ``None`` where its documents must be replaced."""
        if self.report.has_work or self.report.failures or self.screenshots:
            return None
        last, output = self.state.meta("build"), self.spec.output
        has_documents = (output / MANIFEST).exists() and (output / REPORT).exists()
        return unpack_build(last) if has_documents and last and last["key"] == self._key() else None

    def _key(self) -> str:
        """Return a digest of everything in the documents that is not in the state."""
        config, traffic = self.spec.config, self.report.traffic
        return digest_parts(
            VERSION,
            recipe_text(config),
            repr(config.diagnostics),
            repr(self.report.load_diagnostics),
            self.spec.docroot.name,
            repr(traffic and (traffic.share, traffic.hits)),
        )

    def _diagnostics(self, stored: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        return tuple(with_severities([*self.report.load_diagnostics, *self.report.failures, *stored], self.spec.config))

    # ---- writing

    def _write(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        """Write manifest and report; return the figures and the diagnostics of sources and units."""
        from adaptc.report.collector import Collector

        report, spec = self.report, self.spec
        hits = report.traffic.hits if report.traffic else {}
        collector = Collector(self.state, report.resources, spec.levels, hits)
        stored = tuple(collector.diagnostics)
        figures = self._figures(collector, stored)
        self._write_manifest(collector, figures)
        if self.screenshots:
            shots = self._screenshots(collector)
            kinds = diagnostic_figures(self._diagnostics(stored))
            figures = dataclasses.replace(figures, pages=collector.pages(), screenshots=shots, diagnostics=kinds)
        self._write_report(figures)
        self.state.set_meta("build", {"key": self._key(), **pack_build(figures, stored)})
        return figures, stored

    def _write_manifest(self, collector: Collector, figures: SiteFigures) -> None:
        from adaptc.report.manifest_writer import manifest_chunks

        spec, base_url = self.spec, self.spec.config.site.base_url
        resources = self.report.resources
        chunks = manifest_chunks(self.state, resources, spec.levels, spec.recipes, base_url, collector, figures)
        write_atomic(os.fspath(spec.output / MANIFEST), chunks, keep_equal=True)

    def _write_report(self, figures: SiteFigures) -> None:
        from adaptc.report.html_report import stream_report

        write_atomic(os.fspath(self.spec.output / REPORT), _encoded(stream_report(figures)), keep_equal=True)

    def _figures(self, collector: Collector, stored: tuple[Diagnostic, ...]) -> SiteFigures:
        config, report = self.spec.config, self.report
        cost, resources = config.cost, report.resources.values()
        return SiteFigures(
            config.site.base_url or self.spec.docroot.name,
            len(report.resources),
            sum(resource.media_type == HTML for resource in resources),
            sum(resource.size for resource in resources),
            collector.level_figures(cost.request_ms, cost.kilobyte_ms),
            collector.pages(),
            diagnostic_figures(self._diagnostics(stored)),
            VERSION,
            config.build.effort,
            cost.request_ms,
            cost.kilobyte_ms,
            _traffic_figures(report.traffic),
        )

    def _screenshots(self, collector: Collector) -> tuple[PageShots, ...]:
        """Take screenshots of pages; a failure becomes a diagnostic of the report."""
        from adaptc.report.screenshots import Trees, sample_pages, take_screenshots
        from adaptc.site.docroot import site_of

        spec, config = self.spec, self.spec.config
        levels = tuple(level.name for level in spec.levels)
        trees = Trees(spec.output, spec.docroot, levels, site_of(config, self.report.resources), config.site.csp)
        pages = sample_pages(collector.pages(), levels[0], self.screenshots)
        shots, diagnostics = take_screenshots(trees, pages, self.progress)
        self.report.load_diagnostics.extend(diagnostics)
        return shots


def _without_pages(figures: SiteFigures, diagnostics: tuple[Diagnostic, ...]) -> SiteFigures:
    return dataclasses.replace(figures, pages=(), screenshots=(), diagnostics=diagnostic_figures(diagnostics))


def _encoded(chunks: Iterator[str]) -> Iterator[bytes]:
    return (chunk.encode("utf-8", "replace") for chunk in chunks)


def _traffic_figures(traffic: Traffic | None) -> TrafficFigures | None:
    if traffic is None or not traffic.hits:
        return None
    return TrafficFigures(traffic.views, len(traffic.hits), len(traffic.popular), traffic.share)


# ---- the figures and diagnostics of a build as JSON, for a later run that finds nothing to do


def pack_build(figures: SiteFigures, diagnostics: tuple[Diagnostic, ...]) -> dict[str, Any]:
    """Return a build's figures, without its pages and screenshots, and its diagnostics as JSON values."""
    bare = dataclasses.replace(figures, pages=(), diagnostics=(), screenshots=())
    return {"figures": dataclasses.asdict(bare), "diagnostics": pack_diagnostics(diagnostics)}


def unpack_build(values: dict[str, Any]) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
    """Return the figures and diagnostics that ``pack_build`` packed."""
    diagnostics = unpack_diagnostics(values["diagnostics"])
    plain = {**values["figures"], "levels": tuple(map(_level, values["figures"]["levels"]))}
    plain["diagnostics"] = diagnostic_figures(diagnostics)
    plain["traffic"] = plain["traffic"] and TrafficFigures(**plain["traffic"])
    return SiteFigures(**plain), diagnostics


def _level(values: dict[str, Any]) -> LevelFigures:
    codings = tuple(CodingFigures(**row) for row in values["bytes_by_coding"])
    types = tuple(TypeFigures(**row) for row in values["bytes_by_type"])
    return LevelFigures(**{**values, "bytes_by_coding": codings, "bytes_by_type": types})


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
