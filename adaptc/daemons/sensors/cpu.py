"""How busy the CPUs are: /proc/stat of the host, or the control group of the server.

In a container, or on a host with other work, the host's counters are not the server's: name its control group. Both are
counters of busy CPU seconds; the share is their difference over what the server might have used meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adaptc.core.cpu_quota import cpu_quota

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class CpuCount:
    """Busy CPU seconds so far; ``available`` as well, where the source counts them (else time by the clock)."""

    busy: float
    available: float | None = None


def busy_share(before: CpuCount, now: CpuCount, elapsed: float, cpus: float) -> float | None:
    """Return the busy share between two readings; None when the counters went back or no time passed."""
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
        return parse_cpu_stat(text) if self.version == 2 else CpuCount(int(text) / 1e9)


def open_group(name: str, cpus: int, root: Path = CGROUPS) -> GroupCpu:
    """Return the sensor of a control group such as ``system.slice/nginx.service``.

    Version 2 is looked for first, then the ``cpuacct`` hierarchy of version 1. Raises ``FileNotFoundError``.
    """
    folder = root / name.strip("/")
    if (folder / "cpu.stat").exists() and not (root / "cpuacct").exists():
        return GroupCpu(folder / "cpu.stat", 2, _allowed(folder, cpus))
    usage = root / "cpuacct" / name.strip("/") / "cpuacct.usage"
    if usage.exists():
        return GroupCpu(usage, 1, _allowed(root / "cpu" / name.strip("/"), cpus))
    raise FileNotFoundError(2, "there is no such control group", str(folder))


def _allowed(folder: Path, cpus: int) -> float:
    quota = cpu_quota(folder)
    return float(cpus) if quota is None else min(float(cpus), quota)
