"""Measures what experiments cost a server: in turn, again and again, so that noise of the machine hits all alike."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from adaptc.core.diagnostics import UsageError
from adaptc.serve.calibrate.cpu_time import NOTHING_READ, Reading, ServerProcesses
from adaptc.serve.calibrate.load_client import Job, LoadClient, Outcome

LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Experiment:
    """A job for the client, and the server that it is for; ``statuses`` are those that answers may have."""

    name: str
    server: ServerProcesses
    job: Job
    statuses: frozenset[int] = frozenset({200})


@dataclass(slots=True)
class Samples:
    """What was measured of an experiment: the server's CPU seconds of a view, and the last outcome."""

    cpu: list[float] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def view(self) -> float:
        """The CPU seconds of a view: the least of all rounds, since noise of the machine only adds.

        On two CPUs with a load of 15, quartiles of equal work differed by up to 60 %, least values by 6 %.
        """
        return min(self.cpu)


@dataclass(frozen=True, slots=True)
class Measurements:
    """Samples by name of the experiment, and the sum of all readings."""

    samples: dict[str, Samples]
    total: Reading

    def merged(self, other: Measurements) -> Measurements:
        """Return these measurements with the samples of others of the same experiments."""
        both = {
            name: Samples(own.cpu + other.samples[name].cpu, other.samples[name].outcome)
            for name, own in self.samples.items()
        }
        return Measurements(both, self.total.plus(other.total))

    def view(self, name: str) -> float:
        """Return the CPU seconds of a view of an experiment."""
        return self.samples[name].view


def measure(
    experiments: Sequence[Experiment], client: LoadClient, seconds: float, advance: Callable[[int], None]
) -> Measurements:
    """Run all experiments for some ``seconds``, at least twice; ``advance`` gets the whole seconds of each round.

    Raises ``UsageError`` for answers other than expected: what they cost says nothing.
    """
    samples = {experiment.name: Samples() for experiment in experiments}
    total, order = NOTHING_READ, random.Random(0)
    begun, rounds, told = time.monotonic(), 0, 0
    while rounds < LEAST_ROUNDS or time.monotonic() < begun + seconds:
        for experiment in order.sample(experiments, len(experiments)):
            reading, outcome = run(experiment, client)
            samples[experiment.name].cpu.append(reading.cpu / max(1, len(outcome.times)))
            samples[experiment.name].outcome = outcome
            total = total.plus(reading)
        rounds += 1
        advance(round(time.monotonic() - begun) - told)
        told = round(time.monotonic() - begun)
    return Measurements(samples, total)


def run(experiment: Experiment, client: LoadClient) -> tuple[Reading, Outcome]:
    """Run an experiment once. Raises ``UsageError`` for answers other than expected."""
    before = experiment.server.read()
    outcome = client.run(experiment.job)
    reading = experiment.server.read().since(before)
    if outcome.errors:
        raise UsageError(f"{experiment.name}: the server did not answer: {', '.join(sorted(outcome.errors))}")
    wrong = sorted({status for status, _ in outcome.answers} - experiment.statuses)
    if wrong:
        raise UsageError(f"{experiment.name}: the server answered with status {', '.join(map(str, wrong))}")
    return reading, outcome
