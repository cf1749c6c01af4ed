"""A drill: every lever is pulled in turn on a test server while visitors view pages."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import reduce

from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.report.manifest import last_manifest
from adaptc.serve.calibrate.cpu_time import NOTHING_READ, Reading
from adaptc.serve.calibrate.load_client import Job, LoadClient, Outcome, load_client
from adaptc.serve.calibrate.page_views import sampled_pages, views_by_level
from adaptc.serve.calibrate.profile import Profile
from adaptc.serve.calibrate.saturation import load_diagnostics
from adaptc.serve.calibrate.testbed import Site, testbed
from adaptc.serve.calibrate.versions import installed_version
from adaptc.serve.drill.expectation import Expectation
from adaptc.serve.drill.levers import Lever, levers_of
from adaptc.serve.drill.prediction import Prediction, predict
from adaptc.serve.launch import settle
from adaptc.serve.server import Server
from adaptc.serve.verify.modes import switching
from adaptc.serve.verify.verification import refuse_unreadable_trees
from adaptc.serve.verify.workspace import workspace_for

BROWSERS = 8
SLICES = 3  # each lever is pulled that often, so that other work of the machine hits all alike
LEAST = 0.1  # seconds of a slice, and of each of its measurements
SWITCHES = 10.0  # a second


@dataclass(slots=True)
class Measured:
    """What came of a lever: outcomes of its slices, the CPU seconds of a view in each, and the sum of all readings."""

    outcomes: list[Outcome] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    total: Reading = NOTHING_READ

    def add(self, outcome: Outcome, reading: Reading) -> None:
        """Add a slice."""
        self.outcomes.append(outcome)
        self.cpu.append(reading.cpu / max(1, len(outcome.times)))
        self.total = self.total.plus(reading)

    @property
    def times(self) -> list[float]:
        """The seconds of all views."""
        return [time for outcome in self.outcomes for time in outcome.times]

    @property
    def kilobytes(self) -> float:
        """The kB of a view, without header fields."""
        return sum(outcome.octets for outcome in self.outcomes) / 1000 / max(1, len(self.times))

    def quantile(self, percent: int) -> float:
        """Return a percentile of the seconds of views."""
        times = self.times
        return statistics.quantiles(times, n=100, method="inclusive")[percent - 1] if len(times) > 1 else sum(times)


@dataclass(frozen=True, slots=True)
class LeverReport:
    """A lever: views, CPU milliseconds and kB of a view, milliseconds of views, what broke, and what was predicted."""

    lever: str
    views: int
    cpu_ms: float
    kilobytes: float
    median_ms: float
    slow_ms: float  # the 95th percentile
    errors: int
    wrong: int
    predicted: Prediction


@dataclass(frozen=True, slots=True)
class Drill:
    """The reports of all levers, and what broke."""

    server: str
    reports: tuple[LeverReport, ...]
    diagnostics: tuple[Diagnostic, ...]


def drill(
    config: Config,
    server: Server,
    seconds: float,
    views: Mapping[str, float] | None,
    profile: Profile | None,
    progress: Progress,
) -> Drill:
    """Pull every lever of the emitted configuration on a server that is started for it, for ``seconds`` in all.

    ``views`` are the views of pages by path; without any, all pages are viewed alike. Raises ``UsageError`` when the
    server is missing or does not start, and without a build.
    """
    version, manifest = installed_version(server), last_manifest(config.output)
    refuse_unreadable_trees(manifest)
    page_views = views_by_level(config, manifest, sampled_pages(manifest, views))
    with workspace_for(config, server) as workspace, testbed(workspace) as bed, load_client() as client:
        site = bed.site(manifest.level_names)
        expectation = Expectation(site.policy, server, manifest, page_views)
        exercise = _Exercise(site, server, client, expectation)
        levers = tuple(levers_of(site.policy))
        measured = exercise.run(levers, seconds, progress)
    reports = tuple(_report(lever, measured[lever], predict(expectation, lever, profile)) for lever in levers)
    said = [found for lever in levers for found in _broken(lever, measured[lever])]
    total = reduce(Reading.plus, (each.total for each in measured.values()))
    said += load_diagnostics(total, "drill-throttled")
    if not config.serve.expose:
        said.append(diagnose("drill-unseen"))
    return Drill(version, reports, tuple(said))


@dataclass(frozen=True)
class _Exercise:
    site: Site
    server: Server
    client: LoadClient
    expectation: Expectation

    def run(self, levers: Sequence[Lever], seconds: float, progress: Progress) -> dict[Lever, Measured]:
        """Pull all levers in turn, ``SLICES`` times."""
        measured = {lever: Measured() for lever in levers}
        span = max(LEAST, seconds / len(levers) / SLICES)
        progress.begin("drilling", SLICES * len(levers), 0)
        for _ in range(SLICES):
            for lever in levers:
                for outcome, reading in self._pull(lever, span):
                    measured[lever].add(outcome, reading)
                progress.advance(1, 0, 0)
        progress.end()
        return measured

    def _pull(self, lever: Lever, seconds: float) -> Iterator[tuple[Outcome, Reading]]:
        """Pull a lever for a while; yield outcomes and what the server used, of short times each.

        The least of short times is without other work of the machine, as in a calibration.
        """
        if not lever.is_switching:
            lever.pull(self.site.policy)
        settle(self.server, self.site.policy)
        job = Job(self.expectation.load(lever, self.site.origin), BROWSERS, LEAST, has_visitors=True)
        with switching(self.site.policy, SWITCHES) if lever.is_switching else nullcontext():
            for _ in range(round(seconds / LEAST)):
                before = self.site.processes.read()
                outcome = self.client.run(job)
                yield outcome, self.site.processes.read().since(before)


def _report(lever: Lever, measured: Measured, predicted: Prediction) -> LeverReport:
    return LeverReport(
        lever.name,
        len(measured.times),
        1000 * min(measured.cpu),
        measured.kilobytes,
        1000 * measured.quantile(50),
        1000 * measured.quantile(95),
        sum(outcome.errors.total() for outcome in measured.outcomes),
        sum(outcome.wrong.total() for outcome in measured.outcomes),
        predicted,
    )


def _broken(lever: Lever, measured: Measured) -> Iterator[Diagnostic]:
    """Yield what a lever broke: requests without an answer by reason, and wrong answers by URL."""
    for outcome in measured.outcomes:
        for reason, count in sorted(outcome.errors.items()):
            yield diagnose("drill-error", lever=lever.name, count=count, reason=reason)
        for (url, answer), count in sorted(outcome.wrong.items()):
            yield diagnose("drill-wrong", lever=lever.name, count=count, url=url, answer=answer)
