"""Readers of responses: this process, or a second one that reads while this one requests more.

Where the server answers at once, reading pages and writing files is a third of a crawl's work, and another processor
does it. Jobs go there and outcomes come back over a pair of sockets, in the same order.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import select
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, Protocol

from adaptc.crawl.body_job import BodyError, BodyResult, FileLinks, Job, JobRunner, Outcome
from adaptc.crawl.discover.link import Link

_LENGTH = 4  # bytes in front of a message
_CHUNK = 1 << 18
_TEMPORARY = "read"  # the prefix of the second process's temporary files


class Reader(Protocol):
    """Reads responses. ``pending`` counts jobs whose outcome is still to come from ``ended``."""

    @property
    def pending(self) -> int:
        """How many jobs are under way."""
        ...

    def begin(self, key: Any, job: Job) -> Outcome | None:
        """Read a response; return the outcome, ``None`` when ``ended`` will."""

    def awaited(self) -> tuple[list[int], list[int]]:
        """Return the descriptors to wait for: which to read from, which to write to."""
        ...

    def ended(self, *, waits: bool = False) -> list[tuple[Any, Outcome]]:
        """Return what was read meanwhile, with the keys that ``begin`` was given; ``waits`` until there is some."""

    def close(self) -> None:
        """Release what the reader holds."""


class InlineReader:
    """Reads in this process, at once."""

    pending = 0

    def __init__(self, runner: JobRunner) -> None:
        self.runner = runner

    def begin(self, _key: Any, job: Job) -> Outcome | None:
        """Read a response and return the outcome."""
        return self.runner.run(job)

    def awaited(self) -> tuple[list[int], list[int]]:
        """Return no descriptors."""
        return [], []

    def ended(self, *, waits: bool = False) -> list[tuple[Any, Outcome]]:  # noqa: ARG002
        """Return nothing."""
        return []

    def close(self) -> None:
        """Do nothing."""


class ReaderProcess:
    """Reads in a process of its own, which ends with this one, however that ends."""

    def __init__(self, runner: JobRunner) -> None:
        self.runner = runner
        ours, theirs = socket.socketpair()
        gc.freeze()  # what there is now is neither looked at nor copied again
        self._child = os.fork()
        if not self._child:
            ours.close()
            _serve(theirs, runner)
        theirs.close()
        ours.setblocking(False)
        self._socket = ours
        self._unsent = bytearray()
        self._received = bytearray()
        self._jobs: deque[tuple[Any, Job]] = deque()
        self._is_gone = False

    @property
    def pending(self) -> int:
        """How many jobs are under way."""
        return len(self._jobs)

    def begin(self, key: Any, job: Job) -> Outcome | None:
        """Queue a job; ``ended`` sends the queued jobs together."""
        if self._is_gone:
            return self.runner.run(job)
        content = marshal.dumps(tuple(job))
        self._unsent += len(content).to_bytes(_LENGTH, "big")
        self._unsent += content
        self._jobs.append((key, job))
        return None

    def awaited(self) -> tuple[list[int], list[int]]:
        """Return the descriptors to wait for: which to read from, which to write to."""
        if not self._jobs:
            return [], []
        own = [self._socket.fileno()]
        return own, own if self._unsent else []

    def ended(self, *, waits: bool = False) -> list[tuple[Any, Outcome]]:
        """Send what is to be read, and return what has been."""
        if not self._jobs:
            return []
        self._exchange()
        outcomes = self._outcomes()
        while waits and self._jobs and not outcomes:
            select.select(*self.awaited(), [])
            self._exchange()
            outcomes = self._outcomes()
        return outcomes

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        gc.unfreeze()
        with contextlib.suppress(ChildProcessError):  # somebody else waited for it
            os.waitpid(self._child, 0)

    def _exchange(self) -> None:
        """Send and receive what goes without waiting."""
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._is_gone = True
        try:
            while chunk := self._socket.recv(_CHUNK):
                self._received += chunk
            self._is_gone = True
        except BlockingIOError:
            return
        except OSError:
            self._is_gone = True

    def _outcomes(self) -> list[tuple[Any, Outcome]]:
        outcomes = [(self._jobs.popleft()[0], outcome) for outcome in self._messages()]
        if self._is_gone:  # it failed, or was killed for want of memory: its unfinished jobs are done here
            self._unsent.clear()
            outcomes.extend((key, self.runner.run(job)) for key, job in self._jobs)
            self._jobs.clear()
        return outcomes

    def _messages(self) -> Iterator[Outcome]:
        position, received = 0, self._received
        while position + _LENGTH <= len(received):
            begin = position + _LENGTH
            end = begin + int.from_bytes(received[position:begin], "big")
            if end > len(received):
                break
            with memoryview(received) as view:
                message = marshal.loads(view[begin:end])
            position = end
            yield _unpacked(*message)
        del received[:position]


def reader_for(runner: JobRunner, *, alone: bool) -> Reader:
    """Return a reader: a second process where another processor is free for it, unless ``alone`` forbids it.

    A process with threads is not copied: what another thread had locked would stay locked in the copy.
    """
    may_copy = sys.platform == "linux" and threading.active_count() == 1
    if alone or not may_copy or len(os.sched_getaffinity(0)) < 2:
        return InlineReader(runner)
    return ReaderProcess(runner)


# ---- the second process


def _serve(connection: socket.socket, runner: JobRunner) -> None:
    """Read what comes until the other side is gone, and end the process.

    A job that raises ends it too: the crawl then does that job itself, and the error is reported there.
    """
    try:
        # the other side decides when a crawl ends
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        runner.mirror.temporary = _TEMPORARY
        jobs = BufferedReader(socket.SocketIO(connection, "r"), _CHUNK)
        while job := _received(jobs):
            connection.sendall(_framed(_packed(runner.run(job))))
    finally:
        os._exit(0)


def _received(jobs: BufferedReader[socket.SocketIO]) -> Job | None:
    """Return the next job, ``None`` when there will be none."""
    length = jobs.read(_LENGTH)
    content = jobs.read(int.from_bytes(length, "big"))
    return Job._make(marshal.loads(content)) if content else None


def _framed(message: tuple[Any, ...]) -> bytes:
    content = marshal.dumps(message)
    return len(content).to_bytes(_LENGTH, "big") + content


def _packed(outcome: Outcome) -> tuple[Any, ...]:
    """Return an outcome in plain tuples, which travel three times as fast as objects."""
    if isinstance(outcome, BodyError):
        return ("error", outcome.kind, str(outcome))
    if isinstance(outcome, OSError):
        return ("oserror", outcome.errno, outcome.strerror, outcome.filename)
    file_links = outcome.file_links
    plain = None if file_links is None else (*file_links[:3], [tuple(link) for link in file_links.links])
    return ("done", *outcome[:4], plain)


def _unpacked(tag: str, *values: Any) -> Outcome:
    if tag == "error":
        return BodyError(*values)
    if tag == "oserror":
        return OSError(*values)
    kind, size, disk, is_unparsed, plain = values
    if plain is None:
        return BodyResult(kind, size, disk, is_unparsed, None)
    base, nofollow, packed, links = plain
    return BodyResult(
        kind, size, disk, is_unparsed, FileLinks(base, nofollow, packed, [Link._make(link) for link in links])
    )
