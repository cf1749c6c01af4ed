"""The pure step of the controller: loads of all sites in, m of each site out (section 5 of the paper).

Every site is a virtual server. One with a guarantee has a loop of its own that keeps it at U* = a R_max + b W_max.
Those without share what is left, in the order of their priorities: U*_j = U - sum of U_i before - sum of c R_l of lower
ones. A last loop keeps the machine as a whole at its bound, and what it would allow is allowed to the guaranteed sites:
they get the higher of their own m and of that one, so that capacity which nobody uses does not lie idle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adaptc.daemons.control.bucket_ladder import Ladder
from adaptc.serve.capacity.utilization import Cost, Guarantee, allocations, priority_target


@dataclass(frozen=True, slots=True)
class Site:
    """A virtual server: its levels, what it is promised (None: nothing), and its priority, 1 before 2."""

    name: str
    ladder: Ladder
    guarantee: Guarantee | None = None
    priority: int = 1


@dataclass(frozen=True, slots=True)
class Load:
    """What a site was asked for in a sample: requests (rejected ones included), rejected ones, kB; all a second."""

    requests: float
    rejected: float
    kilobytes: float

    def utilization(self, cost: Cost) -> float:
        """Return U = aRf + bW + cR(1-f)."""
        return cost.utilization(self.requests - self.rejected, self.kilobytes) + cost.rejection * self.rejected


@dataclass(frozen=True, slots=True)
class Tuning:
    """The bound of U, the gain margin G, the sampling period in seconds, and lambda of the estimator.

    ``learns`` lets the estimator's a and b replace the configured ones once they can be separated.
    """

    bound: float = 0.58
    margin: float = 4.0
    period: float = 1.0
    forgetting: float = 0.98
    throughput_only: bool = False
    learns: bool = True


@dataclass(frozen=True, slots=True)
class Machine:
    """All sites of a machine, the costs to start from, and how to control."""

    sites: tuple[Site, ...]
    cost: Cost = field(default_factory=Cost)
    tuning: Tuning = field(default_factory=Tuning)

    def start(self) -> MachineState:
        """Return the state before the first sample: everybody gets the full site."""
        loops = {site.name: Loop(float(site.ladder.most)) for site in self.sites}
        return MachineState(loops, Loop(float(self.most)), self.cost)

    @property
    def most(self) -> int:
        """The greatest M of all sites: the range of the machine's own loop."""
        return max(site.ladder.most for site in self.sites)

    def check(self) -> None:
        """Raise ``CapacityExceeded`` when the guarantees exceed the bound at the configured costs."""
        allocations(self._guarantees(), self.cost, self.tuning.bound, self.tuning.throughput_only)

    def _guarantees(self) -> dict[str, Guarantee]:
        return {site.name: site.guarantee for site in self.sites if site.guarantee is not None}

    def targets(self, cost: Cost, loads: Mapping[str, Load]) -> dict[str, float]:
        """Return U* of each site. Guarantees that the costs of today do not allow are cut in proportion."""
        targets = allocations(self._guarantees(), cost, float("inf"))
        excess = max(1.0, sum(targets.values()) / (1.0 if self.tuning.throughput_only else self.tuning.bound))
        targets = {name: target / excess for name, target in targets.items()}
        for site in self.sites:
            if site.guarantee is None:
                targets[site.name] = self._remaining_target(site, cost, loads)
        return targets

    def _remaining_target(self, site: Site, cost: Cost, loads: Mapping[str, Load]) -> float:
        """Return U*: the bound less the load of equal and higher priorities and the cost of rejecting lower ones."""
        higher = [peer for peer in self.sites if peer.name != site.name and rank(peer) <= rank(site)]
        lower = [peer for peer in self.sites if rank(peer) > rank(site)]
        used = [loads[peer.name].utilization(cost) for peer in higher]
        return priority_target(self.tuning.bound, used, [loads[peer.name].requests for peer in lower], cost)


def rank(site: Site) -> int:
    """Return the place of a site among the priorities: guarantees come first."""
    return 0 if site.guarantee is not None else site.priority


# ---- recursive least squares for a and b of U = aR + bW (section 4.3 of the paper), with exponential forgetting
#
# R in requests a millisecond and W in kB a millisecond, so that a and b are milliseconds and the initial covariance of
# 1000 is far above them.

INITIAL = 1000.0
# Beyond this the two columns of the samples, scaled to length 1, are so parallel (cosine 0.998) that noise decides
# between a and b: pages of one size.
ILL_CONDITIONED = 30.0

Matrix = tuple[float, float, float]  # symmetric, 2 by 2: (1,1), (1,2), (2,2)


@dataclass(frozen=True, slots=True)
class Estimator:
    """``a`` and ``b`` in milliseconds, the covariance, and the information that samples brought."""

    a: float = 0.0
    b: float = 0.0
    covariance: Matrix = (INITIAL, 0.0, INITIAL)
    information: Matrix = (0.0, 0.0, 0.0)
    samples: int = 0

    @property
    def condition(self) -> float:
        """The condition number of the samples with columns scaled to length 1; infinite for parallel columns."""
        first, mixed, second = self.information
        if first <= 0 or second <= 0:
            return math.inf
        cosine = min(1.0, abs(mixed) / math.sqrt(first * second))
        return math.inf if cosine >= 1 else math.sqrt((1 + cosine) / (1 - cosine))

    @property
    def is_telling(self) -> bool:
        """Whether a and b can be separated, and make sense as costs."""
        return self.samples >= 10 and self.condition < ILL_CONDITIONED and self.a > 0 and self.b > 0


def learn(
    before: Estimator, requests: float, kilobytes: float, utilization: float, forgetting: float = 1.0
) -> Estimator:
    """Return the estimate after a sample; ``forgetting`` is lambda, 1 remembers everything."""
    p11, p12, p22 = before.covariance
    x, y = p11 * requests + p12 * kilobytes, p12 * requests + p22 * kilobytes
    total = forgetting + requests * x + kilobytes * y
    gain_a, gain_b = x / total, y / total
    error = utilization - before.a * requests - before.b * kilobytes
    covariance = ((p11 - gain_a * x) / forgetting, (p12 - gain_a * y) / forgetting, (p22 - gain_b * y) / forgetting)
    i11, i12, i22 = (forgetting * entry for entry in before.information)
    information = (i11 + requests * requests, i12 + requests * kilobytes, i22 + kilobytes * kilobytes)
    return Estimator(before.a + gain_a * error, before.b + gain_b * error, covariance, information, before.samples + 1)


# ---- the PI controller of m (section 4.4 of the paper), tuned in closed form and discretised by Tustin's rule
#
# K_p (1 + K_i / s) against the plant p_max e^(-sT/2), with a controller phase of -pi/6 at the frequency of oscillation:
# omega = 5 pi / (3T), K_i = 5 pi / (3 sqrt(3) T), K_p = sqrt(3) / (2 G p_max). With one sample of delay the true gain
# margin is 4.62 at G = 4; discretised by backward differences it is 1.84, by forward ones 2.28.


@dataclass(frozen=True, slots=True)
class Gains:
    """K_p and K_i (1/s), and the sampling period T in seconds."""

    proportional: float
    integral: float
    period: float

    @property
    def now(self) -> float:
        """c0, the weight of the error now: K_p (1 + K_i T/2)."""
        return self.proportional * (1 + self.integral * self.period / 2)

    @property
    def before(self) -> float:
        """c1, the weight of the error before: K_p (1 - K_i T/2)."""
        return self.proportional * (1 - self.integral * self.period / 2)


def tuned(period: float, margin: float, gain: float) -> Gains:
    """Return the gains for a sampling period in seconds, a gain margin G, and the plant's greatest gain p_max."""
    if period <= 0 or margin <= 0 or gain <= 0:
        raise ValueError(f"period, margin and gain must be above 0: {period}, {margin}, {gain}")
    return Gains(math.sqrt(3) / (2 * margin * gain), 5 * math.pi / (3 * math.sqrt(3) * period), period)


@dataclass(frozen=True, slots=True)
class Loop:
    """A control loop: m, and the error of the sample before (None: there was none)."""

    m: float
    error: float | None = None


# The largest rise of m in a sample, as a share of its range: one sample without load, for instance while logs are
# rotated, must not open a server that is overloaded. A fall is not bounded.
RISE = 1 / 8


def advance(loop: Loop, error: float, gains: Gains, most: float, least: float = 0.0) -> Loop:
    """Return the loop after a sample: m <- clip(m + c0 e - c1 e_prev). Clipping m itself is the anti-windup.

    For the first sample the error before is taken to be the same. m rises by ``RISE`` of its range at most.
    """
    before = error if loop.error is None else loop.error
    m = loop.m + gains.now * error - gains.before * before
    return Loop(min(max(m, least), loop.m + RISE * (most - least), most), error)


# ---- the step


@dataclass(frozen=True, slots=True)
class MachineState:
    """Loops by site, the loop of the machine as a whole, the costs in use, the estimator, what was measured last.

    ``utilization`` is that of the last sample, by site.
    """

    loops: Mapping[str, Loop]
    whole: Loop
    cost: Cost
    estimator: Estimator = field(default_factory=Estimator)
    utilization: Mapping[str, float] | None = None

    def m(self, site: Site) -> float:
        """Return the m by which a site is served: with a guarantee, the higher of its own and the machine's."""
        own = self.loops[site.name].m
        if site.guarantee is None:
            return own
        return min(max(own, self.whole.m), float(site.ladder.most))


def step(machine: Machine, state: MachineState, loads: Mapping[str, Load], cpu: float | None) -> MachineState:
    """Return the state after a sample of all sites; ``cpu`` is the measured busy share, for the estimator."""
    state = _learnt(machine, state, loads, cpu)
    used = {name: load.utilization(state.cost) for name, load in loads.items()}
    targets = machine.targets(state.cost, loads)
    loops = {}
    for site in machine.sites:
        gain = _gain(machine, state, site, used, targets[site.name])
        error = targets[site.name] - used[site.name]
        loops[site.name] = _advanced(
            machine, state.loops[site.name], error, gain, (site.ladder.least, site.ladder.most)
        )
    total, bound = sum(used.values()), machine.tuning.bound
    gain = sum(site.ladder.gain(state.m(site), max(used[site.name], _LEAST)) for site in machine.sites)
    whole = _advanced(machine, state.whole, bound - total, gain, (0, machine.most))
    return replace(state, loops=loops, whole=whole, utilization=used)


# A load that is hardly there has hardly a gain, and would ask for a controller of boundless gains.
_LEAST = 0.01


def _gain(machine: Machine, state: MachineState, site: Site, used: Mapping[str, float], target: float) -> float:
    """Return the gain of a site's plant. Loops that share one error, those of a priority, share one gain too."""
    if site.guarantee is not None:
        return site.ladder.gain(state.m(site), max(used[site.name], target, _LEAST))
    equals = [peer for peer in machine.sites if rank(peer) == rank(site)]
    return sum(peer.ladder.gain(state.m(peer), max(used[peer.name], _LEAST)) for peer in equals)


def _learnt(machine: Machine, state: MachineState, loads: Mapping[str, Load], cpu: float | None) -> MachineState:
    served = sum(load.requests - load.rejected for load in loads.values())
    if cpu is None or served <= 0:
        return state
    rejecting = state.cost.rejection * sum(load.rejected for load in loads.values())
    kilobytes = sum(load.kilobytes for load in loads.values())
    tuning = machine.tuning
    estimator = learn(state.estimator, served / 1000, kilobytes / 1000, cpu - rejecting, tuning.forgetting)
    state = replace(state, estimator=estimator)
    if not (tuning.learns and estimator.is_telling):
        return state
    return replace(state, cost=Cost(estimator.a / 1000, estimator.b / 1000, state.cost.rejection))


def _advanced(machine: Machine, loop: Loop, error: float, gain: float, ends: tuple[int, int]) -> Loop:
    gains = tuned(machine.tuning.period, machine.tuning.margin, gain)
    least, most = ends
    return advance(loop, error, gains, float(most), float(least))
