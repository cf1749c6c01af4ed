"""The two stages of a build that run in workers: read what changed, and build what is outdated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from adaptc.compile.analyse.decisions import NO_DECISIONS
from adaptc.compile.analyse.facts import Facts, affected_targets
from adaptc.compile.analyse.site_sums import SiteSums, sum_up
from adaptc.compile.engine.cache.store import TRIES, ObjectGone, cache_loses
from adaptc.compile.engine.outdated import FileChanges, racily_clean
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import UnitResult, unpublished
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.gate import BuildCancelled, GatedPublisher, in_groups
from adaptc.compile.engine.unit.records import SourceRecords, UnitRecords
from adaptc.compile.engine.unit.snapshot import SharedSnapshot, Snapshot
from adaptc.compile.engine.workers.durations import weigh
from adaptc.compile.engine.workers.executor import Workers
from adaptc.compile.engine.workers.unit_work import build_batch, gather_batch
from adaptc.core.diagnostics import Location, diagnose, printable
from adaptc.core.media import HTML
from adaptc.core.model import Resource
from adaptc.core.shortage import Shortage
from adaptc.site.site import Source
from adaptc.site.source_table import ResourceSources

if TYPE_CHECKING:
    from adaptc.compile.engine.cache.remote import RemoteCache
    from adaptc.compile.engine.unit.records import SourceRecords

# The sums of the facts of all files in the state: a build adds those that it read, and takes away those before.


_KEY = "sums"


class RunningSums:
    """The sums of the facts in ``state``, while a build replaces those of some files.

    The state forgets its sums when facts change (``touched.TABLES``); ``finish`` stores the new ones.
    """

    def __init__(self, state: State, before: Mapping[str, tuple[Resource, str]]) -> None:
        self.state, self.before = state, before
        last = state.meta(_KEY)
        self._sums = None if last is None else SiteSums.unpack(last)

    def set_facts(self, resource: Resource, facts: Facts) -> None:
        """Store the facts of a file in the state, in place of those before."""
        self._remove(resource.path)
        if self._sums is not None:
            self._sums.add(resource.path, facts, resource.media_type)
        self.state.set_facts(resource.path, facts)

    def forget_source(self, path: str) -> None:
        """Remove a file and its facts from the state."""
        self._remove(path)
        self.state.forget_source(path)

    def _remove(self, path: str) -> None:
        if self._sums is not None:
            for _, facts in self.state.facts(path):
                self._sums.remove(path, facts, self.before[path][0].media_type)

    def finish(self, resources: Mapping[str, Resource]) -> SiteSums:
        """Return the sums of all files, and store them."""
        if self._sums is None:
            self._sums = sum_up(self.state.facts(), lambda path: resources[path].media_type)
        if self.state.meta(_KEY) is None:
            self.state.set_meta(_KEY, self._sums.pack())
        return self._sums


def phase_of(source: Source) -> int:
    """Return 0 for assets, 1 for pages, which may inline assets, 2 for aliases, which may become links to either."""
    if source.alias_of is not None:
        return 2
    return 1 if source.media_type == HTML else 0


Before = Mapping[str, tuple[Resource, str]]
Find = Callable[[dict[str, int]], Iterator[tuple[str, Facts | str]]]


@dataclass(frozen=True, slots=True)
class ReadStage:
    """The first stage of a build that ``started`` at this time, in ns since 1970; ``before`` are the known files."""

    spec: BuildSpec
    state: State
    report: BuildReport
    before: Before
    started: int
    sums: RunningSums

    def gather(
        self, touched: FileChanges, workers: Workers, progress: Progress, remote: RemoteCache | None = None
    ) -> dict[str, str]:
        """Read files, record their facts in the state, and return their digests.

        What the ``remote`` cache knows of is not read by workers here; what those of a cluster read is not sent there.
        Unreadable files are removed from the report's resources. Files that refer to them are read again: their
        references are broken now.
        """
        digests: dict[str, str] = {}
        wanted = {*touched.touched, *self._referring(touched.appeared | touched.disappeared)}
        while wanted:
            find = partial(self._find, workers, None if workers.far else remote)
            wanted = self._referring(self._read(wanted, digests, find, progress))
        self.report.count = len(self.report.resources)
        return digests

    def _read(self, wanted: Set[str], digests: dict[str, str], find: Find, progress: Progress) -> frozenset[str]:
        """Read files and add their digests; return those that are unreadable."""
        report = self.report
        # a link comes right after what it leads to: equal pages are read once
        paths = sorted(wanted, key=lambda path: (report.resources[path].alias_of or path, path))
        sizes = [(path, report.resources[path].size) for path in paths]
        progress.begin("reading", len(sizes), sum(size for _, size in sizes))
        unreadable: dict[str, str] = {}
        for path, facts in find(dict(sizes)):
            progress.advance(1, report.resources[path].size, 0)
            if isinstance(facts, str):
                unreadable[path] = facts
            else:
                resource = report.resources[path]
                digests[resource.path] = facts.digest  # not the path that a worker sent: it is another string
                self._note(resource, facts)
        progress.end()
        for path, reason in unreadable.items():
            report.failures.append(diagnose("unreadable-file", Location(path), reason=reason))
            del report.resources[path]
            digests.pop(path, None)
        return frozenset(unreadable)

    def _find(
        self, workers: Workers, remote: RemoteCache | None, sizes: dict[str, int]
    ) -> Iterator[tuple[str, Facts | str]]:
        """Yield the facts of files of these ``sizes``, or why one cannot be read."""
        snapshot = self._snapshot()
        records = None if remote is None else _records(remote, snapshot.snapshot)
        for path, facts in () if records is None else records.find(tuple(sizes)):
            del sizes[path]
            yield path, facts
        for path, found in workers.run(gather_batch, snapshot, tuple(sizes.items()), _refuse_to_read):
            if records is not None and isinstance(found, Facts):
                records.put(path, found)
            yield path, found

    def _referring(self, paths: frozenset[str]) -> set[str]:
        """Return the files that refer to those that appeared or disappeared."""
        if not paths or not self.state.has_facts:
            return set()
        affected = affected_targets(paths, self.spec.config.site.index)
        return {path for path in self.state.affected_by_targets(affected) if path in self.report.resources}

    def _snapshot(self) -> SharedSnapshot:
        before = self.before
        sources = ResourceSources(self.report.resources, lambda path: before[path][1] if path in before else "")
        return share_snapshot(self.spec, self.spec.snapshot(sources, NO_DECISIONS))

    def _note(self, resource: Resource, facts: Facts) -> None:
        self.state.set_source(racily_clean(resource, self.started), facts.digest)
        self.sums.set_facts(resource, facts)


def _records(remote: RemoteCache, snapshot: Snapshot) -> SourceRecords:
    return SourceRecords(remote, snapshot)


def _refuse_to_read(path: str, reason: str) -> NoReturn:
    """Raise ``Shortage``: what pages refer to decides how others are built, so that none can be built without it."""
    raise Shortage(f"{printable(path)} cannot be read: {reason}")


def share_snapshot(spec: BuildSpec, snapshot: Snapshot) -> SharedSnapshot:
    """Return a snapshot for this process and the workers."""
    return SharedSnapshot(snapshot, spec.private / "tmp")


# Results that are published together, between two syncs of the disk, and the seconds after which fewer are
_GROUP, _GROUP_SECONDS = 256, 1.0


@dataclass(frozen=True, slots=True)
class BuildStage:
    """The second stage: build the units of ``report`` from ``sources``.

    Those in ``proven`` were built already, and some of which the cache has ``records``, if that is shared.
    """

    spec: BuildSpec
    state: State
    report: BuildReport
    sources: Mapping[str, Source]
    gated_publisher: GatedPublisher
    proven: dict[Unit, UnitResult] = field(default_factory=dict)
    records: UnitRecords | None = None

    def run(self, snapshot: SharedSnapshot, workers: Workers, progress: Progress) -> bool:
        """Build and publish; return whether all units could be published. Raises ``BuildCancelled``."""
        units: Collection[Unit] = self.report.reasons
        progress.begin("building", len(units), sum(self.sources[path].size for _, path in units))
        unpublished = len(self.report.failures)
        self.state.begin()
        for _ in range(TRIES):
            units = self._publish_all(self._build(units, snapshot, workers), progress)
            if not units:
                break
        else:
            raise cache_loses(self.spec.cache)
        self.gated_publisher.commit(self.state)
        progress.end()
        return len(self.report.failures) == unpublished

    def _build(self, units: Iterable[Unit], snapshot: SharedSnapshot, workers: Workers) -> Iterator[UnitResult]:
        """Yield the results of units, those of a phase after those of the phase before it."""
        phases: tuple[list[Unit], ...] = ([], [], [])
        for unit in units:
            phases[phase_of(self.sources[unit[1]])].append(unit)
        for chosen in phases:
            rest = []
            for unit in chosen:
                known = self._find(unit)
                if known is None:
                    rest.append(unit)
                else:
                    yield known
            yield from workers.run(build_batch, snapshot, weigh(self.state, rest, self.sources), self._lose)

    def _find(self, unit: Unit) -> UnitResult | None:
        """Return the result of a unit that was built before. One that is asked for again lost its artifacts."""
        proven = self.proven.pop(unit, None)
        return proven if proven is not None or self.records is None else self.records.get(unit)

    def _lose(self, unit: Unit, reason: str) -> UnitResult:
        """Return the result of a unit that was not built."""
        level, path = unit
        self.gated_publisher.publisher.remove_unit(level, path)
        diagnostic = diagnose("not-built", Location(path), name=level, reason=reason)
        return unpublished(level, path, self.sources[path].media_type, diagnostic)

    def _publish_all(self, results: Iterable[UnitResult], progress: Progress) -> list[Unit]:
        """Publish results in groups; return the units whose artifacts another build removed from the cache."""
        gone: list[Unit] = []
        for group in in_groups(results, _GROUP, _GROUP_SECONDS, lambda: self.gated_publisher.is_cancelled):
            self.gated_publisher.commit(self.state, group)
            if self.gated_publisher.is_cancelled:
                raise BuildCancelled
            self.state.begin()
            for built in group:
                try:
                    self._publish(built, progress)
                except ObjectGone:
                    gone.append((built.level, built.path))
        return gone

    def _publish(self, built: UnitResult, progress: Progress) -> None:
        source = self.sources[built.path]
        result = self.gated_publisher.publish(built, source.alias_of)
        smallest = min((output.size for output in result.outputs), default=source.size)
        progress.advance(1, source.size, source.size - smallest)
        if result.published:
            self.state.set_unit(result, self.spec.recipes[result.level])
            self.state.note_duration(result)
        else:
            self.report.failures.extend(result.diagnostics)
