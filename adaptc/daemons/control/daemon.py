"""``adaptc control`` as a daemon: meters and sensors in, m of each site out as bucket maps.

The flag of a site is set while its m is below M: at M everybody gets the original, once that has lasted. Without its
meters nothing is known of the load; then what the server's own processes use decides, and where that is not known
either, m stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from adaptc.core.values import asdict, dataclass, field, replace
from adaptc.daemons.control.bucket_ladder import BUCKETS, REJECT, bucket_levels, write_buckets
from adaptc.daemons.control.control_loop import Loop
from adaptc.daemons.control.load_meter import LoadUnknown, LogMeter, Meter, Silent
from adaptc.daemons.control.machine import GROWTH, Busy, Load, Machine, Site, is_suddenly_full, step
from adaptc.daemons.control.settings import ControlSettings
from adaptc.daemons.mode import FRESH, SAVE_EVERY, ModeEnvironment, keep
from adaptc.daemons.reporter import Figures, figures_of, label
from adaptc.daemons.run_directory import ORIGINAL, Override, RunDirectory, read_override
from adaptc.daemons.run_directory import REJECT as FORCED_REJECT
from adaptc.daemons.sensors import LIMIT_SENSORS
from adaptc.daemons.sensors.cpu import CpuCount, CpuSource, HostCpu, busy_share
from adaptc.daemons.sensors.status_page import BackgroundPage, Unanswered
from adaptc.daemons.sensors.waiting import Counter, ListenQueue, Pending
from adaptc.daemons.trace import Loads
from adaptc.serve.capacity.utilization import Cost

_LATE = 0.02  # seconds, for a status page
_FULL_HOST = 0.9  # busy share of all CPUs
CHECKS = 4  # times an interval it is looked whether the server is full, and a sample due before its time
# The flag stays for so many seconds after everybody has the full site; twice as long when it is back within the time
# after that: without it clients of poor classes get the original, and a load at the edge would come and go.
SETTLE, SETTLE_MOST, RELAPSE = 10.0, 320.0, 60.0


@dataclass(frozen=True, slots=True)
class SiteEndpoint:
    """Where a site's load is read and its levels are written; without ``run`` nothing is (``--dry-run``)."""

    meter: Meter
    run: RunDirectory | None = None


@dataclass(frozen=True, slots=True)
class Environment(ModeEnvironment):
    """The endpoints of the sites, by name, the sensors of the CPUs and of what waits, and from where costs are.

    ``probe`` is a status page, whose answers take as long as others, ``pending`` what the server has to do, ``host``
    what all programs of the machine do. ``costs`` are what the costs to begin with come from: ``configured``,
    ``calibrated``, ``kept`` or ``self-test``.
    """

    endpoints: Mapping[str, SiteEndpoint]
    cpu: CpuSource
    limits: Mapping[str, Counter] = field(default_factory=dict)
    costs: str = "configured"
    probe: BackgroundPage | None = None
    pending: Pending | None = None
    host: HostCpu | None = None


@dataclass(slots=True)
class _Flag:
    """When the flag of a site may go: ``full`` since when everybody has the full site, ``gone`` when it went last."""

    settle: float = SETTLE
    full: float | None = None
    gone: float | None = None

    def wanted(self, is_full: bool, is_set: bool, clock: float) -> bool:
        """Return whether the flag is to be set."""
        if not is_full:
            if self.gone is not None and clock - self.gone < RELAPSE:
                self.settle = min(2 * self.settle, SETTLE_MOST)
            elif self.gone is not None:
                self.settle = SETTLE
            self.full = self.gone = None
            return True
        self.full = clock if self.full is None else self.full
        if is_set and clock - self.full < self.settle:
            return True
        self.gone = clock if is_set else self.gone
        return False


class ControlDaemon:
    """Drives the machine's step. ``kept`` is what an earlier run has learnt and its age in seconds."""

    def __init__(
        self,
        settings: ControlSettings,
        machine: Machine,
        environment: Environment,
        kept: tuple[Mapping[str, Any], float] | None = None,
    ) -> None:
        self._settings, self._machine, self._environment = settings, machine, environment
        self._state = machine.start()
        self._bucket_levels: dict[str, tuple[str, ...]] = {}  # what was written for the servers, by site
        self._unwritten: set[str] = set()  # sites whose levels could not be written
        self._flags = {site.name: _Flag() for site in machine.sites}
        self._clock: float | None = None
        self._begun: float | None = None
        self._saved = 0.0
        self._cpu: CpuCount | None = None
        self._looked: tuple[float, CpuCount | None] = (0.0, None)  # when the CPU was last read, and what it said
        self._failure = ""  # of that
        self._is_full, self._queue = False, 0.0
        self._growth: tuple[float, float] = (0.0, 0.0)  # of pages, and when it was known last
        self._host: CpuCount | None = None
        self._counts: dict[str, float] = {}
        self._failures: dict[str, str] = {}  # of sensors in this sample
        self._waiting = 0  # samples in a row in which something waited
        self._quickest = math.inf  # seconds in which the status page was answered
        self._has_answered = False  # the status page that tells the load
        self._complaint = ""
        self._shadow = ""
        self._is_warming = False  # in shadow only until costs are known: what a person forces is done
        self._kept_age: float | None = None
        if kept is not None:
            self._resume(*kept)

    def _resume(self, record: Mapping[str, Any], age: float) -> None:
        """Go on with the m of a moment ago, and with rejections' cost, which only a crowd can teach."""
        self._kept_age = age
        ms: Any = record.get("m")
        for site in self._machine.sites if isinstance(ms, dict) and age < FRESH else ():
            m = ms.get(site.name)
            if isinstance(m, int | float) and 0 <= m <= site.ladder.most:
                self._state = replace(self._state, loops={**self._state.loops, site.name: Loop(max(float(m), 1.0))})

    def step(self, clock: float, epoch: float) -> None:
        """Measure, decide, write for the servers."""
        self._environment.beat()
        if not self._is_due(clock):
            return
        elapsed, self._clock = (clock - self._clock if self._clock is not None else 0.0), clock
        self._begun = clock if self._begun is None else self._begun
        cpu, own = self._busy(elapsed)
        levels, (asked, is_mute) = self._levels_of_limits(elapsed), self._probed()
        limits = self._environment.limits.values()
        self._environment.reporter.remark_once(epoch, (counter.remark for counter in limits))
        self._environment.reporter.sensors(epoch, self._failures)
        loads, silent = self._loads(elapsed, cpu if own else None, epoch) if elapsed > 0 else (None, False)
        if not self._bucket_levels:
            self._report_floor(epoch)
        self._set_shadow(clock, epoch)
        forced = {site.name: self._override(site, epoch) for site in self._machine.sites}
        if loads is not None:
            known = [seconds for seconds in (asked, _latency(loads)) if seconds is not None]
            waiting = self._waits(cpu, silent or is_mute, levels)
            pending = self._pending(elapsed)
            # with its CPU it would be above the bound
            queued = self._is_queued(asked, is_mute, silent, levels) or pending > self._settings.bound
            stolen = self._stolen(pending - cpu, elapsed) if own and cpu is not None else 0.0
            busy = Busy(
                cpu, own, waiting, max(known, default=None), queued, self._is_full, self._queue, self._growth[0], stolen
            )
            self._environment.append(Loads(clock, loads, busy.share, busy.is_own).record())
            self._decide(loads, busy, forced)
        for site in self._machine.sites:
            self._write_levels(site, forced[site.name], loads, clock, epoch)
        self._report(loads, cpu, epoch)
        if abs(epoch - self._saved) >= SAVE_EVERY:
            self._save(epoch)

    def _is_due(self, clock: float) -> bool:
        """Look at the CPU. Whether to take a sample: after the interval, and before it where the server fills up."""
        before, self._looked = self._looked, (clock, self._read_cpu())
        self._is_full = self._fills_up(before, clock)
        if self._clock is None or clock - self._clock >= (1 - 1 / (2 * CHECKS)) * self._settings.interval:
            return True
        return self._is_full

    def _read_cpu(self) -> CpuCount | None:
        try:
            return self._environment.cpu.read()
        except (OSError, ValueError) as error:  # without it nothing is learnt; control goes on
            self._failure = str(error)
            return None

    def _fills_up(self, before: tuple[float, CpuCount | None], clock: float) -> bool:
        """Whether the server is full since it was last looked: what it used before a crowd came says nothing of it.

        It must be so in a way that chance does not explain in so short a time, or after a sample in which it was.
        """
        (at, first), (_, now), self._queue = before, self._looked, 0.0
        with suppress(LoadUnknown):  # the sample will tell
            for endpoint in self._environment.endpoints.values():
                growth = endpoint.meter.growth(clock - at) if isinstance(endpoint.meter, LogMeter) and clock > at else 0
                if growth or clock - self._growth[1] > GROWTH:
                    self._growth = growth, clock
        if first is None or now is None or now.source == "host" or self._shadow or len(self._machine.sites) > 1:
            return False
        share = busy_share(first, now, clock - at, self._environment.cpu.cpus) if clock > at else None
        if share is None or (share <= self._settings.bound and not self._state.backlog):
            return False
        with suppress(OSError, ValueError):  # the sample will tell
            if isinstance(counter := self._environment.limits.get("listen_queue"), ListenQueue):
                self._queue = counter.views()
        return is_suddenly_full(self._machine, self._state, share, clock - at, self._queue, self._growth[0])

    def _decide(self, loads: Mapping[str, Load], busy: Busy, forced: Mapping[str, Override | None]) -> None:
        """A site under an override keeps its loop: the load is not the one that its m caused."""
        after = step(self._machine, self._state, loads, busy, not self._shadow)
        unchanged = {name: self._state.loops[name] for name, override in forced.items() if override}
        self._state = replace(after, loops={**after.loops, **unchanged})

    def stop(self, epoch: float) -> None:
        """Leave the flags as the policy for the end says, and end the guard."""
        self._save(epoch)
        for endpoint in self._environment.endpoints.values():
            if endpoint.run and self._settings.is_temporary and self._shadow != _BY_SETTING:
                endpoint.run.reset()
        self._environment.close(epoch, f"the flags expire by policy {self._settings.expire}")

    # ---- when it acts

    def _set_shadow(self, clock: float, epoch: float) -> None:
        """Find out whether anything may be written for the servers, and say when that changes."""
        reason, self._is_warming = "", False
        runs = [endpoint.run for endpoint in self._environment.endpoints.values() if endpoint.run]
        warm_up = self._settings.warm_up if self._environment.costs == "self-test" else 0.0
        if self._settings.shadow:
            reason = _BY_SETTING
        elif any(run.is_off for run in runs):
            reason = "the kill switch is pulled (run/off)"
        elif clock - (self._begun or 0.0) < warm_up:
            reason, self._is_warming = f"nothing was calibrated: the first {warm_up:g} s only measure", True
        if reason == self._shadow:
            return
        self._environment.reporter.decision(epoch, "shadow" if reason else "live", reason or "levels are written again")
        if reason and reason != _BY_SETTING:
            for run in runs:
                self._environment.reporter.applied(epoch, run, run.reset)
        self._shadow = reason
        self._bucket_levels = {}

    # ---- measuring

    def _busy(self, elapsed: float) -> tuple[float | None, bool]:
        """Return the measured share, and whether it is that of the server alone."""
        before, (_, self._cpu) = self._cpu, self._looked
        self._failures = {} if self._cpu else {"cpu": self._failure}
        if before is None or self._cpu is None or elapsed <= 0:
            return None, False
        return busy_share(before, self._cpu, elapsed, self._environment.cpu.cpus), self._cpu.source != "host"

    def _probed(self) -> tuple[float | None, bool]:
        """Return how long the status page took, or has taken so far, and whether it is not answered yet."""
        probe = self._environment.probe
        if probe is None:
            return None, False
        try:
            return probe.read().seconds, False
        except Unanswered:
            return probe.waited, True
        except (OSError, ValueError):
            return None, False

    def _levels_of_limits(self, elapsed: float) -> dict[str, float]:
        """Return the values of the sensors that have a limit, by name; one that fails has none."""
        before, values = self._counts, {}
        self._counts = {}
        for sensor in LIMIT_SENSORS:
            if counter := self._environment.limits.get(sensor.name):
                try:
                    self._counts[sensor.name] = counter.read()
                except (OSError, ValueError) as error:
                    self._failures[sensor.name] = str(error)
            value = sensor.value(before.get(sensor.name), self._counts.get(sensor.name), elapsed)
            if value is not None:
                values[sensor.name] = value
        return values

    def _waits(self, cpu: float | None, silent: bool, levels: Mapping[str, float]) -> str:
        """Return by what requests are seen to wait in two samples in a row, "" where they do not."""
        limits = self._settings.limits
        reasons = [f"{name} {value:.3g}" for name, value in levels.items() if value > limits[name]]
        if silent and (cpu or 0.0) > self._settings.bound - self._settings.slack:
            reasons.append("the status page does not answer")
        reason = ", ".join(reasons)
        self._waiting = self._waiting + 1 if reason else 0
        return reason if self._waiting > 1 else ""

    def _is_queued(self, asked: float | None, is_mute: bool, silent: bool, levels: Mapping[str, float]) -> bool:
        """Whether requests wait in this sample, however little CPU the server gets: no time for m to rise.

        A status page that was never answered in less time is slow, or its URL is wrong, and says nothing.
        """
        is_late = silent and self._has_answered
        self._has_answered = self._has_answered or not silent
        if asked is not None:
            is_late = is_late or asked > max(_LATE, self._settings.tolerance * self._quickest)
            self._quickest = self._quickest if is_mute else min(self._quickest, asked)
        return is_late or any(value > self._settings.limits[name] for name, value in levels.items())

    def _pending(self, elapsed: float) -> float:
        """Return the share of the time in which the server had work, whether it got its CPU or not."""
        pending = self._environment.pending
        return (pending.share(elapsed, self._environment.cpu.cpus) or 0.0) if pending else 0.0

    def _stolen(self, missed: float, elapsed: float) -> float:
        """Return what the server has missed, 0 where the host had CPU for it: then threads waited for each other."""
        before, self._host = self._host, None
        if self._environment.host is not None:
            with suppress(OSError, ValueError):
                self._host = self._environment.host.read()
        share = busy_share(before, self._host, elapsed, 1.0) if before and self._host else None
        return max(0.0, missed) if (share or 0.0) > _FULL_HOST else 0.0

    def _loads(self, elapsed: float, own: float | None, epoch: float) -> tuple[dict[str, Load] | None, bool]:
        """Return the loads, and whether a status page does not answer. What the server itself uses needs no loads."""
        nothing, silent = Load(0.0, 0.0, 0.0), False
        try:
            loads = {
                name: self._load(name, endpoint.meter, elapsed)
                for name, endpoint in self._environment.endpoints.items()
            }
        except LoadUnknown as error:
            silent = isinstance(error, Silent)
            rules = own is not None and len(self._machine.sites) == 1
            self._complain(f"{error}; " + ("what the server uses decides" if rules else "m stays"), epoch)
            return (dict.fromkeys(self._environment.endpoints, nothing) if rules else None), silent
        is_mute = own is not None and own > self._settings.bound and not any(load.requests for load in loads.values())
        if is_mute and len(loads) > 1:
            self._complain("the server is above the bound and the logs are silent; m stays", epoch)
            return None, False
        self._complain("the server is above the bound and the log is silent" if is_mute else "", epoch)
        return loads, False

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
        self, site: Site, forced: Override | None, loads: Mapping[str, Load] | None, clock: float, epoch: float
    ) -> None:
        run = self._environment.endpoints[site.name].run
        if self._shadow and not (forced and self._is_warming):
            if self._is_warming and run and run.flag.exists():  # an override is over
                self._environment.reporter.applied(epoch, run, run.reset)
            run = None
        names = self._names(site, forced)
        is_full = forced.level == ORIGINAL if forced else set(names) == {site.ladder.names[-1]}
        was_reset = run is not None and not is_full and not run.flag.exists()  # by the guard, while this daemon hung
        before, self._bucket_levels[site.name] = self._bucket_levels.get(site.name, ()), names
        is_due = was_reset or names != before or site.name in self._unwritten
        if names != before or (was_reset and site.name not in self._unwritten):
            self._report_levels(site, forced, loads, epoch)
        if run:
            flag = self._flags[site.name]
            if forced:
                flag.full = -SETTLE_MOST  # when it is over, nothing has to settle
            wanted = not is_full if forced else flag.wanted(is_full, run.flag.exists(), clock)
            write = partial(_write, run, names if is_due else (), wanted)
            if not self._environment.reporter.applied(epoch, run, write):
                self._unwritten.add(site.name)
            elif is_due:
                lost = site.ladder.names if site.name in self._unwritten else before
                self._unwritten.discard(site.name)
                self._environment.forget(set(lost) - set(names))

    def _names(self, site: Site, forced: Override | None) -> tuple[str, ...]:
        """Return the level of each bucket; level 0 only where the server's configuration knows it."""
        if forced is not None and forced.level != ORIGINAL:
            rejection = REJECT if site.rejects else site.ladder.names[0]
            return (rejection if forced.level == FORCED_REJECT else forced.level,) * BUCKETS
        levels = bucket_levels(self._state.m(site), site.ladder.most)
        return tuple(site.ladder.level(level if site.rejects else max(level, 1)) for level in levels)

    def _report_floor(self, epoch: float) -> None:
        for site in self._machine.sites:
            if not site.rejects:
                rule = "the emitted configuration does not reject: nobody is rejected (serve.reject)"
            elif site.ladder.least:
                rule = f"a rejection saves too little against level {site.ladder.names[0]}: nobody is rejected"
            else:
                continue
            self._environment.reporter.decision(epoch, "remark", rule, site=site.name)

    def _report_levels(
        self, site: Site, forced: Override | None, loads: Mapping[str, Load] | None, epoch: float
    ) -> None:
        m, load = self._state.m(site), loads[site.name] if loads else None
        used = (self._state.utilization or {}).get(site.name)
        rule = f"forced to {forced.level}" if forced else f"m = {m:.3f}"
        self._environment.reporter.decision(
            epoch,
            "would" if self._shadow else "levels",
            rule,
            site=site.name,
            U=used,
            by=self._state.source or None,
            R=load.requests if load else None,
            W=load.kilobytes if load else None,
            waiting=self._queue or None,
        )

    # ---- what is kept and reported

    def _save(self, epoch: float) -> None:
        self._saved = epoch
        ms = {site.name: self._state.m(site) for site in self._machine.sites}
        lessons, cost = self._state.lessons, self._state.cost
        costs = asdict(cost) if self._settings.learn and lessons.is_learnt else None
        for endpoint in self._environment.endpoints.values():
            if endpoint.run:
                write = partial(keep, endpoint.run, "control", epoch, m=ms, costs=costs,
                                rejection=lessons.rejection.value)  # fmt: skip
                self._environment.reporter.attempt(write)

    def _report(self, loads: Mapping[str, Load] | None, cpu: float | None, epoch: float) -> None:
        sites = {site.name: self._site_record(site, loads) for site in self._machine.sites}
        pair = self._state.lessons.pair
        is_learnt = self._settings.learn and self._state.lessons.is_learnt
        costs = {
            "request_ms": self._state.cost.request * 1000,
            "kilobyte_ms": self._state.cost.kilobyte * 1000,
            "rejection_ms": self._state.cost.rejection * 1000,
            "learnt": is_learnt,
            "from": "measured here" if is_learnt else self._environment.costs,
            "condition": None if pair.condition == float("inf") else round(pair.condition, 1),
        }
        if self._settings.audit_all:
            self._environment.reporter.record(epoch, "sample", cpu=cpu, sites=sites, costs=costs)
        self._environment.reporter.status(
            epoch, self._settings.interval, self._figures(sites, cpu), cpu=cpu, by=self._state.source,
            shadow=self._settings.shadow or self._shadow or None, kept_seconds=self._kept_age, sites=sites, costs=costs,
        )  # fmt: skip

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
            "log_age": round(self._environment.endpoints[site.name].meter.age, 1),
            "levels": shares,
        }

    def _figures(self, sites: Mapping[str, Mapping[str, Any]], cpu: float | None) -> Figures:
        cost = self._state.cost
        figures: dict[str, float | None] = {
            "cpu": cpu,
            "sensors_lost": float(len(self._environment.reporter.lost)),
            "shadow": float(bool(self._shadow)),
            "request_ms": cost.request * 1000,
            "kilobyte_ms": cost.kilobyte * 1000,
            "rejection_ms": cost.rejection * 1000,
            "learnt": float(self._state.lessons.is_learnt),
            "condition": self._state.lessons.pair.condition,
        }
        for key in ("m", "U", "R", "rejected", "W", "log_age"):
            for name, record in sites.items():
                figures[f"{key.lower()}{{site={label(name)}}}"] = record[key]
        for site in self._machine.sites:
            for level in (REJECT, *site.ladder.names):
                name = f"share{{site={label(site.name)},level={label(level)}}}"
                figures[name] = sites[site.name]["levels"].get(level, 0.0)
        return figures_of("control", figures)


_BY_SETTING = "nothing is written for the server (shadow)"


def _write(run: RunDirectory, names: tuple[str, ...], flag: bool) -> None:
    if names:
        write_buckets(run, names)
    run.set_flag(flag)


def _latency(loads: Mapping[str, Load]) -> float | None:
    """Return the mean seconds of an answer, of all sites whose logs have them."""
    timed = [(load.requests, load.seconds) for load in loads.values() if load.seconds is not None and load.requests]
    requests = sum(count for count, _ in timed)
    return sum(count * seconds for count, seconds in timed) / requests if requests else None


def kept_cost(record: Mapping[str, Any]) -> Cost | None:
    """Return the costs that an earlier run has learnt; None where it has learnt none."""
    try:
        cost = Cost(**record["costs"])
        return cost if min(cost.request, cost.kilobyte, cost.rejection) > 0 else None
    except (KeyError, TypeError):
        return None
