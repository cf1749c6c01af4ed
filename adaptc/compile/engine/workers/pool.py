"""A pool of worker processes that names the unit at which one of them ended.

It takes the place of ``concurrent.futures``: that loses all work when the kernel kills one process, and cannot say
what the process was doing. The workers come from a program of its own (``worker``), so that the process that builds,
which may be a larger program with other threads, keeps its environment, its main module and its settings of
``multiprocessing``.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import Any, Generic, TypeVar

from adaptc.compile.engine.workers.task import Batch, Lose, Work
from adaptc.compile.engine.workers.worker import DONE, ERROR, RESULT, SHORT, STUCK
from adaptc.core.shortage import Shortage
from adaptc.core.values import dataclass, field

T = TypeVar("T")
R = TypeVar("R")

_PROGRAM = """
import json, sys
job = json.loads(sys.argv[1])
sys.path[:] = job.pop("path")
from adaptc.compile.engine.workers.worker import serve
serve(**job)
"""
# Workers that end one after the other, without a result between: then nothing can be built
_MOST_DEATHS = 16
# Units that memory is short for, one after the other: then the lightest units come first, which may need less, and when
# as many of these lack it, too, nothing can be built. Each costs a new worker, so that of a large site under a limit of
# memory there must not be too many in all, unless more units are built than not
_MOST_SHORT, _MOST_SHORT_IN_ALL = 16, 128
# The largest batch, pickled, that is sent to a worker that is busy: it fits into the buffer of a socket, so that nobody
# waits for the other
_FITS = 32 << 10
# Seconds that the server has to report how a worker ended
_PATIENCE = 5
# Seconds without CPU time after which a worker is stuck: longer than any file of a network or helper process takes
_STUCK_AFTER = 300.0


@dataclass(eq=False, slots=True)
class _Server:
    """A server of workers: its process, the pipe that keeps the workers alive, and how each of them ended."""

    process: subprocess.Popen[bytes]
    alive: Connection
    control: Connection
    codes: dict[int, int] = field(default_factory=dict)

    def exit_code(self, number: int) -> int | None:
        """Return the exit code of a worker that ended, ``None`` if the server ended too."""
        with contextlib.suppress(EOFError, OSError):
            while number not in self.codes and self.control.poll(_PATIENCE):
                ended, code = self.control.recv()
                self.codes[ended] = code
        return self.codes.get(number)

    def close(self) -> None:
        self.alive.close()
        self.control.close()
        self.process.wait()


@dataclass(eq=False, slots=True)
class _Worker(Generic[T]):
    """A worker, and the batches that it has; it works on the first of them."""

    server: _Server
    number: int
    connection: Connection
    batches: deque[Batch[T]] = field(default_factory=deque)


@dataclass(eq=False, slots=True)
class Pool:
    """``jobs`` worker processes; each holds ``lock`` while it lives. ``modules`` are loaded once for all of them.

    A worker that has work, and uses no CPU time for ``patience`` seconds, is ended. So is one that used ``limit``
    seconds of it for a unit, and more than it takes to notice: a library does not return.
    """

    jobs: int
    lock: Path
    modules: Sequence[str]
    patience: float = _STUCK_AFTER
    limit: float = math.inf
    _servers: list[_Server] = field(default_factory=list)
    _workers: list[_Worker[Any]] = field(default_factory=list)
    _deaths: int = 0
    _short: int = 0
    _short_in_all: int = 0
    _built: int = 0
    _is_lightest_first: bool = False

    @property
    def is_started(self) -> bool:
        """Whether workers run, or are being started."""
        return bool(self._servers)

    def start(self) -> None:
        """Start workers in place of those that ended; it does not wait for them. Raises ``Shortage``."""
        missing = self.jobs - len(self._workers)
        if missing:
            try:
                self._start(missing)
            except OSError as error:
                raise Shortage(f"worker processes cannot be started: {error.strerror}") from error

    def _start(self, count: int) -> None:
        alive_there, alive = Pipe(duplex=False)
        control, control_there = Pipe(duplex=False)
        pairs = [Pipe() for _ in range(count)]
        connections = [there.fileno() for _, there in pairs]
        given = (alive_there.fileno(), control_there.fileno(), *connections)
        job: dict[str, Any] = {"path": _search_path(), "lock": os.fspath(self.lock), "modules": self.modules}
        job |= {"alive": alive_there.fileno(), "control": control_there.fileno(), "connections": connections}
        job |= {"patience": self.patience, "limit": self.limit}
        command = [os.fsdecode(get_executable()), "-P", "-c", _PROGRAM, json.dumps(job)]
        # a library in Rust that prints a backtrace where memory is short waits for itself, for ever
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=given, env=environment)
            server = _Server(process, alive, control)
        finally:
            for there in (alive_there, control_there, *(pair[1] for pair in pairs)):
                there.close()
        self._servers.append(server)
        self._workers += [_Worker(server, number, ours) for number, (ours, _) in enumerate(pairs)]

    def run(self, work: Work[T, R], snapshot: Any, batches: Iterable[tuple[T, ...]], lose: Lose[T, R]) -> Iterator[R]:
        """Yield the results of ``work(snapshot, batch)`` for all ``batches``, in no fixed order.

        For a unit whose worker ended, or had not enough memory, it yields ``lose(unit, reason)``. Raises ``Shortage``
        when workers end at once, and what ``work`` raises.
        """
        remaining = deque(batches)
        while remaining or any(worker.batches for worker in self._workers):
            if remaining:
                self.start()
                self._feed(work, snapshot, remaining)
            busy = [worker for worker in self._workers if worker.batches]
            ready = wait([worker.connection for worker in busy])
            for worker in busy:
                if worker.connection in ready:
                    yield from self._receive(worker, remaining, lose)

    def _feed(self, work: Work[T, R], snapshot: Any, remaining: deque[tuple[T, ...]]) -> None:
        """Send batches, two to each worker: it goes on with the second while this process works on the results."""
        for ahead in (0, 1):
            for worker in self._workers:
                if remaining and len(worker.batches) == ahead:
                    task = pickle.dumps((work, snapshot, remaining[0]))
                    if ahead and len(task) > _FITS:
                        continue
                    worker.batches.append(Batch(remaining.popleft()))
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it ended: see _receive
                        worker.connection.send_bytes(task)

    def _receive(self, worker: _Worker[T], remaining: deque[tuple[T, ...]], lose: Lose[T, R]) -> Iterator[R]:
        try:
            kind, answer = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            kind, answer = SHORT, self._explain_end(worker)
            self._deaths += 1
        else:
            self._deaths = 0
        if kind == ERROR:
            raise answer
        if kind == SHORT:
            self._note_shortage(answer, remaining)
        if kind == DONE:
            worker.batches.popleft()
        elif kind == RESULT:
            worker.batches[0].remove_current()
            self._short, self._built = 0, self._built + 1
            yield answer
        else:
            yield from self._replace(worker, remaining, lose, answer)

    def _replace(
        self, worker: _Worker[T], remaining: deque[tuple[T, ...]], lose: Lose[T, R], reason: str
    ) -> Iterator[R]:
        """Remove a worker that ended, or that lacked memory: libraries that it loaded in part stay so.

        That was at one unit; the others are put back. Raises ``Shortage`` after too many ends.
        """
        worker.connection.close()
        self._workers.remove(worker)
        if self._deaths >= _MOST_DEATHS:
            raise Shortage(f"{_MOST_DEATHS} worker processes ended one after the other; of the last, {reason}")
        if worker.batches[0].units:
            yield lose(worker.batches[0].remove_current(), reason)
        remaining.extendleft(tuple(batch.units) for batch in worker.batches if batch.units)

    def _note_shortage(self, reason: str, remaining: deque[tuple[T, ...]]) -> None:
        """Count a unit that memory is short for. Raises ``Shortage`` when that happens again and again."""
        self._short, self._short_in_all = self._short + 1, self._short_in_all + 1
        if self._short == _MOST_SHORT and not self._is_lightest_first:
            batches = [batch[::-1] for batch in reversed(remaining)]
            remaining.clear()
            remaining.extend(batches)
            self._short, self._is_lightest_first = 0, True
        in_a_row = self._short >= _MOST_SHORT
        if in_a_row or (self._short_in_all >= _MOST_SHORT_IN_ALL and self._short_in_all > self._built):
            count, order = (_MOST_SHORT, " one after the other") if in_a_row else (self._short_in_all, "")
            raise Shortage(
                f"{count} files{order} could not be built, and each cost a new process; of the last, {reason}"
            )

    def _explain_end(self, worker: _Worker[Any]) -> str:
        return f"the process that built it {_describe_end(worker.server.exit_code(worker.number))}"

    def close(self) -> None:
        """End the workers at once, whatever they do: their current work is no longer wanted, and may take a minute."""
        for worker in self._workers:
            worker.connection.close()
        for server in self._servers:
            server.close()


def _search_path() -> list[str]:
    """Return where the workers search modules: where this process does, but not in the working directory.

    That may be a site, with files of any name.
    """
    own = os.fspath(Path(__file__).parents[3])
    return [*filter(None, sys.path), own]


def _describe_end(code: int | None) -> str:
    if code is None:
        return "ended, and so did its parent"
    if code == STUCK:
        return "waited without end, as libraries do now and then, and was ended"
    if code == -signal.SIGXCPU:
        return "took more CPU time than build.unit_seconds allows, in a library that did not return, and was ended"
    if code >= 0:
        return f"ended with exit code {code}, as libraries do that lack memory"
    name = signal.Signals(-code).name
    return (
        "was killed (SIGKILL), as the system does when memory runs out" if name == "SIGKILL" else f"was ended by {name}"
    )
