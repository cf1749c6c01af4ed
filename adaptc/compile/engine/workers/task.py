"""A batch as an executor gets it: what any process with this version of adaptc can do, and what it answers.

Everything that can go wrong in the work is part of the answer. So whatever an executor raises itself says that a worker
ended, or could not be reached, and nothing about the content.
"""

from __future__ import annotations

import pickle
import socket
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from adaptc.compile.pipeline import LIBRARIES
from adaptc.core.libraries import versions_of
from adaptc.core.shortage import Shortage, explain_shortage
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION

if TYPE_CHECKING:
    from adaptc.compile.analyse.facts import Facts
    from adaptc.compile.engine.state.results import UnitResult
    from adaptc.compile.engine.unit.snapshot import SharedSnapshot


T = TypeVar("T")
R = TypeVar("R")

Work = Callable[[Any, tuple[T, ...]], Iterable[R]]
"""Does the work of a batch, given a snapshot: yields the results of its units, in order."""

Lose = Callable[[T, str], R]
"""Makes the result of a unit that could not be built, given the reason in words."""


class Batch(Generic[T]):
    """The ``units`` of a batch that have no result yet."""

    def __init__(self, units: Iterable[T]) -> None:
        self.units = deque(units)

    def remove_current(self) -> T:
        """Remove the unit that is being built, or was built, and return it."""
        return self.units.popleft()


Versions = Mapping[str, str]

# Libraries have settings and caches of the whole process, which its threads must not use at once
_one_at_a_time = threading.Lock()


class SourceLacking(Shortage):
    """The content of a file of the docroot that a worker needs and was not given."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the worker was not given {path}")
        self.path = path


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a batch: the ``results`` of its first units, in order, and what kept the next one from a result.

    That is what was ``short``, in words, or the source that is ``lacking``, or an ``error``, which ends the build.
    ``refusal`` says why a worker did nothing at all. ``parcel`` is what a medium brings with the results.
    """

    results: tuple[Any, ...] = ()
    short: str | None = None
    lacking: str | None = None
    error: BaseException | None = None
    refusal: str | None = None
    parcel: Any = None


class Order(Protocol):
    """A batch on its way to a worker, which is pickled."""

    def carry_out(self) -> Answer:
        """Do the work."""


@dataclass(frozen=True, slots=True)
class LocalOrder:
    """A batch for a process that uses the directories of the build."""

    work: Work[Any, Any]
    snapshot: Any
    units: tuple[Any, ...]

    def carry_out(self) -> Answer:
        return perform(self.work, self.snapshot, self.units)


def perform(work: Work[Any, Any], snapshot: Any, units: tuple[Any, ...]) -> Answer:
    """Do the work of a batch in this process, which does one batch at a time."""
    results: list[Any] = []
    with _one_at_a_time:
        try:
            for result in work(snapshot, units):
                results.append(result)  # noqa: PERF402 - those before an error count
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic is no Exception
            return _failed(tuple(results), error)
    return Answer(tuple(results))


def _failed(results: tuple[Any, ...], error: BaseException) -> Answer:
    lacking, reason = _lacking_source(error), explain_shortage(error)
    if lacking is not None:
        return Answer(results, lacking=lacking)
    if reason is None:
        error.add_note("".join(traceback.format_exception(error)))
        return Answer(results, error=error)
    return Answer(results, short=reason)


def _lacking_source(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, SourceLacking):
            return error.path
        error = error.__cause__ or error.__context__
    return None


def run_order(versions: Versions, order: bytes, _name: str) -> Answer:
    """Carry out the pickled ``Order`` of a build that has these ``versions``, or refuse to.

    Dask takes calls with equal arguments for one: no two have the same ``name``.
    """
    own = own_versions()
    if own != versions:
        reason = f"{difference(own, versions)}: all must have the same"
        return Answer(refusal=f"the worker on {socket.gethostname()} has {reason}")
    unpickled: Order = pickle.loads(order)
    return unpickled.carry_out()


@cache
def own_versions() -> Versions:
    """Return the versions that bytes may depend on, by name: adaptc, Python and libraries."""
    return {"adaptc": VERSION} | versions_of(LIBRARIES)


def difference(own: Versions, versions: Versions) -> str:
    """Return the first difference between the versions of a worker and those of a build, in words."""
    names = (name for name in {**versions, **own} if own.get(name) != versions.get(name))
    name = next(names)
    return f"{name} {own.get(name, 'not at all')}, and this build {versions.get(name, 'none')}"


# ---- the work of workers by name. What does it is imported where it runs: a process with workers has no use for it

# What a server of workers imports before it forks them, with the passes
UNIT_BUILDER = "adaptc.compile.engine.unit.unit_builder"


def gather_batch(snapshot: SharedSnapshot, paths: tuple[str, ...]) -> Iterator[tuple[str, Facts | str]]:
    """Yield (path, facts) for each source, or (path, reason) where it cannot be read."""
    from adaptc.compile.engine.unit import unit_builder

    return unit_builder.gather_batch(snapshot, paths)


def build_batch(snapshot: SharedSnapshot, units: tuple[tuple[str, str], ...]) -> Iterator[UnitResult]:
    """Build units into the cache, and yield their results in order."""
    from adaptc.compile.engine.unit import unit_builder

    return unit_builder.build_batch(snapshot, units)
