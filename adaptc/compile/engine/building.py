"""Build and publish units, and note each in the state when its files are in the trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adaptc.compile.engine.blueprint import Blueprint
from adaptc.compile.engine.executor import Workers
from adaptc.compile.engine.gate import Gate, GivenUp
from adaptc.compile.engine.order import phase_of, weight_of
from adaptc.compile.engine.progress import Progress
from adaptc.compile.engine.publish import Publisher
from adaptc.compile.engine.report import Report
from adaptc.compile.engine.results import UnitResult
from adaptc.compile.engine.state import State
from adaptc.compile.engine.worker import build_batch, make_batch
from adaptc.site.site import Source

# Results between two commits: what a killed build has to do again
_COMMIT_EVERY = 256


@dataclass(frozen=True, slots=True)
class Admission:
    """How results get into the trees: by the workers themselves, or through a ``gate`` by this process.

    ``yields`` says that the build is given up when the gate shuts.
    """

    publisher: Publisher
    gate: Gate | None = None
    yields: bool = False

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

    @property
    def gives_up(self) -> bool:
        """Whether the build is to be given up."""
        return self.gate is not None and (self.gate.is_closing or (self.yields and self.gate.is_shut))


@dataclass(frozen=True, slots=True)
class Building:
    """The building of the units of ``report`` from ``sources``."""

    blueprint: Blueprint
    state: State
    report: Report
    sources: Mapping[str, Source]
    admission: Admission

    def run(self, snapshot: str, workers: Workers, progress: Progress) -> bool:
        """Build and publish; return whether all units could be. Raises ``GivenUp``."""
        units = self.report.reasons
        progress.begin("building", len(units), sum(self.sources[path].size for _, path in units))
        unpublished = len(self.report.unread)
        work = make_batch if self.admission.gate else build_batch
        for phase in (0, 1, 2):
            chosen = [unit for unit in units if phase_of(self.sources[unit[1]]) == phase]
            weighed = [(unit, weight_of(self.sources[unit[1]])) for unit in chosen]
            self._note_all(workers.run(work, snapshot, weighed), progress)
        progress.end()
        return len(self.report.unread) == unpublished

    def _note_all(self, results: Iterable[UnitResult], progress: Progress) -> None:
        self.state.begin()
        for number, result in enumerate(results, 1):
            self._note(result, progress)
            gives_up = self.admission.gives_up
            if gives_up or number % _COMMIT_EVERY == 0:
                self.admission.commit(self.state)
                if gives_up:
                    raise GivenUp
                self.state.begin()
        self.admission.commit(self.state)

    def _note(self, made: UnitResult, progress: Progress) -> None:
        source = self.sources[made.path]
        result = self.admission.admitted(made, source.alias_of)
        smallest = min((output.size for output in result.outputs), default=source.size)
        progress.advance(1, source.size, source.size - smallest)
        if result.published:
            self.state.set_unit(result, self.blueprint.recipes[result.level])
        else:
            self.report.unread.extend(result.diagnostics)
