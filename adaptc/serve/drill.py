"""A drill: every lever is pulled in turn on a test server while visitors view pages: what it buys, and what it breaks.

A lever is a setting of flag, buckets, classes or rejection. It is compared with what a visitor may get there
(``Expectation``: for each URL the statuses and representations) and with what it should cost (``Prediction``: by the
profile of the server and the sizes of the build).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from itertools import pairwise
from pathlib import Path

from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.core.urls import quote_path
from adaptc.core.values import dataclass, field, replace
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.serve import state_directory
from adaptc.serve.calibrate.cpu_time import NOTHING_READ, Reading
from adaptc.serve.calibrate.experiments import load_diagnostics
from adaptc.serve.calibrate.load_client import FIELDS, Job, LoadClient, Outcome, View, load_client
from adaptc.serve.calibrate.page_views import PageView, sampled_pages, views_by_level
from adaptc.serve.calibrate.profile import Profile, installed_version
from adaptc.serve.calibrate.testbed import Site, testbed
from adaptc.serve.launch import settle
from adaptc.serve.policy import OFF, REJECT, Policy
from adaptc.serve.server import Server
from adaptc.serve.verify.modes import SWITCHING, Mode, adapting_mode, modes_of, switch, switching
from adaptc.serve.verify.negotiation import ORIGINAL
from adaptc.serve.verify.scenario import BEST, Scenario, Target, url_of
from adaptc.serve.verify.verification import refuse_unreadable_trees
from adaptc.serve.verify.workspace import workspace_for

BROWSERS = 8
SLICES = 3  # each lever is pulled that often, so that other work of the machine hits all alike
LEAST = 0.1  # seconds of a measurement
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
        """Pull all levers in turn, ``SLICES`` times. What a slice takes longer on a busy machine, others take less."""
        measured = {lever: Measured() for lever in levers}
        slices, left = [*levers] * SLICES, seconds
        progress.begin("drilling", len(slices), 0)
        for number, lever in enumerate(slices):
            if not lever.is_switching:
                lever.pull(self.site.policy)
            settle(self.server, self.site.policy)
            begun = time.monotonic()
            for outcome, reading in self._measurements(lever, left / (len(slices) - number)):
                measured[lever].add(outcome, reading)
            left = max(0.0, left - (time.monotonic() - begun))
            progress.advance(1, 0, 0)
        progress.end()
        return measured

    def _measurements(self, lever: Lever, seconds: float) -> Iterator[tuple[Outcome, Reading]]:
        """Yield outcomes at a lever and what the server used, of short times each.

        The least of short times is without other work of the machine, as in a calibration. There is one at least.
        """
        end = time.monotonic() + seconds
        job = Job(self.expectation.load(lever, self.site.origin), BROWSERS, LEAST, has_visitors=True)
        with switching(self.site.policy, SWITCHES) if lever.is_switching else nullcontext():
            while True:
                before = self.site.processes.read()
                outcome = self.client.run(job)
                yield outcome, self.site.processes.read().since(before)
                if time.monotonic() >= end:
                    return


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


# ---- levers

ACTIONS = "X-Server-Actions"


@dataclass(frozen=True, slots=True)
class Lever:
    """A state of the knobs: the modes that clients may get, one or two of neighbouring levels, and their class.

    With ``is_switching`` another process goes through all modes while views are made.
    """

    name: str
    modes: tuple[Mode, ...]
    requested: str = "normal"
    is_switching: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The header fields by which a client asks for its class."""
        return () if self.requested == "normal" else (f"{ACTIONS}: .{self.requested}",)

    @property
    def rejects(self) -> bool:
        """Whether every client is rejected."""
        return all(mode.rejects for mode in self.modes)

    def pull(self, policy: Policy) -> None:
        """Put a server that reads ``policy.state`` into this state."""
        switch(policy, self.modes[0])
        if len(self.modes) > 1:
            levels = [str(mode.level) for mode in self.modes]
            half = {bucket: levels[number % 2] for number, bucket in enumerate(state_directory.BUCKETS)}
            state_directory.write_buckets(Path(policy.state), half, policy.start)


def levers_of(policy: Policy) -> Iterator[Lever]:
    """Yield the levers of a policy: every mode, halves of neighbours, the classes, and switching while people read."""
    modes = list(modes_of(policy))
    yield from (Lever(mode.name if mode.is_on else "flag off", (mode,)) for mode in modes)
    if policy.serve.buckets:
        levels = [mode for mode in modes if mode.is_on]
        for upper, lower in pairwise(levels):
            yield Lever(f"half {upper.name}, half {lower.name}", (upper, lower))
    if policy.serve.classes:
        yield from (Lever(f"class {name}", (adapting_mode(policy),), name) for name in ("poor", "rich"))
    if len(modes) > 1:
        yield Lever("switching", (SWITCHING,), is_switching=True)


# ---- what a visitor may get at a lever

REJECTION = frozenset({"503 0/-", "503"})
_TYPES = next(line.partition(": ")[2] for line in FIELDS if line.startswith("Accept: "))


@dataclass(frozen=True)
class Expectation:
    """What a server with a policy may answer; ``views`` are the page views by level."""

    policy: Policy
    server: Server
    manifest: Manifest
    views: Mapping[str, tuple[PageView, ...]]

    def trees(self, lever: Lever) -> tuple[str, ...]:
        """Return the levels that clients may get, ``OFF`` for originals."""
        return tuple(dict.fromkeys(tree for mode in lever.modes for tree in mode.trees(self.policy, lever.requested)))

    def page_views(self, tree: str) -> tuple[PageView, ...]:
        """Return the page views of a tree; originals embed what the first level does."""
        return self.views.get(tree) or self.views[self.manifest.level_names[0]]

    def load(self, lever: Lever, origin: str) -> tuple[View, ...]:
        """Return the views of visitors at a lever."""
        trees = [tree for tree in self.trees(lever) if tree != REJECT] or [OFF]
        by_tree = [[self._view(lever, view, origin) for view in self.page_views(tree)] for tree in trees]
        return tuple(self._joined(trees, views) for views in zip(*by_tree, strict=True))

    @staticmethod
    def _joined(trees: list[str], views: tuple[View, ...]) -> View:
        """Return the view of a page that may be of several trees: what it embeds follows from what was sent."""
        by_level = {tree: view for tree, view in zip(trees, views, strict=True) if tree != OFF}
        return replace(views[0], by_level=by_level) if len(views) > 1 else views[0]

    def _view(self, lever: Lever, view: PageView, origin: str) -> View:
        base = origin + quote_path(self.policy.prefix)
        urls = tuple(base + quote_path(f"/{path}") for path in view.paths)
        return View(urls, BEST, lever.fields, tuple(self.allowed(lever, path) for path in view.paths))

    def allowed(self, lever: Lever, path: str) -> frozenset[str] | None:
        """Return the answers to a request for a path, None where any may come: files that have no source."""
        resource = self.manifest.resources.get(path)
        if resource is None:
            return REJECTION if lever.rejects else None
        target = Target(url_of(self.policy, path), resource)
        return frozenset(answer for mode in lever.modes for answer in self._answers(mode, lever, target))

    def _answers(self, mode: Mode, lever: Lever, target: Target) -> Iterator[str]:
        if mode.rejects:
            yield from REJECTION
            return
        scenario = Scenario(self.policy, mode, self.server, {}).of_target(target)
        for version in scenario.wanted(target, BEST, lever.requested, _TYPES):
            is_shown = self.policy.serve.expose and version.level != ORIGINAL
            yield f"200 {version}" if is_shown else "200"


# ---- what a lever should cost


@dataclass(frozen=True, slots=True)
class Prediction:
    """CPU milliseconds and kB of a view; None where they are not known."""

    cpu_ms: float | None
    kilobytes: float | None


def predict(expectation: Expectation, lever: Lever, profile: Profile | None) -> Prediction:
    """Return the prediction of a lever: the mean of the levels that its clients get in equal shares.

    While modes are switched, the shares are not known. Without a profile only kB are predicted.
    """
    if lever.is_switching:
        return Prediction(None, None)
    trees = expectation.trees(lever)
    parts = [_of_tree(expectation, tree, profile) for tree in trees]
    costs = [part.cpu_ms for part in parts if part.cpu_ms is not None]
    cpu = sum(costs) / len(costs) if len(costs) == len(parts) else None
    return Prediction(cpu, sum(part.kilobytes or 0.0 for part in parts) / len(parts))


def _of_tree(expectation: Expectation, tree: str, profile: Profile | None) -> Prediction:
    if tree == REJECT:
        return Prediction(profile.rejection_ms if profile is not None else None, 0.0)
    views = expectation.page_views(tree)
    requests = sum(len(view.paths) for view in views) / len(views)
    if tree == OFF:
        kilobytes = sum(_original_kilobytes(expectation, view) for view in views) / len(views)
        return Prediction(_off_ms(profile, requests, kilobytes), kilobytes)
    kilobytes = sum(view.kilobytes for view in views) / len(views)
    return Prediction(1000 * profile.cost().of_view(requests, kilobytes) if profile is not None else None, kilobytes)


def _original_kilobytes(expectation: Expectation, view: PageView) -> float:
    resources = expectation.manifest.resources
    return sum(resources[path].size for path in view.paths if path in resources) / 1000


def _off_ms(profile: Profile | None, requests: float, kilobytes: float) -> float | None:
    """Return the cost of a view while nothing is adapted: p, and requests and kilobytes of originals."""
    if profile is None or "off" not in profile.kinds:
        return None
    off = profile.kinds["off"]
    return 1000 * profile.cost().view + off["request_ms"] * requests + off["kilobyte_ms"] * kilobytes
