"""Run batches of work on any ``concurrent.futures.Executor``, a few at a time, and yield results as they complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adaptc.core.safepath import hide_working_directory

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.context import ForkServerContext

T = TypeVar("T")
R = TypeVar("R")

# Below this many units, and bytes of pages, the start of a pool (0.5 s: workers load the passes) costs more than it
# saves
_WORTH_A_POOL = 32
_BYTES_WORTH_A_POOL = 4 << 20
# The size of a batch: bytes of pages, and the maximum of units
_BATCH_BYTES = 256 * 1024
_BATCH_UNITS = 64
# The minimum of batches for each worker: at the end of a stage some workers are idle
_LEAST_BATCHES = 4
# Submitted batches for each worker: enough to keep it busy, few enough to bound memory
_AHEAD = 3
# The attributes by which multiprocessing.spawn finds the main module to import
_MAIN = ("__file__", "__spec__")


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


@dataclass(slots=True)
class Workers:
    """Runs work in ``jobs`` processes, which are started when they are needed, or in this process."""

    start: Callable[[], Executor] | None
    jobs: int
    pool: Executor | None = None

    def run(
        self, work: Callable[[str, tuple[T, ...]], Sequence[R]], snapshot: str, units: Sequence[tuple[T, int]]
    ) -> Iterator[R]:
        """Yield the results of ``work(snapshot, batch)`` for batches of ``units`` (with weights), in no fixed order.

        The weight of a unit is the number of bytes of a page that take as long.
        """
        weights = [weight for _, weight in units]
        if self.pool is None and self.start is not None and _is_worth_a_pool(weights):
            self.pool = self.start()
        if self.pool is None or len(units) == 1:
            for _, batch in _batches(units, _BATCH_BYTES, _BATCH_UNITS):
                yield from work(snapshot, batch)
            return
        size = min(_BATCH_BYTES, sum(weights) // (self.jobs * _LEAST_BATCHES) + 1)
        yield from run_batches(self.pool, self.jobs, work, snapshot, batches_by_size(units, size, _BATCH_UNITS))


def _is_worth_a_pool(weights: Sequence[int]) -> bool:
    return len(weights) > 1 and (len(weights) >= _WORTH_A_POOL or sum(weights) >= _BYTES_WORTH_A_POOL)


@contextmanager
def worker_pool(jobs: int, lock: Path, modules: Sequence[str]) -> Iterator[Workers]:
    """Provide workers; each holds ``lock`` shared while it lives. ``modules`` are loaded once for all of them."""
    with ExitStack() as stack:
        yield Workers((lambda: stack.enter_context(_pool(jobs, lock, modules))) if jobs > 1 else None, jobs)


@contextmanager
def _pool(jobs: int, lock: Path, modules: Sequence[str]) -> Iterator[Executor]:
    """Provide a pool of processes.

    They come from a fork server: they inherit neither threads nor the output's lock, so that none of them can hold
    that when the build is killed. Each waits at the end of a pipe whose other end this process alone holds, and ends
    when that is closed, by the kernel at the latest: when the build is killed or cancelled.
    """
    from concurrent.futures import ProcessPoolExecutor

    from adaptc.compile.engine.unit_builder import start_worker

    context = _context(modules)
    theirs, ours = context.Pipe(duplex=False)
    with hide_working_directory():
        pool = ProcessPoolExecutor(jobs, context, initializer=start_worker, initargs=(theirs, os.fspath(lock)))
    try:
        yield pool
    except BaseException:
        ours.close()  # their current work is no longer wanted, and may take a minute
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        ours.close()
        theirs.close()


def _context(modules: Sequence[str]) -> ForkServerContext:
    """Return the context of workers whose fork server loads ``modules``."""
    import multiprocessing

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["adaptc.compile.engine.unit_builder", *modules])
    return context


def prepare_pool(modules: Sequence[str], sizes: Sequence[int]) -> None:
    """Start the fork server of a pool, if units of these ``sizes`` will need one.

    It loads ``modules`` while this process loads its own, which saves 0.15 s.
    """
    if not _is_worth_a_pool(sizes):
        return
    _context(modules)
    from multiprocessing import forkserver

    with _main_module_hidden(), hide_working_directory():
        forkserver.ensure_running()


@contextmanager
def _main_module_hidden() -> Iterator[None]:
    """Keep processes that are started now from importing the program's main module (``multiprocessing.spawn``).

    Workers need nothing of it, and a script that calls ``adaptc.build`` without a guard, or that comes from standard
    input, could not be imported.
    """
    main = sys.modules["__main__"]
    hidden: dict[str, object] = {name: vars(main).pop(name) for name in _MAIN if name in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(hidden)


def run_batches(
    pool: Executor,
    jobs: int,
    work: Callable[[str, tuple[T, ...]], Sequence[R]],
    snapshot: str,
    batches: Iterable[tuple[T, ...]],
) -> Iterator[R]:
    """Yield the results of ``work(snapshot, batch)`` for every batch, in no fixed order."""
    from concurrent.futures import FIRST_COMPLETED, wait

    waiting: set[Future[Sequence[R]]] = set()
    remaining = iter(batches)
    while True:
        room = jobs * _AHEAD - len(waiting)
        with _main_module_hidden(), hide_working_directory():
            waiting.update(pool.submit(work, snapshot, batch) for batch in islice(remaining, room))
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield from future.result()


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
