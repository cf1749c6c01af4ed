"""The build engine: does what is needed, in an order in which a reader of the tree never sees anything untrue.

1. load the docroot and compare it with the last build's state; read the access logs, if any;
2. read what changed and gather its facts;
3. decide what concerns the whole site;
4. find the stale units; take what is untrue out of the trees, note it in the state;
5. build and publish the units, assets before the pages that use them, aliases last;
6. note that the trees are complete.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from adaptc.analyse.decorations.configured import configured_rules
from adaptc.analyse.facts import Facts, affected_targets
from adaptc.analyse.placement import DeliveryCost
from adaptc.analyse.popularity import Traffic
from adaptc.codings import CODINGS
from adaptc.codings import recipe as codec_recipe
from adaptc.config import Config, recipe_text
from adaptc.diagnostics import Diagnostic, Location, diagnose
from adaptc.digest import digest_parts
from adaptc.engine.changes import FileChanges, compare_files, racily_clean, stale_units, what_changed
from adaptc.engine.decisions import decide, note_decisions
from adaptc.engine.executor import Workers, available_cpus, worker_pool
from adaptc.engine.gate import Gate, GivenUp
from adaptc.engine.ladder import levels_above
from adaptc.engine.lock import output_lock, wait_for_workers
from adaptc.engine.order import ordered, phase_of
from adaptc.engine.progress import Progress
from adaptc.engine.publish import PRIVATE, Publisher
from adaptc.engine.reasons import STALE, OutputMissing, Reason
from adaptc.engine.results import UnitResult
from adaptc.engine.snapshot import Snapshot
from adaptc.engine.state import State, Unit, as_sources
from adaptc.engine.store import Store
from adaptc.engine.traffic import UNRESTRICTED, Restriction, measure_traffic, restriction
from adaptc.engine.view import Decisions
from adaptc.engine.worker import build_batch, gather_batch, make_batch
from adaptc.fs import TEMPORARY, DiskTree
from adaptc.load.directory import Docroot, Selection, load_directory
from adaptc.load.mirror import types_of
from adaptc.model import OWN_DIRECTORY, Resource
from adaptc.passes.view import Effort, Settings
from adaptc.pipeline import Plan, plan_level
from adaptc.rulebook import Level
from adaptc.site import Source

# Results between two commits: what a killed build has to do again
_COMMIT_EVERY = 256

EVERYTHING = Decisions({}, frozenset())


@dataclass(slots=True)
class Report:
    """What a build did. ``reasons`` tells why each unit was built, in the order of paths.

    ``traffic`` is None without access logs; ``restriction`` is what it leaves out.
    """

    resources: dict[str, Resource]
    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    loading: list[Diagnostic] = field(default_factory=list)
    unread: list[Diagnostic] = field(default_factory=list)
    traffic: Traffic | None = None
    restriction: Restriction = UNRESTRICTED

    @property
    def worked(self) -> bool:
        """Whether anything was built or removed."""
        return bool(self.reasons or self.removed)


class Builder:
    """One build of ``config.docroot`` into ``config.output`` at ``levels``.

    With a ``gate``, results are published through it, by this process. ``others`` are recipes by which units may have
    been built as well. ``yields`` says that the build is given up when the gate shuts.
    """

    gate: Gate | None = None
    others: frozenset[str] = frozenset()
    yields: bool = False

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
            self._cost().crowd_limit(),
        )
        self.codings = tuple(name for name in CODINGS if getattr(config.codings, name))
        self.codec = codec_recipe()
        self.decorations = configured_rules(config) if any(plan_level(one).labels for one in levels) else None
        self.recipes = self._recipes()
        self.publisher = Publisher(self.output, Store(self.cache))

    def _recipes(self) -> dict[str, str]:
        """Return the recipe of each level: a page may be as it is at the level above, whose recipe is a part of it."""
        above, recipes = levels_above(self.levels), dict[str, str]()
        for level in self.levels:  # dearest first
            plan = plan_level(level)
            own = plan.recipe(self._recipe_text(plan))
            recipes[level.name] = digest_parts(own, recipes[above[level.name]]) if level.name in above else own
        return recipes

    def _recipe_text(self, plan: Plan) -> str:
        """Everything of the configuration that a unit's bytes may depend on."""
        site = self.config.site
        shared = (self.settings, self.codings, self.codec, site.base_url, site.index, site.max_file_bytes)
        rules = (plan.level.name, self.decorations.digest) if plan.labels and self.decorations else None
        return repr((*shared, self._complete(), rules))

    def _complete(self) -> bool:
        return self.config.build.identity == "complete"

    @property
    def state_path(self) -> Path:
        """Where the output's state is."""
        return self.private / "state.sqlite"

    def lock(self) -> ExitStack:
        """Make the private directory, take the lock, and sweep away what a killed build left."""
        self.private.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(output_lock(self.private / "lock"))
            wait_for_workers(self._worker_lock())
            shutil.rmtree(self.private / "tmp", ignore_errors=True)
            (self.private / "tmp").mkdir(exist_ok=True)
            for leftover in self.output.glob(TEMPORARY + "*"):
                leftover.unlink()
            return stack.pop_all()

    def _worker_lock(self) -> Path:
        return self.private / "workers"

    def load(self) -> Docroot:
        """Load the docroot."""
        return load_directory(DiskTree(self.docroot), self.selection, types_of(self.docroot))

    @property
    def selection(self) -> Selection:
        """Which files of the docroot are part of the site."""
        return Selection(self.config.site.exclude, self.config.site.include_hidden)

    def begun(self, state: State, *, remember: bool) -> Report:
        """Return the report of a build that begins: what there is, and what traffic leaves out."""
        loaded = self.load()
        traffic, said = measure_traffic(self.config, state, loaded.resources, self.progress, remember=remember)
        left_out = restriction(traffic, loaded.resources, self.levels)
        rules = self.decorations.diagnostics if self.decorations else ()
        found = [*loaded.diagnostics, *rules, *said]
        return Report(loaded.resources, loading=found, traffic=traffic, restriction=left_out)

    # ---- planning

    def plan(self, state: State) -> Report:
        """Return what a build would do, without doing it; changed files count as changed in content."""
        report = self.begun(state, remember=False)
        before = state.resources()
        touched = compare_files(report.resources, before)
        contents = dict.fromkeys(touched.touched, "")
        changes = what_changed(report.resources, contents, before)
        reasons = stale_units(state, changes, self.recipes, report.resources, report.restriction)
        if self.trees_differ(state):
            reasons.update(self._missing_outputs(state, reasons, report))
        report.reasons = ordered(reasons, self.levels)
        report.removed = len(self.unwanted(state, report))
        return report

    # ---- building

    def run(self, state: State) -> Report:
        """Bring the trees up to date. The caller holds the lock."""
        started = time.time_ns()
        report = self.begun(state, remember=True)
        before = state.resources()
        touched = compare_files(report.resources, before)
        unknown = self.trees_differ(state)
        if not touched and not unknown and state.meta("complete") == self._complete_mark(report):
            return report
        with worker_pool(self.jobs, self._worker_lock()) as workers:
            self._build(state, report, before, touched, unknown, workers, started)
        report.unread.sort(key=lambda said: (str(said.location), said.id, said.message))
        return report

    def _complete_mark(self, report: Report) -> dict[str, Any]:
        """Return what a complete build notes: a build with the same mark has nothing to do."""
        settings = digest_parts(recipe_text(self.config), report.restriction.mark())
        return {"levels": self.recipes, "files": len(report.resources), "settings": settings}

    def _build(
        self,
        state: State,
        report: Report,
        before: Mapping[str, tuple[Resource, str]],
        touched: FileChanges,
        unknown: bool,
        workers: Workers,
        started: int,
    ) -> None:
        state.begin()
        read = self._gather(state, report, before, touched, workers, started)
        resources = report.resources
        changes = what_changed(resources, read, before)
        for path in before.keys() - resources.keys():
            state.forget_source(path)
        sources = as_sources((one, read.get(path) or before[path][1]) for path, one in resources.items())
        decisions = self.decide(state.facts(), sources)
        changes = dataclasses.replace(changes, decisions=note_decisions(state, decisions))
        reasons = stale_units(state, changes, self.recipes, resources, report.restriction, self.others)
        if unknown:
            self._withdraw_strangers(state)
            reasons.update(self._missing_outputs(state, reasons, report))
        report.reasons = ordered(reasons, self.levels)
        gone = self.unwanted(state, report)
        extras = self.withdraw(state, gone, report.reasons)
        report.removed = len(gone)
        self.note_begun(state, bool(report.worked or changes.contents or changes.presence))
        state.commit()
        snapshot = self._written("build", self.snapshot(sources, decisions))
        done = self._run_units(state, report, sources, snapshot, workers)
        self.withdraw_extras(state, extras)
        self._note_complete(state, report, done)

    def note_begun(self, state: State, worked: bool) -> None:
        """Note that the trees are not complete, and that what was emitted of them is not true any more."""
        state.set_directories(())
        state.set_meta("complete", None)
        if worked:
            state.set_meta("build", None)

    # ---- 2 reading

    def _gather(
        self,
        state: State,
        report: Report,
        before: Mapping[str, tuple[Resource, str]],
        touched: FileChanges,
        workers: Workers,
        started: int,
    ) -> dict[str, str]:
        """Read files, note what is found in the state, and return their digests.

        What cannot be read is taken out of the report's resources.
        """
        sizes = [(path, report.resources[path].size) for path in self._to_read(state, report, touched)]
        known = ((one, before[path][1] if path in before else "") for path, one in report.resources.items())
        snapshot = self._written("read", self.snapshot(as_sources(known), EVERYTHING))
        self.progress.begin("reading", len(sizes), sum(size for _, size in sizes))
        digests: dict[str, str] = {}
        for path, facts in workers.run(gather_batch, snapshot, sizes):
            resource = report.resources[path]
            self.progress.advance(1, resource.size, 0)
            if isinstance(facts, str):
                report.unread.append(diagnose("unreadable-file", Location(path), reason=facts))
                continue
            digests[path] = facts.digest
            state.set_source(racily_clean(resource, started), facts.digest)
            state.set_facts(path, facts)
        self.progress.end()
        for said in report.unread:
            assert said.location is not None
            del report.resources[said.location.path]
        return digests

    def _to_read(self, state: State, report: Report, touched: FileChanges) -> dict[str, None]:
        """Return what was touched, and what refers to files that came or went."""
        wanted = dict.fromkeys(touched.touched)
        if touched.came or touched.went:
            affected = affected_targets(touched.came | touched.went, self.config.site.index)
            wanted.update((path, None) for path in state.affected_by_targets(affected) if path in report.resources)
        return wanted

    def snapshot(self, sources: dict[str, Source], decisions: Decisions) -> Snapshot:
        """Return what those who read or build the files ``sources`` need to know."""
        return Snapshot(
            self.docroot,
            self.output,
            self.cache,
            self.config.site.base_url,
            self.config.site.index,
            sources,
            decisions,
            self.settings,
            self.levels,
            self.codings,
            self.codec,
            self.config.site.max_file_bytes,
            self._complete(),
            self.decorations.rules if self.decorations else None,
        )

    def _written(self, name: str, snapshot: Snapshot) -> str:
        path = self.private / "tmp" / f"{name}-{os.getpid()}-{os.urandom(4).hex()}"
        snapshot.write(path)
        return os.fspath(path)

    # ---- 3 deciding

    def decide(self, facts: Iterable[tuple[str, Facts]], sources: Mapping[str, Source]) -> Decisions:
        """Take the decisions about the whole site from the facts of all its files."""
        # an image may shrink to half before it becomes a data URI
        limits = self.decorations.rules.limits if self.decorations else None
        return decide(facts, sources, self._cost(), 2 * self.config.cost.data_uri_max, limits)

    def _cost(self) -> DeliveryCost:
        cost = self.config.cost
        return DeliveryCost(cost.request_ms, cost.kilobyte_ms, cost.pages_per_visit, cost.warm_share)

    # ---- 4 what is untrue

    def trees_differ(self, state: State) -> bool:
        """Whether some directory of the trees is not as the last complete build left it."""
        known = state.directories()
        return not known or any(_mtime(f"{self.output}/{path}") != mtime for path, mtime in known.items())

    def _missing_outputs(
        self, state: State, known: Mapping[Unit, Reason], report: Report
    ) -> Iterator[tuple[Unit, Reason]]:
        for result in state.results(notes=False):
            unit = (result.level, result.path)
            if self._is_wanted(unit, report) and unit not in known:
                missing = self._missing(result, report.resources[result.path].alias_of)
                if missing is not None:
                    yield unit, OutputMissing(missing)

    def _missing(self, result: UnitResult, alias_of: str | None) -> str | None:
        """Return the name of a file of a unit that is not in the tree as it was built, or ``None``."""
        for path, output in result.files():
            if not self.publisher.holds(result.level, path, output, alias_of if path == result.path else None):
                return f"{result.level}/{output.coding}/{path}"
        return None

    def _is_wanted(self, unit: Unit, report: Report) -> bool:
        return unit[0] in self.recipes and unit[1] in report.resources and not report.restriction.forbids(unit)

    def unwanted(self, state: State, report: Report) -> list[Unit]:
        """Return built units whose source or level is gone, or whose page is not popular any more."""
        return [unit for unit in state.recipes() if not self._is_wanted(unit, report)]

    def withdraw(self, state: State, gone: Iterable[Unit], reasons: Mapping[Unit, Reason]) -> dict[Unit, None]:
        """Take out of the trees what is untrue or not wanted any more, and forget units that are ``gone`` or to build.

        Returns their extra files, for ``withdraw_extras``.
        """
        extras = {extra: None for unit in (*gone, *reasons) for extra in state.extras_of(unit)}
        stale = [unit for unit, reason in reasons.items() if isinstance(reason, STALE)]
        for unit in (*gone, *stale):
            self.publisher.withdraw_path(*unit)
            for level, path in state.extras_of(unit):
                if not path.startswith(OWN_DIRECTORY):  # those are named by their content, and other units have them
                    self.publisher.withdraw_path(level, path)
        for unit in (*gone, *reasons):
            state.forget_unit(unit)
        return extras

    def withdraw_extras(self, state: State, extras: Iterable[Unit]) -> None:
        """Remove those of the extra files that no unit refers to any more."""
        for level, path in extras:
            if not state.has_extra(level, path):
                self.publisher.withdraw_path(level, path)

    def _withdraw_strangers(self, state: State) -> None:
        """Remove what the state does not know from the trees: leftovers of a killed build, or someone else's."""
        levels = {*self.recipes, *(level for level, _ in state.recipes())}
        strangers, directories = self.publisher.names(sorted(levels))
        for result in state.results(notes=False):
            for path, output in result.files():
                strangers.pop(self.publisher.file(result.level, output.coding, path), None)
        for file in strangers:
            self.publisher.withdraw(file)
        for directory in reversed(directories):
            self.publisher.prune(directory)

    # ---- 5 building

    def _run_units(
        self, state: State, report: Report, sources: Mapping[str, Source], snapshot: str, workers: Workers
    ) -> bool:
        """Build and publish the units of the report; return whether all of them could be."""
        units = [(unit, sources[unit[1]].size) for unit in report.reasons]
        self.progress.begin("building", len(units), sum(size for _, size in units))
        unpublished = len(report.unread)
        for phase in (0, 1, 2):
            chosen = [one for one in units if phase_of(sources[one[0][1]]) == phase]
            work = make_batch if self.gate else build_batch
            self._note_results(state, report, sources, workers.run(work, snapshot, chosen))
        self.progress.end()
        return len(report.unread) == unpublished

    def _note_results(
        self, state: State, report: Report, sources: Mapping[str, Source], results: Iterable[UnitResult]
    ) -> None:
        state.begin()
        for number, result in enumerate(results, 1):
            self._note_result(state, report, sources[result.path], result)
            gives_up = self._gives_up()
            if gives_up or number % _COMMIT_EVERY == 0:
                self.commit(state)
                if gives_up:
                    raise GivenUp
                state.begin()
        self.commit(state)

    def _gives_up(self) -> bool:
        return self.gate is not None and (self.gate.is_closing or (self.yields and self.gate.is_shut))

    def _note_result(self, state: State, report: Report, source: Source, made: UnitResult) -> None:
        result = self.admitted(made, source.alias_of)
        smallest = min((output.size for output in result.outputs), default=source.size)
        self.progress.advance(1, source.size, source.size - smallest)
        if result.published:
            state.set_unit(result, self.recipes[result.level])
        else:
            report.unread.extend(result.diagnostics)

    def admitted(self, made: UnitResult, alias_of: str | None) -> UnitResult:
        """Publish a result through the gate; without one its worker did."""
        if self.gate is None:
            return made
        return self.gate.publish(made, lambda: self.publisher.published(made, alias_of))

    def commit(self, state: State) -> None:
        """Commit results."""
        state.commit()
        if self.gate:
            self.gate.committed()

    # ---- 6 done

    def _note_complete(self, state: State, report: Report, done: bool) -> None:
        """Note how the trees were left, and that there is nothing more to do, if that is so."""
        state.begin()
        directories = [
            (os.path.relpath(directory, self.output), os.stat(directory).st_mtime_ns)
            for level in self.recipes
            for directory, _, _ in os.walk(self.output / level)
        ]
        state.set_directories(directories)
        if done:
            state.set_meta("complete", self._complete_mark(report))
        state.commit()


def _mtime(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
