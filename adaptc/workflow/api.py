"""The Python interface, which the command line uses too: ``build``, ``plan`` and their results (docs/api.md)."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.engine.builder import Builder
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.outdated import Reason
from adaptc.compile.engine.reporting import Progress, Silent
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.damage import MALFORMED, discard, reason_of_damage, system_error
from adaptc.compile.engine.state.state import LONGEST_PATH, STATE_FILE, State, Unit, state_path
from adaptc.config.config import MIRRORS, Config, with_severities
from adaptc.config.config_file import store_last_build
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose, printable
from adaptc.core.model import PRIVATE
from adaptc.core.shortage import recognizing_shortage
from adaptc.core.values import dataclass
from adaptc.workflow.configuration import configured_levels

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from adaptc.compile.engine.reporting import BuildReport
    from adaptc.report.figures import SiteFigures

__all__ = ["BuildResult", "Plan", "build", "plan", "refuse_foreign_output"]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The result of ``build``.

    ``output`` is the output directory. ``figures`` are sizes and requests by level, the numbers of the summary.
    ``built`` maps each unit that was built, a pair of level and path, to the reason, in the order of paths; it is empty
    when everything was up to date. ``removed`` is the number of units whose source is gone. ``diagnostics`` are all
    diagnostics of the site, those of units that were not built included.
    """

    output: Path
    figures: SiteFigures
    built: dict[Unit, Reason]
    removed: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def report(self) -> Path:
        """The path of the report, an HTML page."""
        return self.output / "report.html"

    @property
    def manifest(self) -> Path:
        """The path of the manifest, for programs (docs/manifest.md)."""
        return self.output / "manifest.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of ``plan``: the units that a build would build.

    ``reasons`` maps each unit, a pair of level and path, to the reason. ``removed`` is the number of units that a build
    would remove. ``diagnostics`` are those of loading the docroot; those of pages are known after a build.
    """

    reasons: dict[Unit, Reason]
    removed: int
    diagnostics: tuple[Diagnostic, ...]


def build(
    config: Config,
    progress: Progress | None = None,
    screenshots: int = 0,
    *,
    requires_pages: bool = False,
    isolated: bool = True,
    executor: Executor | None = None,
) -> BuildResult:
    """Build the site: bring ``config.output`` up to date with ``config.docroot``.

    Only what changed is built. ``progress`` is called as the build goes on, from the thread of the caller (see
    ``adaptc.compile.engine.reporting.Progress``). ``screenshots`` is the number of pages that the report shows
    screenshots of, which needs an installed Chromium. A web server may read the output meanwhile: files appear
    complete, and outdated ones are removed before new ones appear. With ``requires_pages``, a docroot without any page
    raises ``UsageError``: a generator that failed must not remove a site. Where its pages are there, but a rule or a
    mode restricts them all now, those of the last build are removed first.

    Problems of the content do not raise: they are ``BuildResult.diagnostics``.

    It may run in any thread, and builds of different outputs at the same time. Processes of its own read and build the
    files, so that this process keeps its settings of Pillow, libvips and others; without ``isolated`` this process does
    what is little work, which saves half a second.

    With an ``executor`` its workers read and build the files (docs/cluster.md). It stays open.

    Raises ``UsageError`` for a wrong configuration, ``Busy`` when another build is writing to the output, ``OSError``
    when the output or the cache cannot be written, and ``Shortage`` when there is not enough memory to go on; the files
    in the trees are complete and up to date then.

    >>> import adaptc
    >>> config = adaptc.load_config(overrides={"docroot": "site", "output": "opt"})  # doctest: +SKIP
    >>> adaptc.build(config).manifest  # doctest: +SKIP
    PosixPath('opt/manifest.json')
    """
    engine = engine_of(config, progress or Silent())
    engine.requires_pages, engine.is_isolated, engine.executor = requires_pages, isolated, executor
    with engine.lock(), engine.removing_outdated(), recognizing_shortage():
        return _build_or_replace_state(engine, screenshots)


def _build_or_replace_state(engine: Builder, screenshots: int) -> BuildResult:
    """Build; a damaged state is discarded, and the build begins anew, once."""
    path = engine.spec.state_path
    is_first = not path.exists()
    try:
        return _build(engine, screenshots)
    except (sqlite3.DatabaseError, *MALFORMED) as error:
        damage = reason_of_damage(error, path)
        if is_first and isinstance(error, sqlite3.DatabaseError):  # a disk that loses what was just written
            raise system_error(error, path) from None
        if is_first:
            raise
    discard(path)
    try:
        return _build(engine, screenshots, damage)
    except sqlite3.DatabaseError as error:
        raise system_error(error, path) from None


def _build(engine: Builder, screenshots: int, damage: str | None = None) -> BuildResult:
    """Build; ``damage`` says why the state was discarded."""
    with contextlib.closing(State(engine.spec.state_path)) as state:
        state.recognize()
        report, result = bring_up_to_date(engine, state, screenshots)
        reason = damage or state.discarded
        state.leave()
    if report.refusal is not None:
        raise UsageError(report.refusal)
    if reason is None:
        return result
    diagnostic = diagnose("state-discarded", Location(f"{PRIVATE}/{STATE_FILE}"), reason=reason)
    diagnostics = (*with_severities([diagnostic], engine.spec.config), *result.diagnostics)
    return dataclasses.replace(result, diagnostics=diagnostics)


def bring_up_to_date(engine: Builder, state: State, screenshots: int = 0) -> tuple[BuildReport, BuildResult]:
    """Build under a lock that the caller holds, with a state that is open.

    Raises ``BuildCancelled``, and what ``build`` raises.
    """
    from adaptc.report.documents import DocumentWriter

    spec, report = engine.spec, engine.run(state)
    store_last_build(spec.output, spec.docroot, dict(spec.config.options))
    figures, diagnostics = DocumentWriter(spec, state, report, engine.progress, screenshots).write()
    if spec.config.serve.emit:
        from adaptc.serve.emitter import emit_from

        emit_from(state, spec.config, spec.config.serve.emit)
    if spec.config.serve.purge and (report.reasons or report.removed):
        diagnostics = (*with_severities(_purged(spec.config, report), spec.config), *diagnostics)
    if report.has_work and _is_cache_due(state, report, spec.config.build.cache_size):
        Store(spec.cache).collect(spec.config.build.cache_size)
    if report.remote_cache is not None:  # not in the documents: the same site gives the same
        diagnostics = (*with_severities([report.remote_cache], spec.config), *diagnostics)
    return report, BuildResult(spec.output, figures, report.reasons, report.removed, diagnostics)


PURGING = 10.0  # seconds that a build waits for caches


def _purged(config: Config, report: BuildReport) -> Iterator[Diagnostic]:
    """Purge what was built; the whole site where files are gone, or for very many. Yield the problems."""
    from adaptc.serve.purge import MOST_URLS, Purge, labels_of, purge_within, site_of, urls_of

    site, paths = site_of(config.site.base_url, config.url_prefix), {path for _, path in report.reasons}
    is_whole = report.removed > 0 or len(paths) > MOST_URLS
    urls = () if is_whole else urls_of(site, paths, config.site.index)
    for problem in purge_within(config.serve.purge, Purge(site, labels_of(config, urls), urls), PURGING):
        yield diagnose("purge-failed", problem=problem)


# The share of the cache's limit of which sources are built until its files are counted again; that takes a second for
# 200,000 of them
_DUE = 0.05


def _is_cache_due(state: State, report: BuildReport, limit: int) -> bool:
    """Whether so much was built since the cache was last counted that it may be too large."""
    built = {path for _, path in report.reasons}
    grown = (state.meta("uncounted") or 0) + sum(report.resources[path].size for path in built)
    is_due = state.meta("uncounted") is None or grown > _DUE * limit
    state.set_meta("uncounted", 0 if is_due else grown)
    return is_due


def plan(config: Config, *, requires_pages: bool = False) -> Plan:
    """Return what ``build`` would do; nothing is written.

    Raises ``UsageError`` for a wrong configuration, and ``OSError`` when the docroot cannot be read.

    >>> import adaptc
    >>> config = adaptc.load_config(overrides={"docroot": "site"})  # doctest: +SKIP
    >>> for (level, path), reason in adaptc.plan(config).reasons.items():  # doctest: +SKIP
    ...     print(level, path, reason)
    """
    engine = engine_of(config, Silent())
    engine.requires_pages = requires_pages
    with contextlib.closing(State(engine.spec.state_path, read_only=True)) as state:
        report = engine.plan(state)
        return Plan(report.reasons, report.removed, tuple(with_severities(report.load_diagnostics, config)))


def engine_of(config: Config, progress: Progress) -> Builder:
    """Return the engine of a build. Raises ``UsageError`` for a wrong configuration."""
    return Builder(build_spec(config), progress)


def build_spec(config: Config) -> BuildSpec:
    """Return the specification of a build. Raises ``UsageError`` for a wrong configuration."""
    levels = configured_levels(config)
    if config.docroot is None:
        raise UsageError(
            "no docroot: name the published directory on the command line, or as docroot in adaptc.toml; "
            "adaptc alone says what it finds"
        )
    docroot, output = Path(os.path.realpath(config.docroot)), Path(os.path.realpath(config.output))
    _refuse_wrong_paths(config, docroot, output)
    _refuse_cache_in_docroot(config, docroot)
    refuse_foreign_output(config, output)
    return BuildSpec(config, docroot, levels)


def _refuse_wrong_paths(config: Config, docroot: Path, output: Path) -> None:
    if not docroot.is_dir():
        raise UsageError(f"docroot {config.docroot} is not a directory")
    if output == docroot or docroot in output.parents:
        beside = os.path.join(os.path.relpath(docroot.parent), f"{docroot.name}-opt")
        raise UsageError(
            f"output {config.output} is inside the docroot {config.docroot}: choose another output, "
            f"as -o {printable(beside)}"
        )
    if output in docroot.parents and output / MIRRORS not in docroot.parents:
        raise UsageError(f"docroot {config.docroot} is inside the output {config.output}: choose another output")
    if output.exists() and not output.is_dir():
        raise UsageError(f"output {config.output} is not a directory")
    length = len(os.fsencode(state_path(output)))
    if length > LONGEST_PATH:
        most = LONGEST_PATH - (length - len(os.fsencode(output)))
        raise UsageError(f"output {config.output} has a path of more than {most} bytes: choose another output")


def _refuse_cache_in_docroot(config: Config, docroot: Path) -> None:
    if config.build.cache is None:
        return
    cache = Path(os.path.realpath(config.build.cache))
    if docroot == cache or docroot in cache.parents:
        raise UsageError(f"cache {config.build.cache} is inside the docroot {config.docroot}: choose another cache")


def refuse_foreign_output(config: Config, output: Path) -> None:
    """Raise ``UsageError`` for an output that holds files which ``adaptc`` did not write: a build would remove them."""
    if output.is_dir() and not (output / ".adaptc").is_dir() and any(output.iterdir()):
        raise UsageError(f"output {config.output} is not empty and was not made by adaptc: choose another output")
