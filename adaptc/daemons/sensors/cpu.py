"""How busy the CPUs are: the control group of the server, its processes, or /proc/stat of the host.

In a container, or on a host with other work, the host's counters are not the server's. All are counters of busy CPU
seconds; the share is their difference over what the server might have used meanwhile: its CPUs, those that it is bound
to, or its quota.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from adaptc.core.values import dataclass, field
from adaptc.serve.calibrate.cpu_time import allowed_cpus, cpu_quota, fields_of, own_cpu_of

CGROUPS = Path("/sys/fs/cgroup")


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


@dataclass(frozen=True, slots=True)
class GroupCpu:
    """A control group; ``file`` holds its usage, in the words of version 1 (nanoseconds) or 2."""

    file: Path
    version: int
    cpus: float

    def read(self) -> CpuCount:
        """Return the CPU time of the group."""
        text = self.file.read_text("ascii")
        busy = parse_cpu_stat(text).busy if self.version == 2 else int(text) / 1e9
        return CpuCount(busy, source="group")


def open_group(name: str, cpus: int, root: Path = CGROUPS) -> GroupCpu:
    """Return the sensor of a control group such as ``system.slice/nginx.service``.

    Version 2 is looked for first, then the ``cpuacct`` hierarchy of version 1. Raises ``FileNotFoundError``.
    """
    folder = root / name.strip("/")
    if (folder / "cpu.stat").exists() and not (root / "cpuacct").exists():
        return GroupCpu(folder / "cpu.stat", 2, _allowed(root, root, name, cpus))
    usage = root / "cpuacct" / name.strip("/") / "cpuacct.usage"
    if usage.exists():
        return GroupCpu(usage, 1, _allowed(root / "cpu", root / "cpuset", name, cpus))
    raise FileNotFoundError(2, "there is no such control group", str(folder))


def _allowed(cpu: Path, cpuset: Path, name: str, cpus: int) -> float:
    """Return the CPUs that a group may use: the least of its quota, those of groups above it, and its set of CPUs."""
    group = cpu / name.strip("/")
    quotas = (cpu_quota(folder) for folder in (group, *group.parents) if folder.is_relative_to(cpu))
    allowed = [float(cpus), *(quota for quota in quotas if quota is not None)]
    for file in ("cpuset.cpus.effective", "cpuset.effective_cpus"):
        with suppress(OSError, ValueError):
            allowed.append(float(_count((cpuset / name.strip("/") / file).read_text("ascii"))))
    return min(allowed)


def _count(ranges: str) -> int:
    """Return how many CPUs a list such as ``0-2,7`` names (cpuset(7)). Raises ``ValueError`` for an empty one."""
    ends = (part.partition("-") for part in ranges.strip().split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


# ---- the processes of the server, by the name of its program

PROC = Path("/proc")
_SEARCH_EVERY = 5  # readings; between them only the processes that were found are read


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
    folder = (root / "cpuacct" if (root / "cpuacct").exists() else root) / group.strip("/")
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
            self.cpus = self._usable() or self.cpus
        return CpuCount(self._busy, source="workers")

    def _usable(self) -> float:
        """Return the CPUs of the processes that work: parents of others, such as nginx's master, only wait."""
        rows = dict(self._rows())
        parents = {int(row[_PARENT]) for row in rows.values()}
        workers = [process for process in rows if process not in parents] or list(rows)
        threads = sum(int(rows[process][_THREADS]) for process in workers)
        allowed = []
        for process in workers:
            with suppress(OSError):
                allowed.append(allowed_cpus(process))
        return min(float(threads), max(allowed)) if allowed else 0.0

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        for process in self._known:
            with suppress(OSError):
                yield process, fields_of(process, self.proc)


_PARENT, _THREADS, _START = 1, 17, 19  # fields of /proc/PID/stat after the name of the program (proc_pid_stat(5))
