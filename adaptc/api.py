"""The Python interface, which the command line uses: ``adaptc.build(config) -> BuildResult``."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.analyse.popularity import Traffic
from adaptc.config import MIRRORS, Config, recipe_text, relevelled
from adaptc.diagnostics import Diagnostic, UsageError
from adaptc.digest import digest_parts
from adaptc.emit.collect import Collector, stored_diagnostics
from adaptc.emit.figures import PageShots, SiteFigures, TrafficFigures
from adaptc.emit.manifest import manifest_chunks
from adaptc.emit.remembered import diagnostic_figures, pack_build, unpack_build
from adaptc.emit.report import stream_report
from adaptc.emit.serve.emitter import emit_from
from adaptc.engine.builder import Builder, Report
from adaptc.engine.lock import OutputBusy
from adaptc.engine.progress import Progress, Silent
from adaptc.engine.reasons import Reason
from adaptc.engine.state import State, Unit, discard, is_damage, system_error
from adaptc.engine.store import Store
from adaptc.fs import write_atomic
from adaptc.media import HTML
from adaptc.pipeline import KNOWN_PASSES
from adaptc.rulebook import Level, choose_levels, load_levels
from adaptc.version import VERSION

__all__ = ["BuildResult", "OutputBusy", "Plan", "build", "configured_levels", "plan", "refuse_strangers"]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build did and what it found.

    ``built`` tells for each unit (level, path) why it was built, in the order of paths: empty when everything was up to
    date. ``removed`` counts units that lost their source. ``figures.pages`` is empty here: they are in the report.
    """

    output: Path
    figures: SiteFigures
    built: dict[Unit, Reason]
    removed: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def report(self) -> Path:
        """The report, a page to open in a browser."""
        return self.output / "report.html"

    @property
    def manifest(self) -> Path:
        """The manifest, for programs."""
        return self.output / "manifest.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a build would do: the units it would build and why, and how many it would remove."""

    reasons: dict[Unit, Reason]
    removed: int
    diagnostics: tuple[Diagnostic, ...]


def configured_levels(config: Config) -> tuple[Level, ...]:
    """Return the levels that ``config`` asks for, dearest first. Raises ``UsageError``."""
    return choose_levels(config.build.levels, load_levels(config.levels, KNOWN_PASSES))


def build(config: Config, progress: Progress | None = None, screenshots: int = 0) -> BuildResult:
    """Bring ``config.output`` up to date with ``config.docroot`` and return what was done.

    ``screenshots`` is of how many pages the report shows screenshots, if there is a Chromium to take them with.

    Raises ``UsageError`` for a wrong configuration, ``OutputBusy`` when another build is at work in the output, and
    ``OSError`` when the output or the cache cannot be written; the trees then hold what is complete and true.
    """
    engine = engine_of(config, progress or Silent())
    with engine.lock():
        try:
            return _built(engine, screenshots)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise system_error(error, engine.state_path) from None
        discard(engine.state_path)
        return _built(engine, screenshots)


def _built(engine: Builder, screenshots: int) -> BuildResult:
    with contextlib.closing(State(engine.state_path)) as state:
        return bring_up_to_date(engine, state, screenshots)[1]


def bring_up_to_date(engine: Builder, state: State, screenshots: int = 0) -> tuple[Report, BuildResult]:
    """Build under a lock that the caller holds, with a state that is open; raises as ``build``, and ``GivenUp``."""
    report = engine.run(state)
    result = _result(engine, state, report, screenshots)
    if report.worked:
        Store(engine.cache).collect(engine.config.build.cache_size)
    return report, result


def plan(config: Config) -> Plan:
    """Return what ``build`` would do, without writing anything. Raises ``UsageError``."""
    engine = engine_of(config, Silent())
    with contextlib.closing(State(engine.state_path, read_only=True)) as state:
        report = engine.plan(state)
        return Plan(report.reasons, report.removed, tuple(relevelled(report.loading, config)))


def engine_of(config: Config, progress: Progress) -> Builder:
    """Return the engine of a build. Raises ``UsageError`` for paths that cannot be."""
    levels = configured_levels(config)
    if config.docroot is None:
        raise UsageError("no docroot: name it on the command line or as docroot in adaptc.toml")
    docroot, output = Path(os.path.realpath(config.docroot)), Path(os.path.realpath(config.output))
    if not docroot.is_dir():
        raise UsageError(f"docroot {config.docroot} is not a directory")
    if output == docroot or docroot in output.parents:
        raise UsageError(f"output {config.output} is inside the docroot {config.docroot}: choose another output")
    if output in docroot.parents and output / MIRRORS not in docroot.parents:
        raise UsageError(f"docroot {config.docroot} is inside the output {config.output}: choose another output")
    if output.exists() and not output.is_dir():
        raise UsageError(f"output {config.output} is not a directory")
    _refuse_cache_in_docroot(config, docroot)
    refuse_strangers(config, output)
    return Builder(config, docroot, levels, progress)


def _refuse_cache_in_docroot(config: Config, docroot: Path) -> None:
    if config.build.cache is None:
        return
    cache = Path(os.path.realpath(config.build.cache))
    if docroot == cache or docroot in cache.parents:
        raise UsageError(f"cache {config.build.cache} is inside the docroot {config.docroot}: choose another cache")


def refuse_strangers(config: Config, output: Path) -> None:
    """Raise ``UsageError`` for an output that holds files but was not made by ``adaptc``: it may be something dear."""
    if output.is_dir() and not (output / ".adaptc").is_dir() and any(output.iterdir()):
        raise UsageError(f"output {config.output} is not empty and was not made by adaptc: choose another output")


def _result(engine: Builder, state: State, report: Report, screenshots: int) -> BuildResult:
    emitted = (engine.output / "manifest.json", engine.output / "report.html")
    key = _emission_key(engine, report)
    remembered = None if report.worked or report.unread or screenshots else state.meta("build")
    if remembered is not None and remembered["key"] == key and all(path.exists() for path in emitted):
        figures, stored = unpack_build(remembered)
    else:
        figures, stored = _emit(engine, state, report, key, screenshots)
    state.set_meta("docroot", os.path.abspath(engine.docroot))
    if engine.config.serve.emit:
        emit_from(state, engine.config, engine.config.serve.emit)
    found = _said(engine, report, stored)
    figures = dataclasses.replace(figures, pages=(), screenshots=(), diagnostics=diagnostic_figures(found))
    return BuildResult(engine.output, figures, report.reasons, report.removed, found)


def _said(engine: Builder, report: Report, stored: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    return tuple(relevelled([*report.loading, *report.unread, *stored], engine.config))


def _emission_key(engine: Builder, report: Report) -> str:
    """Return a digest of all that manifest and report say beside what is in the state."""
    config = engine.config
    return digest_parts(
        VERSION,
        recipe_text(config),
        repr(config.diagnostics),
        repr(report.loading),
        engine.docroot.name,
        repr(report.traffic and (report.traffic.share, report.traffic.hits)),
    )


def _emit(
    engine: Builder, state: State, report: Report, key: str, screenshots: int
) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
    """Write manifest and report; return the figures and what was said of sources and units."""
    config = engine.config
    stored = tuple(stored_diagnostics(state))
    collector = Collector(state, report.resources, engine.levels, report.traffic.hits if report.traffic else {})
    figures = _figures(engine, collector, report, _said(engine, report, stored))
    chunks = manifest_chunks(
        state, report.resources, engine.levels, engine.recipes, config.site.base_url, collector, figures
    )
    write_atomic(os.fspath(engine.output / "manifest.json"), chunks, keep_equal=True)
    if screenshots:
        shots = _screenshots(engine, collector, report, screenshots)
        found = diagnostic_figures(_said(engine, report, stored))
        figures = dataclasses.replace(figures, pages=collector.pages(), screenshots=shots, diagnostics=found)
    write_atomic(os.fspath(engine.output / "report.html"), _encoded(stream_report(figures)), keep_equal=True)
    state.set_meta("build", {"key": key, **pack_build(figures, stored)})
    return figures, stored


def _encoded(chunks: Iterator[str]) -> Iterator[bytes]:
    return (chunk.encode("utf-8", "replace") for chunk in chunks)


def _figures(engine: Builder, collector: Collector, report: Report, diagnostics: tuple[Diagnostic, ...]) -> SiteFigures:
    cost = engine.config.cost
    resources = report.resources.values()
    return SiteFigures(
        engine.config.site.base_url or engine.docroot.name,
        len(report.resources),
        sum(one.media_type == HTML for one in resources),
        sum(one.size for one in resources),
        collector.level_figures(cost.request_ms, cost.kilobyte_ms),
        collector.pages(),
        diagnostic_figures(diagnostics),
        VERSION,
        engine.config.build.effort,
        cost.request_ms,
        cost.kilobyte_ms,
        _traffic_figures(report.traffic),
    )


def _screenshots(engine: Builder, collector: Collector, report: Report, count: int) -> tuple[PageShots, ...]:
    """Take screenshots of ``count`` pages; what stood in the way of that is noted in the report."""
    from adaptc.load.site import site_of
    from adaptc.screenshots.sample import sample_pages
    from adaptc.screenshots.take import Trees, take_screenshots

    site = site_of(engine.config, report.resources)
    levels = tuple(level.name for level in engine.levels)
    trees = Trees(engine.output, engine.docroot, levels, site, engine.config.site.csp)
    shots, said = take_screenshots(trees, sample_pages(collector.pages(), levels[0], count), engine.progress)
    report.loading.extend(said)
    return shots


def _traffic_figures(traffic: Traffic | None) -> TrafficFigures | None:
    if traffic is None or not traffic.hits:
        return None
    return TrafficFigures(traffic.views, len(traffic.hits), len(traffic.popular), traffic.share)
