"""Write the manifest and the report of a build."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.config.config import recipe_text, with_severities
from adaptc.core.digest import digest_parts
from adaptc.core.fs import write_atomic
from adaptc.core.media import HTML
from adaptc.core.version import VERSION
from adaptc.report.figures import PageShots, SiteFigures, TrafficFigures
from adaptc.report.remembered import diagnostic_figures, pack_build, unpack_build

if TYPE_CHECKING:
    from adaptc.compile.analyse.popularity import Traffic
    from adaptc.compile.engine.reporting import Progress, Report
    from adaptc.compile.engine.spec import Blueprint
    from adaptc.compile.engine.state import State
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.report.collect import Collector


@dataclasses.dataclass(frozen=True, slots=True)
class Emission:
    """What is emitted of the build that ``report`` tells of.

    ``screenshots`` is of how many pages the report shows screenshots.
    """

    blueprint: Blueprint
    state: State
    report: Report
    progress: Progress
    screenshots: int = 0

    def emitted(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        """Write what is not as it would be written; return the figures, without pages, and all that was said."""
        figures, stored = self._remembered() or self._written()
        self.state.set_meta("docroot", os.path.abspath(self.blueprint.docroot))
        found = self._said(stored)
        return dataclasses.replace(figures, pages=(), screenshots=(), diagnostics=diagnostic_figures(found)), found

    def _remembered(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]] | None:
        """Return what the last build wrote, ``None`` where this one has to write anew."""
        if self.report.worked or self.report.unread or self.screenshots:
            return None
        remembered, output = self.state.meta("build"), self.blueprint.output
        is_there = (output / "manifest.json").exists() and (output / "report.html").exists()
        return unpack_build(remembered) if is_there and remembered and remembered["key"] == self._key() else None

    def _key(self) -> str:
        """Return a digest of all that manifest and report say beside what is in the state."""
        config, traffic = self.blueprint.config, self.report.traffic
        return digest_parts(
            VERSION,
            recipe_text(config),
            repr(config.diagnostics),
            repr(self.report.loading),
            self.blueprint.docroot.name,
            repr(traffic and (traffic.share, traffic.hits)),
        )

    def _said(self, stored: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        return tuple(with_severities([*self.report.loading, *self.report.unread, *stored], self.blueprint.config))

    # ---- writing

    def _written(self) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
        """Write manifest and report; return the figures and what was said of sources and units."""
        from adaptc.report.collect import Collector

        report, blueprint = self.report, self.blueprint
        hits = report.traffic.hits if report.traffic else {}
        collector = Collector(self.state, report.resources, blueprint.levels, hits)
        stored = tuple(collector.said)
        figures = self._figures(collector, stored)
        self._write_manifest(collector, figures)
        if self.screenshots:
            shots = self._screenshots(collector)
            found = diagnostic_figures(self._said(stored))
            figures = dataclasses.replace(figures, pages=collector.pages(), screenshots=shots, diagnostics=found)
        self._write_report(figures)
        self.state.set_meta("build", {"key": self._key(), **pack_build(figures, stored)})
        return figures, stored

    def _write_manifest(self, collector: Collector, figures: SiteFigures) -> None:
        from adaptc.report.manifest_writer import manifest_chunks

        one, base_url = self.blueprint, self.blueprint.config.site.base_url
        resources = self.report.resources
        chunks = manifest_chunks(self.state, resources, one.levels, one.recipes, base_url, collector, figures)
        write_atomic(os.fspath(one.output / "manifest.json"), chunks, keep_equal=True)

    def _write_report(self, figures: SiteFigures) -> None:
        from adaptc.report.report import stream_report

        write_atomic(
            os.fspath(self.blueprint.output / "report.html"), _encoded(stream_report(figures)), keep_equal=True
        )

    def _figures(self, collector: Collector, stored: tuple[Diagnostic, ...]) -> SiteFigures:
        config, report = self.blueprint.config, self.report
        cost, resources = config.cost, report.resources.values()
        return SiteFigures(
            config.site.base_url or self.blueprint.docroot.name,
            len(report.resources),
            sum(one.media_type == HTML for one in resources),
            sum(one.size for one in resources),
            collector.level_figures(cost.request_ms, cost.kilobyte_ms),
            collector.pages(),
            diagnostic_figures(self._said(stored)),
            VERSION,
            config.build.effort,
            cost.request_ms,
            cost.kilobyte_ms,
            _traffic_figures(report.traffic),
        )

    def _screenshots(self, collector: Collector) -> tuple[PageShots, ...]:
        """Take screenshots of pages; what stood in the way of that is noted in the report."""
        from adaptc.report.screenshots.sample import sample_pages
        from adaptc.report.screenshots.take import Trees, take_screenshots
        from adaptc.site.docroot import site_of

        one, config = self.blueprint, self.blueprint.config
        levels = tuple(level.name for level in one.levels)
        trees = Trees(one.output, one.docroot, levels, site_of(config, self.report.resources), config.site.csp)
        pages = sample_pages(collector.pages(), levels[0], self.screenshots)
        shots, said = take_screenshots(trees, pages, self.progress)
        self.report.loading.extend(said)
        return shots


def _encoded(chunks: Iterator[str]) -> Iterator[bytes]:
    return (chunk.encode("utf-8", "replace") for chunk in chunks)


def _traffic_figures(traffic: Traffic | None) -> TrafficFigures | None:
    if traffic is None or not traffic.hits:
        return None
    return TrafficFigures(traffic.views, len(traffic.hits), len(traffic.popular), traffic.share)
