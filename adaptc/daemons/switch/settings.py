"""``[daemons.switch]`` of adaptc.toml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adaptc.config.schema import InvalidValue, Schema, duration, flag, http_url, number, one_of, pair, path, text, whole
from adaptc.daemons.switch.gopshtein import Gopshtein
from adaptc.daemons.switch.policy import Policy
from adaptc.daemons.switch.steady import Steady

POLICIES = ("steady", "gopshtein")
EXPIRIES = ("normal", "static")
# A guard waits for three intervals and at least ten seconds, and must be done within fifteen.
LONGEST_INTERVAL = 5.0


@dataclass(frozen=True, slots=True)
class SwitchSettings:
    """Policy and sensors of the mode switch. Times are seconds, shares from 0 to 1.

    ``cgroup`` names the control group of the server, "" the whole host; ``snmp`` is the file with PassiveOpens, of
    the server's network namespace; ``status_url`` a page of mod_status or stub_status. ``expire`` says what becomes
    of the flag when the daemon ends or dies: ``normal`` removes it, ``static`` leaves it. ``audit_all`` writes every
    sample to the audit. The others are parameters of ``steady.Steady``.
    """

    policy: str = "steady"
    interval: float = 0.5
    cgroup: str = ""
    snmp: Path = Path("/proc/net/snmp")
    status_url: str = ""
    expire: str = "normal"
    audit_all: bool = False
    enter: float = 0.85
    leave: float = 0.60
    enter_samples: int = 2
    leave_samples: int = 6
    dwell: float = 10.0
    dwell_most: float = 960.0
    relapse: float = 120.0
    floor: float = 1.0
    probe: float = 600.0
    smoothing: float = 5.0
    pressure: float = 1.0
    connections: tuple[float, float] = (2.0, 1.0)

    def __post_init__(self) -> None:
        if self.leave >= self.enter:
            raise InvalidValue(f"leave ({self.leave:g}) must be below enter ({self.enter:g})")
        if self.dwell > self.dwell_most:
            raise InvalidValue(f"dwell ({self.dwell:g} s) must not be above dwell_most ({self.dwell_most:g} s)")

    def rule(self) -> Policy:  # type: ignore[type-arg]
        """Return the policy with its parameters; the published one has none."""
        if self.policy == "gopshtein":
            return Gopshtein(connections=self.connections)
        return Steady(
            enter=self.enter,
            leave=self.leave,
            enter_samples=self.enter_samples,
            leave_samples=self.leave_samples,
            dwell=self.dwell,
            dwell_most=self.dwell_most,
            relapse=self.relapse,
            floor=self.floor,
            probe=self.probe,
            smoothing=self.smoothing,
            pressure=self.pressure if self.pressure < 1 else None,
            connections=self.connections,
        )


CHECKS: Schema = {
    "policy": one_of(*POLICIES),
    "interval": duration(0.1, LONGEST_INTERVAL),
    "cgroup": text,
    "snmp": path,
    "status_url": http_url,
    "expire": one_of(*EXPIRIES),
    "audit_all": flag,
    "enter": number(0.05, 1),
    "leave": number(0.01, 1),
    "enter_samples": whole(1, 100),
    "leave_samples": whole(1, 1000),
    "dwell": duration(0, 3600),
    "dwell_most": duration(0, 86400),
    "relapse": duration(0, 86400),
    "floor": number(0, 1e6),
    "probe": duration(1, 86400),
    "smoothing": duration(0.1, 3600),
    "pressure": number(0, 1),
    "connections": pair(number(0.1, 100)),
}
