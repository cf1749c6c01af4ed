"""Pressure stall information: the share of time in which some task waited for a CPU.

Of /proc/pressure/cpu or a control group's cpu.pressure (Linux, Documentation/accounting/psi.rst). The total counts
microseconds, so that the share of any interval is known, not only that of the last 10 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adaptc.daemons.sensors.cpu import CGROUPS

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
    """Return the sensor of a control group; version 1 counts none, so that the host's stands for it."""
    own = root / group.strip("/") / "cpu.pressure"
    return Pressure(own if group and own.exists() else HOST)
