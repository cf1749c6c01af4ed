"""The build engine: does what is needed, in an order in which a reader of the trees never sees anything outdated.

1. load the docroot and compare it with the state of the last build; read the access logs, if any;
2. read what changed and gather its facts (``stages.ReadStage``);
3. decide what concerns the whole site (``adaptc.compile.analyse.decisions``);
4. find the outdated units (``outdated``); remove their files from the trees (``trees``) and their rows from the state;
5. look at pages with a browser, if one is wanted (``looking``): more units may be outdated;
6. prove pages with a browser, if that is wanted (``proof``): of what breaks a promise passes are dropped;
7. build and publish the units, assets before the pages that use them, aliases last (``stages.BuildStage``);
8. encode pages with dictionaries made of pages (``dictionaries``);
9. note in the state that the trees are complete.
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

from adaptc.compile.analyse.popularity import UNRESTRICTED
from adaptc.compile.engine import unit_work
from adaptc.compile.engine.dictionary_records import are_as_asked
from adaptc.compile.engine.outdated import (
    Changes,
    FileChanges,
    compare_files,
    find_changes,
    in_build_order,
    outdated_units,
    racily_clean,
    record_decisions,
)
from adaptc.compile.engine.output import TIMES, SourceTimes, output_lock, wait_for_workers
from adaptc.compile.engine.proof.records import store_proof
from adaptc.compile.engine.reporting import LOOKING, BuildReport, Progress
from adaptc.compile.engine.scanned import ScannedDocroot
from adaptc.compile.engine.scripts_seen import store_scripts_seen
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state import State, TreeDirectories, Unit
from adaptc.compile.engine.store import Store
from adaptc.compile.engine.tracing_store import traces_of
from adaptc.compile.engine.trees import Trees, mark_incomplete, note_boot
from adaptc.compile.pipeline import modules_of
from adaptc.config.config import ALL_PAGES
from adaptc.core import media
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import TEMPORARY, refuse_outward
from adaptc.core.model import Resource
from adaptc.core.shortage import Shortage, has_memory_limit

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from adaptc.compile.analyse.decisions import Decisions
    from adaptc.compile.engine.executor import WorkerPool, Workers
    from adaptc.compile.engine.gate import Gate, GatedPublisher
    from adaptc.compile.engine.looking import LookStage
    from adaptc.compile.engine.proof.stage import ProofStage
    from adaptc.compile.engine.remote_cache import RemoteCache
    from adaptc.compile.engine.stages import BuildStage, ReadStage
    from adaptc.site.docroot_digest import PlainDirectory
    from adaptc.site.site import Source

# The lock file that workers hold
_WORKERS = "workers"


class Builder:
    """Builds what ``spec`` asks for.

    With a ``gate`` this process publishes the results, through the gate. Units that were built by one of the
    ``accepted_recipes`` are up to date, too. With ``cancels_on_change`` the build is cancelled when a file changes.
    With ``requires_pages`` a docroot without any raises ``UsageError``, and nothing is removed. With ``is_isolated``
    other processes do all the work, even if it is little. The workers of an ``executor`` read and build sources.
    """

    gate: Gate | None = None
    accepted_recipes: frozenset[str] = frozenset()
    cancels_on_change: bool = False
    requires_pages: bool = False
    is_isolated: bool = False
    executor: Executor | None = None
    _has_removed_outdated: bool = False

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
        private.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(output_lock(private / "lock"))
            wait_for_workers(private / _WORKERS)
            (private / "tmp").mkdir(exist_ok=True)
            for leftover in (*(private / "tmp").iterdir(), *self.spec.output.glob(TEMPORARY + "*")):
                leftover.unlink()
            return stack.pop_all()

    @contextlib.contextmanager
    def removing_outdated(self) -> Iterator[None]:
        """Remove outdated files if a build fails before it does: they must not stay because a disk is full.

        A file with another time counts as changed. The state is only read.
        """
        try:
            yield
        except (OSError, sqlite3.DatabaseError, Shortage):
            if not self._has_removed_outdated:
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
        if self.trees.are_changed(state):
            reasons.update(self.trees.missing_outputs(state, reasons, report))
        report.reasons = in_build_order(reasons, self.spec.levels)
        report.removed = len(self.trees.unwanted(built, report))
        return report

    def run(self, state: State) -> BuildReport:
        """Bring the trees up to date. The caller holds the lock."""
        scanned = ScannedDocroot.of(self.spec, time.time_ns())
        if (unchanged := scanned.last_report(state)) is not None and self._is_complete(state, unchanged):
            self._has_removed_outdated = True
            return unchanged
        before = state.resources()
        report = self._begin_report(state, before, remember=True, unchanged=scanned.unchanged(state))
        touched = compare_files(report.resources, before)
        if not touched and self._is_complete(state, report):
            self._has_removed_outdated = True
            scanned.record(state, report)
            return report
        state.check()
        remote = self._open_remote_cache()
        with self._workers(state, remote) as workers:
            sizes = [report.resources[path].size for path in touched.touched]
            if remote is None:  # otherwise there may be nothing to build
                workers.prepare(sizes * len(self.spec.levels))
            from adaptc.compile.engine.running_sums import RunningSums
            from adaptc.compile.engine.stages import ReadStage

            reading = ReadStage(self.spec, state, report, before, scanned.started, RunningSums(state, before))
            last = self.trees.unchanged_directories(state)
            done = self._build(reading, touched, not last, workers, remote)
        self._note_complete(scanned, reading, last, done)
        report.failures.sort(key=lambda diagnostic: (str(diagnostic.location), diagnostic.id, diagnostic.message))
        return report

    def _begin_report(
        self,
        state: State,
        known: Mapping[str, tuple[Resource, str]],
        *,
        remember: bool,
        unchanged: Mapping[str, PlainDirectory] | None = None,
    ) -> BuildReport:
        report = self.spec.begin_report(state, known, self.progress, remember=remember, unchanged=unchanged)
        if self.requires_pages and not any(
            resource.media_type in media.PAGES for resource in report.resources.values()
        ):
            raise UsageError(f"docroot {self.spec.docroot} holds no page: nothing was built, and nothing removed")
        return report

    def _is_complete(self, state: State, report: BuildReport) -> bool:
        """Whether the trees are as the last build left them, and complete for an unchanged docroot."""
        mark = self.spec.completion_mark(report, self.accepted_recipes)
        if state.meta("complete") != mark or self.trees.are_changed(state):
            return False
        note_boot(state)
        return True

    @contextlib.contextmanager
    def _workers(self, state: State, remote: RemoteCache | None) -> Iterator[Workers]:
        from adaptc.compile.engine.executor import available_cpus, worker_pool

        jobs, lock = self.spec.config.build.jobs or available_cpus(), self.spec.private / _WORKERS
        isolated = self.is_isolated or has_memory_limit()
        modules = [unit_work.MODULE, *modules_of(self.spec.levels)]
        with ExitStack() as stack:
            far = stack.enter_context(self._far_workers(state, remote))
            yield stack.enter_context(worker_pool(jobs, lock, modules, is_isolated=isolated, far=far))

    def _far_workers(self, state: State, remote: RemoteCache | None) -> AbstractContextManager[WorkerPool | None]:
        if self.executor is None and self.spec.config.build.scheduler is None:
            return contextlib.nullcontext()
        from adaptc.compile.engine.cluster import far_workers

        return far_workers(self.spec, self.executor, state, remote)

    def _build(
        self, reading: ReadStage, touched: FileChanges, unknown: bool, workers: Workers, remote: RemoteCache | None
    ) -> bool:
        """Read what was ``touched``, and build what is outdated; return whether every unit could be published.

        With ``unknown`` the trees may contain anything.
        """
        from adaptc.compile.engine.stages import BuildStage, share_snapshot
        from adaptc.compile.engine.unit_records import UnitRecords

        state, report, before = reading.state, reading.report, reading.before
        state.begin()
        read = reading.gather(touched, workers, self.progress, remote)
        sources = self.spec.sources(report.resources, lambda path: read.get(path) or before[path][1])
        gone = [path for path in before if path not in report.resources]
        for path in gone:
            reading.sums.forget_source(path)
        sums, looking = reading.sums.finish(report.resources), self._look_stage(state, sources, workers)
        proving = self._proof_stage(state, sources)
        decisions = self.spec.decide(
            sums, sources, looking.expected() if looking else {}, proving.expected() if proving else {}
        )
        extras = self._remove_outdated(reading, read, decisions, unknown)
        self.trees.publisher.sync()
        read_resources = (racily_clean(report.resources[path], reading.started) for path in read)
        self.record_times(gone, read_resources)
        state.commit()
        self._has_removed_outdated = True
        if remote is not None:
            remote.fetch(traces_of(self.spec.recipes, report.reasons, sources))
        if looking is not None:
            decisions = self._look(looking, report, decisions, extras)
        if proving is not None:
            decisions = self._prove(proving, report, decisions, extras, workers)
        snapshot = share_snapshot(self.spec, self.spec.snapshot(sources, decisions))
        proven = proving.built if proving else {}
        records = None if remote is None else UnitRecords(snapshot.snapshot, Store(self.spec.cache))
        building = BuildStage(self.spec, state, report, sources, self.gated_publisher, proven, records)
        done = building.run(snapshot, workers, self.progress)
        if not self.accepted_recipes:  # a quick build, which a better one follows
            self._update_dictionaries(building, workers)
        if remote is not None:
            remote.share(traces_of(self.spec.recipes, report.reasons, sources))
            report.remote_cache = remote.problem
        self.trees.remove_unused_extras(state, extras)
        return done

    def _open_remote_cache(self) -> RemoteCache | None:
        config = self.spec.config.build
        if config.remote_cache is None:
            return None
        from adaptc.compile.engine.remote_cache import RemoteCache

        return RemoteCache(config.remote_cache, Store(self.spec.cache), is_readonly=config.remote_cache_readonly)

    def _update_dictionaries(self, built: BuildStage, workers: Workers) -> None:
        if not self.spec.config.codings.dictionaries and are_as_asked(built.state, self.spec):
            return
        from adaptc.compile.engine.dictionaries import DictionaryStage

        stage = DictionaryStage(self.spec, built.state, built.report, built.sources, self.trees, built.gated_publisher)
        stage.run(workers, self.progress)

    def _look_stage(self, state: State, sources: Mapping[str, Source], workers: Workers) -> LookStage | None:
        count = self.spec.config.browser.pages
        if not count:
            state.set_meta(LOOKING, None)
            store_scripts_seen(state, ())
            return None
        from adaptc.compile.engine.looking import LookStage
        from adaptc.compile.engine.templates import Templates, find_skeletons

        skeletons = {} if count == ALL_PAGES else find_skeletons(self.spec, sources, workers)
        return LookStage(self.spec, state, sources, Templates(state, sources, skeletons, count))

    def _proof_stage(self, state: State, sources: Mapping[str, Source]) -> ProofStage | None:
        if not self.spec.config.browser.prove:
            store_proof(state, None)
            return None
        from adaptc.compile.engine.proof.stage import ProofStage

        return ProofStage(self.spec, state, sources)

    def _check(self) -> None:
        """Raise ``BuildCancelled`` if the build is to stop."""
        from adaptc.compile.engine.gate import BuildCancelled

        if self.gated_publisher.is_cancelled:
            raise BuildCancelled

    def _look(
        self, looking: LookStage, report: BuildReport, decisions: Decisions, extras: dict[Unit, None]
    ) -> Decisions:
        """Look at pages, and add those of which something else is seen now to what is built; return the decisions.

        The ``extras`` of those are added, too.
        """
        if self.accepted_recipes:  # a quick build, which a better one follows
            report.is_blind = bool(looking.pending)
            return dataclasses.replace(decisions, evidence=looking.known())
        evidence = looking.run(self.progress, self._check)
        decisions = dataclasses.replace(decisions, evidence=evidence)
        looking.state.begin()
        looking.record(report)
        self._adopt(looking.state, report, decisions, extras)
        return decisions

    def _prove(
        self,
        proving: ProofStage,
        report: BuildReport,
        decisions: Decisions,
        extras: dict[Unit, None],
        workers: Workers,
    ) -> Decisions:
        """Prove pages; units of which other passes are dropped than before are added to what is built.

        The ``extras`` of those are added, too.
        """
        if self.accepted_recipes:  # a quick build, which a better one follows
            return decisions
        demotions = proving.run(decisions, report, workers, self.progress, self._check)
        decisions = dataclasses.replace(decisions, demotions=demotions)
        proving.state.begin()
        proving.record(report)
        self._adopt(proving.state, report, decisions, extras)
        return decisions

    def _adopt(self, state: State, report: BuildReport, decisions: Decisions, extras: dict[Unit, None]) -> None:
        """Record decisions, add the units that they make outdated to what is built, and commit."""
        changes = Changes(frozenset(), frozenset(), record_decisions(state, decisions))
        reasons = outdated_units(
            state, state.recipes(), changes, self.spec.recipes, report.resources, report.restriction
        )
        added = {unit: reason for unit, reason in reasons.items() if unit not in report.reasons}
        extras.update(self.trees.remove_outdated(state, (), added))
        mark_incomplete(state, bool(added))
        report.reasons = in_build_order({**report.reasons, **added}, self.spec.levels)
        state.commit()

    def _remove_outdated(
        self, reading: ReadStage, read: Mapping[str, str], decisions: Decisions, unknown: bool
    ) -> dict[Unit, None]:
        """Find the outdated units, and remove outdated files from the trees; return the extra files of those units."""
        state, report = reading.state, reading.report
        changes = find_changes(report.resources, read, reading.before)
        changes = dataclasses.replace(changes, decisions=record_decisions(state, decisions))
        built = None if self._has_just_these(state, report) else state.recipes()
        conditions = (report.restriction, self.accepted_recipes)
        reasons = outdated_units(state, built, changes, self.spec.recipes, report.resources, *conditions)
        if unknown:
            self.trees.remove_foreign_files(state)
            reasons.update(self.trees.missing_outputs(state, reasons, report))
        report.reasons = in_build_order(reasons, self.spec.levels)
        unwanted = self.trees.unwanted(built or (), report)
        report.removed = len(unwanted)
        self.trees.note_levels(state, is_complete=False)
        mark_incomplete(state, bool(report.has_work or changes.contents or changes.presence))
        return self.trees.remove_outdated(state, unwanted, report.reasons)

    def _has_just_these(self, state: State, report: BuildReport) -> bool:
        """Whether there is a unit of every file at every level, by the level's recipe, and no other."""
        return report.restriction == UNRESTRICTED and state.has_just(self.spec.recipes, report.resources)

    def record_times(self, removed: Iterable[str], read_resources: Iterable[Resource]) -> None:
        """Record the times of sources for strict servers, after the files that they made outdated were removed."""
        if self.times is not None:
            self.trees.publisher.sync()
            self.times.forget(removed)
            self.times.record(read_resources)

    @property
    def gated_publisher(self) -> GatedPublisher:
        """The publisher of this build's results."""
        from adaptc.compile.engine.gate import GatedPublisher

        return GatedPublisher(self.trees.publisher, self.gate, self.cancels_on_change)

    def _note_complete(self, scanned: ScannedDocroot, reading: ReadStage, last: TreeDirectories, done: bool) -> None:
        """Record the directories of the trees, which were the ``last``; if every unit was ``done`` all is complete."""
        state, report = reading.state, reading.report
        self.trees.publisher.sync()
        state.begin()
        self.trees.record_directories(state, last)
        scanned.record(state, report)
        if done:
            self.trees.note_levels(state, is_complete=True)
            mark = None if report.is_blind else self.spec.completion_mark(report, self.accepted_recipes)
            state.set_meta("complete", mark)
        state.commit()
