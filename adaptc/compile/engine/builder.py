"""The build engine: does what is needed, in an order in which a reader of the tree never sees anything untrue.

1. load the docroot and compare it with the last build's state; read the access logs, if any;
2. read what changed and gather its facts (``reading``);
3. decide what concerns the whole site (``decisions``);
4. find the stale units; take what is untrue out of the trees, note it in the state (``changes``, ``trees``);
5. build and publish the units, assets before the pages that use them, aliases last (``building``);
6. note that the trees are complete.
"""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.engine.outdated import FileChanges, compare_files, ordered, racily_clean, stale_units, what_changed
from adaptc.compile.engine.output import SourceTimes, output_lock, wait_for_workers
from adaptc.compile.engine.reporting import Progress, Report
from adaptc.compile.engine.spec import Blueprint
from adaptc.compile.engine.state import State, Unit, as_sources
from adaptc.compile.engine.trees import Trees
from adaptc.compile.pipeline import modules_of
from adaptc.core.fs import TEMPORARY
from adaptc.core.model import Resource

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import Decisions
    from adaptc.compile.engine.executor import Workers
    from adaptc.compile.engine.gate import Admission, Gate
    from adaptc.compile.engine.stages import Reading


class Builder:
    """Builds what ``blueprint`` asks for.

    With a ``gate``, results are published through it, by this process. ``others`` are recipes by which units may have
    been built as well. ``yields`` says that the build is given up when the gate shuts.
    """

    gate: Gate | None = None
    others: frozenset[str] = frozenset()
    yields: bool = False

    def __init__(self, blueprint: Blueprint, progress: Progress) -> None:
        self.blueprint, self.progress = blueprint, progress
        self.trees = Trees(blueprint)
        is_strict = blueprint.config.serve.freshness == "strict"
        self.times = SourceTimes(blueprint.output) if is_strict else None

    def lock(self) -> ExitStack:
        """Make the private directory, take the lock, and sweep away what a killed build left."""
        private = self.blueprint.private
        private.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(output_lock(private / "lock"))
            wait_for_workers(self._worker_lock())
            shutil.rmtree(private / "tmp", ignore_errors=True)
            (private / "tmp").mkdir(exist_ok=True)
            for leftover in self.blueprint.output.glob(TEMPORARY + "*"):
                leftover.unlink()
            return stack.pop_all()

    def _worker_lock(self) -> Path:
        return self.blueprint.private / "workers"

    def plan(self, state: State) -> Report:
        """Return what a build would do, without doing it; changed files count as changed in content."""
        report = self.blueprint.begin_report(state, self.progress, remember=False)
        before = state.resources()
        touched = compare_files(report.resources, before)
        contents = dict.fromkeys(touched.touched, "")
        changes = what_changed(report.resources, contents, before)
        reasons = stale_units(state, changes, self.blueprint.recipes, report.resources, report.restriction)
        if self.trees.differ(state):
            reasons.update(self.trees.missing_outputs(state, reasons, report))
        report.reasons = ordered(reasons, self.blueprint.levels)
        report.removed = len(self.trees.unwanted(state, report))
        return report

    def run(self, state: State) -> Report:
        """Bring the trees up to date. The caller holds the lock."""
        started = time.time_ns()
        report = self.blueprint.begin_report(state, self.progress, remember=True)
        before = state.resources()
        touched = compare_files(report.resources, before)
        unknown = self.trees.differ(state)
        if not touched and not unknown and state.meta("complete") == self.blueprint.mark(report, self.others):
            return report
        from adaptc.compile.engine.executor import available_cpus, prepare_pool, worker_pool

        jobs, modules = self.blueprint.config.build.jobs or available_cpus(), modules_of(self.blueprint.levels)
        if jobs > 1:
            prepare_pool(modules, [report.resources[path].size for path in touched.touched if path in report.resources])
        from adaptc.compile.engine.stages import Reading

        reading = Reading(self.blueprint, state, report, before, started)
        with worker_pool(jobs, self._worker_lock(), modules) as workers:
            self._build(reading, touched, unknown, workers)
        report.unread.sort(key=lambda said: (str(said.location), said.id, said.message))
        return report

    def _build(self, reading: Reading, touched: FileChanges, unknown: bool, workers: Workers) -> None:
        """Read what was ``touched``, and build what is stale; ``unknown`` says that the trees may hold anything."""
        from adaptc.compile.engine.stages import Building, written

        state, report, before = reading.state, reading.report, reading.before
        state.begin()
        read = reading.gather(touched, workers, self.progress)
        sources = as_sources((one, read.get(path) or before[path][1]) for path, one in report.resources.items())
        for path in before.keys() - sources.keys():
            state.forget_source(path)
        decisions = self.blueprint.decide(state.facts(), sources)
        extras = self._withdraw(reading, read, decisions, unknown)
        looked_at = (racily_clean(report.resources[path], reading.started) for path in read)
        self.note_times(before.keys() - sources.keys(), looked_at)
        state.commit()
        snapshot = written(self.blueprint, "build", self.blueprint.snapshot(sources, decisions))
        building = Building(self.blueprint, state, report, sources, self.admission)
        done = building.run(snapshot, workers, self.progress)
        self.trees.withdraw_extras(state, extras)
        self._note_complete(state, report, done)

    def _withdraw(
        self, reading: Reading, read: Mapping[str, str], decisions: Decisions, unknown: bool
    ) -> dict[Unit, None]:
        """Find the stale units, and take out of the trees what is untrue; return the extra files of that."""
        from adaptc.compile.engine.outdated import note_decisions

        state, report = reading.state, reading.report
        changes = what_changed(report.resources, read, reading.before)
        changes = dataclasses.replace(changes, decisions=note_decisions(state, decisions))
        recipes = self.blueprint.recipes
        reasons = stale_units(state, changes, recipes, report.resources, report.restriction, self.others)
        if unknown:
            self.trees.withdraw_strangers(state)
            reasons.update(self.trees.missing_outputs(state, reasons, report))
        report.reasons = ordered(reasons, self.blueprint.levels)
        gone = self.trees.unwanted(state, report)
        report.removed = len(gone)
        note_begun(state, bool(report.worked or changes.contents or changes.presence))
        return self.trees.withdraw(state, gone, report.reasons)

    def note_times(self, went: Iterable[str], looked_at: Iterable[Resource]) -> None:
        """Note the times of sources for strict servers, after what they make stale was withdrawn."""
        if self.times is not None:
            self.times.forget(went)
            self.times.note(looked_at)

    @property
    def admission(self) -> Admission:
        """How results get into the trees."""
        from adaptc.compile.engine.gate import Admission

        return Admission(self.trees.publisher, self.gate, self.yields)

    def _note_complete(self, state: State, report: Report, done: bool) -> None:
        """Note how the trees were left, and that there is nothing more to do, if that is so."""
        state.begin()
        self.trees.note(state)
        if done:
            state.set_meta("complete", self.blueprint.mark(report, self.others))
        state.commit()


def note_begun(state: State, worked: bool) -> None:
    """Note that the trees are not complete, and that what was emitted of them is not true any more."""
    state.set_directories(())
    state.set_meta("complete", None)
    if worked:
        state.set_meta("build", None)
