"""All sensors together: two readings of counters in, a ``Sample`` of the time between them out.

``Reading`` is what the sensors count, ``difference`` is pure. A sensor that fails gives no value; its failure is part
of the reading, and the other sensors go on.

TCP connections are read here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from adaptc.core.values import dataclass, field
from adaptc.daemons.sensors import LIMIT_SENSORS
from adaptc.daemons.sensors.cpu import CpuCount, CpuSource, busy_share
from adaptc.daemons.sensors.status_page import ServerStatus, StatusReader, Unanswered
from adaptc.daemons.sensors.waiting import Counter, rate


@dataclass(frozen=True, slots=True)
class Sample:
    """What the sensors measured since the sample before. None: the sensor has no value.

    ``at`` is seconds on any clock that only goes forward; ``cpu`` the busy share of what the server may use;
    ``rate`` new connections a second; ``idle`` workers that wait for work; ``unanswered`` 1 while the status page does
    not answer, which is not the same as a page that is gone; ``levels`` the values of the sensors with a limit
    (``LIMIT_SENSORS``) by name.
    """

    at: float
    cpu: float | None = None
    rate: float | None = None
    idle: int | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    unanswered: int | None = None

    def record(self) -> dict[str, Any]:
        """Return the sample for JSON, one flat object without what is None."""
        values = {**{name: getattr(self, name) for name in _INPUTS}, **self.levels}
        return {name: value for name, value in values.items() if value is not None}


_INPUTS = ("at", "cpu", "rate", "idle", "unanswered")
SAMPLE_KEYS = (*_INPUTS, *(sensor.name for sensor in LIMIT_SENSORS))


def sample_of(record: Mapping[str, Any]) -> Sample:
    """Return the sample of a record; keys that are not of samples are ignored. Raises ``TypeError``: no numbers."""
    values = {key: record[key] for key in SAMPLE_KEYS if key in record}
    if not all(isinstance(value, int | float) for value in values.values()):
        raise TypeError(f"the fields of a sample are numbers: {', '.join(SAMPLE_KEYS)}")
    inputs = {key: values.pop(key) for key in _INPUTS if key in values}
    return Sample(**inputs, levels=values)


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at a time (seconds on a clock that only goes forward).

    ``status`` is the last page that was answered, and ``unanswered`` tells that there is none since. ``counters`` are
    those of the sensors with a limit, by name; ``failures`` pairs of a sensor and its error message.
    """

    at: float
    cpu: CpuCount | None = None
    opens: int | None = None
    status: ServerStatus | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[tuple[str, str], ...] = field(default=())
    unanswered: bool = False


def difference(before: Reading | None, now: Reading, cpus: float) -> Sample:
    """Return what happened between two readings. The first reading alone tells the idle workers only."""
    idle = now.status.idle if now.status and not now.unanswered else None
    unanswered = 1 if now.unanswered else None
    if before is None:
        return Sample(now.at, idle=idle, unanswered=unanswered)
    elapsed = now.at - before.at
    cpu = busy_share(before.cpu, now.cpu, elapsed, cpus) if before.cpu and now.cpu else None
    return Sample(now.at, cpu, _connections(before, now), idle, _levels(before, now), unanswered)


def _levels(before: Reading, now: Reading) -> dict[str, float]:
    levels = {}
    for sensor in LIMIT_SENSORS:
        counts = before.counters.get(sensor.name), now.counters.get(sensor.name)
        value = sensor.value(*counts, now.at - before.at)
        if value is not None:
            levels[sensor.name] = value
    return levels


def _connections(before: Reading, now: Reading) -> float | None:
    """Return the connections a second: by the server itself where it counts them, else by the kernel, for all servers.

    A count is compared with itself only, and with the time at which it was taken: where the server does not answer,
    there is no rate, since the kernel's is another one.
    """
    if before.status and before.status.connections is not None:
        if now.status is None or now.unanswered:
            return None
        elapsed = now.status.at - before.status.at or now.at - before.at
        return rate(before.status.connections, now.status.connections, elapsed)
    if now.status and now.status.connections is not None:
        return None
    return rate(before.opens, now.opens, now.at - before.at)


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Panel:
    """The sensors in use; ``limits`` are those with a limit, by name."""

    cpu: CpuSource
    opens: PassiveOpens | None = None
    status: StatusReader | None = None
    limits: Mapping[str, Counter] = field(default_factory=dict)

    def read(self, at: float, before: Reading | None = None) -> Reading:
        """Read all sensors; the last status page stays that of the reading ``before`` until it answers again."""
        failures: list[tuple[str, str]] = []
        cpu = _read("cpu", self.cpu.read, failures)
        opens = _read("connections", self.opens.read, failures) if self.opens else None
        status, unanswered = self._status(failures)
        if unanswered and before is not None:
            status = before.status
        counts = {name: _read(name, counter.read, failures) for name, counter in self.limits.items()}
        counters = {name: count for name, count in counts.items() if count is not None}
        return Reading(at, cpu, opens, status, counters, tuple(failures), unanswered)

    def _status(self, failures: list[tuple[str, str]]) -> tuple[ServerStatus | None, bool]:
        if self.status is None:
            return None, False
        try:
            return self.status.read(), False
        except (OSError, ValueError) as error:
            failures.append(("status", str(error)))
            return None, isinstance(error, Unanswered)


def _read(name: str, read: Callable[[], _T], failures: list[tuple[str, str]]) -> _T | None:
    try:
        return read()
    except (OSError, ValueError) as error:
        failures.append((name, str(error)))
        return None


# ---- TCP connections that were opened by others: ``Tcp: PassiveOpens`` of /proc/net/snmp
#
# The counter is that of the network namespace of the process that is read: all servers of the host, unless the web
# server has a namespace of its own. Then name a process of it: /proc/PID/net/snmp.


def parse_snmp(text: str) -> int:
    """Return PassiveOpens of /proc/net/snmp (RFC 1213, tcpPassiveOpens). Raises ``ValueError``."""
    rows = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
    if len(rows) < 2 or "PassiveOpens" not in rows[0]:
        raise ValueError("/proc/net/snmp has no PassiveOpens")
    return int(rows[1][rows[0].index("PassiveOpens")])


@dataclass(frozen=True, slots=True)
class PassiveOpens:
    """Connections opened so far in a network namespace."""

    path: Path = Path("/proc/net/snmp")

    def read(self) -> int:
        """Return the counter. Raises ``OSError`` and ``ValueError``."""
        return parse_snmp(self.path.read_text("ascii"))
