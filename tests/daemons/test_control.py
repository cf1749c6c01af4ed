"""The controller: the paper's numbers, and what it does to simulated servers."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from adaptc.daemons.control.bucket_ladder import Ladder, bucket_levels, ladder_from
from adaptc.daemons.control.control_loop import Gains, Loop, advance, tuned
from adaptc.daemons.control.machine import (
    Busy,
    Lessons,
    Load,
    Machine,
    MachineState,
    Site,
    Tuning,
    is_suddenly_full,
    step,
)
from adaptc.serve.capacity.rungs import Rung
from adaptc.serve.capacity.utilization import CapacityExceeded, Cost, Estimator, Guarantee, learn

# ---- recursive least squares

SAMPLES = [(0.1, 1, 0.116), (0.2, 1, 0.199), (0.1, 4, 0.215), (0.3, 2, 0.315), (0.2, 6, 0.364)]
ESTIMATES = [
    (0.011474, 0.114738),
    (0.693005, 0.053523),
    (0.805467, 0.033952),
    (0.818838, 0.033658),
    (0.820046, 0.033428),
]


def test_the_estimator() -> None:
    found = Estimator()
    for sample, (a, b) in zip(SAMPLES, ESTIMATES, strict=True):
        found = learn(found, *sample)
        assert (round(found.a, 6), round(found.b, 6)) == (a, b)


def test_the_estimator_that_forgets() -> None:
    found = Estimator()
    for sample in SAMPLES:
        found = learn(found, *sample, forgetting=0.98)
    assert (round(found.a, 6), round(found.b, 6)) == (0.820676, 0.033400)


def test_one_page_size_does_not_tell_a_from_b() -> None:
    found = Estimator()
    for number in range(1, 40):
        found = learn(found, 0.01 * number, 0.08 * number, 0.011 * number)
    assert found.condition > 1e6
    assert not found.is_telling


def test_several_page_sizes_do() -> None:
    found = Estimator()
    assert found.condition == math.inf
    for number in range(40):
        requests, kilobytes = 0.1 + 0.01 * (number % 5), 1 + number % 7
        found = learn(found, requests, kilobytes, 0.83 * requests + 0.033 * kilobytes)
    assert found.is_telling
    assert (found.a, found.b) == (pytest.approx(0.83, rel=1e-2), pytest.approx(0.033, rel=1e-2))


# ---- the controller


@pytest.mark.parametrize(
    ("period", "margin", "gain", "proportional", "integral"),
    [(1, 4, 1, 0.216506, 3.022999), (1, 10, 1, 0.086603, 3.022999), (2, 4, 0.5, 0.433013, 1.511499)],
)
def test_gains(period: float, margin: float, gain: float, proportional: float, integral: float) -> None:
    found = tuned(period, margin, gain)
    assert (round(found.proportional, 6), round(found.integral, 6)) == (proportional, integral)


def test_the_gains_solve_the_equations_of_the_paper() -> None:
    period, margin, gain = 1.5, 4, 0.8
    found = tuned(period, margin, gain)
    omega = 5 * math.pi / (3 * period)
    assert gain * found.proportional * math.hypot(1, found.integral / omega) == pytest.approx(1 / margin)
    assert omega * period / 2 + math.atan(found.integral / omega) == pytest.approx(math.pi)
    assert math.atan(found.integral / omega) == pytest.approx(math.pi / 6)


def true_margin(c0: float, c1: float) -> float:
    """The factor at which z^2 + (k c0 - 1) z - k c1 leaves the unit circle (Jury): p = 1 and a sample of delay."""
    margins = [1 / abs(c1)]
    if c0 + c1 > 0:
        margins.append(2 / (c0 + c1))
    return min(margins)


def test_the_true_gain_margin_of_tustins_rule_is_the_best() -> None:
    gains = tuned(1, 4, 1)
    k, i = gains.proportional, gains.integral
    assert round(true_margin(gains.now, gains.before), 2) == 4.62
    assert round(true_margin(k * (1 + i), k), 2) == 1.84
    assert round(true_margin(k, k * (1 - i)), 2) == 2.28


def test_a_step_response() -> None:
    gains, loop = tuned(1, 4, 1.17), Loop(1.0)
    used, ms = [], []
    for _ in range(8):
        used.append(0.33 + 1.17 * loop.m)
        loop = advance(loop, 0.57 - used[-1], gains, 1.0)
        ms.append(loop.m)
    assert [round(one, 4) for one in used] == [1.5, 0.8913, 0.6136, 0.5543, 0.5580, 0.5663, 0.5696, 0.5702]
    assert [round(one, 4) for one in ms] == [0.4798, 0.2424, 0.1917, 0.1949, 0.2019, 0.2048, 0.2053, 0.2053]


def test_a_sample_without_load_does_not_open_an_overloaded_server() -> None:
    gains = tuned(1, 4, 0.01)  # the gain of a plant that hardly does anything
    loop = advance(Loop(0.06, -0.1), 0.6, gains, 4.0)
    assert loop.m == pytest.approx(0.56)
    assert advance(loop, -0.4, gains, 4.0).m == 0.0  # a fall is not bounded


def test_m_is_clipped_and_comes_back_at_once() -> None:
    gains, loop = Gains(0.2, 3.0, 1.0), Loop(1.0)
    for _ in range(50):
        loop = advance(loop, 0.5, gains, 1.0)
    assert loop.m == 1.0
    assert advance(loop, -0.2, gains, 1.0).m < 1.0


def test_gains_that_are_none() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        tuned(1, 4, 0)


# ---- ladder and buckets


def test_the_ladder_of_a_build() -> None:
    rungs = [Rung("full", 60, 300), Rung("odd", 60, 900), Rung("moderate", 30, 200), Rung("extreme", 3, 60)]
    found = ladder_from(rungs, Cost())
    assert found.names == ("extreme", "moderate", "full")
    assert found.costs[-1] == 1
    assert found.costs[0] == pytest.approx(0.55 / 59.7)
    assert [found.level(index) for index in range(4)] == ["0", "extreme", "moderate", "full"]


def test_the_gain_with_rejection_alone_is_that_of_the_paper() -> None:
    # p_max = (U - cR) / f, with cR/U_accept = 0.3
    ladder = Ladder(("full",), (0.3, 1.0))
    f, accept = 0.4, 1.5
    used = accept * f + 0.3 * accept * (1 - f)
    assert ladder.gain(f, used) == pytest.approx((used - 0.3 * accept) / f)


def test_buckets_share_the_clients_in_proportion() -> None:
    assert bucket_levels(2.25, 3).count(3) == 64
    assert bucket_levels(2.25, 3).count(2) == 192
    assert set(bucket_levels(3, 3)) == {3}
    assert set(bucket_levels(0, 3)) == {0}


def test_no_client_is_moved_twice_while_m_falls_by_one() -> None:
    ms = [3 - number / 97 for number in range(3 * 97 + 1)]
    maps = [bucket_levels(m, 3) for m in ms]
    for before, after in pairwise(maps):
        assert all(one >= other for one, other in zip(before, after, strict=True))
    for first, later in zip(maps, maps[97:], strict=False):
        assert all(one - other in (0, 1) for one, other in zip(first, later, strict=True))


# ---- simulated servers

COST = Cost(0.001604, 0.000063, 0.0011)  # section 7 there: seconds a request, a kB, a rejection


@dataclass
class Offered:
    """Requests a second to a site, and kB a request at each level; level 0 is a rejection."""

    requests: float
    kilobytes: tuple[float, ...]

    def load(self, m: float) -> Load:
        levels = bucket_levels(m, len(self.kilobytes))
        share = [levels.count(level) / len(levels) for level in range(len(self.kilobytes) + 1)]
        sent = sum(part * size for part, size in zip(share[1:], self.kilobytes, strict=True))
        return Load(self.requests, self.requests * share[0], self.requests * sent)


def ladder(kilobytes: tuple[float, ...]) -> Ladder:
    rungs = [Rung(f"level{number}", 1, size) for number, size in reversed(list(enumerate(kilobytes, 1)))]
    return ladder_from(rungs, COST)


def simulate(
    machine: Machine, offered: Callable[[int], Mapping[str, Offered]], samples: int
) -> list[tuple[MachineState, dict[str, Load]]]:
    state, found = machine.start(), []
    for number in range(samples):
        loads = {site.name: offered(number)[site.name].load(state.m(site)) for site in machine.sites}
        state = step(machine, state, loads)
        found.append((state, loads))
    return found


def total(state: MachineState) -> float:
    assert state.utilization is not None
    return sum(state.utilization.values())


FIXED = Tuning(learns=False)


@pytest.mark.parametrize("kilobytes", [(64.0,), (8.0, 64.0), (2.0, 16.0, 64.0)])
@pytest.mark.parametrize("requests", [150, 200, 400])
def test_utilization_settles_at_the_bound(kilobytes: tuple[float, ...], requests: float) -> None:
    machine = Machine((Site("one", ladder(kilobytes)),), COST, FIXED)
    lowest = COST.rejection * requests
    found = [total(state) for state, _ in simulate(machine, lambda _: {"one": Offered(requests, kilobytes)}, 30)]
    wanted = max(0.58, lowest)
    assert all(abs(one - wanted) <= 0.02 for one in found[10:])


def test_utilization_settles_within_six_samples_of_a_step() -> None:
    kilobytes = (8.0, 64.0)
    machine = Machine((Site("one", ladder(kilobytes)),), COST, FIXED)
    offered = lambda number: {"one": Offered(200 if number >= 20 else 50, kilobytes)}  # noqa: E731
    found = [total(state) for state, _ in simulate(machine, offered, 60)]
    assert max(found[:20]) < 0.58
    assert all(abs(one - 0.58) <= 0.02 for one in found[26:])


def test_an_easy_load_gets_the_full_site() -> None:
    machine = Machine((Site("one", ladder((8.0, 64.0))),), COST, FIXED)
    found = simulate(machine, lambda _: {"one": Offered(20, (8.0, 64.0))}, 20)
    assert all(state.m(machine.sites[0]) == 2 for state, _ in found)


# 7.6: two guaranteed sites and a background of 300 requests a second for 32 kB, all degraded to 4 kB or rejected
PAGES = (4.0, 32.0)
GUARANTEED = (
    Site("V1", ladder(PAGES), Guarantee(50, 13 * 125)),
    Site("V2", ladder(PAGES), Guarantee(100, 27 * 125)),
)
BACKGROUND = Site("rest", ladder(PAGES), priority=2)


def test_isolation_as_in_figure_12() -> None:
    machine = Machine((*GUARANTEED, BACKGROUND), COST, FIXED)
    offered = lambda number: {  # noqa: E731
        "V1": Offered(50, PAGES),
        "V2": Offered(min(100.0, number), PAGES),
        "rest": Offered(300, PAGES),
    }
    for number, (_, loads) in enumerate(simulate(machine, offered, 150)):
        if number > 10:
            assert loads["V1"].kilobytes >= 0.95 * 50 * 32
            assert loads["V2"].kilobytes >= 0.95 * min(100, number) * 32


def test_differentiation_basic_clients_are_degraded_first() -> None:
    sites = (Site("premium", ladder(PAGES), priority=1), Site("basic", ladder(PAGES), priority=2))
    machine = Machine(sites, COST, FIXED)
    offered = lambda number: {"premium": Offered(float(number), PAGES), "basic": Offered(100, PAGES)}  # noqa: E731
    found = simulate(machine, offered, 160)
    for number, (state, loads) in enumerate(found):
        if 10 < number <= 120:  # beyond, premium clients and rejecting the basic ones take more than there is
            assert loads["premium"].kilobytes >= 0.85 * number * 32
        if number > 10:
            assert abs(total(state) - 0.58) <= 0.03 or state.m(sites[1]) in (0, 2)
    assert found[150][1]["basic"].rejected > 50


def excess(background: float) -> tuple[float, float]:
    """kB a second of a site that is asked for far more than it is promised, beside others: 7.8."""
    site = Site("V1", ladder(PAGES), Guarantee(50, 13 * 125))
    machine = Machine((site, Site("V2", ladder(PAGES), Guarantee(50, 13 * 125)), BACKGROUND), COST, FIXED)
    asked = {"V1": Offered(120, PAGES), "V2": Offered(50, PAGES), "rest": Offered(background, PAGES)}
    *_, (_, loads) = simulate(machine, lambda _: asked, 200)
    return loads["V1"].kilobytes, loads["V2"].kilobytes


def test_excess_capacity_is_shared_as_in_figure_15_and_policed_as_in_figure_16() -> None:
    alone, other = excess(0)
    policed, still = excess(300)
    assert alone > 1.5 * 13 * 125  # nobody else needs it
    assert policed <= 13 * 125
    assert min(other, still) >= 0.95 * 50 * 32  # the neighbour does not notice


def test_guarantees_beyond_the_bound_are_refused() -> None:
    sites = (Site("V1", ladder(PAGES), Guarantee(100, 13 * 125)), Site("V2", ladder(PAGES), Guarantee(100, 27 * 125)))
    with pytest.raises(CapacityExceeded, match=r"0\.6358"):
        Machine(sites, COST).check()
    Machine(sites, COST, Tuning(throughput_only=True)).check()


def test_guarantees_that_todays_costs_do_not_allow_are_cut_in_proportion() -> None:
    loads = {"V1": Load(0, 0, 0), "V2": Load(0, 0, 0)}
    found = Machine(GUARANTEED, COST, FIXED).targets(
        Cost(COST.request * 2, COST.kilobyte * 2, COST.rejection), loads, dict.fromkeys(loads, 0.0)
    )
    assert sum(found.values()) == pytest.approx(0.58)


def test_the_costs_are_learnt_while_it_controls() -> None:
    true, kilobytes = Cost(0.002, 0.0001, 0.0011), (8.0, 64.0)
    machine = Machine((Site("one", ladder(kilobytes)),), COST, Tuning())
    state = machine.start()
    for number in range(120):
        offered = Offered(60 + 20 * (number // 6 % 4), kilobytes)
        load = offered.load(state.m(machine.sites[0]))
        state = step(machine, state, {"one": load}, Busy(load.utilization(true), is_own=True))
    assert (state.cost.request, state.cost.kilobyte) == (
        pytest.approx(0.002, rel=0.02),
        pytest.approx(0.0001, rel=0.02),
    )


# ---- a server that is full, and rejections that nobody has measured


# shares of the levels of a real site: a rejection, text, extreme, moderate, lossless and the full site
NEWSROOM = Ladder(("text", "extreme", "moderate", "lossless", "full"), (0.144, 0.17, 0.28, 0.40, 0.95, 1.0))
LEVELS_OF_A_SITE = [Rung("full", 22, 300), Rung("lossless", 14, 120), Rung("moderate", 7, 60), Rung("text", 1.25, 3)]


def test_a_server_that_is_full_gets_the_lowest_level_within_three_samples() -> None:
    site = Site("site", ladder_from(LEVELS_OF_A_SITE, COST))
    machine = Machine((site,), COST, FIXED)
    state, load = machine.start(), {"site": Load(500, 0, 5000)}
    found = []
    for share in (0.97, 0.89, 0.97):  # the second one ended between two periods of the quota
        state = step(machine, state, load, Busy(share, is_own=True))
        found.append(state.m(site))
    assert found[0] > found[1] > found[2]
    assert found[2] <= 1


@pytest.mark.parametrize("parts", [(0.5, 0.5), (0.9, 0.1), (0.2,) * 5])
def test_a_crowd_on_several_sites_of_one_priority_is_met_as_soon(parts: tuple[float, ...]) -> None:
    chance, sites = random.Random(1), tuple(Site(f"site{n}", NEWSROOM) for n in range(len(parts)))
    machine = Machine(sites, COST, FIXED)
    state = machine.start()
    for second in range(63):
        offered = (0.3 if second < 60 else 4.0) * chance.uniform(0.8, 1.2)
        used = [offered * part * site.ladder.share(state.m(site)) for part, site in zip(parts, sites, strict=True)]
        total = sum(used)
        served = [share / max(total, 1.0) for share in used]
        loads = {site.name: Load(300 * share, 0, 2000 * share) for site, share in zip(sites, served, strict=True)}
        assert second >= 60 or all(state.m(site) > 4 for site in sites)
        state = step(machine, state, loads, Busy(min(1.0, total), is_own=True))
    assert {state.m(site) for site in sites} == {1.0}


@pytest.mark.parametrize("load", [1.2, 4.0])
def test_a_crowd_that_comes_while_the_daemon_starts_is_met(load: float) -> None:
    """The way up looks like chance: by it a server that was full stayed so for minutes, and nothing more was learnt."""
    chance, site = random.Random(1), Site("site", ladder_from(LEVELS_OF_A_SITE, COST))
    machine, asked = Machine((site,), COST, FIXED), {"site": Load(500, 0, 5000)}
    for _ in range(100):
        top = chance.uniform(0.2, 0.9)
        state = machine.start()
        for share in sorted(chance.uniform(0, top) ** chance.choice((1, 2, 3)) for _ in range(chance.randint(0, 9))):
            state = step(machine, state, {"site": Load(1000 * share, 0, 3000 * share)}, Busy(share, is_own=True))
        for _ in range(4):
            share = min(1.0, load * site.ladder.share(state.m(site)))
            is_full = is_suddenly_full(machine, state, share, 0.25)
            state = step(machine, state, asked, Busy(share, is_own=True, is_full=is_full))
        assert load * site.ladder.share(state.m(site)) < 0.7


def test_a_single_full_sample_costs_no_more_than_a_half() -> None:
    site = Site("site", ladder_from(LEVELS_OF_A_SITE, COST))
    machine = Machine((site,), COST, FIXED)
    state = step(machine, machine.start(), {"site": Load(500, 0, 5000)}, Busy(0.97, is_own=True))
    assert 0.5 <= site.ladder.share(state.m(site)) < 1
    assert step(machine, state, {"site": Load(500, 0, 5000)}, Busy(0.6, is_own=True)).saturated == 0


def constant_load(load: float, views: float, seconds: int = 600, seed: int = 1) -> list[tuple[float, float]]:
    """m and the measured share of each second at ``load`` times what the full site carries, ``views`` a second at 1.

    Visitors come at random (Poisson), each of 200 addresses, to pages of several sizes; measuring has a noise of 10 %,
    and in one of fifty samples the server has had less of its CPU than it wanted.
    """
    chance, site = random.Random(seed), Site("site", NEWSROOM)
    machine = Machine((site,), COST, FIXED)
    state, found = machine.start(), []
    buckets = [chance.randrange(256) for _ in range(200)]
    for _ in range(seconds):
        m = state.m(site)
        levels = bucket_levels(m, NEWSROOM.most)
        visitors = max(0, round(chance.gauss(load * views, math.sqrt(load * views))))
        sizes = (chance.choice((0.5, 0.8, 1.0, 1.3, 1.4)) for _ in range(visitors))
        wanted = sum(size * NEWSROOM.costs[levels[chance.choice(buckets)]] for size in sizes) / views
        share = wanted * (1 + chance.gauss(0, 0.1)) * (chance.uniform(0.3, 1) if chance.random() < 0.02 else 1)
        state = step(machine, state, {"site": Load(6.0 * visitors, 0, 30.0 * visitors)}, Busy(min(1.0, share), True))
        found.append((m, wanted))
    return found


def test_what_waits_at_the_door_decides_the_level_at_once() -> None:
    site = Site("site", ladder_from(LEVELS_OF_A_SITE, COST))  # a view of the full site takes 54 ms, one of text 2
    machine, load = Machine((site,), COST, FIXED), {"site": Load(100, 0, 1500)}
    start = machine.start()
    found = []
    for queue in (10, 40, 400):
        is_full = is_suddenly_full(machine, start, 0.8, 0.25, queue)
        state = step(machine, start, load, Busy(0.5, is_own=True, is_full=is_full, queue=queue))
        found.append(state.m(site))
    assert found[0] == site.ladder.most  # half a second's work is no crowd
    assert site.ladder.share(found[1]) * 40 * LEVELS_OF_A_SITE[0].cost_of(COST) <= 1.001
    assert found[0] > found[1] > found[2] >= 1
    assert found[2] < 1.1
    assert not is_suddenly_full(machine, start, 0.5, 0.25, 400)  # the server is not busy: nothing waits for it


def test_m_rises_at_once_over_levels_that_cost_the_same() -> None:
    rungs = [Rung("full", 22, 300), Rung("moderate", 7, 60), Rung("extreme", 1.25, 4), Rung("text", 1.25, 3)]
    site = Site("site", ladder_from(rungs, COST))
    machine = Machine((site,), COST, FIXED)
    state = replace(machine.start(), loops={"site": Loop(1.0)})
    found = []
    for _ in range(3):
        state = step(machine, state, {"site": Load(100, 0, 300)}, Busy(0.4, is_own=True))
        found.append(state.m(site))
    assert found[0] == 1  # one sample alone
    assert found[1] >= 2
    assert found[2] < 3


@pytest.mark.parametrize("views", [20, 60])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.55, 0.6, 0.65, 0.8, 1.0, 1.5, 2.0, 3.0])
def test_m_stays_within_one_level_at_constant_load_for_ten_minutes(load: float, views: float) -> None:
    found = constant_load(load, views)[30:]
    ms = [m for m, _ in found]
    assert max(ms) - min(ms) <= 1
    assert statistics.mean(used for _, used in found) == pytest.approx(min(load, 0.58), abs=0.05)


PART = 0.25  # seconds between two looks at the server
PATIENCE = 8.0  # seconds after which a visitor gives up


@dataclass
class Neighboured:
    """A server with one CPU that gets a part of it while other work of its host runs; what it cannot do waits.

    ``found`` are m of each second, ``served`` how many views were answered in it. The log tells of pages that were
    sent, and not of those that wait.
    """

    seed: int = 1
    state: MachineState = field(init=False)
    found: list[float] = field(default_factory=list)
    served: list[int] = field(default_factory=list)
    clock: float = 0.0

    def __post_init__(self) -> None:
        self.cost = Cost(COST.request / 3, COST.kilobyte / 3, COST.rejection / 3)
        self.site = Site("site", ladder_from(LEVELS_OF_A_SITE, self.cost))
        self.machine = Machine((self.site,), self.cost, FIXED)
        self.state = self.machine.start()
        self.prices = [rung.cost_of(self.cost) for rung in self.site.ladder.rungs]
        self.chance, self.waiting, self.recent = random.Random(self.seed), list[list[float]](), [0, 0, 0]
        self.usual, self.until, self.part = 0.0, 0.0, 1.0
        self.buckets = [self.chance.randrange(256) for _ in range(200)]

    def second(self, load: float, part: Callable[[], float]) -> None:
        """Let visitors come at ``load`` times what the full site carries; ``part`` of its CPU is the server's."""
        used = pending = elapsed = 0.0
        pages = 0
        self.served.append(0)
        for _ in range(round(1 / PART)):
            self.clock += PART
            self.arrive(load)
            share, done = self.work(PART * part())
            self.served[-1] += done
            used, pages, elapsed = used + share * PART, pages + done, elapsed + PART
            pending += PART if self.waiting else share * PART
            self.recent = [*self.recent[1:], done]
            growth = sum(self.recent) / (3 * PART) / self.usual if self.usual else 0.0
            queue = len(self.waiting) if share > FIXED.bound or self.state.backlog else 0
            is_full = is_suddenly_full(self.machine, self.state, share, PART, queue, growth)
            if elapsed < 1 and not is_full:
                continue
            self.usual += 0.2 * (pages / elapsed - self.usual) if self.usual else pages / elapsed
            stolen = max(0.0, pending - used) / elapsed
            busy = Busy(min(1.0, used / elapsed), True, "", None, pending / elapsed > FIXED.bound, is_full, queue,
                        growth, stolen)  # fmt: skip
            self.state = step(self.machine, self.state, {"site": Load(6 * pages / elapsed, 0, 50 * pages)}, busy)
            used = pending = elapsed = 0.0
            pages = 0
        self.found.append(self.state.m(self.site))

    def arrive(self, load: float) -> None:
        mean, levels = load / self.prices[-1] * PART, bucket_levels(self.state.m(self.site), self.site.ladder.most)
        for _ in range(max(0, round(self.chance.gauss(mean, math.sqrt(mean))))):
            price = self.prices[max(levels[self.chance.choice(self.buckets)], 1) - 1]
            self.waiting.append([price * self.chance.choice((0.5, 0.8, 1.0, 1.3, 1.4)), self.clock])
        self.waiting = [view for view in self.waiting if view[1] > self.clock - PATIENCE]

    def work(self, room: float) -> tuple[float, int]:
        used, done = 0.0, 0
        while self.waiting and room > used:
            part = min(room - used, self.waiting[0][0])
            used, self.waiting[0][0] = used + part, self.waiting[0][0] - part
            if self.waiting[0][0] <= 1e-12:
                del self.waiting[0]
                done += 1
        return used / PART, done

    def neighbours(self) -> float:
        """Other work has four fifths to a fifth of the CPU for up to four seconds, and then none."""
        self.until -= PART
        if self.until <= 0:
            self.until = self.chance.uniform(0.2, 4)
            self.part = self.chance.uniform(0.2, 0.8) if self.chance.random() < 0.3 else 1.0
        return self.part


@pytest.mark.parametrize("has_neighbours", [True, False])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_neighbours_that_come_and_go_are_no_crowd(load: float, has_neighbours: bool) -> None:
    for seed in range(1, 21):
        server = Neighboured(seed)
        for _ in range(200):
            server.second(load, server.neighbours if has_neighbours else lambda: 1.0)
        found = server.found[30:]
        assert max(found) - min(found) <= 1, seed


@pytest.mark.parametrize("load", [0.8, 1.5])
@pytest.mark.parametrize("part", [0.1, 0.2, 0.5])
def test_where_others_keep_the_cpu_cheaper_pages_serve_more_people(load: float, part: float) -> None:
    for seed in range(1, 6):
        server = Neighboured(seed)
        for seconds, mine in ((60, 1.0), (90, part), (40, 1.0)):
            for _ in range(seconds):
                server.second(load, lambda mine=mine: mine)  # type: ignore[misc]
        before, starved, after = server.found[59], server.found[110:150], server.found[-1]
        assert max(starved) < before
        assert max(starved) - min(starved) < 1.5
        assert statistics.mean(server.served[110:150]) > 0.9 * load / server.prices[-1]  # of all that came
        assert after > before - 0.7


def test_a_server_that_gets_its_cpu_now_and_then_is_kept_from_it() -> None:
    """Threads count how long they waited when they run at last: samples in which nothing ran have no other sign."""
    runs, still = Busy(0.05, True, queued=True, stolen=0.9), Busy(0.0, True, queued=True)
    found = starved(lambda second: still if second % 3 else runs)
    assert all(after <= before for before, after in pairwise(found))
    assert found[20] == found[0]
    assert found[-1] == 1


def test_a_crowd_that_comes_while_others_have_the_cpu_is_met() -> None:
    server = Neighboured()
    for _ in range(60):
        server.second(0.3, lambda: 1.0)
    assert server.found[-1] == server.site.ladder.most
    for _ in range(3):
        server.second(0.3, lambda: 0.2)
    for _ in range(3):
        server.second(20.0, lambda: 0.5)
    assert server.found[-1] <= 1


def test_a_server_above_its_bound_is_relieved_whatever_its_threads_wait_for() -> None:
    site = Site("site", ladder_from(LEVELS_OF_A_SITE, COST))
    machine, load, found = Machine((site,), COST, FIXED), {"site": Load(500, 0, 5000)}, []
    state = machine.start()
    for _ in range(60):
        state = step(machine, state, load, Busy(0.8, is_own=True, growth=1.0, stolen=0.2))
        found.append(state.m(site))
    assert found[5] < site.ladder.most - 0.5
    assert site.ladder.share(found[-1]) < 0.6


def test_a_server_that_is_full_by_a_little_is_halved_and_no_more() -> None:
    site = Site("site", ladder_from(LEVELS_OF_A_SITE, COST))
    machine, load = Machine((site,), COST, FIXED), {"site": Load(500, 0, 5000)}
    ends = {}
    for growth in (1.0, 13.0):
        state = machine.start()
        for _ in range(3):
            state = step(machine, state, load, Busy(0.97, is_own=True, growth=growth))
        ends[growth] = site.ladder.share(state.m(site))
    assert 0.1 < ends[1.0] < 0.6
    assert ends[13.0] == site.ladder.share(1)


def test_a_step_is_met_in_spite_of_noise() -> None:
    before = constant_load(0.3, 60, 60)
    assert {m for m, _ in before} == {5.0}
    site, machine = Site("site", NEWSROOM), Machine((Site("site", NEWSROOM),), COST, FIXED)
    chance, state = random.Random(1), machine.start()
    for _ in range(60):
        state = step(machine, state, {"site": Load(100, 0, 500)}, Busy(0.3 * chance.uniform(0.7, 1.3), True))
    shares = []
    for _ in range(20):
        wanted = 4 * site.ladder.share(state.m(site)) * chance.uniform(0.7, 1.3)
        shares.append(4 * site.ladder.share(state.m(site)))
        state = step(machine, state, {"site": Load(1000, 0, 5000)}, Busy(min(1.0, wanted), True))
    assert all(share <= 0.58 + 0.15 for share in shares[5:])


def starved(busy: Callable[[int], Busy]) -> list[float]:
    """m of each second after other work of the host has taken the CPU from a server under twice its load."""
    chance, site = random.Random(1), Site("site", NEWSROOM)
    machine = Machine((site,), COST, FIXED)
    state, load = machine.start(), {"site": Load(100, 0, 500)}
    for _ in range(60):
        share = 2 * NEWSROOM.share(state.m(site)) * chance.uniform(0.6, 1.4)
        state = step(machine, state, load, Busy(min(1.0, share), True))
    found = [state.m(site)]
    for second in range(60):
        state = step(machine, state, load, busy(second))
        found.append(state.m(site))
    return found


@pytest.mark.parametrize(
    "busy",
    [
        lambda _: Busy(0.1, True, "listen_queue 300", queued=True),
        lambda second: Busy(0.1, True, queued=second % 3 == 0),  # never in two samples in a row
        lambda second: Busy(0.1, True, latency=0.9, queued=second < 60),
    ],
    ids=["queue", "now and then", "status page"],
)
def test_a_server_without_cpu_is_no_room_to_rise_while_requests_wait(busy: Callable[[int], Busy]) -> None:
    found = starved(busy)
    assert found[0] < 3
    assert all(after <= before for before, after in pairwise(found))


@pytest.mark.parametrize(("share", "least"), [(0.3, 1.0), (0.55, 0.5)])
def test_nobody_is_rejected_for_what_waits_while_the_share_is_below_the_bound_by_the_slack(
    share: float, least: float
) -> None:
    site = Site("site", ladder_from(LEVELS_OF_A_SITE[:3], COST))
    machine = Machine((site,), COST, replace(FIXED, reject_most=0.5))
    state = machine.start()
    for _ in range(90):
        state = step(machine, state, {"site": Load(500, 0, 5000)}, Busy(share, True, "listen_queue 300"))
    assert state.m(site) == least


def test_m_rises_once_nothing_waits() -> None:
    found = starved(lambda second: Busy(0.1, True, queued=second < 5))
    assert found[5] <= found[0]
    assert found[30] == NEWSROOM.most


def test_what_is_served_does_not_grow_by_latency_while_requests_wait() -> None:
    site = Site("site", NEWSROOM)
    machine = Machine((site,), COST, Tuning(learns=False, follows_latency=True))
    state, ms = machine.start(), []
    for second in range(40):
        busy = Busy(0.1, True, latency=0.5 if 5 <= second < 8 else 0.01, queued=second < 20)
        state = step(machine, state, {"site": Load(100, 0, 500)}, busy)
        ms.append(state.m(site))
    assert ms[8] == ms[20] < ms[39] == NEWSROOM.most


@pytest.mark.parametrize(("is_measured", "least"), [(True, 0), (False, 1)])
def test_a_rejection_that_nobody_measured_counts_as_a_request_of_the_lowest_level(
    is_measured: bool, least: int
) -> None:
    cost = Cost(0.001, 0.0001, 0.0001, is_rejection_measured=is_measured)
    assert ladder_from(LEVELS_OF_A_SITE, cost).least == least
    assert ladder_from(LEVELS_OF_A_SITE[:3], cost).least == 0  # a page of seven requests is worth it in any case


def test_what_was_learnt_of_rejections_counts() -> None:
    lessons = Lessons(Cost(is_rejection_measured=False))
    assert not lessons.cost.is_rejection_measured
    for _ in range(20):
        lessons = lessons.after(Load(200, 100, 1000), 0.5, 0.98)
    assert lessons.cost.is_rejection_measured


def test_a_line_that_is_full_before_the_cpu_counts() -> None:
    """T(x) = max(a + bx, b'x): a level that saves requests alone saves nothing of the line."""
    rungs = [Rung("full", 22, 300), Rung("bundled", 3, 290), Rung("text", 1.25, 3)]
    site = Site("site", ladder_from(rungs, COST))
    load = {"site": Load(20, 0, 1000)}
    found = {}
    for line in (None, 10_000.0, 1250.0):
        machine = Machine((site,), COST, Tuning(learns=False, line=line))
        found[line] = step(machine, machine.start(), load, Busy(0.2, is_own=True))
    assert (found[10_000.0].source, found[10_000.0].m(site)) == ("server", 3)
    assert found[1250.0].source == "line"
    assert found[1250.0].utilization == {"site": pytest.approx(0.8)}
    assert found[1250.0].m(site) < found[None].m(site) == 3


def test_the_share_of_a_line_settles_at_the_bound() -> None:
    rungs = [Rung("full", 22, 300), Rung("text", 1.25, 3)]
    site = Site("site", ladder_from(rungs, COST))
    machine, views = Machine((site,), COST, Tuning(learns=False, line=1250.0)), 8.0
    state = machine.start()
    for _ in range(40):
        better = min(state.m(site) - 1, 1.0)
        kilobytes = views * (better * 300 + (1 - better) * 3)
        state = step(machine, state, {"site": Load(views * 10, 0, kilobytes)}, Busy(0.1, is_own=True))
    assert (state.utilization or {})["site"] == pytest.approx(0.58, abs=0.03)
