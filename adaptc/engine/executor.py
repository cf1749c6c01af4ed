"""Run batches of work on any ``concurrent.futures.Executor``, a few at a time, results as they come."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from adaptc.engine.worker import start_worker

T = TypeVar("T")
R = TypeVar("R")

# Below this many units the start of a pool (0.3 s) costs more than it saves
_WORTH_A_POOL = 8
# Batches under way for each worker: enough to keep it busy, few enough to bound memory
_AHEAD = 3


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


@contextmanager
def worker_pool(jobs: int, units: int) -> Iterator[Executor | None]:
    """Give a process pool, or ``None`` where the work is done in this process.

    Workers come from a fork server: they inherit neither threads nor the output's lock, so that none of them can
    hold the lock when the build is killed.
    """
    if jobs <= 1 or units < _WORTH_A_POOL:
        yield None
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["adaptc.engine.worker"])
    pool = ProcessPoolExecutor(jobs, context, initializer=start_worker)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run_batches(
    pool: Executor | None,
    jobs: int,
    work: Callable[[str, tuple[T, ...]], Sequence[R]],
    snapshot: str,
    batches: Iterable[tuple[T, ...]],
) -> Iterator[R]:
    """Yield the results of ``work(snapshot, batch)`` for every batch, in no fixed order."""
    if pool is None:
        for batch in batches:
            for one in batch:
                yield from work(snapshot, (one,))
        return
    waiting: set[Future[Sequence[R]]] = set()
    remaining = iter(batches)
    while True:
        room = jobs * _AHEAD - len(waiting)
        waiting.update(pool.submit(work, snapshot, batch) for batch in islice(remaining, room))
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield from future.result()


def batches_by_size(units: Iterable[tuple[T, int]], size: int, most: int) -> Iterator[tuple[T, ...]]:
    """Yield batches of consecutive units whose sizes add up to about ``size``, at most ``most`` in each."""
    batch: list[T] = []
    total = 0
    for unit, weight in units:
        batch.append(unit)
        total += weight
        if total >= size or len(batch) >= most:
            yield tuple(batch)
            batch, total = [], 0
    if batch:
        yield tuple(batch)
