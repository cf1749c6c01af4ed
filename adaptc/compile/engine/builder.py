"""The build engine: loads a docroot, and runs the stages of a build where anything changed (``stages``).

A dry run tells what a build would read, decide and build, with nothing written. ``Builder.plan`` counts a file with
another time as changed; a dry run reads every file that may have changed. So it is exact for a docroot that was
unpacked elsewhere, where every file has a new time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.loading import ScannedDocroot, begin_report, has_pages
from adaptc.compile.engine.outdated import (
    Changes,
    FileChanges,
    Reason,
    compare_files,
    find_changes,
    in_build_order,
    name_libraries,
    outdated_units,
    record_decisions,
)
from adaptc.compile.engine.reporting import BuildReport, Progress, Silent
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.output import TIMES, SourceTimes, output_lock, wait_for_workers
from adaptc.compile.engine.trees.trees import Trees, note_boot
from adaptc.compile.pipeline import modules_of
from adaptc.config.config import MIRRORS, SiteConfig
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Severity, UsageError
from adaptc.core.digest import digest_chunks
from adaptc.core.fs import TEMPORARY, ChangedWhileRead, DiskTree, Tree, keep_private, refuse_outward
from adaptc.core.interpreter import available_cpus
from adaptc.core.model import Resource
from adaptc.core.shortage import Shortage, has_memory_limit
from adaptc.core.values import dataclass
from adaptc.site.selection import with_ancestors
from adaptc.site.source_table import as_sources

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from adaptc.compile.engine.cache.remote import RemoteCache
    from adaptc.compile.engine.trees.gate import Gate, GatedPublisher
    from adaptc.compile.engine.workers.executor import WorkerPool, Workers
    from adaptc.site.docroot import PlainDirectory

# Diagnostics of what leaves pages out, and how many of them a refusal repeats
_CLOSING = (
    "server-rule", "server-rule-unknown", "closed-mode", "unreadable-directory", "unreadable-file", "server-program",
    "private-name", "symlink-outside", "symlink-broken", "symlink-loop",
)  # fmt: skip
_REPEATED = 3
# The lock file that workers hold
_WORKERS = "workers"


class Builder:
    """Builds what ``spec`` asks for.

    With a ``gate`` this process publishes the results, through the gate. Units that were built by one of the
    ``accepted_recipes`` are up to date, too. With ``cancels_on_change`` the build is cancelled when a file changes.
    With ``requires_pages`` a docroot without any raises ``UsageError``, and nothing is removed; the report has a
    ``refusal`` where its pages may be built no longer, and those of before are removed. With ``is_isolated``
    other processes do all the work, even if it is little. The workers of an ``executor`` read and build sources.
    """

    gate: Gate | None = None
    accepted_recipes: frozenset[str] = frozenset()
    cancels_on_change: bool = False
    requires_pages: bool = False
    is_isolated: bool = False
    executor: Executor | None = None

    def __init__(self, spec: BuildSpec, progress: Progress) -> None:
        self.spec, self.progress = spec, progress
        self.trees = Trees(spec)
        is_strict = spec.config.serve.freshness == "strict"
        self.times = SourceTimes(spec.output) if is_strict else None

    def lock(self) -> ExitStack:
        """Make the private directory, take the lock, and remove what a killed build left."""
        private = self.spec.private
        for name in (private.name, TIMES, *self.spec.recipes):
            refuse_outward(os.fspath(self.spec.output / name), os.fspath(self.spec.output))
        keep_private(private, (os.path.basename(MIRRORS),))
        with ExitStack() as stack:
            stack.enter_context(output_lock(private / "lock"))
            wait_for_workers(private / _WORKERS)
            stack.callback(keep_private, private, (os.path.basename(MIRRORS),))  # what was written meanwhile
            (private / "tmp").mkdir(exist_ok=True)
            for leftover in (*(private / "tmp").iterdir(), *self.spec.output.glob(TEMPORARY + "*")):
                leftover.unlink()
            if self.spec.cache.is_relative_to(private):
                Store(self.spec.cache).remove_drafts()
            return stack.pop_all()

    @contextlib.contextmanager
    def removing_outdated(self) -> Iterator[None]:
        """Remove outdated files if a build fails before it does: they must not stay because a disk is full.

        A file with another time counts as changed. The state is only read.
        """
        try:
            yield
        except (OSError, sqlite3.DatabaseError, Shortage):
            if not self.trees.has_removed_outdated:
                with contextlib.suppress(OSError, sqlite3.DatabaseError, MemoryError):
                    self._remove_outdated_only()
            raise

    def _remove_outdated_only(self) -> None:
        with contextlib.closing(State(self.spec.state_path, read_only=True)) as stored:
            state = stored.copy_to_memory()
        with contextlib.closing(state):
            report = self.plan(state)
            self.trees.remove_outdated(state, self.trees.unwanted(state.recipes(), report), report.reasons)

    def plan(self, state: State) -> BuildReport:
        """Return what a build would do, without doing it; changed files count as changed in content."""
        before = state.resources()
        report = self._begin_report(state, before, remember=False)
        touched = compare_files(report.resources, before).touched
        changes = find_changes(report.resources, dict.fromkeys(touched, ""), before)
        built = state.recipes()
        reasons = outdated_units(state, built, changes, self.spec.recipes, report.resources, report.restriction)
        name_libraries(state, reasons, built, self.spec.level_recipes)
        if self.trees.are_changed(state):
            reasons.update(self.trees.missing_outputs(state, reasons, report))
        report.reasons = in_build_order(reasons, self.spec.levels)
        report.removed = len(self.trees.unwanted(built, report))
        return report

    def run(self, state: State) -> BuildReport:
        """Bring the trees up to date. The caller holds the lock."""
        scanned = ScannedDocroot.of(self.spec, time.time_ns())
        if (unchanged := scanned.last_report(state)) is not None and self._is_complete(state, unchanged):
            self.trees.has_removed_outdated = True
            return unchanged
        kept = scanned.unchanged(state)
        before = _files_before(state, kept)
        report = self._begin_report(state, before, remember=True, unchanged=kept)
        touched = compare_files(report.resources, before)
        if not self.spec.has_facts_of(state):
            touched = dataclasses.replace(touched, touched=tuple(report.resources))
        if not (touched or has_new_hosts(state, report)) and self._is_complete(state, report):
            self.trees.has_removed_outdated = True
            scanned.record(state, report)
            return report
        state.check()
        self._run_stages(state, report, scanned, before, touched)
        report.failures.sort(key=lambda diagnostic: (str(diagnostic.location), diagnostic.id, diagnostic.message))
        return report

    def _run_stages(
        self,
        state: State,
        report: BuildReport,
        scanned: ScannedDocroot,
        before: Mapping[str, tuple[Resource, str]],
        touched: FileChanges,
    ) -> None:
        from adaptc.compile.engine.stages import STAGES, Build

        remote = self._open_remote_cache()
        with self._workers(state, remote) as workers:
            if remote is None:  # otherwise there may be nothing to build
                sizes = [report.resources[path].size for path in touched.touched]
                workers.prepare(sizes * len(self.spec.levels))
            build = Build(
                self.spec,
                state,
                report,
                self.progress,
                self.trees,
                self.gated_publisher,
                workers,
                remote,
                scanned,
                before,
                touched,
                self.trees.unchanged_directories(state),
                self.accepted_recipes,
                self.record_times,
            )
            for stage in STAGES:
                stage.run(build)

    def _begin_report(
        self,
        state: State,
        known: Mapping[str, tuple[Resource, str]],
        *,
        remember: bool,
        unchanged: Mapping[str, PlainDirectory] | None = None,
    ) -> BuildReport:
        report = begin_report(self.spec, state, known, self.progress, remember=remember, unchanged=unchanged)
        if self.requires_pages and not has_pages(report.resources):
            self._refuse(report, known)
        return report

    def _refuse(self, report: BuildReport, known: Mapping[str, tuple[Resource, str]]) -> None:
        """Refuse a docroot without pages: nothing is removed, a generator may have failed.

        If pages of the last build are there and may be built no longer, that is what their owner did: the build goes
        on, which removes what it has of them, and is refused then.
        """
        withheld = frozenset(report.withheld)
        problem = f"docroot {self.spec.docroot} holds no page{self._causes(report)}"
        pages = (path for path, (resource, _) in known.items() if resource.media_type in media.PAGES)
        if not any(not withheld.isdisjoint(with_ancestors(path)) for path in pages):
            raise UsageError(f"{problem}: nothing was built, and nothing removed")
        report.refusal = f"{problem}: what was built of it is removed from {self.spec.config.output}"

    def _causes(self, report: BuildReport) -> str:
        """Return by what pages are left out, in brackets; nothing where nothing is known to be."""
        closing = sorted((each for each in report.load_diagnostics if each.id in _CLOSING), key=_importance)
        causes = list(map(str, closing[:_REPEATED]))
        causes += [f"and {len(closing) - _REPEATED} more"] if len(closing) > _REPEATED else []
        exclude = self.spec.config.site.exclude
        causes += [f"site.exclude leaves out {', '.join(exclude)}"] if exclude != SiteConfig().exclude else []
        return f" that may be built ({'; '.join(causes)})" if causes else ""

    def _is_complete(self, state: State, report: BuildReport) -> bool:
        """Whether the trees are as the last build left them, and complete for an unchanged docroot."""
        mark = self.spec.completion_mark(report, self.accepted_recipes)
        if state.meta("complete") != mark or self.trees.are_changed(state):
            return False
        note_boot(state)
        return True

    @contextlib.contextmanager
    def _workers(self, state: State, remote: RemoteCache | None) -> Iterator[Workers]:
        from adaptc.compile.engine.workers.executor import worker_pool
        from adaptc.compile.engine.workers.task import UNIT_BUILDER

        jobs, lock = self.spec.config.build.jobs or available_cpus(), self.spec.private / _WORKERS
        isolated = self.is_isolated or has_memory_limit()
        modules = [UNIT_BUILDER, *modules_of(self.spec.levels)]
        with ExitStack() as stack:
            far = stack.enter_context(self._far_workers(state, remote))
            limit = self.spec.config.build.unit_seconds
            pool = worker_pool(jobs, lock, modules, is_isolated=isolated, far=far, limit=limit)
            yield stack.enter_context(pool)

    def _far_workers(self, state: State, remote: RemoteCache | None) -> AbstractContextManager[WorkerPool | None]:
        if self.executor is None and self.spec.config.build.scheduler is None:
            return contextlib.nullcontext()
        from adaptc.compile.engine.workers.cluster import far_workers

        return far_workers(self.spec, self.executor, state, remote)

    def _open_remote_cache(self) -> RemoteCache | None:
        config = self.spec.config.build
        if config.remote_cache is None:
            return None
        from adaptc.compile.engine.cache.remote import RemoteCache
        from adaptc.compile.engine.cache.store import Store

        return RemoteCache(config.remote_cache, Store(self.spec.cache), is_readonly=config.remote_cache_readonly)

    def record_times(self, removed: Iterable[str], read_resources: Iterable[Resource]) -> None:
        """Record the times of sources for strict servers, after the files that they made outdated were removed."""
        if self.times is not None:
            self.trees.publisher.sync()
            self.times.forget(removed)
            self.times.record(read_resources)

    @property
    def gated_publisher(self) -> GatedPublisher:
        """The publisher of this build's results."""
        from adaptc.compile.engine.trees.gate import GatedPublisher

        return GatedPublisher(self.trees.publisher, self.gate, self.cancels_on_change)


# The share of the files from which on it takes less to read all at once than to look up each
_MOST_LOOKED_UP = 0.25


def _files_before(state: State, unchanged: Mapping[str, PlainDirectory]) -> Mapping[str, tuple[Resource, str]]:
    """Return the files of the last build with their digests: looked up where most are in ``unchanged`` directories."""
    known, kept = state.known_files(), sum(directory.files for directory in unchanged.values())
    if len(known) - kept > _MOST_LOOKED_UP * len(known):
        known.read_all()
    return known


def has_new_hosts(state: State, report: BuildReport) -> bool:
    """Whether the rules of the site's hosts are others than in the last build."""
    from adaptc.compile.analyse.decisions import HOSTS, host_rows

    return report.hosts is not None and host_rows(report.hosts).get(HOSTS) != state.decisions().get(HOSTS)


def _importance(diagnostic: Diagnostic) -> int:
    return list(Severity).index(diagnostic.severity)


# ---- dry runs

_Before = Mapping[str, tuple[Resource, str]]


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a build would do.

    ``reasons`` tells why it would build each unit; the files of the trees are not inspected. ``unwanted`` are the
    units that it would remove. ``undetected`` are the sources whose content changed but not their size and
    time: a build would not notice them.
    """

    report: BuildReport
    reasons: dict[Unit, Reason]
    unwanted: tuple[Unit, ...]
    undetected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """The docroot by names, sizes and times: its files, and which of them seem to have changed."""

    report: BuildReport
    changes: FileChanges


def scan_docroot(spec: BuildSpec, state: State) -> Scan:
    """Scan the names, sizes and times of the docroot. Raises ``UsageError`` as ``begin_report`` does."""
    unchanged = ScannedDocroot.of(spec, 0).last_report(state)
    if unchanged is not None:
        return Scan(unchanged, FileChanges((), frozenset(), frozenset()))
    before = state.resources()
    report = begin_report(spec, state, before, Silent(), remember=False)
    return Scan(report, compare_files(report.resources, before))


def dry_run(trees: Trees, state: State, scan: Scan, *, every_source: bool) -> DryRun:
    """Compare the docroot with ``state``: read the files that seem changed, or with ``every_source`` all."""
    spec, report, before, touched = trees.spec, scan.report, state.resources(), scan.changes.touched
    digests = _read(spec, report, report.resources if every_source else touched)
    read = {path: digests[path] for path in digests if path in touched or digests[path] != before[path][1]}
    changes = find_changes(report.resources, read, before)
    is_other = changes.contents or changes.presence or has_new_hosts(state, report) or not spec.has_facts_of(state)
    if before and is_other:
        with contextlib.closing(state.copy_to_memory()) as copy:
            changes = dataclasses.replace(changes, decisions=_decisions(spec, copy, report, before, read, changes))
    built = state.recipes()
    reasons = outdated_units(state, built, changes, spec.recipes, report.resources, report.restriction)
    name_libraries(state, reasons, built, spec.level_recipes)
    undetected = tuple(sorted(read.keys() - set(touched)))
    unwanted = tuple(trees.unwanted(built, report))
    return DryRun(report, in_build_order(reasons, spec.levels), unwanted, undetected)


def _read(spec: BuildSpec, report: BuildReport, paths: Iterable[str]) -> dict[str, str]:
    """Return the digests of sources; unreadable files are removed from the report's resources, as in a build."""
    digests = digests_of(DiskTree(spec.docroot), list(paths))
    for path, digest in digests.items():
        if digest is None:
            del report.resources[path]
    report.count = len(report.resources)
    return {path: digest for path, digest in digests.items() if digest is not None}


def digests_of(tree: Tree, paths: list[str]) -> dict[str, str | None]:
    """Return the digest of each file, ``None`` if unreadable. Threads suffice, because hashing releases the GIL."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as threads:
        return dict(zip(paths, threads.map(lambda path: _digest(tree, path), paths), strict=True))


def _digest(tree: Tree, path: str) -> str | None:
    try:
        return digest_chunks(tree.chunks(path))
    except (OSError, ChangedWhileRead):
        return None


def _decisions(
    spec: BuildSpec, copy: State, report: BuildReport, before: _Before, read: Mapping[str, str], changes: Changes
) -> frozenset[str]:
    """Return the decisions that would change; ``copy`` is a state that may be written."""
    from adaptc.compile.analyse.decisions import NO_DECISIONS, evidence_of
    from adaptc.compile.analyse.demotions import demotions_of
    from adaptc.compile.analyse.facts import affected_targets
    from adaptc.compile.analyse.site_sums import sum_up
    from adaptc.compile.engine.unit.unit_builder import UnitBuilder, read_facts

    known = {**{path: digest for path, (_, digest) in before.items()}, **read}
    sources = as_sources((resource, known[path]) for path, resource in report.resources.items())
    affected = affected_targets(changes.presence, spec.config.site.index)
    pages = [path for path in copy.affected_by_targets(affected) if path in sources] if changes.presence else []
    unit_builder = UnitBuilder(
        spec.snapshot(sources, dataclasses.replace(NO_DECISIONS, withheld=frozenset(report.withheld)))
    )
    changed = sources if not spec.has_facts_of(copy) else (path for path in changes.contents if path in sources)
    for path in dict.fromkeys((*changed, *pages)):
        facts = read_facts(unit_builder, path)
        if not isinstance(facts, str):
            copy.set_facts(path, facts)
    for path in before.keys() - report.resources.keys():
        copy.forget_source(path)
    sums = sum_up(copy.facts(), lambda path: sources[path].media_type)
    # a dry run neither looks at pages nor proves them
    rows = copy.decisions()
    demotions = demotions_of(rows) if spec.config.browser.prove else {}
    last = (evidence_of(rows), demotions, report.withheld)
    return record_decisions(copy, spec.decide(sums, sources, *last, copy.digests, report.hosts))
