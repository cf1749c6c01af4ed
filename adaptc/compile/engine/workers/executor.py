"""Run batches of work in worker processes, a few at a time, or in this process, and yield results as they complete.

Batches are sized by how long their units took when they were built. The size of a file says little about that: of two
pages of one size, at one level, one may take a hundred times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from adaptc.compile.engine.workers.task import Batch, Lose, Work, build_batch, gather_batch
from adaptc.core.media import CSS, JS, PNG, SVG
from adaptc.core.shortage import Shortage, recognizing_shortage
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from adaptc.compile.engine.state.state import State, Unit
    from adaptc.site.site import Source

T = TypeVar("T")
R = TypeVar("R")

# Below this many units, and bytes of pages, the start of a pool (0.5 s: workers load the passes) costs more than it
# saves: 82 files of documentation take 1.08 s of CPU in this process and 1.40 in three, 1.17 and 1.26 s by the clock
_WORTH_A_POOL = 192
_BYTES_WORTH_A_POOL = 4 << 20
# So many files are read while one is built
_READING = 8
# The size of a batch: bytes of pages, and the maximum of units
_BATCH_BYTES = 256 * 1024
_BATCH_UNITS = 64
# Batches for workers elsewhere are so many times as large: to send one costs this process and Dask's some 10 ms
_FAR = 4
# The minimum of batches for each worker: at the end of a stage some workers are idle
_LEAST_BATCHES = 4


class WorkerPool(Protocol):
    """Workers to which batches are sent; ``jobs`` is their number."""

    @property
    def jobs(self) -> int: ...

    def run(self, work: Work[T, R], snapshot: Any, batches: Iterable[tuple[T, ...]], lose: Lose[T, R]) -> Iterator[R]:
        """Yield the results of ``work(snapshot, batch)`` for all ``batches``, in no fixed order.

        For a unit at which workers end, or have not enough memory, it yields ``lose(unit, reason)``. Raises
        ``Shortage`` where nothing can be built, and what ``work`` raises.
        """


class OwnPool(WorkerPool, Protocol):
    """Workers that are started when they are needed."""

    @property
    def is_started(self) -> bool: ...

    def start(self) -> None:
        """Start workers, without waiting for them. Raises ``Shortage``."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Runs work in the processes of ``pool``, or in this process where there is little to do.

    With ``is_isolated`` this process does no work, so that libraries neither end it nor change its settings. The
    reading and building of sources goes to ``far`` workers, if there are any.
    """

    pool: OwnPool | None
    is_isolated: bool = False
    far: WorkerPool | None = None

    def prepare(self, sizes: Sequence[int]) -> None:
        """Start the pool, if units of these ``sizes`` will need it.

        It loads its modules while this process loads its own, which saves 0.15 s.
        """
        if self.pool is not None and self.far is None and self._needs_pool(sizes):
            self.pool.start()

    def run(self, work: Work[T, R], snapshot: Any, units: Sequence[tuple[T, int]], lose: Lose[T, R]) -> Iterator[R]:
        """Yield the results of ``work(snapshot, batch)`` for batches of ``units`` (with weights), in no fixed order.

        The weight of a unit is the number of bytes of a page that take as long. For a unit that could not be built, for
        lack of memory as a rule, it yields ``lose(unit, reason)``.
        """
        weights = [weight for _, weight in units]
        pool = self._pool_for(work, weights)
        if pool is None:
            for _, batch in _batches(units, _BATCH_BYTES, _BATCH_UNITS):
                yield from _run_here(work, snapshot, batch, lose)
            return
        scale = _FAR if pool is self.far else 1
        size = min(scale * _BATCH_BYTES, sum(weights) // (pool.jobs * _LEAST_BATCHES) + 1)
        yield from pool.run(work, snapshot, batches_by_size(units, size, scale * _BATCH_UNITS), lose)

    def _pool_for(self, work: Work[T, R], weights: Sequence[int]) -> WorkerPool | None:
        if self.far is not None and work in (gather_batch, build_batch):
            return self.far if weights else None
        share = _READING if work is gather_batch else 1
        if self.pool is None or not (self._needs_pool(weights, share) or (self.pool.is_started and len(weights) > 1)):
            return None
        return self.pool

    def _needs_pool(self, weights: Sequence[int], share: int = 1) -> bool:
        if self.is_isolated:
            return bool(weights)
        few = len(weights) < _WORTH_A_POOL * share and sum(weights) < _BYTES_WORTH_A_POOL * share
        return len(weights) > 1 and not few


def _run_here(work: Work[T, R], snapshot: Any, units: Sequence[T], lose: Lose[T, R]) -> Iterator[R]:
    batch = Batch(units)
    while batch.units:
        try:
            with recognizing_shortage():
                for result in work(snapshot, tuple(batch.units)):
                    batch.remove_current()
                    yield result
        except Shortage as short:
            yield lose(batch.remove_current(), str(short))


@contextmanager
def worker_pool(
    jobs: int,
    lock: Path,
    modules: Sequence[str],
    *,
    is_isolated: bool,
    far: WorkerPool | None = None,
    limit: float = math.inf,
) -> Iterator[Workers]:
    """Provide workers; each holds ``lock`` shared while it lives. ``modules`` are loaded once for all of them.

    A worker that uses ``limit`` seconds of CPU time for a unit, in a library that does not return, is ended.
    """
    if jobs == 1 and not is_isolated:
        yield Workers(None, far=far)
        return
    from adaptc.compile.engine.workers.pool import Pool

    pool = Pool(jobs, lock, modules, limit=limit)
    try:
        yield Workers(pool, is_isolated, far)
    finally:
        pool.close()


def batches_by_size(units: Iterable[tuple[T, int]], size: int, most: int) -> list[tuple[T, ...]]:
    """Return batches of consecutive units whose weights add up to about ``size``, at most ``most`` in each.

    Heavy batches come first: one that started last would delay the end of the stage.
    """
    # in steps, so that batches of usual weight stay in order: neighbours share style sheets and scripts
    batches = sorted(_batches(units, size, most), key=lambda item: item[0] // size, reverse=True)
    return [units_of_batch for _, units_of_batch in batches]


def _batches(units: Iterable[tuple[T, int]], size: int, most: int) -> Iterator[tuple[int, tuple[T, ...]]]:
    """Yield the weight and the units of each batch, in order."""
    batch: list[T] = []
    total = 0
    for unit, weight in units:
        batch.append(unit)
        total += weight
        if total >= size or len(batch) >= most:
            yield total, tuple(batch)
            batch, total = [], 0
    if batch:
        yield total, tuple(batch)


# ---- how long units take

# Build time relative to a page of the same size, at the least effort; JPEG images take as long as pages
_WEIGHTS = {CSS: 8, JS: 3, SVG: 2, PNG: 2}
# Bytes of pages that are built in a second, at the least effort: 18 kB in 9 ms (rust-doc)
_PACE = 2 << 20


def weight_of(source: Source) -> int:
    """Return the number of bytes of a page that would take about as long to build."""
    return source.size * _WEIGHTS.get(source.media_type, 1)


def weigh(state: State, units: Iterable[Unit], sources: Mapping[str, Source]) -> list[tuple[Unit, int]]:
    """Return units with their weights: the number of bytes of a page that take as long as they took last time.

    Those that were not built before get the weights of their sources, in the proportion of the others.
    """
    guessed = [(unit, weight_of(sources[unit[1]])) for unit in units]
    if not state.has_durations:
        return guessed
    known = [state.duration(unit) for unit, _ in guessed]
    took = sum(seconds for seconds in known if seconds is not None)
    alike = sum(guess for (_, guess), seconds in zip(guessed, known, strict=True) if seconds is not None)
    scale = _PACE * took / alike if took and alike else 1.0
    return [
        (unit, round(guess * scale if seconds is None else seconds * _PACE))
        for (unit, guess), seconds in zip(guessed, known, strict=True)
    ]
