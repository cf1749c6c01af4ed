"""Simulated stations of the queueing models of Fujita, Murata and Miyahara 1999, by simpy.

Times are in seconds. A station with processor sharing keeps virtual time, which advances at 1/n while n jobs are in
service: a job that needs S is done S of virtual time after it began, whatever comes or goes meanwhile.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import simpy

ERLANG = 4  # stages of the backbone's delay; the paper names the distribution, not its order
DISTRIBUTIONS: dict[str, Callable[[random.Random, float], float]] = {
    "constant": lambda _, mean: mean,
    "exponential": lambda chance, mean: chance.expovariate(1 / mean),
    # nine of ten jobs are short; the squared coefficient of variation is 5.5
    "mixed": lambda chance, mean: chance.expovariate(1 / (mean * (0.5 if chance.random() < 0.9 else 5.5))),
}


def erlang(chance: random.Random, mean: float) -> float:
    """Return a delay of ``ERLANG`` exponential stages."""
    return sum(chance.expovariate(ERLANG / mean) for _ in range(ERLANG)) if mean else 0.0


class SharedStation:
    """Processor sharing among at most ``limit`` jobs; more of them wait in turn, or are lost where ``loses``."""

    def __init__(self, world: simpy.Environment, limit: int | None = None, loses: bool = False) -> None:
        self._world, self._limit, self._loses = world, limit or 1 << 30, loses
        self._jobs: list[tuple[float, int, simpy.Event]] = []  # by the virtual time of their ends
        self._waiting: deque[tuple[float, simpy.Event]] = deque()
        self._virtual, self._seen, self._number = 0.0, 0.0, 0

    def serve(self, work: float) -> simpy.Event | None:
        """Return the event of the end of a job that needs ``work`` seconds; None if it is lost."""
        if len(self._jobs) >= self._limit and self._loses:
            return None
        done = self._world.event()
        if len(self._jobs) >= self._limit:
            self._waiting.append((work, done))
            return done
        self._advance()
        self._begin(work, done)
        self._plan()
        return done

    def _begin(self, work: float, done: simpy.Event) -> None:
        heapq.heappush(self._jobs, (self._virtual + work, id(done), done))

    def _advance(self) -> None:
        if self._jobs:
            self._virtual += (self._world.now - self._seen) / len(self._jobs)
        self._seen = self._world.now

    def _plan(self) -> None:
        """Wake up when the next job ends, unless another one comes or goes before."""
        self._number += 1
        number = self._number
        if self._jobs:
            delay = max(0.0, (self._jobs[0][0] - self._virtual) * len(self._jobs))
            self._world.timeout(delay).callbacks.append(lambda _: self._end(number))

    def _end(self, number: int) -> None:
        if number != self._number:
            return
        self._advance()
        ends, _, done = heapq.heappop(self._jobs)
        self._virtual = ends
        done.succeed()
        if self._waiting:
            self._begin(*self._waiting.popleft())
        self._plan()


@dataclass
class Tally:
    """What customers met at the stations, after the first tenth of them."""

    skip: int
    seconds: dict[str, float] = field(default_factory=dict)
    customers: int = 0
    lost: int = 0
    begin: float = 0.0

    def count(self, now: float, delays: dict[str, float]) -> None:
        """Count a customer that went through; ``delays`` are its seconds by station."""
        self.customers += 1
        if self.customers <= self.skip:
            self.begin = now
            return
        for name, delay in delays.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + delay

    @property
    def counted(self) -> int:
        """The customers after the first ones."""
        return self.customers - self.skip

    def means(self) -> dict[str, float]:
        """Return the mean seconds by station."""
        return {name: total / self.counted for name, total in self.seconds.items()}


Route = Iterator[Any]


def simulate_open(
    rate: float, stations: Callable[[simpy.Environment], Callable[[dict[str, float]], Route]], customers: int, seed: int
) -> Tally:
    """Send Poisson arrivals through a route and return what they met; a lost one leaves ``lost`` in its delays."""
    world, chance, tally = simpy.Environment(), random.Random(seed), Tally(customers // 10)
    route = stations(world)

    def visit() -> Route:
        delays: dict[str, float] = {}
        yield from route(delays)
        if delays.pop("lost", 0):
            tally.lost += 1
        else:
            tally.count(world.now, delays)

    def arrivals() -> Route:
        for _ in range(customers):
            yield world.timeout(chance.expovariate(rate))
            world.process(visit())

    world.process(arrivals())
    world.run()
    return tally


def simulate_closed(
    users: int,
    think: float,
    stations: Callable[[simpy.Environment], Callable[[dict[str, float]], Route]],
    customers: int,
    seed: int,
) -> tuple[Tally, float]:
    """Let users think and ask in turn; return what they met, and documents a second."""
    world, chance, tally = simpy.Environment(), random.Random(seed), Tally(customers // 10)
    route, end = stations(world), world.event()

    def user() -> Route:
        while True:
            yield world.timeout(chance.expovariate(1 / think))
            delays: dict[str, float] = {}
            yield from route(delays)
            tally.count(world.now, delays)
            if tally.customers == customers:
                end.succeed()

    for _ in range(users):
        world.process(user())
    world.run(until=end)
    return tally, tally.counted / (world.now - tally.begin)
