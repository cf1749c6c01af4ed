"""What waits: tasks for a CPU (pressure stall information), and connections for the server to accept them.

These are sensors whose value alone can tell that the server is strained. Such a sensor is a ``LimitSensor``, named in
``LIMIT_SENSORS`` of the package. Its name is the key of ``[daemons.switch]`` and ``[daemons.control]`` that sets its
limit, and the key of its value in samples, traces and metrics.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Protocol

from adaptc.config.schema import Check, number
from adaptc.core.values import dataclass, field
from adaptc.daemons.sensors.cpu import CGROUPS, PROC, is_of_version_1, parent_of, processes_in, processes_of


class Counter(Protocol):
    """A place to read a number from."""

    @property
    def remark(self) -> str:
        """What people should know of the numbers, "" for nothing: that they are not those of the server alone."""

    def read(self) -> float:
        """Return the number. Raises ``OSError`` and ``ValueError``."""


@dataclass(frozen=True, slots=True)
class LimitSensor:
    """A sensor with a limit: above it the server counts as strained.

    ``check`` is that of the key. ``off`` is the default of the limit: the sensor is opened for lower limits only.
    ``open`` takes the control group of the server ("" for none) and the names of its programs. ``value`` turns two
    readings and the seconds between them into the value of a sample, None when they do not give one. ``help`` is that
    of the metric.
    """

    name: str
    help: str
    check: Check
    off: float
    open: Callable[[str, Collection[str]], Counter]
    value: Callable[[float | None, float | None, float], float | None]


def rate(before: float | None, now: float | None, elapsed: float) -> float | None:
    """Return a counter's increase a second; None when it is missing or went back: the server was restarted."""
    if before is None or now is None or now < before or elapsed <= 0:
        return None
    return (now - before) / elapsed


# ---- tasks that wait for a CPU
#
# The share of time in which some task waited. It is read from /proc/pressure/cpu or a control group's cpu.pressure
# (Linux, Documentation/accounting/psi.rst). The total counts microseconds, so the share of any interval is known, not
# only that of the last 10 seconds.

HOST = Path("/proc/pressure/cpu")
_OF_HOST = "pressure: it is the host's, in which other programs wait, too: name the server's cgroup (of version 2)"


def parse_pressure(text: str) -> int:
    """Return the microseconds of the ``some`` line. Raises ``ValueError``."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["some"] and words[-1].startswith("total="):
            return int(words[-1].removeprefix("total="))
    raise ValueError("there is no line of pressure for some tasks")


@dataclass(frozen=True, slots=True)
class Pressure:
    """Microseconds of waiting so far."""

    path: Path = HOST

    @property
    def remark(self) -> str:
        """That other programs count, where they do."""
        return _OF_HOST if self.path == HOST else ""

    def read(self) -> int:
        """Return the counter. Raises ``OSError`` and ``ValueError``."""
        return parse_pressure(self.path.read_text("ascii"))


def open_pressure(group: str, root: Path = CGROUPS) -> Pressure:
    """Return the sensor of a control group; version 1 has no such counter, and the host's is read instead."""
    return Pressure(root / group.strip("/") / "cpu.pressure" if group and not is_of_version_1(root) else HOST)


def _share(before: float | None, now: float | None, elapsed: float) -> float | None:
    microseconds = rate(before, now, elapsed)
    return None if microseconds is None else min(1.0, microseconds / 1e6)


PRESSURE = LimitSensor(
    "pressure",
    "Share of time in which a task waited for a CPU.",
    number(0, 1),
    1.0,
    lambda group, _programs: open_pressure(group),
    _share,
)


# ---- connections that were opened and that no server has accepted yet: ``rx_queue`` of sockets that listen
#
# The table is that of a network namespace (/proc/PID/net: the server's own, which in a container is not the reader's),
# and has the sockets of all its servers. Those of this one are known by their inodes, which are among the descriptors
# of its processes (proc_pid_fd(5)). Sockets that listen come first in the table.

_TABLES = ("tcp", "tcp6")
_LISTENING, _ESTABLISHED, _INODE = "0A", "01", 9
_HEAD, _LONG_HEAD = 1 << 16, 1 << 18  # bytes, about 400 and 1,700 sockets
_MOST_DESCRIPTORS = 4096  # of a process: sockets that listen are opened first
_SEARCH_EVERY = 5  # readings
_ALL_SOCKETS = "listen_queue: which sockets are the server's is not known (its processes are not found, or may not be "
_ALL_SOCKETS += "looked at by this user): those of all servers count"


def parse_queues(text: str) -> dict[int, int]:
    """Return the queue of each socket of a table that listens, by inode (proc_net(5)). Raises ``ValueError``."""
    rows = [line.split() for line in text.splitlines()[1:]]
    listening = [row for row in rows if len(row) > _INODE and row[3] == _LISTENING]
    return {int(row[_INODE]): int(row[4].partition(":")[2], 16) for row in listening}


@dataclass(slots=True)
class ListenQueue:
    """The longest queue of connections that wait for the server to accept them.

    ``processes`` finds those of the server. Where they are not known, or may not be looked at, all sockets count.
    """

    processes: Callable[[], Collection[int]]
    proc: Path = PROC
    remark: str = ""
    _own: frozenset[int] = field(default=frozenset())  # inodes
    _process: str = ""  # whose network namespace is read; "": the reader's
    _readings: int = 0

    def read(self) -> int:
        """Return the length now. Raises ``OSError`` and ``ValueError``."""
        is_due, queues = self._readings % _SEARCH_EVERY == 0, self._queues()
        if is_due or (self._own and not self._own & queues.keys()):
            queues = self._search()
        self._readings += 1
        return max((length for inode, length in queues.items() if self.remark or inode in self._own), default=0)

    def views(self) -> float:
        """Return how many views wait: connections that are not accepted, and half of those with unread requests.

        A server that accepts all that come (``multi_accept``) has its queue there; some are for parts of pages. Raises
        ``OSError`` and ``ValueError``.
        """
        length, rows = self.read(), list[list[str]]()
        for name in _TABLES:
            table = self.proc / self._process / "net" / name
            if table.exists():
                rows += [row for line in _head(table, _LONG_HEAD).splitlines()[1:] if len(row := line.split()) > _INODE]
        listening = (row for row in rows if row[3] == _LISTENING and (self.remark or int(row[_INODE]) in self._own))
        ports = {row[1].rpartition(":")[2] for row in listening}
        accepted = (row for row in rows if row[3] == _ESTABLISHED and row[1].rpartition(":")[2] in ports)
        return length + sum(not row[4].endswith(":00000000") for row in accepted) / 2

    def _queues(self) -> dict[int, int]:
        queues: dict[int, int] = {}
        for name in _TABLES:
            table = self.proc / self._process / "net" / name
            if table.exists():
                queues.update(parse_queues(_head(table)))
        return queues

    def _search(self) -> dict[int, int]:
        """Find the sockets of the server among those that listen: in its parents, which pass them on to workers.

        Where a parent has none (HAProxy's), or may not be looked at, its children are. Returns all queues.
        """
        found, is_known, hidden, processes = set[int](), False, False, list[int]()
        with suppress(OSError, ValueError):
            processes = sorted(self.processes())
        seen = (str(process) for process in processes if (self.proc / str(process) / "net/tcp").exists())
        self._process = next(seen, "")
        queues = self._queues()
        listening = queues.keys()
        with suppress(OSError, ValueError):
            for generation in _generations(processes, self.proc):
                is_known = True
                for process in generation:
                    try:
                        found |= listening & set(_sockets(self.proc / str(process) / "fd"))
                    except FileNotFoundError:  # it has ended
                        continue
                    except PermissionError:
                        hidden = True
                if found:
                    break
        self._own = frozenset(found)
        self.remark = "" if found or (is_known and not hidden) else _ALL_SOCKETS
        return queues


def _generations(processes: Collection[int], proc: Path) -> Iterator[list[int]]:
    """Yield processes without a parent among them, then their children, and so on; none of those that have ended."""
    parents: dict[int, int] = {}
    for process in processes:
        with suppress(OSError, IndexError):
            parents[process] = parent_of(process, proc)
    generation = [process for process, parent in parents.items() if parent not in parents]
    while generation:
        yield generation
        generation = [process for process, parent in parents.items() if parent in generation]


def _sockets(folder: Path) -> Iterator[int]:
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_DESCRIPTORS):
            with suppress(FileNotFoundError):  # it was closed
                target = os.readlink(entry.path)
                if target.startswith("socket:["):
                    yield int(target[8:-1])


def _head(table: Path, size: int = _HEAD) -> str:
    with table.open("r", encoding="ascii") as file:
        return file.read(size).rpartition("\n")[0]


def open_queue(group: str, programs: Collection[str]) -> ListenQueue:
    """Return the sensor of a control group, or of some programs."""
    return ListenQueue(lambda: processes_in(group) if group else processes_of(programs))


LISTEN_QUEUE = LimitSensor(
    "listen_queue", "Connections that wait for the server to accept them.", number(1, 1e6), 1e6,
    open_queue, lambda _before, now, _elapsed: now,
)  # fmt: skip


# ---- work of the server that is pending: it runs, or waits for a CPU
#
# Each thread counts the nanoseconds that it ran and that it waited to run (/proc/PID/task/TID/schedstat; Linux,
# Documentation/scheduler/sched-stats.rst): for other programs of the host, for the hypervisor, for the next period of
# a quota. A server that is kept from its CPU uses little of it, and its event loop is busy all the time.

_MOST_THREADS = 256  # of a process


@dataclass(slots=True)
class Pending:
    """How busy the processes of a server are by the clock, not by the CPU time that they got."""

    processes: Callable[[], Collection[int]]
    proc: Path = PROC
    _known: dict[int, float] = field(default_factory=dict)  # nanoseconds by process
    _readings: int = 0

    def share(self, elapsed: float, cpus: float = 1.0) -> float | None:
        """Return the share of the last ``elapsed`` seconds in which work was pending; None where nobody tells.

        A process with one thread has none or one piece of work; a mean number of N threads at work is that of a
        processor-sharing server with as many ``cpus``. Processes count by what they had to do.
        """
        found = list(self._known)
        if self._readings % _SEARCH_EVERY == 0:
            with suppress(OSError, ValueError):
                found = list(self.processes())
        self._readings += 1
        before, self._known, busy, weight, shared = self._known, {}, 0.0, 0.0, 0.0
        for process in found:
            with suppress(OSError, ValueError, IndexError):  # it has ended, or the kernel does not count
                threads, self._known[process] = self._counted(process)
                if process in before and elapsed > 0:
                    number = max(0.0, self._known[process] - before[process]) / 1e9 / elapsed
                    weight += number
                    if threads == 1:
                        busy += number * min(number, 1.0)
                    else:
                        shared += number
        busy += shared * share_at(shared, max(1, round(cpus)))
        return busy / weight if weight > 0 else None

    def _counted(self, process: int) -> tuple[int, float]:
        threads, nanoseconds = 0, 0.0
        for task in islice((self.proc / str(process) / "task").iterdir(), _MOST_THREADS):
            ran, waited = (task / "schedstat").read_text("ascii").split()[:2]
            threads, nanoseconds = threads + 1, nanoseconds + int(ran) + int(waited)
        return threads, nanoseconds


def share_at(number: float, cpus: int) -> float:
    """Return the busy share of CPUs that share a mean ``number`` of pieces of work (M/M/c; Sakasegawa 1977)."""
    low, high = 0.0, 1.0
    for _ in range(20):
        share = (low + high) / 2
        mean = cpus * share + share ** math.sqrt(2 * (cpus + 1)) / (1 - share)
        low, high = (share, high) if mean < number else (low, share)
    return low


def open_pending(group: str, programs: Collection[str]) -> Pending:
    """Return the sensor of a control group, or of some programs."""
    return Pending(lambda: processes_in(group) if group else processes_of(programs))
