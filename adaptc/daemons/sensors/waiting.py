"""What waits: tasks for a CPU (pressure stall information), and connections for the server to accept them.

These are sensors whose value alone can tell that the server is strained. Such a sensor is a ``LimitSensor``, named in
``LIMIT_SENSORS`` of the package. Its name is the key of ``[daemons.switch]`` and ``[daemons.control]`` that sets its
limit, and the key of its value in samples, traces and metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adaptc.config.schema import Check, number
from adaptc.daemons.sensors.cpu import CGROUPS


class Counter(Protocol):
    """A place to read a number from."""

    def read(self) -> float:
        """Return the number. Raises ``OSError`` and ``ValueError``."""


@dataclass(frozen=True, slots=True)
class LimitSensor:
    """A sensor with a limit: above it the server counts as strained.

    ``check`` is that of the key. ``off`` is the default of the limit: the sensor is opened for lower limits only.
    ``open`` takes the control group of the server ("" for the host). ``value`` turns two readings and the seconds
    between them into the value of a sample, None when they do not give one. ``help`` is that of the metric.
    """

    name: str
    help: str
    check: Check
    off: float
    open: Callable[[str], Counter]
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

    def read(self) -> int:
        """Return the counter. Raises ``OSError`` and ``ValueError``."""
        return parse_pressure(self.path.read_text("ascii"))


def open_pressure(group: str, root: Path = CGROUPS) -> Pressure:
    """Return the sensor of a control group; version 1 has no such counter, and the host's is read instead."""
    own = root / group.strip("/") / "cpu.pressure"
    return Pressure(own if group and own.exists() else HOST)


def _share(before: float | None, now: float | None, elapsed: float) -> float | None:
    microseconds = rate(before, now, elapsed)
    return None if microseconds is None else min(1.0, microseconds / 1e6)


PRESSURE = LimitSensor(
    "pressure", "Share of time in which a task waited for a CPU.", number(0, 1), 1.0, open_pressure, _share
)


# ---- connections that were opened and that no server has accepted yet: ``rx_queue`` of sockets that listen
#
# The table is that of the reader's network namespace. Sockets that listen come first in it.

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"
_HEAD = 1 << 16  # bytes, about 400 sockets


def parse_queues(text: str) -> int:
    """Return the longest queue of a table (proc_net(5)). Raises ``ValueError``."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return max((int(row[4].partition(":")[2], 16) for row in rows if len(row) > 4 and row[3] == _LISTENING), default=0)


@dataclass(frozen=True, slots=True)
class ListenQueue:
    """The longest queue of connections that wait to be accepted."""

    tables: tuple[Path, ...] = _TABLES

    def read(self) -> int:
        """Return the length now. Raises ``OSError`` and ``ValueError``."""
        return max(parse_queues(_head(table)) for table in self.tables if table.exists())


def _head(table: Path) -> str:
    with table.open("r", encoding="ascii") as file:
        return file.read(_HEAD).rpartition("\n")[0]


LISTEN_QUEUE = LimitSensor(
    "listen_queue", "Connections that wait to be accepted.", number(1, 1e6), 1e6,
    lambda _group: ListenQueue(), lambda _before, now, _elapsed: now,
)  # fmt: skip
