"""``adaptc control`` as a daemon: meters in, m of each site out as bucket maps.

The flag of a site is set while its m is below M: at M everybody gets the original. Without its meters nothing is known
of the load, and m stays as it is; so it does when the logs say that nobody asks for anything while the server's own
control group is above the bound, which is a log that is not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from adaptc.daemons.control.bucket_ladder import BUCKETS, REJECT, bucket_levels, write_buckets
from adaptc.daemons.control.load_meter import LoadUnknown, Meter
from adaptc.daemons.control.machine import Load, Machine, MachineState, Site, step
from adaptc.daemons.control.settings import ControlSettings
from adaptc.daemons.mode import ModeEnvironment
from adaptc.daemons.reporter import Figures, label
from adaptc.daemons.run_directory import ORIGINAL, Override, RunDirectory, read_override
from adaptc.daemons.run_directory import REJECT as FORCED_REJECT
from adaptc.daemons.sensors.cpu import CpuCount, CpuSource, busy_share
from adaptc.daemons.trace import Loads


@dataclass(frozen=True, slots=True)
class SiteEndpoint:
    """Where a site's load is read and its levels are written; without ``run`` nothing is (``--dry-run``)."""

    meter: Meter
    run: RunDirectory | None = None


@dataclass(frozen=True, slots=True)
class Environment(ModeEnvironment):
    """The endpoints of the sites, by name, and the sensor of the CPUs."""

    endpoints: Mapping[str, SiteEndpoint]
    cpu: CpuSource


class ControlDaemon:
    """Drives the machine's step."""

    def __init__(self, settings: ControlSettings, machine: Machine, environment: Environment) -> None:
        self._settings, self._machine, self._environment = settings, machine, environment
        self._state = machine.start()
        self._bucket_levels: dict[str, tuple[str, ...]] = {}  # what was written for the servers, by site
        self._clock: float | None = None
        self._cpu: CpuCount | None = None
        self._complaint = ""

    def step(self, clock: float, epoch: float) -> None:
        """Measure, decide, write for the servers."""
        self._environment.beat()
        elapsed, self._clock = (clock - self._clock if self._clock is not None else 0.0), clock
        cpu = self._busy(elapsed)
        loads = self._loads(elapsed, cpu, epoch) if elapsed > 0 else None
        if not self._bucket_levels:
            self._report_floor(epoch)
        forced = {site.name: self._override(site, epoch) for site in self._machine.sites}
        if loads is not None:
            self._environment.append(Loads(clock, loads, cpu).record())
            self._state = self._stepped(loads, cpu, forced)
        for site in self._machine.sites:
            self._write_levels(site, forced[site.name], loads, epoch)
        self._report(loads, cpu, epoch)

    def _stepped(
        self, loads: Mapping[str, Load], cpu: float | None, forced: Mapping[str, Override | None]
    ) -> MachineState:
        """A site under an override keeps its loop: the load is not the one that its m caused."""
        after = step(self._machine, self._state, loads, cpu)
        unchanged = {name: self._state.loops[name] for name, override in forced.items() if override}
        return replace(after, loops={**after.loops, **unchanged})

    def stop(self, epoch: float) -> None:
        """Leave the flags as the policy for the end says, and end the guard."""
        for endpoint in self._environment.endpoints.values():
            if endpoint.run and self._settings.is_temporary:
                endpoint.run.reset()
        self._environment.close(epoch, f"the flags expire by policy {self._settings.expire}")

    # ---- measuring

    def _busy(self, elapsed: float) -> float | None:
        before = self._cpu
        try:
            self._cpu = self._environment.cpu.read()
        except (OSError, ValueError):  # without it nothing is learnt; control goes on
            self._cpu = None
        if before is None or self._cpu is None or elapsed <= 0:
            return None
        return busy_share(before, self._cpu, elapsed, self._environment.cpu.cpus)

    def _loads(self, elapsed: float, cpu: float | None, epoch: float) -> dict[str, Load] | None:
        try:
            loads = {
                name: self._load(name, endpoint.meter, elapsed)
                for name, endpoint in self._environment.endpoints.items()
            }
        except LoadUnknown as error:
            self._complain(f"{error}; m stays", epoch)
            return None
        is_busy = self._settings.cgroup and cpu is not None and cpu > self._settings.bound
        if is_busy and not any(load.requests for load in loads.values()):
            self._complain("the server is above the bound and the logs are silent; m stays", epoch)
            return None
        self._complain("", epoch)
        return loads

    def _load(self, name: str, meter: Meter, elapsed: float) -> Load:
        """A meter that does not see rejections gets their share from that of the clients."""
        load = meter.read(elapsed)
        if meter.sees_rejections:
            return load
        rejecting = self._bucket_levels.get(name, ()).count(REJECT) / BUCKETS
        return replace(load, rejected=load.requests * rejecting)

    def _complain(self, sentence: str, epoch: float) -> None:
        if sentence != self._complaint:
            self._complaint = sentence
            self._environment.reporter.decision(epoch, "remark", sentence or "the load is known again")

    # ---- writing for the servers

    def _override(self, site: Site, epoch: float) -> Override | None:
        run = self._environment.endpoints[site.name].run
        return read_override(run, epoch) if run else None

    def _write_levels(
        self, site: Site, forced: Override | None, loads: Mapping[str, Load] | None, epoch: float
    ) -> None:
        run = self._environment.endpoints[site.name].run
        names = self._names(site, forced)
        is_full = forced.level == ORIGINAL if forced else set(names) == {site.ladder.names[-1]}
        was_reset = run is not None and not is_full and not run.flag.exists()  # by the guard, while this daemon hung
        if was_reset or names != self._bucket_levels.get(site.name):
            if run:
                write_buckets(run, names)
            self._bucket_levels[site.name] = names
            self._report_levels(site, forced, loads, epoch)
        if run:
            run.set_flag(not is_full)

    def _names(self, site: Site, forced: Override | None) -> tuple[str, ...]:
        if forced is not None and forced.level != ORIGINAL:
            return (REJECT if forced.level == FORCED_REJECT else forced.level,) * BUCKETS
        return tuple(site.ladder.level(level) for level in bucket_levels(self._state.m(site), site.ladder.most))

    def _report_floor(self, epoch: float) -> None:
        for site in self._machine.sites:
            if site.ladder.least:
                rule = f"a rejection costs no less than level {site.ladder.names[0]}: nobody is rejected"
                self._environment.reporter.decision(epoch, "remark", rule, site=site.name)

    def _report_levels(
        self, site: Site, forced: Override | None, loads: Mapping[str, Load] | None, epoch: float
    ) -> None:
        m, load = self._state.m(site), loads[site.name] if loads else None
        used = (self._state.utilization or {}).get(site.name)
        rule = f"forced to {forced.level}" if forced else f"m = {m:.3f}"
        self._environment.reporter.decision(
            epoch,
            "levels",
            rule,
            site=site.name,
            U=used,
            R=load.requests if load else None,
            W=load.kilobytes if load else None,
        )

    def _report(self, loads: Mapping[str, Load] | None, cpu: float | None, epoch: float) -> None:
        sites = {site.name: self._site_record(site, loads) for site in self._machine.sites}
        estimator = self._state.estimator
        costs = {
            "request_ms": self._state.cost.request * 1000,
            "kilobyte_ms": self._state.cost.kilobyte * 1000,
            "learnt": self._settings.learn and estimator.is_telling,
            "condition": None if estimator.condition == float("inf") else round(estimator.condition, 1),
        }
        if self._settings.audit_all:
            self._environment.reporter.record(epoch, "sample", cpu=cpu, sites=sites, costs=costs)
        self._environment.reporter.status(
            epoch, self._settings.interval, self._figures(sites, cpu), cpu=cpu, sites=sites, costs=costs
        )

    def _site_record(self, site: Site, loads: Mapping[str, Load] | None) -> dict[str, Any]:
        names = self._bucket_levels[site.name]
        shares = {name: round(names.count(name) / BUCKETS, 3) for name in dict.fromkeys(names)}
        load = loads[site.name] if loads else None
        return {
            "m": round(self._state.m(site), 4),
            "U": round((self._state.utilization or {}).get(site.name, 0.0), 4),
            "R": round(load.requests, 2) if load else None,
            "rejected": round(load.rejected, 2) if load else None,
            "W": round(load.kilobytes, 1) if load else None,
            "levels": shares,
        }

    def _figures(self, sites: Mapping[str, Mapping[str, Any]], cpu: float | None) -> Figures:
        estimator = self._state.estimator
        figures: dict[str, tuple[float | None, str]] = {
            "cpu": (cpu, "Busy share of the CPUs."),
            "request_ms": (self._state.cost.request * 1000, "a: milliseconds a request."),
            "kilobyte_ms": (self._state.cost.kilobyte * 1000, "b: milliseconds a kB."),
            "condition": (estimator.condition, "Condition of the samples that a and b come from."),
        }
        meanings = {"m": "m, from 0 (reject) to the number of levels.", "U": "Utilization by the model.",
                    "R": "Requests a second.", "W": "kB a second."}  # fmt: skip
        for key, meaning in meanings.items():
            for name, record in sites.items():
                figures[f"{key.lower()}{{site={label(name)}}}"] = (record[key], meaning)
        return figures
