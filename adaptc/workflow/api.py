"""The Python interface, which the command line uses: ``adaptc.build(config) -> BuildResult``."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.engine.builder import Builder
from adaptc.compile.engine.outdated import Reason
from adaptc.compile.engine.reporting import Progress, Silent
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state import State, Unit, discard, is_damage, system_error
from adaptc.compile.engine.store import Store
from adaptc.config.config import MIRRORS, Config, with_severities
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.workflow.configuration import configured_levels

if TYPE_CHECKING:
    from adaptc.compile.engine.reporting import BuildReport
    from adaptc.report.figures import SiteFigures

__all__ = ["BuildResult", "Plan", "build", "plan", "refuse_strangers"]


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


def build(config: Config, progress: Progress | None = None, screenshots: int = 0) -> BuildResult:
    """Bring ``config.output`` up to date with ``config.docroot`` and return what was done.

    ``screenshots`` is of how many pages the report shows screenshots, if there is a Chromium to take them with.

    Raises ``UsageError`` for a wrong configuration, ``Busy`` when another build is at work in the output, and
    ``OSError`` when the output or the cache cannot be written; the trees then hold what is complete and true.
    """
    engine = engine_of(config, progress or Silent())
    with engine.lock():
        try:
            return _built(engine, screenshots)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise system_error(error, engine.spec.state_path) from None
        discard(engine.spec.state_path)
        return _built(engine, screenshots)


def _built(engine: Builder, screenshots: int) -> BuildResult:
    with contextlib.closing(State(engine.spec.state_path)) as state:
        return bring_up_to_date(engine, state, screenshots)[1]


def bring_up_to_date(engine: Builder, state: State, screenshots: int = 0) -> tuple[BuildReport, BuildResult]:
    """Build under a lock that the caller holds, with a state that is open.

    Raises ``BuildCancelled``, and what ``build`` raises.
    """
    from adaptc.report.documents import DocumentWriter

    spec, report = engine.spec, engine.run(state)
    figures, said = DocumentWriter(spec, state, report, engine.progress, screenshots).write()
    if spec.config.serve.emit:
        from adaptc.serve.emitter import emit_from

        emit_from(state, spec.config, spec.config.serve.emit)
    if report.has_work:
        Store(spec.cache).collect(spec.config.build.cache_size)
    return report, BuildResult(spec.output, figures, report.reasons, report.removed, said)


def plan(config: Config) -> Plan:
    """Return what ``build`` would do, without writing anything. Raises ``UsageError``."""
    engine = engine_of(config, Silent())
    with contextlib.closing(State(engine.spec.state_path, read_only=True)) as state:
        report = engine.plan(state)
        return Plan(report.reasons, report.removed, tuple(with_severities(report.load_diagnostics, config)))


def engine_of(config: Config, progress: Progress) -> Builder:
    """Return the engine of a build. Raises ``UsageError`` for paths that cannot be."""
    return Builder(build_spec(config), progress)


def build_spec(config: Config) -> BuildSpec:
    """Return what a build is to make. Raises ``UsageError`` for paths that cannot be."""
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
    return BuildSpec(config, docroot, levels)


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
