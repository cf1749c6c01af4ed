"""``adaptc switch`` as a daemon: sensors, the policy's step, the flag.

The flag is set as the mode requires at every step, not only when the mode changes: whatever removed it meanwhile (an
operator, the guard of a daemon that hung) does not leave the server in another mode than the daemon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adaptc.daemons.mode import ModeEnvironment
from adaptc.daemons.run_directory import ORIGINAL, RunDirectory, read_override
from adaptc.daemons.sensors import LIMIT_SENSORS
from adaptc.daemons.sensors.panel import Panel, Reading, Sample, difference
from adaptc.daemons.switch.policies import Decision, Force, Mode, ModeChange, OverrideState, step
from adaptc.daemons.switch.settings import SwitchSettings


@dataclass(frozen=True, slots=True)
class Environment(ModeEnvironment):
    """The sensors, and where the flag is set; without ``run`` nothing is written (``--dry-run``)."""

    panel: Panel
    run: RunDirectory | None = None


class SwitchDaemon:
    """Drives the policy that the settings name."""

    def __init__(self, settings: SwitchSettings, environment: Environment) -> None:
        self._settings, self._environment = settings, environment
        self._policy = settings.rule()
        self._state: OverrideState[Any] = OverrideState(self._policy.start())
        self._before: Reading | None = None
        self._failing: frozenset[str] = frozenset()
        self._switches = 0

    @property
    def mode(self) -> Mode:
        """The mode that the server is in."""
        return self._state.mode

    def step(self, clock: float, epoch: float) -> None:
        """Read the sensors and the override, decide, set the flag, report."""
        before, self._before = self._before, self._environment.panel.read(clock)
        self._report_failures(self._before, epoch)
        sample = difference(before, self._before, self._environment.panel.cpu.cpus)
        events: tuple[Sample | Force, ...] = (self._override(epoch), *((sample,) if before else ()))
        for event in events:
            self._state, decisions = step(self._policy, self._state, event)
            for decision in decisions:
                self._report_decision(decision, sample, epoch)
        if before:
            self._environment.append(sample.record())
        self._set_flag()
        self._report(sample, epoch)

    def stop(self, epoch: float) -> None:
        """Leave the flag as the policy for the end says, and end the guard."""
        if self._environment.run and self._settings.is_temporary:
            self._environment.run.set_flag(False)
        self._environment.close(epoch, f"the flag expires by policy {self._settings.expire}")

    def _override(self, epoch: float) -> Force:
        override = read_override(self._environment.run, epoch) if self._environment.run else None
        if override is None:
            return Force(None)
        return Force(Mode.NORMAL if override.level == ORIGINAL else Mode.OPTIMIZED)

    def _set_flag(self) -> None:
        self._environment.beat()
        if self._environment.run:
            self._environment.run.set_flag(self.mode is Mode.OPTIMIZED)

    # ---- reporting

    def _report_decision(self, decision: Decision, sample: Sample, epoch: float) -> None:
        event = decision.mode.value if isinstance(decision, ModeChange) else "remark"
        self._switches += isinstance(decision, ModeChange)
        self._environment.reporter.decision(epoch, event, decision.rule, **_inputs(sample))

    def _report_failures(self, reading: Reading, epoch: float) -> None:
        """A sensor that fails is reported once, until it works again."""
        failing = dict(reading.failures)
        for name in sorted(failing.keys() - self._failing):
            self._environment.reporter.decision(epoch, "sensor-lost", f"{name}: {failing[name]}")
        for name in sorted(self._failing - failing.keys()):
            self._environment.reporter.decision(epoch, "sensor-back", name)
        self._failing = frozenset(failing)

    def _report(self, sample: Sample, epoch: float) -> None:
        inputs = _inputs(sample)
        if self._settings.audit_all:
            self._environment.reporter.record(epoch, "sample", mode=self.mode.value, inputs=inputs)
        forced = self._state.forced.value if self._state.forced else None
        figures = {
            "optimized": (float(self.mode is Mode.OPTIMIZED), "1 while the optimized site is served."),
            "forced": (float(forced is not None), "1 while a person's override holds."),
            "switches_total": (float(self._switches), "Changes of the mode."),
            "sensors_lost": (float(len(self._failing)), "Sensors that cannot be read."),
            "cpu": (sample.cpu, "Busy share of the CPUs."),
            "connections": (sample.rate, "New connections a second."),
            "idle_workers": (None if sample.idle is None else float(sample.idle), "Workers that wait."),
            **{sensor.name: (sample.levels.get(sensor.name), sensor.help) for sensor in LIMIT_SENSORS},
        }
        lost = sorted(self._failing)
        self._environment.reporter.status(
            epoch, self._settings.interval, figures, mode=self.mode.value, forced=forced, lost=lost, **inputs
        )


def _inputs(sample: Sample) -> dict[str, Any]:
    return {name: value for name, value in sample.record().items() if name != "at"}
