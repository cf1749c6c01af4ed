"""``adaptc switch`` as a daemon: sensors, the policy's step, the flag.

The flag is set as the mode requires at every step, not only when the mode changes: whatever removed it meanwhile (an
operator, the guard of a daemon that hung) does not leave the server in another mode than the daemon.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from adaptc.core.values import dataclass
from adaptc.daemons.control.bucket_ladder import BUCKETS, write_buckets
from adaptc.daemons.mode import FRESH, SAVE_EVERY, ModeEnvironment, keep
from adaptc.daemons.reporter import figures_of
from adaptc.daemons.run_directory import ORIGINAL, RunDirectory, read_override
from adaptc.daemons.sensors import LIMIT_SENSORS
from adaptc.daemons.sensors.panel import Panel, Reading, Sample, difference
from adaptc.daemons.switch.policies import (
    Decision,
    Force,
    Mode,
    ModeChange,
    OverrideState,
    Steady,
    SteadyState,
    step,
)
from adaptc.daemons.switch.settings import SwitchSettings


@dataclass(frozen=True, slots=True)
class Environment(ModeEnvironment):
    """The sensors, and where the flag is set; without ``run`` nothing is written (``--dry-run``).

    ``level`` is what every bucket gets with the flag, "" where the configuration has it already.
    """

    panel: Panel
    run: RunDirectory | None = None
    level: str = ""


class SwitchDaemon:
    """Drives the policy that the settings name. ``kept`` is what an earlier run has learnt and its age in seconds."""

    def __init__(
        self,
        settings: SwitchSettings,
        environment: Environment,
        kept: tuple[Mapping[str, Any], float] | None = None,
    ) -> None:
        self._settings, self._environment = settings, environment
        self._policy = settings.rule()
        self._state: OverrideState[Any] = OverrideState(self._policy.start())
        self._saved = 0.0
        self._kept_age: float | None = None
        self._is_off = self._has_levels = False
        if kept is not None and isinstance(self._policy, Steady):
            with suppress(KeyError, TypeError, ValueError):
                own = self._policy.resume(kept[0], kept[1] < FRESH)
                self._state, self._kept_age = OverrideState(own), kept[1]
        self._before: Reading | None = None
        self._switches = 0

    @property
    def mode(self) -> Mode:
        """The mode that the server is in."""
        return self._state.mode

    def step(self, clock: float, epoch: float) -> None:
        """Read the sensors and the override, decide, set the flag, report."""
        before, self._before = self._before, self._environment.panel.read(clock, self._before)
        self._environment.reporter.sensors(epoch, dict(self._before.failures))
        limits = self._environment.panel.limits.values()
        self._environment.reporter.remark_once(epoch, (counter.remark for counter in limits))
        sample = difference(before, self._before, self._environment.panel.cpu.cpus)
        decided = False
        events: tuple[Sample | Force, ...] = (self._override(epoch), *((sample,) if before else ()))
        for event in events:
            self._state, decisions = step(self._policy, self._state, event)
            for decision in decisions:
                self._report_decision(decision, sample, epoch)
            decided = decided or bool(decisions)
        if before:
            self._environment.append(sample.record())
        self._set_flag(epoch)
        self._report(sample, epoch)
        if decided or abs(epoch - self._saved) >= SAVE_EVERY:
            self._save(epoch)

    def stop(self, epoch: float) -> None:
        """Leave the flag as the policy for the end says, and end the guard."""
        self._save(epoch)
        if self._environment.run and self._settings.is_temporary and not self._settings.shadow:
            self._environment.run.reset()
        self._environment.close(epoch, f"the flag expires by policy {self._settings.expire}")

    def _override(self, epoch: float) -> Force:
        override = read_override(self._environment.run, epoch) if self._environment.run else None
        if override is None:
            return Force(None)
        return Force(Mode.NORMAL if override.level == ORIGINAL else Mode.OPTIMIZED)

    def _set_flag(self, epoch: float) -> None:
        self._environment.beat()
        run = self._environment.run
        if run is None or self._settings.shadow:
            return
        if run.is_off is not self._is_off:
            self._is_off = run.is_off
            rule = "the kill switch is pulled (run/off)" if self._is_off else "levels are served again on overload"
            self._environment.reporter.decision(epoch, "shadow" if self._is_off else "live", rule)
        is_wanted = self.mode is Mode.OPTIMIZED and not self._is_off
        self._environment.reporter.applied(epoch, run, partial(self._write_flag, run, is_wanted))

    def _write_flag(self, run: RunDirectory, is_wanted: bool) -> None:
        if is_wanted and self._environment.level and not (self._has_levels and run.flag.exists()):
            write_buckets(run, [self._environment.level] * BUCKETS)
        self._has_levels = is_wanted
        if run.set_flag(is_wanted) and not is_wanted and self._environment.purges:
            self._environment.forget(self._environment.purges.levels)

    def _save(self, epoch: float) -> None:
        self._saved = epoch
        if self._environment.run and isinstance(self._state.own, SteadyState):
            write = partial(keep, self._environment.run, "switch", epoch, **self._state.own.kept())
            self._environment.reporter.attempt(write)

    # ---- reporting

    def _report_decision(self, decision: Decision, sample: Sample, epoch: float) -> None:
        event = decision.mode.value if isinstance(decision, ModeChange) else "remark"
        self._switches += isinstance(decision, ModeChange)
        self._environment.reporter.decision(epoch, event, decision.rule, **_inputs(sample))

    def _report(self, sample: Sample, epoch: float) -> None:
        inputs = _inputs(sample)
        if self._settings.audit_all:
            self._environment.reporter.record(epoch, "sample", mode=self.mode.value, inputs=inputs)
        forced = self._state.forced.value if self._state.forced else None
        values = {
            "optimized": float(self.mode is Mode.OPTIMIZED),
            "forced": float(forced is not None),
            "switches_total": float(self._switches),
            "shadow": float(self._settings.shadow or self._is_off),
            "sensors_lost": float(len(self._environment.reporter.lost)),
            "unanswered": float(sample.unanswered or 0),
            "cpu": sample.cpu,
            "connections": sample.rate,
            "idle_workers": None if sample.idle is None else float(sample.idle),
        }
        limits = {sensor.name: (sample.levels.get(sensor.name), sensor.help) for sensor in LIMIT_SENSORS}
        figures = {**figures_of("switch", values), **limits}
        lost = sorted(self._environment.reporter.lost)
        self._environment.reporter.status(
            epoch, self._settings.interval, figures, mode=self.mode.value, forced=forced, lost=lost,
            shadow=self._settings.shadow or self._is_off or None, kept_seconds=self._kept_age, **inputs
        )  # fmt: skip


def _inputs(sample: Sample) -> dict[str, Any]:
    return {name: value for name, value in sample.record().items() if name != "at"}
