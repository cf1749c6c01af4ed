"""Batches on a ``concurrent.futures.Executor``: of the standard library, of Dask, or of anything else that has one.

Unlike the pool of processes (``pool``) it hears of a batch only when all of it is done, and cannot say at which unit a
worker ended. So a batch that is lost is sent again in halves, until the unit that ends workers is alone; workers that
are lost for other reasons cost time only.
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Protocol, TypeVar

from adaptc.compile.engine.workers.task import Answer, LocalOrder, Lose, Order, Work, own_versions, perform, run_order
from adaptc.core.shortage import Shortage
from adaptc.core.values import dataclass, replace

T = TypeVar("T")
R = TypeVar("R")

# Batches in the hands of the executor for each worker: it goes on with the second while results of the first arrive
_AHEAD = 2
_MOST_THREADS = 1024
# How often a unit that is alone in its batch is sent, and batches that are lost one after the other, without a result
# between: then nothing can be built
_TRIES, _MOST_LOSSES = 3, 16


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """Units that are sent together, for the ``attempt``-th time.

    ``lacking`` are the sources that a worker asked for, ``related`` those that it may need.
    """

    units: tuple[T, ...]
    attempt: int = 1
    lacking: frozenset[str] = frozenset()
    related: frozenset[str] = frozenset()


class Medium(Protocol):
    """How sources reach workers, and artifacts this process, where they have no directory in common."""

    def begin(self, snapshot: Any) -> None:
        """Make a snapshot available to workers. Raises ``Shortage``."""

    def related(self, work: Work[Any, Any], units: Iterable[Any], /) -> frozenset[str]:
        """Return the sources that units may need besides their own."""

    def order(self, work: Work[Any, Any], snapshot: Any, job: Job[Any]) -> Order | None:
        """Return what to send for a batch; ``None`` where this process must do it itself. Raises ``Shortage``.

        It is called by threads, and so is ``receive``.
        """

    def receive(self, answer: Answer) -> None:
        """Bring what came with an answer to its place. Raises ``Shortage``."""

    def close(self) -> None:
        """Remove what was made for this build alone."""


class ExecutorPool:
    """The workers of an ``executor``, of which ``count`` tells the present number.

    Without a ``medium`` they see the directories of the build under the same paths.
    """

    def __init__(self, executor: Executor, count: Callable[[], int], medium: Medium | None = None) -> None:
        self.executor, self._count, self.medium = executor, count, medium
        self._losses = 0

    @property
    def jobs(self) -> int:
        """The present number of workers."""
        return max(1, self._count())

    def run(self, work: Work[T, R], snapshot: Any, batches: Iterable[tuple[T, ...]], lose: Lose[T, R]) -> Iterator[R]:
        """Yield results as ``Pool.run`` does. Raises ``Shortage`` where workers are lost one after the other, too."""
        if self.medium is not None:
            self.medium.begin(snapshot)
        remaining = deque(Job(batch) for batch in batches)
        with _Sender(self.executor, self.medium, work, snapshot) as sender:
            running: dict[Future[Answer], Job[T]] = {}
            while remaining or running:
                places = _AHEAD * self.jobs - len(running)
                for _ in range(min(places, len(remaining))):
                    job = remaining.popleft()
                    if self.medium is not None:
                        job = replace(job, related=self.medium.related(work, job.units))
                    running[sender.send(job)] = job
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield from self._receive(future, running.pop(future), remaining, lose)

    def _receive(self, future: Future[Answer], job: Job[T], remaining: deque[Job[T]], lose: Lose[T, R]) -> Iterator[R]:
        error = future.exception()
        if error is None:
            yield from self._results(future.result(), job, remaining, lose)
        elif isinstance(error, Shortage):
            raise error
        elif isinstance(error, BrokenExecutor):
            raise Shortage(f"the executor ended: {error}") from error
        else:
            yield from self._send_again(job, remaining, lose, f"the worker that built it was lost ({_sentence(error)})")

    def _results(self, answer: Answer, job: Job[T], remaining: deque[Job[T]], lose: Lose[T, R]) -> Iterator[R]:
        if answer.refusal is not None:
            raise Shortage(answer.refusal)
        self._losses = 0
        yield from answer.results
        if answer.error is not None:
            raise answer.error
        rest = job.units[len(answer.results) :]
        if answer.lacking is not None and answer.lacking in job.lacking:
            yield from self._send_again(Job(rest, job.attempt, job.lacking), remaining, lose, "its sources were lost")
        elif answer.lacking is not None:
            remaining.appendleft(Job(rest, job.attempt, job.lacking | {answer.lacking}))
        elif answer.short is not None:
            yield lose(rest[0], answer.short)
            if rest[1:]:
                remaining.appendleft(Job(rest[1:]))

    def _send_again(self, job: Job[T], remaining: deque[Job[T]], lose: Lose[T, R], reason: str) -> Iterator[R]:
        """Put a batch back, in halves. Raises ``Shortage`` after too many losses."""
        self._losses += 1
        if self._losses >= _MOST_LOSSES:
            raise Shortage(f"{_MOST_LOSSES} batches of work were lost one after the other; of the last, {reason}")
        half = len(job.units) // 2
        if half:
            remaining.extendleft(Job(part, 1, job.lacking) for part in (job.units[half:], job.units[:half]))
        elif job.attempt < _TRIES:
            remaining.append(Job(job.units, job.attempt + 1, job.lacking))
        else:
            yield lose(job.units[0], reason)


class _Sender:
    """Sends batches of one kind of work; on exit, the rest is cancelled.

    With a medium each has a thread that waits for its answer. Without one no thread is started: an executor may fork.
    """

    def __init__(self, executor: Executor, medium: Medium | None, work: Work[Any, Any], snapshot: Any) -> None:
        self.executor, self.medium, self.work, self.snapshot = executor, medium, work, snapshot
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "batch")
        self._sent: set[Future[Answer]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> _Sender:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            sent = list(self._sent)
        for future in sent:
            future.cancel()
        self._threads.shutdown(cancel_futures=True)

    def send(self, job: Job[Any]) -> Future[Answer]:
        """Send a batch; the future has its answer, when all that came with it is in its place."""
        if self.medium is None:
            return self._submit(LocalOrder(self.work, self.snapshot, job.units))
        return self._threads.submit(self._exchange, self.medium, job)

    def _exchange(self, medium: Medium, job: Job[Any]) -> Answer:
        order = medium.order(self.work, self.snapshot, job)
        if order is None:
            return perform(self.work, self.snapshot, job.units)
        answer = self._submit(order).result()
        medium.receive(answer)
        return answer

    def _submit(self, order: Order) -> Future[Answer]:
        packed = pickle.dumps(order)
        with self._lock:
            if self._is_closed:
                raise Shortage("the build was ended")
            future = self.executor.submit(run_order, own_versions(), packed, uuid.uuid4().hex)
            self._sent.add(future)
        future.add_done_callback(self._sent.discard)
        return future


def _sentence(error: BaseException) -> str:
    """Return the first sentence of an error: Dask writes paragraphs."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.partition(". ")[0]
