"""The pure step of the controller: loads of all sites in, m of each site out (section 5 of the paper).

Every site is a virtual server. One with a guarantee has a loop of its own that keeps it at U* = a R_max + b W_max.
Those without share what is left, in the order of their priorities: U*_j = U - sum of U_i before - sum of c R_l of lower
ones. A last loop keeps the machine as a whole at its bound, and what it would allow is allowed to the guaranteed sites:
they get the higher of their own m and of that one, so that capacity which nobody uses does not lie idle.

What is measured rules; the model aR + bW + cR(1-f) of the paper says how the measured share is divided among sites,
what a step of m changes, and how busy the server is where nothing is measured. Nobody is rejected while the measured
share is below the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from adaptc.core.values import dataclass, field, replace
from adaptc.daemons.control.bucket_ladder import Ladder
from adaptc.daemons.control.control_loop import FEW, SIGMAS, Gradient, Loop, advance, observed, tuned, unexplained
from adaptc.serve.capacity.utilization import Cost, Estimator, Guarantee, Ratio, allocations, learn, priority_target


@dataclass(frozen=True, slots=True)
class Site:
    """A virtual server: its levels, what it is promised (None: nothing), and its priority, 1 before 2.

    ``rejects`` tells whether the server's configuration can reject anybody.
    """

    name: str
    ladder: Ladder
    guarantee: Guarantee | None = None
    priority: int = 1
    rejects: bool = True


@dataclass(frozen=True, slots=True)
class Load:
    """What a site was asked for in a sample: requests (rejected ones included), rejected ones, kB; all a second.

    ``seconds`` is the mean time of an answer by the server's own clock; None where the log does not have it.
    """

    requests: float
    rejected: float
    kilobytes: float
    seconds: float | None = None

    def utilization(self, cost: Cost) -> float:
        """Return U = aRf + bW + cR(1-f)."""
        return cost.utilization(self.requests - self.rejected, self.kilobytes) + cost.rejection * self.rejected


@dataclass(frozen=True, slots=True)
class Busy:
    """How busy the server is by measurement: ``share`` of what it may use, None where that is not known.

    ``is_own`` tells whether it is the share of the server's own processes; that of a whole host contains other work,
    and is only a bound from above. ``waiting`` says by what requests are seen to wait, "" where they do not.
    ``latency`` is the seconds that an answer takes. ``queued`` tells that requests wait in this sample alone, which is
    no reason for m to fall, but one not to rise. ``is_full`` tells that the server was full at the end of the sample,
    in a way that chance does not explain, ``queue`` how many views waited then, and ``growth`` how many times as many
    pages as usual were asked for; 0 where that is not known. ``stolen`` is the share of the sample in which work was
    pending beyond what the server could do: its CPU was somebody else's.
    """

    share: float | None = None
    is_own: bool = False
    waiting: str = ""
    latency: float | None = None
    queued: bool = False
    is_full: bool = False
    queue: float = 0.0
    growth: float = 0.0
    stolen: float = 0.0


UNKNOWN = Busy()


@dataclass(frozen=True, slots=True)
class Tuning:
    """The bound of U, the gain margin G, the sampling period in seconds, and lambda of the estimator.

    ``learns`` lets what was learnt replace the costs to begin with. Nobody is rejected while the measured share is
    below the bound by ``slack`` or more, and never more than ``reject_most`` of the clients of a site. With
    ``follows_latency`` the time of answers decides instead of the share (``gradient``); ``tolerance`` is how much
    longer than usual it may be. ``line`` is what the server's line carries, in kB a second.
    """

    bound: float = 0.58
    margin: float = 4.0
    period: float = 1.0
    forgetting: float = 0.98
    throughput_only: bool = False
    learns: bool = True
    slack: float = 0.1
    reject_most: float = 1.0
    follows_latency: bool = False
    tolerance: float = 2.0
    line: float | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """All sites of a machine, the costs to start from, and how to control."""

    sites: tuple[Site, ...]
    cost: Cost = field(default_factory=Cost)
    tuning: Tuning = field(default_factory=Tuning)

    def start(self) -> MachineState:
        """Return the state before the first sample: everybody gets the full site."""
        loops = {site.name: Loop(float(site.ladder.most)) for site in self.sites}
        return MachineState(loops, Loop(float(self.most)), self.cost, Lessons(self.cost))

    @property
    def most(self) -> int:
        """The greatest M of all sites: the range of the machine's own loop."""
        return max(site.ladder.most for site in self.sites)

    def check(self) -> None:
        """Raise ``CapacityExceeded`` when the guarantees exceed the bound at the configured costs."""
        allocations(self._guarantees(), self.cost, self.tuning.bound, self.tuning.throughput_only)

    def _guarantees(self) -> dict[str, Guarantee]:
        return {site.name: site.guarantee for site in self.sites if site.guarantee is not None}

    def targets(self, cost: Cost, loads: Mapping[str, Load], used: Mapping[str, float]) -> dict[str, float]:
        """Return U* of each site, of which each has ``used`` its part.

        Guarantees that the costs of today do not allow are cut in proportion.
        """
        targets = allocations(self._guarantees(), cost, float("inf"))
        excess = max(1.0, sum(targets.values()) / (1.0 if self.tuning.throughput_only else self.tuning.bound))
        targets = {name: target / excess for name, target in targets.items()}
        for site in self.sites:
            if site.guarantee is None:
                targets[site.name] = self._remaining_target(site, cost, loads, used)
        return targets

    def _remaining_target(self, site: Site, cost: Cost, loads: Mapping[str, Load], used: Mapping[str, float]) -> float:
        """Return U*: the bound less the load of equal and higher priorities and the cost of rejecting lower ones."""
        higher = [peer for peer in self.sites if peer.name != site.name and rank(peer) <= rank(site)]
        lower = [peer for peer in self.sites if rank(peer) > rank(site)]
        before = [used[peer.name] for peer in higher]
        return priority_target(self.tuning.bound, before, [loads[peer.name].requests for peer in lower], cost)


def rank(site: Site) -> int:
    """Return the place of a site among the priorities: guarantees come first."""
    return 0 if site.guarantee is not None else site.priority


# ---- what costs are learnt
#
# Samples are smoothed before anything is learnt from them, load and share alike, which changes no factor between them:
# logs that are written in batches, and requests that end in the sample after, would be noise.
SMOOTHING = 0.2
# Above this share of rejections their cost is learnt first: a and b have to be known for that, and do not change by
# them.
_REJECTING = 0.05


@dataclass(frozen=True, slots=True)
class Lessons:
    """What was learnt of the costs.

    ``first`` are those to begin with. ``pair`` knows a and b where sizes of pages tell them apart; where they do not,
    ``sum`` is the factor between what was measured and aR + bW of the first costs. ``rejection`` is c, in seconds.
    ``smooth`` are requests that were served, kB, rejected requests and the busy share, smoothed.
    """

    first: Cost
    pair: Estimator = field(default_factory=Estimator)
    sum: Ratio = field(default_factory=Ratio)
    rejection: Ratio = field(default_factory=Ratio)
    smooth: tuple[float, float, float, float] | None = None

    @property
    def is_learnt(self) -> bool:
        """Whether a and b, or their sum, are known by measurement."""
        return self.pair.is_telling or self.sum.value is not None

    @property
    def cost(self) -> Cost:
        """The costs: as learnt, else those to begin with. c stays the same multiple of a until it is learnt itself."""
        first, factor = self.first, self.sum.value or 1.0
        request, kilobyte = first.request * factor, first.kilobyte * factor
        if self.pair.is_telling:
            request, kilobyte = self.pair.a / 1000, self.pair.b / 1000
        rejection, is_measured = self.rejection.value, first.is_rejection_measured
        if rejection is not None:
            return Cost(request, kilobyte, rejection)
        return Cost(request, kilobyte, first.rejection * request / first.request, is_rejection_measured=is_measured)

    def after(self, load: Load, share: float, forgetting: float) -> Lessons:
        """Return what is known after a sample of all sites together and the busy share."""
        now = (load.requests - load.rejected, load.kilobytes, load.rejected, share)
        before = self.smooth or now
        served, kilobytes, rejected, share = (
            old + SMOOTHING * (new - old) for old, new in zip(before, now, strict=True)
        )
        lessons = replace(self, smooth=(served, kilobytes, rejected, share))
        if rejected > _REJECTING * (served + rejected):
            cost = self.cost
            ratio = self.rejection.after(rejected, share - cost.utilization(served, kilobytes), forgetting)
            lessons = replace(lessons, rejection=ratio)
            if self.rejection.value is None:
                return lessons
        if served <= 0:
            return lessons
        rest = share - self.cost.rejection * rejected
        pair = learn(self.pair, served / 1000, kilobytes / 1000, rest, forgetting)
        ratio = self.sum.after(self.first.utilization(served, kilobytes), rest, forgetting)
        return replace(lessons, pair=pair, sum=ratio)


# ---- the step


@dataclass(frozen=True, slots=True)
class MachineState:
    """Loops by site, the loop of the machine as a whole, the costs in use, what was learnt, what was measured last.

    ``utilization`` is that of the last sample, by site, ``source`` by what it is known. ``saturated`` counts samples in
    a row in which the server was full, ``held`` those to come in which m does not rise. ``backlog`` is work that waits
    since others had the CPU, in seconds of it, ``starved`` for how many samples the server has had too little of it.
    """

    loops: Mapping[str, Loop]
    whole: Loop
    cost: Cost
    lessons: Lessons
    utilization: Mapping[str, float] | None = None
    source: str = ""
    gradient: Gradient = field(default_factory=Gradient)
    saturated: int = 0
    held: int = 0
    backlog: float = 0.0
    starved: int = 0

    def m(self, site: Site) -> float:
        """Return the m by which a site is served: with a guarantee, the higher of its own and the machine's."""
        own = self.loops[site.name].m
        if site.guarantee is None:
            return own
        return min(max(own, self.whole.m), float(site.ladder.most))


def step(
    machine: Machine, state: MachineState, loads: Mapping[str, Load], busy: Busy = UNKNOWN, acts: bool = True
) -> MachineState:
    """Return the state after a sample of all sites, and of how busy the server was meanwhile.

    Where nothing ``acts`` on m, the load is that of the full site, and m what the ladder would make of it at the bound.
    """
    asked, state = busy.growth * _usual(state), _learnt(machine, state, loads, busy)
    state = replace(state, starved=_starved(machine, state, busy))
    (total, source), cost = _busy(machine, state, loads, busy), state.cost
    line = _line(machine, loads)
    if line > total:
        total, source, cost, busy = line, "line", _cost_of_line(machine), replace(busy, share=line)
    machine = replace(machine, sites=tuple(replace(site, ladder=site.ladder.priced(cost)) for site in machine.sites))
    used = _divided(total, {name: load.utilization(cost) for name, load in loads.items()})
    least = {site.name: _least(machine, site, total, busy) for site in machine.sites}
    held = _HELD if busy.queued or busy.waiting else max(state.held - 1, 0)
    state = replace(state, utilization=used, source=source, held=held, backlog=_backlog(machine, state, busy, asked))
    if machine.tuning.follows_latency and busy.latency is not None:
        return _by_latency(machine, state, busy.latency, least)
    targets, loops = machine.targets(state.cost, loads, used), {}
    demands = {site.name: used[site.name] / max(site.ladder.share(state.m(site)), _LEAST) for site in machine.sites}
    if not acts:
        shares = {name: max(0.0, target) / max(used[name], _LEAST) for name, target in targets.items()}
        return replace(state, loops=_loops_at(machine, shares, least))
    has_backlog = state.backlog > 0 and not busy.waiting
    lowest, highest = 0.0 if has_backlog else -math.inf, 0.0 if held else math.inf
    for site in machine.sites:
        gain = _gain(machine, state, site, used, targets[site.name])
        before = observed(state.loops[site.name], demands[site.name], total >= _SATURATED or has_backlog)
        ends = (least[site.name], site.ladder.most)
        gap = min(max(targets[site.name] - used[site.name], lowest), highest)
        loop, error = _advanced(machine, before, gap, gain, ends, site.ladder.share(before.m))
        demand = sum(demands[peer.name] for peer in machine.sites if rank(peer) == rank(site))
        m = _limited_by_curve(site.ladder, before.m, loop.m, error / max(demand, _LEAST))
        loops[site.name] = replace(loop, m=max(min(m, before.m) if held else m, least[site.name]))
    loops, saturated = _relieved(machine, state, busy, asked, loops)
    gain = sum(site.ladder.gain(state.m(site), max(used[site.name], _LEAST)) for site in machine.sites)
    loop = observed(state.whole, sum(demands.values()), total >= _SATURATED or has_backlog)
    share = total / max(sum(demands.values()), _LEAST)
    gap = min(max(machine.tuning.bound - total, lowest), highest)
    whole, _ = _advanced(machine, loop, gap, gain, (0, machine.most), share)
    whole = replace(whole, m=min(whole.m, loop.m)) if held else whole
    return replace(state, loops=loops, whole=whole, saturated=saturated)


# A server that gets no CPU because others of its host have it uses little, which looks like room, and its requests
# wait. While they are seen to, and for some samples after, m does not rise. Then it catches up, and is full: by its
# backlog, and not by a crowd. So m does not fall by it either, until the server has time again, or more is asked of it
# than that.
_HELD = 3
_STOLEN = 0.1  # a lesser share is what chance does to the measurement
_BACKLOG_MOST = 5.0  # seconds


def _backlog(machine: Machine, state: MachineState, busy: Busy, asked: float) -> float:
    """Return the work that waits since others had the CPU: what came meanwhile, at the bound.

    Nothing waits so for a server above the bound: its m has to fall, whatever else it waits for.
    """
    tuning, share = machine.tuning, busy.share or 0.0
    backlog, is_robbed = 0.0, busy.stolen > _STOLEN
    if is_robbed and share < tuning.bound:
        backlog = min(state.backlog + tuning.bound * busy.stolen * tuning.period, _BACKLOG_MOST)
    elif share >= (tuning.bound if is_robbed else _STILL_SATURATED):
        backlog = max(state.backlog - (share - tuning.bound) * tuning.period, 0.0)
    work = _work(machine.sites[0], state, busy.queue) * machine.sites[0].ladder.share(state.m(machine.sites[0]))
    return 0.0 if work > tuning.period + 2 * backlog or asked > _MUCH or state.starved >= _LONG else backlog


# Other work that comes and goes gives the server its CPU back in seconds. Where it has too little for longer, what it
# gets is all that it has: U is then the share of the time in which it has work, and cheaper pages serve more people.
_LONG = 20  # samples


def _starved(machine: Machine, state: MachineState, busy: Busy) -> int:
    """Return for how many samples the server has had work all the time, and not its CPU.

    Once they are ``_LONG``, it need not be all the time: m has been lowered until it is not. A server that has done
    nothing meanwhile has had none of its CPU where requests wait; where they do not, that tells nothing.
    """
    share, least = busy.share or 0.0, 0.0 if state.starved >= _LONG else _STILL_SATURATED
    is_still = share + busy.stolen < _STOLEN
    is_starved = busy.queued if is_still else busy.stolen > _STOLEN and share + busy.stolen >= least
    if is_starved and share < machine.tuning.bound:
        return min(state.starved + 1, 2 * _LONG)
    return state.starved if is_still else max(state.starved - 1, 0)


# Above this share the server is full, and nobody knows how much more is asked of it: an error that ends there would
# move m for ten seconds after a step to four times. So what is served costs at most a half once it is seen all at once,
# and everybody gets the lowest level then: pages that were sent with all their objects are what a crowd waits for.
# Where neither the log nor the door shows a crowd, the server is full by a little, or catches up with what it could not
# do while others had its CPU: then it is halved from sample to sample, and no look between them counts. A
# sample that ends between two periods of a quota shows less than what was used: 5 of 6. What waits at the door tells
# at once what the share cannot: no level is right at which the views to come are much of a period's work.
# A full server tells nothing of what varies, and after some samples chance is no explanation, whatever has varied.
_SATURATED, _STILL_SATURATED, _STILL_FULL = 0.95, 0.85, 0.7  # the last one of a part of a sample
_LASTING = 3  # samples
GROWTH = 0.75  # seconds over which pages that are asked for are counted: what came in one moment is gone in the next
_CROWD = 20  # views: at the bound so many wait in one of 50,000 moments (M/G/1-PS)
_MUCH = 1.5  # times what the server can do


def is_suddenly_full(
    machine: Machine, state: MachineState, share: float, elapsed: float, queue: float = 0.0, growth: float = 0.0
) -> bool:
    """Whether a share over some seconds of a period, and the views that wait, are of a server full not by chance.

    ``growth`` is how many times as many pages as usual were asked for: a full server's share says nothing of it.
    """
    site = machine.sites[0]
    work, tuning = _work(site, state, queue) * site.ladder.share(state.m(site)), machine.tuning
    if (share > tuning.bound or state.backlog) and queue >= _CROWD and work > tuning.period + 2 * state.backlog:
        return True
    if share < (_STILL_FULL if state.saturated else _SATURATED):
        return False
    loop, asked = state.loops[site.name], growth * _usual(state)
    if not _is_crowd(queue, asked) or (state.backlog and asked <= _MUCH):
        return False
    if state.saturated or loop.samples < FEW:  # nobody knows yet what chance explains
        return state.saturated > 0
    if asked > share:
        share, elapsed = asked, GROWTH
    noise = loop.noise * site.ladder.share(state.m(site)) * machine.tuning.period / elapsed
    return share - machine.tuning.bound > SIGMAS * math.sqrt(noise * machine.tuning.bound)


def _usual(state: MachineState) -> float:
    return state.lessons.smooth[-1] if state.lessons.smooth else 0.0


def _is_crowd(queue: float, asked: float) -> bool:
    """Whether much more is asked of a full server than it can do; it is taken to be where the log does not tell."""
    return queue >= _CROWD or not asked or asked > _MUCH


def _relieved(
    machine: Machine, state: MachineState, busy: Busy, asked: float, loops: dict[str, Loop]
) -> tuple[dict[str, Loop], int]:
    """Return the loops of a server that may be full, and for how many samples in a row it has been."""
    limit = _STILL_SATURATED if state.saturated else _SATURATED
    are_equal = len({rank(site) for site in machine.sites}) == 1 and machine.sites[0].guarantee is None
    is_alone = len(machine.sites) == 1 or are_equal
    is_full = is_alone and busy.is_own and not state.backlog and (busy.is_full or (busy.share or 0.0) >= limit)
    full = machine.tuning.bound - _SATURATED  # the error of a full server
    is_lasting = all(len(each.errors) >= _LASTING and max(each.errors[-_LASTING:]) <= full for each in loops.values())
    is_explained = not busy.is_full and not state.saturated and all(loop.errors for loop in loops.values())
    saturated = state.saturated + 1 if is_full and not is_explained else 2 * (is_full and is_lasting)
    certainty = saturated + (busy.is_full and saturated > 0)
    if certainty > 1:
        is_certain = certainty > 2 and _is_crowd(busy.queue, asked)
        work = max(_work(site, state, busy.queue) for site in machine.sites) / machine.tuning.period
        before = state.loops
        loops = {site.name: _cut(site, before[site.name], loops[site.name], is_certain, work) for site in machine.sites}
    return loops, saturated


def _work(site: Site, state: MachineState, queue: float) -> float:
    """Return the seconds that so many views of the full site take."""
    return queue * site.ladder.rungs[-1].cost_of(state.cost) if site.ladder.rungs else 0.0


def _cut(site: Site, before: Loop, after: Loop, is_certain: bool, work: float) -> Loop:
    """Return the loop with what a full server gets; whether anybody is rejected is left to the error."""
    share = 0.0 if is_certain else site.ladder.share(before.m) / 2
    m = max(site.ladder.m_of(min(share, 1 / work) if work else share), 1.0)
    return replace(after, m=min(after.m, m), errors=())


# Levels that differ by less than this share of the full cost: m rises over them at once. The controller's steps are
# those of a difference of at least .05: by them visitors had text for half a minute where the next level cost the same.
_EQUAL = 0.01


def _limited_by_curve(ladder: Ladder, before: float, after: float, error: float) -> float:
    """Return m no farther than where the costs of levels say that an error, a share of the full cost, is gone.

    Where two levels cost nearly the same, a straight line through them would go through all levels below.
    """
    end, equal = (ladder.m_of(ladder.share(before) + gap) for gap in (error, min(error, _EQUAL)))
    if after < before:
        return max(after, min(end, before))
    return min(max(after, min(equal, before + 1)), max(end, before))


# A load that is hardly there has hardly a gain, and would ask for a controller of boundless gains.
_LEAST = 0.01


def _busy(machine: Machine, state: MachineState, loads: Mapping[str, Load], busy: Busy) -> tuple[float, str]:
    """Return U of the machine and by what it is known: the server's own share, then waiting, then the model.

    The share of a host is no less than that of the server, so that the model cannot be right above it.
    """
    model = sum(load.utilization(state.cost) for load in loads.values())
    total, source = model, "model"
    if busy.share is not None and busy.is_own:
        total, source = busy.share, "server"
    elif busy.share is not None and busy.share < model:
        total, source = busy.share, "host"
    if state.starved >= _LONG:
        total, source = total + busy.stolen, "pending work"
    strained = machine.tuning.bound + machine.tuning.slack
    return (strained, busy.waiting) if busy.waiting and total < strained else (total, source)


# The time of a file is max(a + bx, b'x) (section 7.2): what the server uses of its line counts where that is more than
# what it uses of its CPUs, and then levels are worth their kB alone. A rejection is an answer of so many kB.
_REJECTION = 0.5


def _line(machine: Machine, loads: Mapping[str, Load]) -> float:
    line = machine.tuning.line
    return sum(load.kilobytes for load in loads.values()) / line if line else 0.0


def _cost_of_line(machine: Machine) -> Cost:
    kilobyte = 1 / (machine.tuning.line or 1.0)
    return Cost(_REJECTION * kilobyte, kilobyte, _REJECTION * kilobyte)


def _divided(total: float, model: Mapping[str, float]) -> dict[str, float]:
    """Divide what was measured among the sites, as the model does; equally where it knows of no load."""
    expected = sum(model.values())
    if expected <= 0:
        return dict.fromkeys(model, total / len(model))
    return {name: total * used / expected for name, used in model.items()}


def _least(machine: Machine, site: Site, total: float, busy: Busy) -> float:
    """Return the least m of a site: at 1 nobody is rejected."""
    tuning = machine.tuning
    measured = total if busy.share is None else busy.share
    if not site.rejects or site.ladder.least or measured < tuning.bound - tuning.slack:
        return 1.0
    return 1.0 - tuning.reject_most


def _loops_at(machine: Machine, shares: Mapping[str, float], least: Mapping[str, float]) -> dict[str, Loop]:
    """Return loops with the m at which each site costs its share of the full site."""
    ms = {site.name: max(site.ladder.m_of(shares[site.name]), least[site.name]) for site in machine.sites}
    return {site.name: Loop(min(ms[site.name], float(site.ladder.most))) for site in machine.sites}


_GROWTH = 0.05


def _by_latency(machine: Machine, state: MachineState, latency: float, least: Mapping[str, float]) -> MachineState:
    gradient, factor = state.gradient.after(latency, machine.tuning.tolerance)
    growth = _GROWTH if factor == 1.0 and not state.held else 0.0
    shares = {site.name: site.ladder.share(state.loops[site.name].m) * factor + growth for site in machine.sites}
    return replace(state, loops=_loops_at(machine, shares, least), gradient=gradient)


def _gain(machine: Machine, state: MachineState, site: Site, used: Mapping[str, float], target: float) -> float:
    """Return the gain of a site's plant. Loops that share one error, those of a priority, share one gain too."""
    if site.guarantee is not None:
        return site.ladder.gain(state.m(site), max(used[site.name], target, _LEAST))
    equals = [peer for peer in machine.sites if rank(peer) == rank(site)]
    return sum(peer.ladder.gain(state.m(peer), max(used[peer.name], _LEAST)) for peer in equals)


def _learnt(machine: Machine, state: MachineState, loads: Mapping[str, Load], busy: Busy) -> MachineState:
    if busy.share is None:
        return state
    requests, rejected, kilobytes = (
        sum(getattr(load, name) for load in loads.values()) for name in ("requests", "rejected", "kilobytes")
    )
    if requests <= 0:
        return state
    lessons = state.lessons.after(Load(requests, rejected, kilobytes), busy.share, machine.tuning.forgetting)
    cost = lessons.cost if machine.tuning.learns else state.cost
    return replace(state, lessons=lessons, cost=cost)


def _advanced(
    machine: Machine, loop: Loop, error: float, gain: float, ends: tuple[float, int], share: float
) -> tuple[Loop, float]:
    """Return the loop after a sample, and the error by which it has moved, 0 where chance explains the error."""
    gains = tuned(machine.tuning.period, machine.tuning.margin, gain)
    least, most = ends
    loop, found = unexplained(loop, error, machine.tuning.bound, share)
    if not found:
        return replace(loop, m=min(max(loop.m, least), float(most))), 0.0
    return replace(advance(replace(loop, error=found), found, gains, float(most), least), error=error), found
