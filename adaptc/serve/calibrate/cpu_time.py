"""The CPU time of a server's processes, and what keeps them from using more: quotas of control groups, other guests.

Linux only. A process's CPU clock (clock_getcpuclockid(3)) counts user and system time of all its threads in
nanoseconds, those that ended included; /proc/PID/stat has the time of children that ended, in ticks.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass
from adaptc.serve.capacity.utilization import Cost

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_PARENT, _CHILD_USER, _CHILD_SYSTEM = 1, 13, 14  # fields of /proc/PID/stat after the name of the program
_STEAL = 8  # of the first line of /proc/stat


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds so far: of CPU by the server, of the clock, that quotas kept it from running, and taken by other guests.

    ``throttled`` is None where the control group does not count it.
    """

    cpu: float
    clock: float
    throttled: float | None
    stolen: float

    def since(self, before: Reading) -> Reading:
        """Return the seconds between two readings."""
        throttled = None
        if self.throttled is not None and before.throttled is not None:
            throttled = self.throttled - before.throttled
        return Reading(self.cpu - before.cpu, self.clock - before.clock, throttled, self.stolen - before.stolen)

    def plus(self, other: Reading) -> Reading:
        """Return the sum of two spans."""
        known = [each.throttled for each in (self, other) if each.throttled is not None]
        throttled = sum(known) if known else None
        return Reading(self.cpu + other.cpu, self.clock + other.clock, throttled, self.stolen + other.stolen)


NOTHING_READ = Reading(0.0, 0.0, None, 0.0)


@dataclass(frozen=True, slots=True)
class ServerProcesses:
    """A server: the process ``root`` and all below it."""

    root: int

    def read(self) -> Reading:
        """Return the counters. Raises ``UsageError`` when the server has ended."""
        members = list(self._members())
        if not members:
            raise UsageError(f"process {self.root} has ended, or may not be looked at")
        return Reading(sum(map(_cpu_of, members)), time.perf_counter(), _throttled(members[-1]), _stolen())

    def _members(self) -> Iterator[int]:
        """Yield the processes, parents first."""
        children: dict[int, list[int]] = {}
        for entry in PROC.iterdir():
            if entry.name.isdigit():
                with suppress(OSError):  # it has ended
                    children.setdefault(int(fields_of(int(entry.name))[_PARENT]), []).append(int(entry.name))
        pending = [self.root] if (PROC / str(self.root)).exists() else []
        while pending:
            process = pending.pop()
            yield process
            pending += children.get(process, ())


def check_process(process: int) -> None:
    """Raise ``UsageError`` where the CPU time of a process cannot be read."""
    if not (PROC / "stat").exists():
        raise UsageError("CPU times are read from /proc, which only Linux has")
    if not (PROC / str(process)).exists():
        raise UsageError(f"there is no process {process} on this machine")


def fields_of(process: int, proc: Path = PROC) -> list[str]:
    """Return the fields of /proc/PID/stat after the program's name, which may contain anything. Raises ``OSError``."""
    return (proc / str(process) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def _cpu_of(process: int) -> float:
    with suppress(OSError):  # it has ended: its parent counts its time
        fields = fields_of(process)
        ended = (int(fields[_CHILD_USER]) + int(fields[_CHILD_SYSTEM])) / os.sysconf("SC_CLK_TCK")
        return own_cpu_of(process) + ended
    return 0.0


def own_cpu_of(process: int) -> float:
    """Return the CPU seconds of a process, all its threads, without its children.

    Raises ``OSError`` if it has ended.
    """
    return time.clock_gettime((~process << 3) | 2)


def allowed_cpus(process: int) -> float:
    """Return how many CPUs a process may use: those that it is bound to, or the least quota of its control groups."""
    allowed = [float(len(os.sched_getaffinity(process)))]
    for folder in _groups(process):
        with suppress(OSError, ValueError):
            quota = cpu_quota(folder)
            allowed += [] if quota is None else [quota]
    return min(allowed)


def _throttled(process: int) -> float | None:
    """Return the seconds that quotas kept the control groups of a process from running, of all groups together."""
    found: list[float] = []
    for folder in _groups(process):
        with suppress(OSError, ValueError):
            fields = dict(line.split() for line in (folder / "cpu.stat").read_text("ascii").splitlines())
            if "throttled_usec" in fields:
                found.append(int(fields["throttled_usec"]) / 1e6)
            elif "throttled_time" in fields:  # version 1
                found.append(int(fields["throttled_time"]) / 1e9)
    return sum(found) if found else None


def _groups(process: int) -> Iterator[Path]:
    """Yield the folders of the control group of a process and of those above it: any of them may have a quota."""
    with suppress(OSError):
        for line in (PROC / str(process) / "cgroup").read_text("utf-8", "replace").splitlines():
            _, controllers, name = line.split(":", 2)
            root = CGROUPS / "cpu" if "cpu" in controllers.split(",") else CGROUPS
            if not controllers or root != CGROUPS:
                group = root / name.strip("/")
                yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root))


def _stolen() -> float:
    """Return the CPU seconds that the machine below took for other guests."""
    words = (PROC / "stat").read_text("ascii").partition("\n")[0].split()
    return int(words[_STEAL]) / os.sysconf("SC_CLK_TCK") if len(words) > _STEAL else 0.0


# ---- a guess of the costs of a server that nobody has calibrated
#
# What a server cannot avoid, by the same system calls on this machine: to read a request, open a file, send header and
# file. It is a start, of the right order of magnitude: nginx takes less for a request than our loop, Apache more.

_SMALL, _LARGE = 1, 64  # kB
_PART = 16_384  # bytes at once: they fit into the buffers of sockets, so that nobody waits for the other end
_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: adaptc\r\nAccept: */*\r\n\r\n"
_HEADER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1024\r\nVary: Accept-Encoding\r\n\r\n"


def self_test(seconds: float = 1.0) -> Cost:
    """Return the CPU seconds of a request and a kB by a server's system calls, measured in ``seconds``.

    A rejection is taken to cost a request, which is no measurement.
    """
    with tempfile.NamedTemporaryFile() as file, socket.create_server(("127.0.0.1", 0)) as listener:
        file.truncate(_LARGE * 1000)
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            small, large = (_exchange(client, server, file.name, size, seconds / 2) for size in (_SMALL, _LARGE))
    kilobyte = max(0.0, large - small) / (_LARGE - _SMALL)
    request = max(small - kilobyte * _SMALL, small / 2)
    return Cost(request, kilobyte, request, is_rejection_measured=False)


def _exchange(client: socket.socket, server: socket.socket, path: str, kilobytes: int, seconds: float) -> float:
    """Return the CPU seconds of an answer with a body of so many kB."""
    end, begun, count, wanted = time.monotonic() + seconds, time.process_time(), 0, len(_HEADER) + kilobytes * 1000
    while time.monotonic() < end or not count:
        client.sendall(_REQUEST)
        server.recv(4096)
        with open(path, "rb", buffering=0) as body:
            os.fstat(body.fileno())
            server.sendall(_HEADER, socket.MSG_MORE)
            received = sent = 0
            while received < wanted:
                sent += os.sendfile(server.fileno(), body.fileno(), sent, min(_PART, kilobytes * 1000 - sent))
                received += len(client.recv(1 << 18))
        count += 1
    return (time.process_time() - begun) / count


def cpu_quota(folder: Path) -> float | None:
    """Return the CPUs that the quota of the control group in ``folder`` allows, ``None`` without a quota.

    That is cpu.max of version 2, cpu.cfs_quota_us of version 1 (Linux, cgroups(7)).

    Raises ``OSError``, and ``ValueError`` for files that cannot be understood.
    """
    if (folder / "cpu.max").exists():  # the root group has none
        quota, period = (folder / "cpu.max").read_text("ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    if not (folder / "cpu.cfs_quota_us").exists():
        return None
    microseconds = int((folder / "cpu.cfs_quota_us").read_text("ascii"))  # -1: no quota
    return microseconds / int((folder / "cpu.cfs_period_us").read_text("ascii")) if microseconds >= 0 else None
