"""The default switching rule: quick to help, slow to go back, never stuck.

It keeps the idea of Gopshtein and Feitelson (CPU to enter; CPU, idle workers and a safe rate to leave) and corrects the
published rule:

- separate thresholds to enter and to leave, several samples for each, and a least time in optimized mode;
- as many strained samples to enter as chance does not explain: where a few pages are half a second's work, random
  arrivals alone fill the CPU for a second now and then, and the rule learns how much its samples vary;
- a return that fails, because overload is back within ``relapse`` seconds, doubles that time, up to ``dwell_most``,
  so a load at the edge leads to ever rarer attempts, not to flapping;
- safe never falls below a floor, and after ``probe`` seconds a calm server tries normal mode whatever safe says, so
  it is never stuck;
- safe is learnt from what the CPU has left, too: 20 pages a second at half of the threshold mean that 40 are safe, but
  no more than twice what was carried (on Apache, 15 pages a second at 10 % did not mean 85 at 57 %: it was 95 %);
- a lost CPU sensor changes nothing, the mode stays as it is; a lost rate sensor leaves the way back to the probe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from adaptc.daemons.sensors.panel import Sample
from adaptc.daemons.switch.policy import Decision, Mode, ModeChange, Remark

# Below this share the CPU is mostly not the server's own work, and its headroom says nothing about connections.
_TELLING_CPU = 0.1
_MOST_HEADROOM = 2.0
# Strained samples are no chance when their mean is above ``leave`` by so many standard errors. In ten simulated hours
# of pages of 43 ms at a load of 0.6, samples of 0.5 s switched 60 times by chance without this, 9 times with 4, never
# with 5; a load of 1.5 was met after 3 to 5 s.
_CONFIDENCE = 5.0
# Samples over which the rule learns how much they vary
_LEARNT_SAMPLES = 120


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
    and ``cpu`` are smoothed. ``strained`` are the CPU shares of the strained samples in a row in normal mode, and
    ``noise`` is what is known of the others. In optimized mode ``streak`` counts samples in a row that speak for a
    switch, ``calm`` those that speak for a probe. ``dwell`` is the least time in optimized mode now. ``seen`` is the
    time of the last sample that counted, ``blind`` whether the CPU sensor is lost.
    """

    mode: Mode = Mode.NORMAL
    since: float | None = None
    safe: float = 0.0
    rate: float | None = None
    cpu: float | None = None
    noise: Noise = Noise()
    strained: tuple[float, ...] = ()
    streak: int = 0
    calm: int = 0
    dwell: float = 0.0
    returned: bool = False
    seen: float = 0.0
    blind: bool = False


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
        return sample.idle == 0 or any(sample.levels.get(name, 0.0) > limit for name, limit in self.limits.items())

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
        is_chance = not self._is_full(sample) and state.noise.explains(strained, self.leave)
        state = replace(state, strained=strained)
        if len(strained) < self.enter_samples or is_chance:
            return state, ()
        return self._enter(state, sample, relapsed=state.returned and age <= self.relapse)

    def _enter(self, state: SteadyState, sample: Sample, relapsed: bool) -> tuple[SteadyState, tuple[Decision, ...]]:
        after = replace(self._switched(state, sample, Mode.OPTIMIZED), dwell=self.dwell)
        rule = f"strained {len(state.strained)} times in a row"
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
        if age >= max(state.dwell, self.probe) and state.calm >= self.leave_samples:
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
