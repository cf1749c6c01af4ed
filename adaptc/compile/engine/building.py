"""Build: what is outdated, by workers, and publish it as it comes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from adaptc.compile.engine.cache.store import TRIES, ObjectGone, cache_loses
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import UnitResult, unpublished
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.gate import GatedPublisher, in_groups
from adaptc.compile.engine.unit.records import UnitRecords
from adaptc.compile.engine.unit.snapshot import SharedSnapshot
from adaptc.compile.engine.workers.executor import Workers, weigh
from adaptc.compile.engine.workers.task import build_batch
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.media import HTML
from adaptc.core.values import dataclass, field
from adaptc.site.site import Source

if TYPE_CHECKING:
    pass


def phase_of(source: Source) -> int:
    """Return 0 for assets, 1 for pages, which may inline assets, 2 for aliases, which may become links to either."""
    if source.alias_of is not None:
        return 2
    return 1 if source.media_type == HTML else 0


# Results that are published together, between two syncs of the disk, and the seconds after which fewer are
_GROUP, _GROUP_SECONDS = 256, 1.0


@dataclass(frozen=True, slots=True)
class BuildStage:
    """Builds the units of ``report`` from ``sources``.

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
            self.gated_publisher.check()
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
