"""Pressure stall information: the share of time in which some task waited for a CPU.

It is read from /proc/pressure/cpu or a control group's cpu.pressure (Linux, Documentation/accounting/psi.rst). The
total counts microseconds, so the share of any interval is known, not only that of the last 10 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adaptc.config.schema import number
from adaptc.daemons.sensors.cpu import CGROUPS
from adaptc.daemons.sensors.sensor import LimitSensor, rate

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
