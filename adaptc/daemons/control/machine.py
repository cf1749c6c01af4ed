"""The pure step of the controller: loads of all sites in, m of each site out (section 5 of the paper).

Every site is a virtual server. One with a guarantee has a loop of its own that keeps it at U* = a R_max + b W_max.
Those without share what is left, in the order of their priorities: U*_j = U - sum of U_i before - sum of c R_l of lower
ones. A last loop keeps the machine as a whole at its bound, and what it would allow is allowed to the guaranteed sites:
they get the higher of their own m and of that one, so that capacity which nobody uses does not lie idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adaptc.daemons.control.estimator import Estimator, learn
from adaptc.daemons.control.ladder import Ladder
from adaptc.daemons.control.pi import Loop, advance, tuned
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
