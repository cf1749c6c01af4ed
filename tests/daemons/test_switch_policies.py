"""The mode switch as a dialogue: samples in, decisions out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest

from tests.samples.seeds import seeds

from adaptc.daemons.sensors.panel import Sample
from adaptc.daemons.switch.policies import (
    Force,
    Gopshtein,
    GopshteinState,
    Mode,
    ModeChange,
    OverrideState,
    Policy,
    Remark,
    Steady,
    step,
)

NORMAL, OPTIMIZED = Mode.NORMAL, Mode.OPTIMIZED


def switches(policy: Policy, samples: Iterable[Sample]) -> list[tuple[float, Mode]]:
    """Time and mode of every switch."""
    state, found = policy.start(), []
    for sample in samples:
        state, decisions = policy.step(state, sample)
        found += [(sample.at, one.mode) for one in decisions if isinstance(one, ModeChange)]
    return found


def steadily(
    cpu: float, rate: float | None = 10, idle: int | None = 5, start: float = 0, end: float = 60, every: float = 0.5
) -> list[Sample]:
    count = round((end - start) / every)
    return [Sample(start + every * (number + 1), cpu, rate, idle) for number in range(count)]


# ---- the published rule


def published(cpu: float, rate: float | None, idle: int = 5) -> Sample:
    return Sample(0, cpu, rate, idle)


def test_the_published_rule_enters_above_85_percent() -> None:
    rule = Gopshtein()
    state, decisions = rule.step(rule.start(), published(0.85, 100))
    assert decisions == ()
    state, decisions = rule.step(state, published(0.86, 80))
    assert decisions == (ModeChange(OPTIMIZED, "cpu above threshold"),)
    assert state == GopshteinState(OPTIMIZED, 50, 0)  # two connections a page


def test_the_published_rule_leaves_after_three_calm_samples_and_reduces_safe() -> None:
    rule, state = Gopshtein(), GopshteinState(OPTIMIZED, 50, 0)
    for sample in (published(0.3, 49), published(0.3, 49), published(0.3, 50), published(0.3, 49), published(0.3, 49)):
        state, decisions = rule.step(state, sample)
        assert decisions == ()  # the third was not below safe
    state, decisions = rule.step(state, published(0.3, 49))
    assert decisions == (ModeChange(NORMAL, "calm 3 times in a row"),)
    assert state == GopshteinState(NORMAL, 35, 0)


@pytest.mark.parametrize("sample", [published(0.85, 1), published(0.1, 1, idle=0), published(0.1, 50)])
def test_the_published_rule_stays_while_one_condition_fails(sample: Sample) -> None:
    state, _ = Gopshtein().step(GopshteinState(OPTIMIZED, 50, 2), sample)
    assert (state.mode, state.calm) == (OPTIMIZED, 0)


def test_fault_of_the_published_rule_latch() -> None:
    # The first sample has no rate yet: rates are differences. safe stays 0 and no rate is below it, ever.
    samples = [published(0.9, None), *(published(0.01, 0) for _ in range(10_000))]
    assert [mode for _, mode in switches(Gopshtein(), samples)] == [OPTIMIZED]


def flapping(policy: Policy, seconds: int) -> list[tuple[float, Mode]]:
    """A load that is too much for normal mode and easy for optimized mode, sampled every second."""
    state, found = policy.start(), []
    for second in range(seconds):
        cpu = 0.95 if state.mode is NORMAL else 0.25
        rate = (40 if state.mode is NORMAL else 20) - (0.5 if state.mode is OPTIMIZED else 0)
        state, decisions = policy.step(state, Sample(second, cpu, rate, 5))
        found += [(second, one.mode) for one in decisions if isinstance(one, ModeChange)]
    return found


def test_fault_of_the_published_rule_flap() -> None:
    assert len(flapping(Gopshtein(), 21)) >= 8


def test_the_default_rule_does_not_flap_there() -> None:
    assert len(flapping(Steady(), 21)) <= 2
    assert len(flapping(Steady(), 3600)) <= 16  # an attempt each after 10, 20, 40, ... seconds


# ---- the default rule


def test_overload_is_met_within_two_samples() -> None:
    samples = steadily(0.3, end=10) + steadily(0.95, start=10, end=12)
    assert switches(Steady(), samples) == [(11, OPTIMIZED)]


def test_one_spike_is_no_overload() -> None:
    spikes = [Sample(second, 0.99 if second % 2 else 0.4, 10, 5) for second in range(100)]
    assert switches(Steady(), spikes) == []


def pages_by_chance(load: float, seconds: float, start: float = 0, seed: int = 1) -> Iterator[Sample]:
    """Samples of a server with a small share of a CPU: pages of 43 ms arrive at random, others wait."""
    chance, waiting, every, page = random.Random(seed), 0.0, 0.5, 0.043
    arrival = chance.expovariate(load / page)
    for number in range(round(seconds / every)):
        while arrival < (number + 1) * every:
            waiting, arrival = waiting + page, arrival + chance.expovariate(load / page)
        used = min(waiting, every)
        waiting -= used
        yield Sample(start + every * (number + 1), used / every, 2 * load / page, 5)


def test_random_arrivals_are_no_overload_at_a_small_share_of_a_cpu() -> None:
    assert [switches(Steady(), pages_by_chance(0.6, 3600, seed=seed)) for seed in range(10)] == [[]] * 10
    overload = [*pages_by_chance(0.6, 300), *pages_by_chance(1.5, 30, start=300)]
    ((at, mode),) = switches(Steady(dwell=60), overload)
    assert (mode, 301 <= at <= 306) == (OPTIMIZED, True)


def test_a_rule_that_saw_little_noise_enters_at_once() -> None:
    samples = [Sample(number / 2, 0.5 + 0.02 * (number % 2), 10, 5) for number in range(100)]
    assert switches(Steady(), [*samples, *steadily(0.95, start=50, end=52)]) == [(51, OPTIMIZED)]


def test_no_idle_worker_is_overload_too() -> None:
    assert switches(Steady(), steadily(0.2, idle=0, end=5)) == [(1, OPTIMIZED)]


def test_pressure_is_overload_where_it_is_asked_for() -> None:
    samples = [Sample(second, 0.2, 10, 5, {"pressure": 0.5}) for second in range(5)]
    assert switches(Steady(limits={"pressure": 0.4}), samples) == [(1, OPTIMIZED)]
    assert switches(Steady(), samples) == []


def test_the_way_back_waits_for_the_dwell_time() -> None:
    samples = steadily(0.5, end=20) + steadily(0.95, start=20, end=22) + steadily(0.1, 5, start=22, end=60)
    assert switches(Steady(), samples) == [(21, OPTIMIZED), (31, NORMAL)]


def test_between_the_thresholds_nothing_changes() -> None:
    samples = steadily(0.95, end=2) + steadily(0.7, rate=0, start=2, end=3600)
    assert switches(Steady(), samples) == [(1, OPTIMIZED)]


def test_a_rate_that_is_not_safe_waits_for_the_probe() -> None:
    samples = steadily(0.5, rate=10, end=20) + steadily(0.9, rate=80, start=20, end=21)
    samples += steadily(0.2, rate=40, start=21, end=800)
    assert switches(Steady(), samples) == [(21, OPTIMIZED), (621, NORMAL)]


def test_headroom_of_the_cpu_makes_a_higher_rate_safe() -> None:
    # Five pages a second took a quarter of what is allowed: nine are fine.
    samples = steadily(0.15, rate=10, end=60) + steadily(0.9, rate=80, start=60, end=61)
    samples += steadily(0.1, rate=9, start=61, end=120)
    assert [mode for _, mode in switches(Steady(), samples)] == [OPTIMIZED, NORMAL]


def test_headroom_is_not_believed_beyond_twice_what_was_carried() -> None:
    samples = steadily(0.1, rate=10, end=60) + steadily(0.9, rate=80, start=60, end=61)
    samples += steadily(0.1, rate=15, start=61, end=120)
    assert [mode for _, mode in switches(Steady(), samples)] == [OPTIMIZED]


def test_a_first_sample_in_overload_does_not_latch() -> None:
    samples = [Sample(0, 0.99), Sample(0.5, 0.99), *steadily(0.1, rate=0.5, start=1, end=20)]
    assert [mode for _, mode in switches(Steady(), samples)] == [OPTIMIZED, NORMAL]


def test_a_lost_sensor_changes_nothing() -> None:
    policy = Steady()
    state = policy.start()
    for sample in steadily(0.95, end=2):
        state, _ = policy.step(state, sample)
    state, decisions = policy.step(state, Sample(3))
    assert decisions == (Remark("the CPU sensor is lost; optimized mode stays"),)
    for second in range(4, 5000):
        state, decisions = policy.step(state, Sample(second, rate=0.0, idle=50))
        assert (state.mode, decisions) == (OPTIMIZED, ())
    _, decisions = policy.step(state, Sample(5000, 0.5, 1, 5))
    assert decisions == (Remark("the CPU sensor is back"),)


def test_a_lost_rate_sensor_leaves_the_way_back_to_the_probe() -> None:
    samples = steadily(0.5, end=20) + steadily(0.95, start=20, end=21) + steadily(0.1, rate=None, start=21, end=700)
    assert switches(Steady(), samples) == [(21, OPTIMIZED), (621, NORMAL)]


# ---- a person's override


def test_a_forced_mode_holds_whatever_the_load() -> None:
    policy = Steady()
    state = OverrideState(policy.start())
    state, decisions = step(policy, state, Force(OPTIMIZED))
    assert decisions == (ModeChange(OPTIMIZED, "forced"),)
    for sample in steadily(0.01):
        state, decisions = step(policy, state, sample)
        assert (state.mode, decisions) == (OPTIMIZED, ())
    state, decisions = step(policy, state, Force(None))
    assert (state.mode, decisions) == (NORMAL, (ModeChange(NORMAL, "automatic again"),))
    assert step(policy, state, Force(None)) == (state, ())


# ---- properties, over a thousand random traces


@dataclass(frozen=True)
class Plant:
    """A server: pages a second that it can do in each mode, and work that is none of ours."""

    normal: float
    optimized: float
    other: float = 0.0

    def sample(self, at: float, mode: Mode, load: float, noise: Callable[[], float]) -> Sample:
        most, connections = (self.normal, 2) if mode is NORMAL else (self.optimized, 1)
        cpu = min(1.0, max(0.0, self.other + load / most * (1 + 0.1 * noise())))
        rate = max(0.0, min(load, most) * connections * (1 + 0.2 * noise()))
        return Sample(at, cpu, rate, 0 if load > 1.5 * most else 5)


def loads(source: random.Random, count: int) -> Iterator[float]:
    """Steps, ramps and spikes of pages a second."""
    level = source.uniform(0, 100)
    for _ in range(count):
        if source.random() < 0.03:
            level = source.choice([0.0, source.uniform(0, 30), source.uniform(0, 150)])
        yield level * (5 if source.random() < 0.01 else 1)


@pytest.mark.parametrize("part", seeds(0, 1))
def test_never_latched_and_never_flapping(part: int) -> None:
    policy = Steady()
    for seed in range(100 * part, 100 * part + 100):
        source = random.Random(seed)
        plant = Plant(source.uniform(10, 60), source.uniform(60, 400), source.choice([0, 0, 0.2]))
        every = source.choice([0.5, 1.0, 5.0])
        state, at, found = policy.start(), 0.0, []
        for load in loads(source, 300):
            at += every
            sample = plant.sample(at, state.mode, load, noise_of(source))
            if source.random() < 0.02:
                sample = Sample(at)
            state, decisions = policy.step(state, sample)
            found += [at for one in decisions if isinstance(one, ModeChange)]
        assert_not_flapping(found, policy, at)
        assert_returns(policy, state, at, plant)


def noise_of(source: random.Random) -> Callable[[], float]:
    return lambda: source.gauss(0, 1)


def assert_not_flapping(found: list[float], policy: Steady, end: float) -> None:
    """At most two switches in any dwell time: a return, and overload at once after it."""
    for first, third in zip(found, found[2:], strict=False):
        assert third - first >= policy.dwell
    # Attempts that fail follow each other at twice the distance; one that lasts takes a relapse time.
    assert len(found) <= 2 * (2 + end / (policy.dwell + policy.relapse) * 5)


def assert_returns(policy: Steady, state: object, at: float, plant: Plant) -> None:
    """A load that normal mode can carry is in normal mode again after the longest dwell time, at the latest."""
    for number in range(2000):
        mode = state.mode  # type: ignore[attr-defined]
        sample = plant.sample(at + number + 1, mode, 0.3 * plant.normal, lambda: 0.0)
        state, _ = policy.step(state, sample)  # type: ignore[arg-type]
        if mode is NORMAL:
            return
    raise AssertionError("latched")


def test_a_step_of_load_takes_two_switches_and_little_time() -> None:
    """15, 85 and again 15 pages a second, as in section 4.4 there, on a server for 35 and 150."""
    plant, source = Plant(35, 150), random.Random(7)
    policy = Steady()
    state, found = policy.start(), []
    for number in range(1, 601):
        at = number / 2
        load = 85 if 60 < at <= 180 else 15
        state, decisions = policy.step(state, plant.sample(at, state.mode, load, lambda: source.gauss(0, 1)))
        found += [(at, one.mode) for one in decisions if isinstance(one, ModeChange)]
    (up, _), (down, _) = found
    assert 60 < up <= 62
    assert 180 < down <= 210
