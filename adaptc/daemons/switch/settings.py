"""``[daemons.switch]`` of adaptc.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptc.config.schema import InvalidValue, Schema, duration, number, one_of, pair, path, read_settings, whole
from adaptc.config.toml import TomlSource
from adaptc.core.values import dataclass, field, fields
from adaptc.daemons.mode import MODE_CHECKS, ModeSettings
from adaptc.daemons.sensors import LIMIT_SENSORS, limits_of
from adaptc.daemons.switch.policies import Gopshtein, Policy, Steady

POLICIES = ("steady", "gopshtein")


@dataclass(frozen=True, slots=True)
class SwitchSettings(ModeSettings):
    """Policy and sensors of the mode switch. Times are seconds, shares from 0 to 1.

    ``snmp`` is the file with PassiveOpens, of the server's network namespace. ``limits`` are those of the sensors that
    have one, by name: each is a key of its own in the table, ``pressure`` for instance. The others are parameters of
    ``policies.Steady``.
    """

    policy: str = "steady"
    interval: float = 0.5
    snmp: Path = Path("/proc/net/snmp")
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
    connections: tuple[float, float] = (2.0, 1.0)
    limits: Mapping[str, float] = field(default_factory=lambda: limits_of({}))

    def __post_init__(self) -> None:
        if self.leave >= self.enter:
            raise InvalidValue(f"leave ({self.leave:g}) must be below enter ({self.enter:g})")
        if self.dwell > self.dwell_most:
            raise InvalidValue(f"dwell ({self.dwell:g} s) must not be above dwell_most ({self.dwell_most:g} s)")

    def rule(self) -> Policy:  # type: ignore[type-arg]
        """Return the policy with its parameters; the published one has none."""
        if self.policy == "gopshtein":
            return Gopshtein(connections=self.connections)
        named = {each.name: getattr(self, each.name) for each in fields(Steady) if hasattr(self, each.name)}
        limits = {each.name: self.limits[each.name] for each in LIMIT_SENSORS if self.limits[each.name] < each.off}
        return Steady(**{**named, "limits": limits})


CHECKS: Schema = {
    **MODE_CHECKS,
    "policy": one_of(*POLICIES),
    "snmp": path,
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
    "connections": pair(number(0.1, 100)),
    **{sensor.name: sensor.check for sensor in LIMIT_SENSORS},
}


def read_switch(source: TomlSource, assignments: Sequence[str] = ()) -> SwitchSettings:
    """Return the settings of ``[daemons.switch]``, changed by ``--set``. Raises ``UsageError``."""
    return read_settings(_settings, CHECKS, source, assignments)


def _settings(**values: Any) -> SwitchSettings:
    own = {key: value for key, value in values.items() if key in SwitchSettings.__dataclass_fields__}
    return SwitchSettings(**own, limits=limits_of(values))
