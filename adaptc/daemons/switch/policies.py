"""The policies of the mode switch: ``Steady``, the default, and ``Gopshtein``, exactly as published, for comparison.

They share modes, what a step decides, and how a person overrides it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import reduce
from typing import Generic, Protocol, TypeVar

from adaptc.core.values import dataclass, field, replace
from adaptc.daemons.sensors.panel import Sample


class Mode(Enum):
    """What the server sends: the site, or its optimized version where there is one."""

    NORMAL = "normal"
    OPTIMIZED = "optimized"


@dataclass(frozen=True, slots=True)
class ModeChange:
    """The server is to send ``mode`` from now on; ``rule`` gives the reason in a few words."""

    mode: Mode
    rule: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Nothing changes, but a person would want to know it."""

    rule: str


Decision = ModeChange | Remark


@dataclass(frozen=True, slots=True)
class Force:
    """A person asks for a mode, or with None leaves it to the policy again."""

    mode: Mode | None


class PolicyState(Protocol):
    """What every policy's state has."""

    @property
    def mode(self) -> Mode:
        """The mode that the policy wants."""


State = TypeVar("State", bound=PolicyState)


class Policy(Protocol[State]):
    """A rule for switching: pure, so that a recorded trace replays to the same decisions."""

    def start(self) -> State:
        """Return the state before the first sample."""

    def step(self, state: State, sample: Sample) -> tuple[State, tuple[Decision, ...]]:
        """Return the state after a sample, and what was decided."""


@dataclass(frozen=True, slots=True)
class OverrideState(Generic[State]):
    """The state of a policy under an override; ``mode`` is what the server sends."""

    own: State
    forced: Mode | None = None

    @property
    def mode(self) -> Mode:
        """The forced mode, else that of the policy."""
        return self.forced or self.own.mode


def step(
    policy: Policy[State], state: OverrideState[State], event: Sample | Force
) -> tuple[OverrideState[State], tuple[Decision, ...]]:
    """Return the state after an event and what was decided. A policy sees no samples while a mode is forced.

    Under a forced mode the load is not the one that its own decision caused, so nothing can be learnt from it.
    """
    if isinstance(event, Force):
        return _force(state, event)
    if state.forced is not None:
        return state, ()
    own, decisions = policy.step(state.own, event)
    return replace(state, own=own), decisions


def _force(state: OverrideState[State], event: Force) -> tuple[OverrideState[State], tuple[Decision, ...]]:
    if event.mode is state.forced:
        return state, ()
    after = replace(state, forced=event.mode)
    return after, (ModeChange(after.mode, "forced" if event.mode else "automatic again"),)


# ---- the rule exactly as published (Gopshtein and Feitelson, section 4.4.3), for comparison
#
# Every five seconds: in normal mode the highest rate of new TCP connections is kept as safe, and a CPU above 85 %
# switches. Back when three times in a row the CPU is below 85 %, a worker is idle and the rate is below safe; then safe
# is reduced by 30 %. Rates are normalised by the connections that a page takes.
#
# Its faults, which ``steady`` does not have: a first sample above the threshold, which has no rate yet, leaves safe at
# 0 and the rule never returns; nothing keeps it from switching to and fro; and both counters are those of the host.


@dataclass(frozen=True, slots=True)
class GopshteinState:
    """Mode, highest rate seen in normal mode (pages a second), and calm samples in a row."""

    mode: Mode = Mode.NORMAL
    safe: float = 0.0
    calm: int = 0


@dataclass(frozen=True, slots=True)
class Gopshtein:
    """The published rule. ``connections`` are those of a page in normal and in optimized mode."""

    threshold: float = 0.85
    times: int = 3
    reduction: float = 0.7
    connections: tuple[float, float] = (2.0, 1.0)

    def start(self) -> GopshteinState:
        """Return the state before the first sample."""
        return GopshteinState()

    def step(self, state: GopshteinState, sample: Sample) -> tuple[GopshteinState, tuple[Decision, ...]]:
        """Return the state after a sample, and what was decided."""
        if sample.cpu is None:
            return state, ()
        return self._normal(state, sample) if state.mode is Mode.NORMAL else self._optimized(state, sample)

    def _normal(self, state: GopshteinState, sample: Sample) -> tuple[GopshteinState, tuple[Decision, ...]]:
        state = replace(state, safe=max(state.safe, (sample.rate or 0.0) / self.connections[0]))
        if (sample.cpu or 0) <= self.threshold:
            return state, ()
        return replace(state, mode=Mode.OPTIMIZED, calm=0), (ModeChange(Mode.OPTIMIZED, "cpu above threshold"),)

    def _optimized(self, state: GopshteinState, sample: Sample) -> tuple[GopshteinState, tuple[Decision, ...]]:
        calm = state.calm + 1 if self._is_calm(state, sample) else 0
        if calm < self.times:
            return replace(state, calm=calm), ()
        after = GopshteinState(Mode.NORMAL, state.safe * self.reduction)
        return after, (ModeChange(Mode.NORMAL, f"calm {self.times} times in a row"),)

    def _is_calm(self, state: GopshteinState, sample: Sample) -> bool:
        rate = (sample.rate or 0.0) / self.connections[1]
        return (sample.cpu or 0) < self.threshold and sample.idle != 0 and rate < state.safe


# ---- the default rule: quick to help, slow to go back, never stuck
#
# It keeps the idea of Gopshtein and Feitelson (CPU to enter; CPU, idle workers and a safe rate to leave) and corrects
# the published rule:
#
# - separate thresholds to enter and to leave, several samples for each, and a least time in optimized mode;
# - as many strained samples to enter as chance does not explain: where a few pages are half a second's work, random
#   arrivals alone fill the CPU for a second now and then, and the rule learns how much its samples vary;
# - a return that fails, because overload is back within ``relapse`` seconds, doubles that time, up to ``dwell_most``,
#   so a load at the edge leads to ever rarer attempts, not to flapping;
# - safe never falls below a floor, and after ``probe`` seconds a calm server tries normal mode whatever safe says, so
#   it is never stuck;
# - safe is learnt from what the CPU has left, too: 20 pages a second at half of the threshold mean that 40 are safe,
#   but no more than twice what was carried (on Apache, 15 pages a second at 10 % did not mean 85 at 57 %: it was 95 %);
# - a status page that does not answer while the CPU is busy is no lost sensor, but a server without a free worker;
# - a lost CPU sensor changes nothing, the mode stays as it is; a lost rate sensor leaves the way back to the probe.

# Below this share the CPU is mostly not the server's own work, and its headroom says nothing about connections.
_TELLING_CPU = 0.1
_MOST_HEADROOM = 2.0
# Strained samples are no chance when their mean is above ``leave`` by so many standard errors. In ten simulated hours
# of pages of 43 ms at a load of 0.6, samples of 0.5 s switched 60 times by chance without this, 9 times with 4, never
# with 5; a load of 1.5 was met after 3 to 5 s.
_CONFIDENCE = 5.0
# Samples over which the rule learns how much they vary
_LEARNT_SAMPLES = 120
# Seconds of strained samples in a row that chance may explain, however much samples have varied
_LONGEST_CHANCE = 5.0
# After a start in the middle of a crowd nothing is known to be safe; a calm server tries normal mode after so many
# seconds.
_FIRST_PROBE = 60.0


@dataclass(frozen=True, slots=True)
class Noise:
    """How much the CPU varies from sample to sample in normal mode: its mean and variance, recent samples first."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def after(self, cpu: float) -> Noise:
        """Return what is known after another sample."""
        weight, distance = 1 / min(self.count + 1, _LEARNT_SAMPLES), cpu - self.mean
        variance = (1 - weight) * (self.variance + weight * distance**2)
        return Noise(self.count + 1, self.mean + weight * distance, variance)

    def explains(self, strained: Sequence[float], usual: float) -> bool:
        """Whether chance may be why these samples in a row are above the ``usual`` CPU."""
        excess = sum(strained) - len(strained) * usual
        return excess < _CONFIDENCE * math.sqrt(self.variance * len(strained))


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What the rule remembers.

    ``since`` is the time of the last switch, None before the first sample. ``safe`` is in pages a second, ``rate``
    and ``cpu`` are smoothed. ``strained`` are the CPU shares of the strained samples in a row in normal mode, since the
    time ``strained_since``, and ``noise`` is what is known of the others. In optimized mode ``streak`` counts samples
    in a row that speak for a switch, ``calm`` those that speak for a probe. ``dwell`` is the least time in optimized
    mode now. ``seen`` is the time of the last sample that counted, ``blind`` whether the CPU sensor is lost.
    """

    mode: Mode = Mode.NORMAL
    since: float | None = None
    safe: float = 0.0
    rate: float | None = None
    cpu: float | None = None
    noise: Noise = Noise()
    strained: tuple[float, ...] = ()
    strained_since: float = 0.0
    streak: int = 0
    calm: int = 0
    dwell: float = 0.0
    returned: bool = False
    seen: float = 0.0
    blind: bool = False

    def kept(self) -> dict[str, float]:
        """Return what is worth keeping over a restart: of the machine, and the mode, which is of the moment."""
        noise = {"samples": self.noise.count, "mean": self.noise.mean, "variance": self.noise.variance}
        return {"safe": self.safe, "dwell": self.dwell, "optimized": float(self.mode is Mode.OPTIMIZED), **noise}


@dataclass(frozen=True, slots=True)
class Steady:
    """The parameters: shares, numbers of samples, seconds, and new connections a second (``floor``: pages).

    ``limits`` are those of sensors by name: above one of them the server counts as strained.
    """

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
    reduction: float = 0.7
    connections: tuple[float, float] = (2.0, 1.0)
    limits: Mapping[str, float] = field(default_factory=dict)

    def start(self) -> SteadyState:
        """Return the state before the first sample."""
        return SteadyState(dwell=self.dwell)

    def resume(self, kept: Mapping[str, float], is_fresh: bool = False) -> SteadyState:
        """Return the state before the first sample, with what another run has kept. Raises ``KeyError``.

        What is fresh was kept a moment ago: the mode goes on, and its least time begins anew.
        """
        noise = Noise(int(kept["samples"]), kept["mean"], kept["variance"])
        dwell = min(max(kept["dwell"], self.dwell), self.dwell_most)
        mode = Mode.OPTIMIZED if is_fresh and kept.get("optimized") else Mode.NORMAL
        return SteadyState(mode, dwell=dwell, safe=kept["safe"], noise=noise)

    def step(self, state: SteadyState, sample: Sample) -> tuple[SteadyState, tuple[Decision, ...]]:
        """Return the state after a sample, and what was decided."""
        if sample.cpu is None:
            return self._lost(state)
        remarks: tuple[Decision, ...] = (Remark("the CPU sensor is back"),) if state.blind else ()
        state = self._smoothed(replace(state, blind=False), sample)
        act = self._normal if state.mode is Mode.NORMAL else self._optimized
        state, decisions = act(state, sample)
        return state, remarks + decisions

    def _lost(self, state: SteadyState) -> tuple[SteadyState, tuple[Decision, ...]]:
        if state.blind:
            return state, ()
        remark = Remark(f"the CPU sensor is lost; {state.mode.value} mode stays")
        return replace(state, blind=True, strained=(), streak=0, calm=0), (remark,)

    # ---- what is known

    def _smoothed(self, state: SteadyState, sample: Sample) -> SteadyState:
        since = sample.at if state.since is None else state.since
        weight = 1 - math.exp(-max(0.0, sample.at - state.seen) / self.smoothing)
        pages = None if sample.rate is None else sample.rate / self._connections(state.mode)
        return replace(
            state,
            since=since,
            seen=sample.at,
            rate=_smooth(state.rate, pages, weight),
            cpu=_smooth(state.cpu, sample.cpu, weight),
        )

    def _connections(self, mode: Mode) -> float:
        return self.connections[0 if mode is Mode.NORMAL else 1]

    def _is_full(self, sample: Sample) -> bool:
        """Whether more than the CPU says that the server is strained."""
        is_mute = bool(sample.unanswered) and (sample.cpu or 0) > self.leave
        return (
            sample.idle == 0
            or is_mute
            or any(sample.levels.get(name, 0.0) > limit for name, limit in self.limits.items())
        )

    def _is_strained(self, sample: Sample) -> bool:
        return (sample.cpu or 0) > self.enter or self._is_full(sample)

    def _is_calm(self, sample: Sample) -> bool:
        return (sample.cpu or 0) < self.leave and not self._is_strained(sample)

    def _learnt(self, state: SteadyState) -> float:
        """Return safe after an easy sample: the highest rate, or what the CPU has left would allow."""
        if state.rate is None:
            return state.safe
        cpu = state.cpu or 0.0
        headroom = min(self.leave / cpu, _MOST_HEADROOM) if cpu >= _TELLING_CPU else 1.0
        return max(state.safe, state.rate, state.rate * headroom)

    # ---- what is decided

    def _normal(self, state: SteadyState, sample: Sample) -> tuple[SteadyState, tuple[Decision, ...]]:
        age = sample.at - (state.since or 0.0)
        strained = (*state.strained, sample.cpu or 0.0)
        if not self._is_strained(sample):
            lasting = state.returned and age > self.relapse
            dwell = self.dwell if lasting else state.dwell
            noise = reduce(Noise.after, strained, state.noise)
            return replace(state, strained=(), noise=noise, safe=self._learnt(state), dwell=dwell), ()
        since = state.strained_since if state.strained else sample.at
        is_short = sample.at - since < _LONGEST_CHANCE
        is_chance = is_short and not self._is_full(sample) and state.noise.explains(strained, self.leave)
        state = replace(state, strained=strained, strained_since=since)
        if len(strained) < self.enter_samples or is_chance:
            return state, ()
        return self._enter(state, sample, relapsed=state.returned and age <= self.relapse)

    def _enter(self, state: SteadyState, sample: Sample, relapsed: bool) -> tuple[SteadyState, tuple[Decision, ...]]:
        after = replace(self._switched(state, sample, Mode.OPTIMIZED), dwell=self.dwell)
        rule = f"strained {len(state.strained)} times in a row"
        if sample.unanswered:
            rule += ", and the status page does not answer"
        if relapsed:
            dwell = min(2 * state.dwell, self.dwell_most)
            after = replace(after, dwell=dwell, safe=state.safe * self.reduction)
            rule += f", within {self.relapse:g} s of a return: no other for {dwell:g} s"
        return after, (ModeChange(Mode.OPTIMIZED, rule),)

    def _optimized(self, state: SteadyState, sample: Sample) -> tuple[SteadyState, tuple[Decision, ...]]:
        is_calm = self._is_calm(sample)
        fits = state.rate is None or (sample.rate is not None and state.rate < max(state.safe, self.floor))
        state = replace(
            state, calm=state.calm + 1 if is_calm else 0, streak=state.streak + 1 if is_calm and fits else 0
        )
        age = sample.at - (state.since or 0.0)
        if age >= state.dwell and state.streak >= self.leave_samples:
            return self._leave(state, sample, f"calm {self.leave_samples} times in a row")
        probe = self.probe if state.safe > 0 or state.returned else min(self.probe, _FIRST_PROBE)
        if age >= max(state.dwell, probe) and state.calm >= self.leave_samples:
            return self._leave(state, sample, f"probe after {age:.0f} s")
        return state, ()

    def _leave(self, state: SteadyState, sample: Sample, rule: str) -> tuple[SteadyState, tuple[Decision, ...]]:
        return replace(self._switched(state, sample, Mode.NORMAL), returned=True), (ModeChange(Mode.NORMAL, rule),)

    def _switched(self, state: SteadyState, sample: Sample, mode: Mode) -> SteadyState:
        """The CPU of the other mode says nothing about this one, and its samples count from 0."""
        return replace(state, mode=mode, since=sample.at, strained=(), streak=0, calm=0, cpu=None)


def _smooth(before: float | None, now: float | None, weight: float) -> float | None:
    if now is None:
        return before
    return now if before is None else before + weight * (now - before)
