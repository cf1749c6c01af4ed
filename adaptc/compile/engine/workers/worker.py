"""Worker processes, and the server that forks them: a program of its own, started by ``pool``.

The server loads the passes once, forks the workers and reports how each of them ended. It is single-threaded, and holds
neither files nor locks of the build.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import resource
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NoReturn

from adaptc.compile.engine.trees.output import hold_as_worker
from adaptc.core.interpreter import collect_seldom
from adaptc.core.shortage import explain_shortage

# The kinds of messages that a worker sends: what ``Work`` yields; what was short for a unit; an error, which ends the
# build; the end of a batch
RESULT, SHORT, ERROR, DONE = range(4)

# The exit code of a worker that waited for something that did not come
STUCK = 75
# How many times its limit of CPU time a unit may take until the kernel ends the worker: it mostly ends what it does
# itself, and encodes the original
_GRACE = 1.5
# How often a worker looks whether it gets on, before it ends as stuck
_LOOKS = 30
# Seconds of CPU time that a look costs, at most
_A_LOOK = 0.001


def serve(
    lock: str,
    modules: Sequence[str],
    alive: int,
    control: int,
    connections: Sequence[int],
    patience: float,
    limit: float = math.inf,
) -> None:
    """Fork a worker for each of the ``connections``, and send to ``control`` how each ended: its number and exit code.

    A worker that has work and uses no CPU time for ``patience`` seconds ends with ``STUCK``. One that uses more than
    ``limit`` seconds of CPU time for a unit, and does not end it itself, is ended by the kernel (``SIGXCPU``).

    The numbers are descriptors. A worker ends at once when the other end of the pipe ``alive`` is closed, by the kernel
    at the latest: when the build was killed or cancelled. An interrupt from the keyboard, and the end of a terminal, go
    to all processes and are for the build.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for module in modules:
        with contextlib.suppress(ImportError, MemoryError):  # the unit that needs the module reports it
            importlib.import_module(module)
    collect_seldom()  # what there is now is shared by all workers, and neither looked at nor copied
    numbers = dict(
        _fork(lock, alive, number, (control, *connections), patience, limit) for number in range(len(connections))
    )
    for descriptor in connections:
        os.close(descriptor)
    with Connection(control, readable=False) as build:
        while numbers:
            process, status = os.wait()
            with contextlib.suppress(BrokenPipeError):  # the build waits for the end of all
                build.send((numbers.pop(process), os.waitstatus_to_exitcode(status)))


def _fork(
    lock: str, alive: int, number: int, descriptors: Sequence[int], patience: float, limit: float
) -> tuple[int, int]:
    """Fork a worker, and return its process and its number."""
    process = os.fork()
    if process == 0:
        control, *connections = descriptors
        own = connections.pop(number)
        for descriptor in (control, *connections):
            os.close(descriptor)
        _work(lock, Connection(alive, writable=False), Connection(own), patience, limit)
    return process, number


class _Turn:
    """The unit that a worker is at: whether it has one, and the end of the CPU time that this may take.

    The kernel sees to that, in seconds: code of a library may keep all threads of Python from running.
    """

    def __init__(self, limit: float) -> None:
        self.is_at_work = False
        self._seconds = math.ceil(_GRACE * limit) if limit < math.inf else None
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_CPU)
        if self._seconds is not None:  # the signal would leave the memory of the worker in a file
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    def begin(self) -> None:
        if self._seconds is not None:
            self._allow(math.ceil(time.process_time()) + self._seconds)
        self.is_at_work = True

    def end(self) -> None:
        self.is_at_work = False

    def _allow(self, end: int) -> None:
        given = [each for each in (self._soft, self._hard) if each != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_CPU, (min([end, *given]), self._hard))


def _work(lock: str, alive: Connection, build: Connection, patience: float, limit: float) -> NoReturn:
    """Answer until the build closes the connection. A new build waits for ``lock``, which is held until then."""
    code = 1
    try:
        turn = _Turn(limit)
        threading.Thread(target=_watch, args=(alive, turn, patience), daemon=True).start()
        hold_as_worker(lock)
        with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
            while not alive.poll() and _answer(build, turn):
                pass
        code = 0
    finally:
        os._exit(code)


def _watch(build: Connection, turn: _Turn, patience: float) -> None:
    """End this process with the build, or once its work uses no CPU time any more.

    Looks are counted, not seconds, so that a process that was stopped for a while gets on.
    """
    looks, used = 0, 0.0
    while not build.poll(patience / _LOOKS):
        before, used = used, time.process_time()
        looks = looks + 1 if turn.is_at_work and used - before < _A_LOOK else 0
        if looks == _LOOKS:
            os._exit(STUCK)
    os._exit(1)


def _answer(build: Connection, turn: _Turn) -> bool:
    """Receive a batch, and send what its work yields as soon as there is any; return whether to go on after it."""
    work, snapshot, batch = build.recv()
    turn.begin()
    try:
        for result in work(snapshot, batch):
            turn.end()  # the build may be busy when it is sent
            build.send((RESULT, result))
            turn.begin()
    except (BrokenPipeError, ConnectionResetError):
        raise
    except BaseException as error:  # a panic is no Exception
        reason = explain_shortage(error)
        if reason is None:
            error.add_note(traceback.format_exc())
        turn.end()
        build.send((ERROR, error) if reason is None else (SHORT, reason))
        return False
    turn.end()
    build.send((DONE, None))
    return True
