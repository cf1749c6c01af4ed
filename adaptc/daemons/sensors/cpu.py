"""How busy the CPUs are: the control group of the server, its processes, or /proc/stat of the host.

In a container, or on a host with other work, the host's counters are not the server's. All are counters of busy CPU
seconds; the share is their difference over what the server might have used meanwhile: its CPUs, those that it is bound
to, or its quota.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from adaptc.core.values import dataclass, field
from adaptc.serve.calibrate.cpu_time import allowed_cpus, cpu_quota, fields_of, own_cpu_of

CGROUPS, PROC = Path("/sys/fs/cgroup"), Path("/proc")
_SEARCH_EVERY = 5  # readings; between them only the processes that were found are read
_PARENT, _THREADS, _START = 1, 17, 19  # fields of /proc/PID/stat after the name of the program (proc_pid_stat(5))
_NO_WORKER = re.compile(rb"nginx: (?!worker process\0*\Z)")  # nginx names its processes by what they do


@dataclass(frozen=True, slots=True)
class CpuCount:
    """Busy CPU seconds so far; ``available`` as well, where the source counts them (else time by the clock).

    ``source`` tells what was counted, ``host`` for all processes: counts of two sources have no difference.
    """

    busy: float
    available: float | None = None
    source: str = "host"


def busy_share(before: CpuCount, now: CpuCount, elapsed: float, cpus: float) -> float | None:
    """Return the busy share between two readings; None when the counters went back or no time passed."""
    if now.source != before.source:
        return None
    if now.available is not None and before.available is not None:
        available = now.available - before.available
    else:
        available = elapsed * cpus
    if available <= 0 or now.busy < before.busy:
        return None
    return min(1.0, (now.busy - before.busy) / available)


class CpuSource(Protocol):
    """A place to read CPU time from."""

    @property
    def cpus(self) -> float:
        """How many CPUs may be used, where the source does not count available time."""

    def read(self) -> CpuCount:
        """Return the counters. Raises ``OSError`` and ``ValueError``."""


# Columns of the first line (proc_stat(5)); guest time is contained in user time already.
_IDLE, _IOWAIT, _COUNTED = 3, 4, 8


def parse_proc_stat(text: str) -> CpuCount:
    """Parse /proc/stat: all CPUs together, in clock ticks. Waiting for a disk is idle time."""
    words = text.partition("\n")[0].split()
    if words[:1] != ["cpu"] or len(words) < 6:
        raise ValueError("this is no /proc/stat")
    ticks = [int(word) for word in words[1 : 1 + _COUNTED]]
    total = sum(ticks)
    return CpuCount(total - ticks[_IDLE] - ticks[_IOWAIT], total)


@dataclass(frozen=True, slots=True)
class HostCpu:
    """All CPUs of the host."""

    path: Path = Path("/proc/stat")
    cpus: float = 1.0

    def read(self) -> CpuCount:
        """Return the counters of all CPUs."""
        return parse_proc_stat(self.path.read_text("ascii"))


def parse_cpu_stat(text: str) -> CpuCount:
    """Parse cpu.stat of control groups version 2: usage_usec."""
    fields = dict(line.split() for line in text.splitlines() if line.strip())
    if "usage_usec" not in fields:
        raise ValueError("cpu.stat has no usage_usec")
    return CpuCount(int(fields["usage_usec"]) / 1e6)


@dataclass(slots=True)
class GroupCpu:
    """The control group ``name``, such as ``system.slice/nginx.service``, of version 2, or else 1.

    It ends and comes back with its server, and its quota may change. ``cpus`` is how many CPUs its processes may use
    together, of the ``most`` that the host has.
    """

    name: str
    most: int
    root: Path = CGROUPS
    proc: Path = PROC
    cpus: float = field(default=1.0, init=False)
    _readings: int = field(default=0, init=False)

    def read(self) -> CpuCount:
        """Return the CPU time of the group. Raises ``OSError`` while there is none, and ``ValueError``."""
        name = self.name.strip("/")
        usage, file = self.root / "cpuacct" / name / "cpuacct.usage", self.root / name / "cpu.stat"
        is_first = is_of_version_1(self.root)
        busy = int(usage.read_text("ascii")) / 1e9 if is_first else parse_cpu_stat(file.read_text("ascii")).busy
        if self._readings % _SEARCH_EVERY == 0:
            own = usable_cpus(processes_in(name, self.root), self.proc)
            self.cpus = min(_allowed(self.root / "cpu" if is_first else self.root, name), own or float(self.most))
        self._readings += 1
        return CpuCount(busy, source="group")


def is_of_version_1(root: Path = CGROUPS) -> bool:
    """Whether CPU time is counted by control groups of version 1, in the ``cpuacct`` hierarchy."""
    return (root / "cpuacct").exists()


def _allowed(root: Path, name: str) -> float:
    """Return the least quota of a group and of those above it, in CPUs."""
    group = root / name
    quotas = (cpu_quota(folder) for folder in (group, *group.parents) if folder.is_relative_to(root))
    return min((quota for quota in quotas if quota is not None), default=math.inf)


# ---- the processes of the server, by the name of its program


def processes_of(programs: Collection[str], proc: Path = PROC) -> list[int]:
    """Return all processes of some programs. Raises ``OSError``."""
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit() and _program(entry) in programs]


def _program(entry: Path) -> str:
    try:
        return (entry / "comm").read_text("utf-8", "replace").strip()
    except OSError:  # it has ended
        return ""


def processes_in(group: str, root: Path = CGROUPS) -> list[int]:
    """Return the processes of a control group and of those below it, those of other PID namespaces left out.

    Raises ``OSError`` and ``ValueError``.
    """
    folder = (root / "cpuacct" if is_of_version_1(root) else root) / group.strip("/")
    lists = (file.read_text("ascii") for file in folder.rglob("cgroup.procs"))
    return [process for text in lists for process in map(int, text.split()) if process]


def parent_of(process: int, proc: Path = PROC) -> int:
    """Return the parent of a process. Raises ``OSError``, and ``IndexError`` for one that is ending."""
    return int(fields_of(process, proc)[_PARENT])


@dataclass(slots=True)
class WorkersCpu:
    """All processes of some programs; the whole host while there are none, or none may be seen.

    Workers come and go: each one's time is compared with its own, so that the sum never goes back. ``cpus`` is how many
    CPUs they may use together: as many as they have threads, that they are bound to, and that their quota allows.
    """

    programs: Collection[str]
    cpus: float = 1.0
    proc: Path = PROC
    seconds: Callable[[int], float] = own_cpu_of
    host: HostCpu = field(default_factory=HostCpu)
    _readings: int = 0
    _busy: float = 0.0
    _known: dict[int, tuple[str, float]] = field(default_factory=dict)  # start and CPU seconds by process

    def read(self) -> CpuCount:
        """Return the CPU time of the processes. Raises ``OSError`` and ``ValueError`` where there are none."""
        first, processes = (
            not self._readings,
            processes_of(self.programs, self.proc) if self._readings % _SEARCH_EVERY == 0 else list(self._known),
        )
        self._readings += 1
        before, self._known = self._known, {}
        for process in processes:
            with suppress(OSError, IndexError):  # it has ended
                start, seconds = fields_of(process, self.proc)[_START], self.seconds(process)
                self._known[process] = (start, seconds)
                known = before.get(process)
                if known is not None and known[0] == start:
                    self._busy += max(0.0, seconds - known[1])
                elif not first:
                    self._busy += seconds
        if not self._known:
            return self.host.read()
        if self._readings % _SEARCH_EVERY == 1:
            self.cpus = usable_cpus(self._known, self.proc) or self.cpus
        return CpuCount(self._busy, source="workers")


def usable_cpus(processes: Collection[int], proc: Path = PROC) -> float:
    """Return the CPUs that processes may use: as many as they have threads, are bound to, and their quota allows.

    Parents of one thread only wait; so do nginx's master and managers of its cache, and its workers that end after a
    reload take no new requests. 0 where no process may be seen.
    """
    rows: dict[int, list[str]] = {}
    allowed, threads = [0.0], 0
    for process in processes:
        with suppress(OSError):
            if not _NO_WORKER.match((proc / str(process) / "cmdline").read_bytes()):
                rows[process] = fields_of(process, proc)
    parents = {int(row[_PARENT]) for row in rows.values()}
    for process, row in rows.items():
        if process not in parents or row[_THREADS] != "1":
            with suppress(OSError):
                allowed.append(allowed_cpus(process))
            threads += int(row[_THREADS])
    return min(float(threads), max(allowed))
