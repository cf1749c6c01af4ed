"""All sensors together: counters in, a ``Sample`` of the time between two readings out.

``Reading`` is what the sensors count, ``difference`` is pure. A sensor that fails gives None, and its failure is
kept for the driver to tell; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from adaptc.daemons.sensors.cpu import CpuCount, CpuSource, busy_share
from adaptc.daemons.sensors.pressure import Pressure
from adaptc.daemons.sensors.sample import Sample
from adaptc.daemons.sensors.status_page import ServerStatus, StatusPage
from adaptc.daemons.sensors.tcp import PassiveOpens


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at a time (seconds on a clock that only goes forward); ``failures`` by sensor, in words."""

    at: float
    cpu: CpuCount | None = None
    opens: int | None = None
    pressure: int | None = None
    status: ServerStatus | None = None
    failures: tuple[tuple[str, str], ...] = field(default=())


def difference(before: Reading | None, now: Reading, cpus: float) -> Sample:
    """Return what happened between two readings. The first has nothing before it: only its idle workers are known."""
    idle = now.status.idle if now.status else None
    if before is None:
        return Sample(now.at, idle=idle)
    elapsed = now.at - before.at
    cpu = busy_share(before.cpu, now.cpu, elapsed, cpus) if before.cpu and now.cpu else None
    waited = _rate(before.pressure, now.pressure, elapsed)
    pressure = None if waited is None else min(1.0, waited / 1e6)
    return Sample(now.at, cpu, _rate(_connections(before), _connections(now), elapsed), idle, pressure)


def _connections(reading: Reading) -> int | None:
    """A server that counts its own connections is believed before the kernel, which counts those of all."""
    if reading.status and reading.status.connections is not None:
        return reading.status.connections
    return reading.opens


def _rate(before: int | None, now: int | None, elapsed: float) -> float | None:
    """None when a counter is missing or went back: the server was started again."""
    if before is None or now is None or now < before or elapsed <= 0:
        return None
    return (now - before) / elapsed


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Panel:
    """The sensors that there are; None for those that are not asked for."""

    cpu: CpuSource
    opens: PassiveOpens | None = None
    pressure: Pressure | None = None
    status: StatusPage | None = None

    def read(self, at: float) -> Reading:
        """Read all sensors."""
        failures: list[tuple[str, str]] = []
        return Reading(
            at,
            _guarded("cpu", self.cpu.read, failures),
            _guarded("connections", self.opens.read, failures) if self.opens else None,
            _guarded("pressure", self.pressure.read, failures) if self.pressure else None,
            _guarded("status", self.status.read, failures) if self.status else None,
            tuple(failures),
        )


def _guarded(name: str, read: Callable[[], _T], failures: list[tuple[str, str]]) -> _T | None:
    try:
        return read()
    except (OSError, ValueError) as error:
        failures.append((name, str(error)))
        return None
