"""The stages of a build, in the order in which they run.

Of a page that changed the outdated files are removed before anything is built, files appear by rename, and assets come
before the pages that use them: a reader of the trees never sees anything outdated. What parses, encodes, or starts a
browser is imported by the stage that needs it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from adaptc.compile.analyse.popularity import UNRESTRICTED
from adaptc.compile.engine.building import BuildStage
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.cache.tracing import traces_of
from adaptc.compile.engine.dictionaries.records import are_as_asked
from adaptc.compile.engine.evidence.scripts_seen import store_scripts_seen
from adaptc.compile.engine.loading import ScannedDocroot
from adaptc.compile.engine.outdated import (
    Changes,
    FileChanges,
    find_changes,
    in_build_order,
    missing,
    name_libraries,
    outdated_units,
    racily_clean,
    record_decisions,
    record_recipes,
)
from adaptc.compile.engine.proof.records import store_proof
from adaptc.compile.engine.reading import ReadStage, RunningSums
from adaptc.compile.engine.reporting import LOOKING, BuildReport, Progress
from adaptc.compile.engine.spec import FACTS, BuildSpec
from adaptc.compile.engine.state.state import State, TreeDirectories, Unit
from adaptc.compile.engine.trees.gate import GatedPublisher
from adaptc.compile.engine.trees.trees import Trees, mark_incomplete
from adaptc.compile.engine.unit.records import UnitRecords
from adaptc.compile.engine.workers.executor import Workers
from adaptc.config.config import ALL_PAGES
from adaptc.core.model import Resource
from adaptc.core.values import dataclass, field
from adaptc.site.source_table import ResourceSources

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import Decisions
    from adaptc.compile.analyse.site_sums import SiteSums
    from adaptc.compile.engine.cache.remote import RemoteCache
    from adaptc.compile.engine.evidence.stage import LookStage
    from adaptc.compile.engine.proof.stage import ProofStage
    from adaptc.site.site import Source


@dataclass(slots=True)
class Build:
    """A build in progress: what it was given, and then what each stage found for those after it.

    ``before`` are the files of the last build with their digests, ``touched`` those that seem to have changed, and
    ``directories`` those of the trees, none where these may hold anything. Units that were built by one of the
    ``accepted_recipes`` are up to date, too: such a build is quick, and a better one follows. ``publisher`` is that of
    this build's results, and ``record_times`` records the times of sources, given those that are gone and those read.
    """

    spec: BuildSpec
    state: State
    report: BuildReport
    progress: Progress
    trees: Trees
    publisher: GatedPublisher
    workers: Workers
    remote: RemoteCache | None
    scanned: ScannedDocroot
    before: Mapping[str, tuple[Resource, str]]
    touched: FileChanges
    directories: TreeDirectories
    accepted_recipes: frozenset[str]
    record_times: Callable[[Iterable[str], Iterable[Resource]], None]

    read: Mapping[str, str] = field(init=False)
    sums: SiteSums = field(init=False)
    sources: Mapping[str, Source] = field(init=False)
    looking: LookStage | None = field(init=False, default=None)
    proving: ProofStage | None = field(init=False, default=None)
    decisions: Decisions = field(init=False)
    extras: dict[Unit, None] = field(init=False)
    is_complete: bool = field(init=False, default=False)

    @property
    def is_quick(self) -> bool:
        """Whether a better build follows."""
        return bool(self.accepted_recipes)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a build, by what it does."""

    name: str
    run: Callable[[Build], None]


# ---- read, decide, remove


def _read(build: Build) -> None:
    """Read what changed. What this stage and the next two record in the state is one transaction."""
    state, report = build.state, build.report
    state.begin()
    sums = RunningSums(state, build.before)
    reading = ReadStage(build.spec, state, report, build.before, build.scanned.started, sums)
    build.read = reading.gather(build.touched, build.workers, build.progress, build.remote)
    state.set_meta(FACTS, build.spec.facts_recipe)
    for path in _gone(build):
        sums.forget_source(path)
    build.sums = sums.finish(report.resources)
    build.sources = ResourceSources(report.resources, lambda path: build.read.get(path) or build.before[path][1])


def _gone(build: Build) -> list[str]:
    return list(missing(build.before, build.report.resources))


def _decide(build: Build) -> None:
    """Decide what concerns the whole site, with the evidence and the demotions of the last build."""
    build.looking, build.proving = _look_stage(build), _proof_stage(build)
    evidence = build.looking.expected() if build.looking else {}
    demotions = build.proving.expected() if build.proving else {}
    known = (evidence, demotions, build.report.withheld)
    build.decisions = build.spec.decide(build.sums, build.sources, *known, build.state.digests, build.report.hosts)


def _look_stage(build: Build) -> LookStage | None:
    count = build.spec.config.browser.pages
    if not count:
        build.state.set_meta(LOOKING, None)
        store_scripts_seen(build.state, (), {})
        return None
    from adaptc.compile.engine.evidence.page_templates import Templates, find_skeletons
    from adaptc.compile.engine.evidence.stage import LookStage

    skeletons = {} if count == ALL_PAGES else find_skeletons(build.spec, build.sources, build.workers)
    return LookStage(build.spec, build.state, build.sources, Templates(build.state, build.sources, skeletons, count))


def _proof_stage(build: Build) -> ProofStage | None:
    if not build.spec.config.browser.prove:
        store_proof(build.state, None)
        return None
    from adaptc.compile.engine.proof.stage import ProofStage

    return ProofStage(build.spec, build.state, build.sources)


def _remove(build: Build) -> None:
    """Find the outdated units, and remove outdated files from the trees."""
    state, report, trees = build.state, build.report, build.trees
    changes = find_changes(report.resources, build.read, build.before)
    changes = dataclasses.replace(changes, decisions=record_decisions(state, build.decisions))
    built = None if _has_just_these(build) else state.recipes()
    conditions = (report.restriction, build.accepted_recipes)
    reasons = outdated_units(state, built, changes, build.spec.recipes, report.resources, *conditions)
    name_libraries(state, reasons, built or {}, build.spec.level_recipes)
    record_recipes(state, build.spec.level_recipes.values())
    if not build.directories:
        trees.remove_foreign_files(state)
        reasons.update(trees.missing_outputs(state, reasons, report))
    report.reasons = in_build_order(reasons, build.spec.levels)
    unwanted = trees.unwanted(built or (), report)
    report.removed = len(unwanted)
    trees.note_levels(state, is_complete=False)
    mark_incomplete(state, bool(report.has_work or changes.contents or changes.presence))
    build.extras = trees.remove_outdated(state, unwanted, report.reasons)
    trees.publisher.sync()
    started = build.scanned.started
    build.record_times(_gone(build), (racily_clean(report.resources[path], started) for path in build.read))
    state.commit()
    trees.has_removed_outdated = True


def _has_just_these(build: Build) -> bool:
    """Whether there is a unit of every file at every level, by the level's recipe, and no other."""
    report, state = build.report, build.state
    if report.restriction != UNRESTRICTED:
        return False
    is_same = not any(True for each in (_gone(build), missing(report.resources, build.before)) for _ in each)
    was_complete = build.directories and state.meta("complete") == build.spec.completion_mark(report)
    return bool(is_same and was_complete) or state.has_just(build.spec.recipes)  # which reads all of them


# ---- look, prove


def _look(build: Build) -> None:
    """Look at pages with a browser; those of which something else is seen now are outdated."""
    if build.looking is None:
        return
    if build.is_quick:
        build.report.is_blind = bool(build.looking.pending)
        build.decisions = dataclasses.replace(build.decisions, evidence=build.looking.known())
        return
    evidence = build.looking.run(build.progress, build.publisher.check)
    build.decisions = dataclasses.replace(build.decisions, evidence=evidence)
    build.state.begin()
    build.looking.record(build.report, evidence)
    _adopt(build)


def _prove(build: Build) -> None:
    """Prove pages with a browser; units of which other passes are dropped than before are outdated."""
    if build.proving is None or build.is_quick:
        return
    demotions = build.proving.run(build.decisions, build.report, build.workers, build.progress, build.publisher.check)
    build.decisions = dataclasses.replace(build.decisions, demotions=demotions)
    build.state.begin()
    build.proving.record(build.report)
    _adopt(build)


def _adopt(build: Build) -> None:
    """Record the decisions, add the units that they make outdated to what is built, and commit."""
    state, report, trees = build.state, build.report, build.trees
    changes = Changes(frozenset(), frozenset(), record_decisions(state, build.decisions))
    reasons = outdated_units(state, state.recipes(), changes, build.spec.recipes, report.resources, report.restriction)
    added = {unit: reason for unit, reason in reasons.items() if unit not in report.reasons}
    build.extras.update(trees.remove_outdated(state, (), added))
    mark_incomplete(state, bool(added))
    report.reasons = in_build_order({**report.reasons, **added}, build.spec.levels)
    state.commit()


# ---- build, encode, share


def _fetch(build: Build) -> None:
    """Fetch what other machines made of the outdated units."""
    if build.remote is not None:
        build.remote.fetch(traces_of(build.spec.recipes, build.report.reasons, build.sources))


def _build(build: Build) -> None:
    """Build and publish the units, assets before the pages that use them, links last."""
    snapshot = build.spec.shared_snapshot(build.sources, build.decisions)
    proven = build.proving.built if build.proving else {}
    records = None if build.remote is None else UnitRecords(snapshot.snapshot, Store(build.spec.cache))
    building = BuildStage(build.spec, build.state, build.report, build.sources, build.publisher, proven, records)
    build.is_complete = building.run(snapshot, build.workers, build.progress)


def _encode(build: Build) -> None:
    """Encode files with dictionaries, and remove those of before where dictionaries are off."""
    if build.is_quick or (not build.spec.config.codings.dictionaries and are_as_asked(build.state, build.spec)):
        return
    from adaptc.compile.engine.dictionaries.stage import DictionaryStage

    stage = DictionaryStage(build.spec, build.state, build.report, build.sources, build.trees, build.publisher)
    stage.run(build.workers, build.progress)


def _share(build: Build) -> None:
    """Send what was made to the remote cache."""
    if build.remote is not None:
        build.remote.share(traces_of(build.spec.recipes, build.report.reasons, build.sources))
        build.report.remote_cache = build.remote.problem


def _finish(build: Build) -> None:
    """Record how the trees are now, and that they are complete if every unit could be published."""
    spec, state, report, trees = build.spec, build.state, build.report, build.trees
    trees.remove_unused_extras(state, build.extras)
    trees.publisher.sync()
    state.begin()
    trees.record_directories(state, build.directories)
    build.scanned.record(state, report)
    if build.is_complete:
        trees.note_levels(state, is_complete=True)
        mark = None if report.is_blind else spec.completion_mark(report, build.accepted_recipes)
        state.set_meta("complete", mark)
    state.commit()


STAGES = (
    Stage("read what changed", _read),
    Stage("decide what concerns the whole site", _decide),
    Stage("remove outdated files", _remove),
    Stage("fetch from the remote cache", _fetch),
    Stage("look at pages with a browser", _look),
    Stage("prove pages with a browser", _prove),
    Stage("build and publish outdated units", _build),
    Stage("encode with dictionaries", _encode),
    Stage("share with the remote cache", _share),
    Stage("record that the trees are complete", _finish),
)
"""What a build does after ``loading``, in this order. Each stage may rely on what those before it found."""
