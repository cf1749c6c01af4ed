"""The build engine: does what is needed, in an order in which a reader of the tree never sees anything untrue.

1. load the docroot and compare it with the last build's state;
2. read what changed and gather its facts;
3. decide what concerns the whole site;
4. find the stale units; take what is untrue out of the trees, note it in the state;
5. build and publish the units, assets before the pages that use them, aliases last;
6. note that the trees are complete.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from adaptc import media
from adaptc.analyse.facts import Facts, affected_targets
from adaptc.analyse.placement import DeliveryCost
from adaptc.engine.changes import FileChanges, compare_files, stale_units
from adaptc.engine.decisions import changed_decisions, decide, decision_rows
from adaptc.engine.executor import available_cpus, batches_by_size, run_batches, worker_pool
from adaptc.engine.lock import output_lock
from adaptc.engine.progress import Progress
from adaptc.engine.publish import ALL_CODINGS, PRIVATE, Publisher
from adaptc.engine.reasons import STALE, OutputMissing, Reason
from adaptc.engine.results import UnitResult
from adaptc.engine.snapshot import Snapshot
from adaptc.engine.state import State, Unit, as_sources
from adaptc.engine.store import Store
from adaptc.engine.view import Decisions
from adaptc.engine.worker import build_batch, gather_batch
from adaptc.config import Config
from adaptc.diagnostics import Diagnostic, Location, diagnose
from adaptc.fs import DiskTree
from adaptc.load.directory import Docroot, Selection, load_directory
from adaptc.model import Resource
from adaptc.passes.view import Effort, Settings
from adaptc.pipeline import plan_level
from adaptc.rulebook import Level
from adaptc.site import Source

# A batch is about this many bytes of originals, and at most so many units
_BATCH_BYTES = 256 * 1024
_BATCH_UNITS = 64
# Results between two commits: what a killed build has to do again
_COMMIT_EVERY = 256

_EVERYTHING = Decisions({}, frozenset())


@dataclass(slots=True)
class Report:
    """What a build did. ``reasons`` tells why each unit was built, in the order of paths."""

    resources: dict[str, Resource]
    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    loading: list[Diagnostic] = field(default_factory=list)
    unread: list[Diagnostic] = field(default_factory=list)

    @property
    def worked(self) -> bool:
        """Whether anything was built or removed."""
        return bool(self.reasons or self.removed)


class Builder:
    """One build of ``config.docroot`` into ``config.output`` at ``levels``."""

    def __init__(self, config: Config, docroot: Path, levels: tuple[Level, ...], progress: Progress) -> None:
        self.config, self.docroot, self.levels, self.progress = config, docroot, levels, progress
        self.output = Path(os.path.abspath(config.output))
        self.private = self.output / PRIVATE
        self.cache = Path(os.path.abspath(config.build.cache)) if config.build.cache else self.private / "cache"
        self.jobs = config.build.jobs or available_cpus()
        self.settings = Settings(
            cast(Effort, config.build.effort),
            config.site.max_pixels,
            config.site.csp,
            config.cost.data_uri_budget,
            config.cost.data_uri_max,
        )
        self.codings = tuple(name for name in ALL_CODINGS if getattr(config.codings, name, False))
        self.recipes = {level.name: plan_level(level).recipe(self._recipe_text()) for level in levels}
        self.publisher = Publisher(self.output, Store(self.cache))

    def _recipe_text(self) -> str:
        """Everything of the configuration that a unit's bytes may depend on."""
        site = self.config.site
        return repr((self.settings, self.codings, site.base_url, site.index, site.max_file_bytes, self._complete()))

    def _complete(self) -> bool:
        return self.config.build.identity == "complete"

    def open_state(self) -> State:
        """Open the output's state, which the caller closes."""
        return State(self.private / "state.sqlite")

    def lock(self) -> ExitStack:
        """Make the private directory, take the lock, and sweep away what a killed build left."""
        stack = ExitStack()
        self.private.mkdir(parents=True, exist_ok=True)
        stack.enter_context(output_lock(self.private / "lock"))
        shutil.rmtree(self.private / "tmp", ignore_errors=True)
        (self.private / "tmp").mkdir()
        return stack

    def load(self) -> Docroot:
        """Load the docroot."""
        selection = Selection(self.config.site.exclude, self.config.site.include_hidden)
        return load_directory(DiskTree(self.docroot), selection)

    # ---- planning

    def plan(self, state: State) -> Report:
        """Return what a build would do, without doing it; changed files count as changed in content."""
        loaded = self.load()
        changes = compare_files(loaded.resources, state.resources())
        contents = {*changes.touched, *changes.went}
        reasons = stale_units(state, contents, (), self.recipes, loaded.resources)
        return Report(loaded.resources, _ordered(reasons), len(changes.went), loaded.diagnostics)

    # ---- building

    def run(self, state: State) -> Report:
        """Bring the trees up to date. The caller holds the lock."""
        loaded = self.load()
        report = Report(loaded.resources, loading=loaded.diagnostics)
        before = state.resources()
        changes = compare_files(loaded.resources, before)
        unknown = self._trees_differ(state)
        if not changes and not unknown and not self._other_recipes(state, loaded.resources):
            return report
        with ExitStack() as stack:
            units = max(len(changes.touched), len(loaded.resources) if unknown else 0, 1)
            pool = stack.enter_context(worker_pool(self.jobs, units))
            self._build(state, report, before, changes, unknown, pool)
        return report

    def _other_recipes(self, state: State, resources: Mapping[str, Resource]) -> bool:
        expected = {"levels": self.recipes, "files": len(resources)}
        return bool(state.meta("complete") != expected)

    def _build(
        self,
        state: State,
        report: Report,
        before: Mapping[str, tuple[Resource, str]],
        changes: FileChanges,
        unknown: bool,
        pool: Executor | None,
    ) -> None:
        digests = {path: digest for path, (_, digest) in before.items() if path not in changes.went}
        facts = self._gather(state, report, changes, digests, pool)
        resources = {path: one for path, one in report.resources.items() if path in facts or path in digests}
        contents = {path for path, one in facts.items() if digests.get(path) != one.digest} | changes.went
        contents |= changes.came | (before.keys() - resources.keys())
        digests.update((path, one.digest) for path, one in facts.items())
        state.begin()
        self._note_sources(state, report, digests, facts, changes)
        sources = as_sources((one, digests[path]) for path, one in resources.items())
        decisions, turned = self._decide(state, sources)
        reasons = stale_units(state, contents, turned, self.recipes, resources)
        reasons.update(self._missing_outputs(state, reasons) if unknown else {})
        report.reasons = _ordered(reasons)
        report.removed = self._withdraw(state, report, resources, unknown)
        state.set_directories(())
        state.set_meta("complete", None)
        state.commit()
        snapshot = self._snapshot("build", sources, decisions)
        self._run_units(state, report, sources, snapshot, pool)
        self._note_complete(state, resources)

    # ---- 2 reading

    def _gather(
        self,
        state: State,
        report: Report,
        changes: FileChanges,
        digests: Mapping[str, str],
        pool: Executor | None,
    ) -> dict[str, Facts]:
        """Return the facts of every file to be read; what cannot be read is taken out of the report's resources."""
        wanted = dict.fromkeys(changes.touched)
        if changes.came or changes.went:
            affected = affected_targets(changes.came | changes.went, self.config.site.index)
            wanted.update((path, None) for path in state.affected_by_targets(affected) if path in report.resources)
        known = {path: digests.get(path, "") for path in report.resources}
        sources = as_sources((one, known[path]) for path, one in report.resources.items())
        snapshot = self._snapshot("read", sources, _EVERYTHING)
        sizes = [(path, report.resources[path].size) for path in wanted]
        self.progress.begin("reading", len(sizes), sum(size for _, size in sizes))
        found: dict[str, Facts] = {}
        batches = batches_by_size(sizes, _BATCH_BYTES, _BATCH_UNITS)
        for path, facts in run_batches(pool, self.jobs, gather_batch, snapshot, batches):
            self.progress.advance(1, report.resources[path].size, 0)
            if isinstance(facts, str):
                report.unread.append(diagnose("unreadable-file", Location(path), reason=facts))
            else:
                found[path] = facts
        self.progress.end()
        for said in report.unread:
            assert said.location is not None
            report.resources.pop(said.location.path, None)
        return found

    def _snapshot(self, name: str, sources: dict[str, Source], decisions: Decisions) -> str:
        snapshot = Snapshot(
            self.docroot,
            self.output,
            self.cache,
            self.config.site.base_url,
            self.config.site.index,
            sources,
            decisions,
            self.settings,
            self.levels,
            self.recipes,
            self.codings,
            self.config.site.max_file_bytes,
            self._complete(),
        )
        path = self.private / "tmp" / f"{name}-{os.getpid()}-{os.urandom(4).hex()}"
        snapshot.write(path)
        return os.fspath(path)

    # ---- 3 deciding

    def _note_sources(
        self,
        state: State,
        report: Report,
        digests: Mapping[str, str],
        facts: Mapping[str, Facts],
        changes: FileChanges,
    ) -> None:
        unreadable = (said.location.path for said in report.unread if said.location is not None)
        for path in (*changes.went, *unreadable):
            state.forget_source(path)
        for path in facts:
            state.set_source(report.resources[path], digests[path])
            state.set_facts(path, facts[path])

    def _decide(self, state: State, sources: dict[str, Source]) -> tuple[Decisions, set[str]]:
        cost = self.config.cost
        model = DeliveryCost(cost.request_ms, cost.kilobyte_ms, cost.pages_per_visit, cost.warm_share)
        # an image may shrink to half before it becomes a data URI
        decisions = decide(
            ((path, facts) for path, facts in state.facts() if path in sources), sources, model, 2 * cost.data_uri_max
        )
        rows = decision_rows(decisions)
        turned = changed_decisions(state.decisions(), rows)
        state.set_decisions(rows)
        return decisions, turned

    # ---- 4 what is untrue

    def _trees_differ(self, state: State) -> bool:
        """Whether some directory of the trees is not as the last complete build left it."""
        known = state.directories()
        return not known or any(_mtime(path) != mtime for path, mtime in known.items())

    def _missing_outputs(self, state: State, known: Mapping[Unit, Reason]) -> Iterator[tuple[Unit, Reason]]:
        for result in state.results(notes=False):
            unit = (result.level, result.path)
            if result.level not in self.recipes or unit in known:
                continue
            for output in result.outputs:
                file = self.publisher.file(result.level, output.coding, result.path)
                if _size(file) != output.size:
                    yield unit, OutputMissing(os.path.relpath(file, self.output))
                    break

    def _withdraw(self, state: State, report: Report, resources: Mapping[str, Resource], unknown: bool) -> int:
        """Take out of the trees what is untrue or has no source any more; return how many units went for good."""
        gone = [unit for unit in state.recipes() if unit[1] not in resources or unit[0] not in self.recipes]
        stale = [unit for unit, reason in report.reasons.items() if isinstance(reason, STALE)]
        for unit in (*gone, *stale):
            self.publisher.withdraw_path(*unit)
        if unknown:
            self._withdraw_strangers(state)
        for unit in (*gone, *report.reasons):
            state.forget_unit(unit)
        return len(gone)

    def _withdraw_strangers(self, state: State) -> None:
        """Remove files of the trees that the state does not know: leftovers of a killed build, or someone else's."""
        strangers = self.publisher.files({*self.recipes, *(level for level, _ in state.recipes())})
        for result in state.results(notes=False):
            for output in result.outputs:
                strangers.pop(self.publisher.file(result.level, output.coding, result.path), None)
        for file in strangers:
            self.publisher.withdraw(file)

    # ---- 5 building

    def _run_units(
        self, state: State, report: Report, sources: Mapping[str, Source], snapshot: str, pool: Executor | None
    ) -> None:
        units = [(unit, sources[unit[1]].size) for unit in report.reasons]
        self.progress.begin("building", len(units), sum(size for _, size in units))
        for phase in (0, 1, 2):
            chosen = (one for one in units if _phase(sources[one[0][1]]) == phase)
            batches = batches_by_size(chosen, _BATCH_BYTES, _BATCH_UNITS)
            results = run_batches(pool, self.jobs, build_batch, snapshot, batches)
            self._note_results(state, report, sources, results)
        self.progress.end()

    def _note_results(
        self, state: State, report: Report, sources: Mapping[str, Source], results: Iterable[UnitResult]
    ) -> None:
        state.begin()
        for number, result in enumerate(results, 1):
            size = sources[result.path].size
            smallest = min((output.size for output in result.outputs), default=size)
            self.progress.advance(1, size, size - smallest)
            if result.published:
                state.set_unit(result, self.recipes[result.level])
            else:
                report.unread.extend(result.diagnostics)
            if number % _COMMIT_EVERY == 0:
                state.commit()
                state.begin()
        state.commit()

    # ---- 6 done

    def _note_complete(self, state: State, resources: Mapping[str, Resource]) -> None:
        state.begin()
        directories = [
            (directory, os.stat(directory).st_mtime_ns)
            for level in self.recipes
            for directory, _, _ in os.walk(self.output / level)
        ]
        state.set_directories(directories)
        state.set_meta("complete", {"levels": self.recipes, "files": len(resources)})
        state.commit()


def _phase(source: Source) -> int:
    """Assets first: a page may take their artifacts in. Aliases last: they may be links to what they stand for."""
    if source.alias_of is not None:
        return 2
    return 1 if source.media_type == media.HTML else 0


def _ordered(reasons: Mapping[Unit, Reason]) -> dict[Unit, Reason]:
    return {unit: reasons[unit] for unit in sorted(reasons, key=lambda unit: (unit[1], unit[0]))}


def _mtime(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
