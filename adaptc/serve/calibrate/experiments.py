"""The experiments of a calibration, and the costs that follow from their results.

They are made in turn, again and again, so that noise of the machine hits all alike.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice

from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.urls import quote_path
from adaptc.core.values import dataclass, field, replace
from adaptc.serve.calibrate.cpu_time import NOTHING_READ, Reading, ServerProcesses
from adaptc.serve.calibrate.load_client import Job, LoadClient, Outcome, View
from adaptc.serve.calibrate.page_views import PageView
from adaptc.serve.calibrate.profile import KindCost, LevelCost, Profile, Saturation, fit_line, kind_cost
from adaptc.serve.calibrate.testbed import LARGE, ORIGINAL, SMALL, SampleFiles, Site, accepted, kinds, urls
from adaptc.serve.verify.scenario import BEST

BROWSERS = 8  # at once: one alone would measure how long the server takes to wake up
REQUESTS = {SMALL: 480, LARGE: 128}  # of a job
LENGTHS = (1, 4, 16)  # requests of a view, from which the cost of its connection follows
LENGTH = 4  # requests of a view otherwise
REJECTED = frozenset({503})
EMBEDDED = frozenset({200, 403, 404})


@dataclass(frozen=True, slots=True)
class SampleServer:
    """A server of sample files, and how it is asked: ``name`` is a protocol, or "off" or "reject" for a mode.

    ``files`` are the sample files.
    """

    name: str
    site: Site
    files: SampleFiles
    protocol: str = "http1"

    @property
    def page_kind(self) -> str:
        """The kind that browsers get of pages."""
        return next(iter(self.site.policy.codings), ORIGINAL)

    def experiment(self, kind: str, size: int, length: int, statuses: frozenset[int] = frozenset({200})) -> Experiment:
        """Return the experiment of views of ``length`` files of a kind and a size."""
        targets = [self.site.origin + path for path in urls(self.site.policy, kind, size, self.files.count)]
        requests = REQUESTS[SMALL if size == SMALL else LARGE]
        job = Job(views_of(targets, length, requests, accepted(kind)), BROWSERS, protocol=self.protocol)
        return Experiment(self.label(kind, size, length), self.site.processes, job, statuses)

    def label(self, kind: str, size: int, length: int) -> str:
        """Return the name of an experiment."""
        return f"{self.name}: {length} x {size} bytes, {kind}"

    def lengths(self) -> Iterator[Experiment]:
        """Yield views of several lengths, and of large files, of the kind of pages."""
        for length in LENGTHS:
            yield self.experiment(self.page_kind, SMALL, length)
        yield self.experiment(self.page_kind, self.files.large, LENGTH)

    def others(self) -> Iterator[Experiment]:
        """Yield views of small and large files of all other kinds."""
        for kind in kinds(self.site.policy):
            if kind != self.page_kind:
                yield self.experiment(kind, SMALL, LENGTH)
                yield self.experiment(kind, self.files.large, LENGTH)

    def connection(self, results: Measurements) -> tuple[float, KindCost]:
        """Return the seconds of a connection, and the cost of the kind of pages."""
        kind = self.page_kind
        connection, small = fit_line({n: results.view(self.label(kind, SMALL, n)) for n in LENGTHS})
        large = (results.view(self.label(kind, self.files.large, LENGTH)) - connection) / LENGTH
        return connection, kind_cost(small, large, self._sizes)

    def kinds(self, results: Measurements) -> dict[str, KindCost]:
        """Return the cost of each kind."""
        connection, page = self.connection(results)
        others = (kind for kind in kinds(self.site.policy) if kind != self.page_kind)
        return {self.page_kind: page, **{kind: self._kind(results, kind, connection) for kind in others}}

    def _kind(self, results: Measurements, kind: str, connection: float) -> KindCost:
        labels = (self.label(kind, size, LENGTH) for size in (SMALL, self.files.large))
        small, large = ((results.view(label) - connection) / LENGTH for label in labels)
        return kind_cost(small, large, self._sizes)

    @property
    def _sizes(self) -> tuple[float, float]:
        return SMALL / 1000, self.files.large / 1000

    def rejection(self) -> Experiment:
        """Return the experiment of visitors that are rejected: one request each."""
        return self.experiment(self.page_kind, SMALL, 1, REJECTED)

    def off(self) -> Experiment:
        """Return the experiment of views while nothing is adapted."""
        return self.experiment(ORIGINAL, SMALL, LENGTH)

    def off_request(self, results: Measurements, connection: float) -> float:
        """Return the seconds of a request while nothing is adapted."""
        return max(0.0, (results.view(self.off().name) - connection) / LENGTH)


def views_of(targets: Sequence[str], length: int, requests: int, accept: str) -> tuple[View, ...]:
    """Return views of ``length`` URLs each that make some ``requests`` together."""
    urls = tuple(islice(cycle(targets), requests))
    return tuple(View(urls[start : start + length], accept) for start in range(0, len(urls), length))


def views_of_pages(name: str, processes: ServerProcesses, base: str, pages: Sequence[PageView]) -> Experiment:
    """Return the experiment of page views by browsers; ``base`` is the URL of the site without the final slash.

    Pages may embed files that the server refuses, at every level alike.
    """
    views = [View(tuple(base + quote_path(f"/{path}") for path in page.paths), BEST) for page in pages]
    times = max(1, REQUESTS[SMALL] // sum(len(view.urls) for view in views))
    return Experiment(name, processes, Job(tuple(views) * times, BROWSERS), EMBEDDED)


# ---- measuring

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


# Where a server saturates: what was seen under more browsers than it can serve, and what limits it first.


CROWD = 32  # browsers
SHARE = 0.1  # of the time of a calibration
FULL = 0.9  # of a CPU or a line
MOST_THROTTLED = 0.02  # of the time
MOST_STOLEN = 0.05


def observed_saturation(
    level: Experiment, client: LoadClient, seconds: float, line: float | None
) -> tuple[Saturation, Reading]:
    """Return what a crowd of browsers gets of a level, and the reading; ``line`` is in Mbit/s.

    Raises ``UsageError`` for answers other than expected.
    """
    job = replace(level.job, browsers=CROWD, seconds=max(0.2, SHARE * seconds))
    reading, outcome = run(replace(level, job=job), client)
    rate = len(outcome.times) / outcome.clock
    busy = round(reading.cpu / reading.clock, 3)
    return Saturation(level.name, round(rate, 1), busy, _limit(reading, outcome, line)), reading


def _limit(reading: Reading, outcome: Outcome, line: float | None) -> str:
    """Return what was full: a quota, the line, the client's one CPU, or a CPU of the server."""
    if (reading.throttled or 0.0) > MOST_THROTTLED * reading.clock:
        return "quota"
    if line is not None and outcome.octets * 8 / outcome.clock > FULL * line * 1e6:
        return "network"
    if reading.cpu > FULL * reading.clock:
        return "server"
    # Python's lock: the client cannot use much more than one CPU
    return "client" if outcome.cpu > 0.5 * outcome.clock else "unknown"


def load_diagnostics(total: Reading, throttled: str = "calibration-throttled") -> Iterator[Diagnostic]:
    """Yield what kept the server from its CPUs while it was measured; ``throttled`` is the id for quotas."""
    if (total.throttled or 0.0) > MOST_THROTTLED * total.clock:
        yield diagnose(throttled, throttled=f"{total.throttled:.1f}", clock=f"{total.clock:.1f}")
    if total.stolen > MOST_STOLEN * total.clock:
        yield diagnose("calibration-stolen", stolen=f"{total.stolen:.1f}", clock=f"{total.clock:.1f}")


def line_rate(level: LevelCost, line: float) -> float:
    """Return the page views a second that fill a line of ``line`` Mbit/s."""
    return line * 1e6 / 8000 / level.kilobytes if level.kilobytes else float("inf")


def quota_diagnostics(profile: Profile, cpus: int) -> Iterator[Diagnostic]:
    """Yield that a server may use fewer CPUs than the ``cpus`` of the machine."""
    if profile.cpus < cpus:
        yield diagnose("calibration-quota", allowed=f"{profile.cpus:g}", cpus=cpus)


def network_diagnostics(profile: Profile) -> Iterator[Diagnostic]:
    """Yield the levels at which the access line is full before the CPUs are."""
    line = profile.line
    for level in profile.levels if line is not None else ():
        at_line, at_cpus = line_rate(level, line or 0.0), profile.cpus * 1000 / level.measured_ms
        if at_line < at_cpus:
            fields = {"level": level.level, "rate": f"{at_line:,.0f}", "cpus": f"{at_cpus:,.0f}"}
            yield diagnose("calibration-network", line=f"{line:g}", **fields)
