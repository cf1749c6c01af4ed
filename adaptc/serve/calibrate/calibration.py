"""A whole calibration, and the profile of it: of a server that is started for it, or of one that runs.

A started server serves samples and levels in turn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import reduce

from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.urls import quote_path
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import BuiltResource, Manifest, last_manifest
from adaptc.serve.calibrate.cpu_time import Reading, ServerProcesses, allowed_cpus, check_process
from adaptc.serve.calibrate.experiments import (
    BROWSERS,
    LENGTH,
    LENGTHS,
    Experiment,
    Measurements,
    SampleServer,
    load_diagnostics,
    measure,
    network_diagnostics,
    observed_saturation,
    quota_diagnostics,
    run,
    views_of,
    views_of_pages,
)
from adaptc.serve.calibrate.load_client import Job, LoadClient, View, load_client
from adaptc.serve.calibrate.page_views import PageView, page_weights, sample_files, sampled_pages, views_by_level
from adaptc.serve.calibrate.profile import (
    KindCost,
    LevelCost,
    Profile,
    Saturation,
    fit_line,
    installed_version,
    kind_cost,
    process_version,
    profile_of,
    settings_of,
    site_cost,
)
from adaptc.serve.calibrate.testbed import OFF, REJECTING, SampleFiles, Testbed, make_certificate, testbed
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.server import Server
from adaptc.serve.verify.scenario import BEST
from adaptc.serve.verify.verification import address_of, refuse_unreadable_trees
from adaptc.serve.verify.workspace import workspace_for

MOST_ERROR = 0.15  # of a prediction
# How often the servers are started anew: of equal processes of Apache one cost 20 % more than the others all its life
EPOCHS = 2


@dataclass(frozen=True, slots=True)
class Extent:
    """For how many seconds to measure, and the Mbit/s of the access line (None: not known)."""

    seconds: float = 60.0
    line: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A profile, and what is to be said about how it was measured."""

    profile: Profile
    diagnostics: tuple[Diagnostic, ...]


def calibrate_started(config: Config, server: Server, extent: Extent, progress: Progress) -> Calibration:
    """Start ``server`` with the configuration that would be emitted, and measure what its work costs.

    Raises ``UsageError`` when the server is missing, does not start or answers with errors, and without a build.
    """
    version, manifest = installed_version(server), last_manifest(config.output)
    refuse_unreadable_trees(manifest)
    views = views_by_level(config, manifest, sampled_pages(manifest, page_weights(manifest)))
    files = sample_files(views)
    progress.begin("measuring", round(extent.seconds), 0)
    with load_client() as client:
        runs = [_run(config, server, views, files, client, extent, progress) for _ in range(EPOCHS)]
    progress.end()
    results, last = reduce(Measurements.merged, (run.results for run in runs)), runs[-1]
    profile = _profile(version, last, views, results)
    profile = replace(profile, settings=settings_of(config.serve), line=extent.line)
    said = (*last.diagnostics, *judge(profile), *load_diagnostics(results.total.plus(last.load)))
    return Calibration(profile, said)


@dataclass(frozen=True, slots=True)
class _Run:
    """What was measured of servers that were started once; ``load`` is what the crowd made of ``cpus``."""

    servers: _Servers
    results: Measurements
    saturation: Saturation
    load: Reading
    cpus: float
    diagnostics: list[Diagnostic]


def _run(
    config: Config,
    server: Server,
    views: Mapping[str, tuple[PageView, ...]],
    files: SampleFiles,
    client: LoadClient,
    extent: Extent,
    progress: Progress,
) -> _Run:
    seconds = extent.seconds / EPOCHS
    with workspace_for(config, server) as workspace, testbed(workspace, files) as bed:
        servers, diagnostics = _start(bed, views, client)
        results = measure(servers.experiments, client, seconds, lambda passed: progress.advance(passed, 0, 0))
        saturation, load = observed_saturation(servers.levels[0], client, seconds, extent.line)
        cpus = allowed_cpus(servers.levels[0].server.root)
    return _Run(servers, results, saturation, load, cpus, diagnostics)


def judge(profile: Profile) -> Iterator[Diagnostic]:
    """Yield the levels whose prediction is wrong, or for which the line is too narrow, and a quota of CPUs."""
    for level in profile.levels:
        if abs(level.error) > MOST_ERROR:
            yield diagnose("calibration-error", level=level.level, percent=f"{level.error:+.0%}")
    yield from network_diagnostics(profile)
    yield from quota_diagnostics(profile, os.cpu_count() or 1)


# ---- the servers


@dataclass(frozen=True, slots=True)
class _Servers:
    """What is asked: samples over each protocol, plain HTTP first, samples in other modes, and the levels."""

    samples: tuple[SampleServer, ...]
    off: SampleServer | None
    rejecting: SampleServer | None
    levels: tuple[Experiment, ...]

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        modes = (*([self.off.off()] if self.off else []), *([self.rejecting.rejection()] if self.rejecting else []))
        lengths = (experiment for server in self.samples for experiment in server.lengths())
        return (*lengths, *self.samples[0].others(), *modes, *self.levels)


def _start(
    bed: Testbed, views: Mapping[str, tuple[PageView, ...]], client: LoadClient
) -> tuple[_Servers, list[Diagnostic]]:
    plain = SampleServer("http1", bed.samples("samples"), bed.files)
    serve = bed.workspace.config.serve
    off = SampleServer("off", bed.samples("off", OFF), bed.files) if serve.flag else None
    can_reject = serve.buckets and serve.reject
    rejecting = SampleServer("reject", bed.samples("reject", REJECTING), bed.files) if can_reject else None
    sites = {level: bed.level(level, tuple(views)) for level in views}
    levels = tuple(views_of_pages(level, site.processes, site.base, views[level]) for level, site in sites.items())
    encrypted, diagnostics = _start_encrypted(bed, client)
    return _Servers((plain, *encrypted), off, rejecting, levels), diagnostics


def _start_encrypted(bed: Testbed, client: LoadClient) -> tuple[list[SampleServer], list[Diagnostic]]:
    """Start a server with TLS; return how it is asked over HTTP/1.1 and 2, and what cannot be measured."""
    try:
        site = bed.samples("encrypted", certificate=make_certificate(bed.workspace.root))
    except UsageError as error:
        return [], [diagnose("calibration-unmeasured", what="TLS", reason=error)]
    https1, https2 = SampleServer("https1", site, bed.files), SampleServer("https2", site, bed.files, "http2")
    _, outcome = run(next(https2.lengths()), client)
    if outcome.is_http2:
        return [https1, https2], []
    reason = "the server or libcurl does not speak it"
    return [https1], [diagnose("calibration-unmeasured", what="HTTP/2", reason=reason)]


# ---- the profile


def _profile(version: str, last: _Run, views: Mapping[str, tuple[PageView, ...]], results: Measurements) -> Profile:
    servers, plain = last.servers, last.servers.samples[0]
    connection, _ = plain.connection(results)
    kinds = plain.kinds(results)
    embedded = [kind for pages in views.values() for page in pages for kind in page.kinds[1:]]
    costs = {}
    for server in servers.samples:
        own_connection, page = server.connection(results)
        costs[server.name] = site_cost(own_connection, page, kinds, embedded, plain.page_kind)
    levels = tuple(level_cost(level, pages, costs["http1"], results) for level, pages in views.items())
    if servers.off is not None:
        kinds["off"] = KindCost(servers.off.off_request(results, connection), kinds[plain.page_kind].kilobyte)
    rejection = results.view(servers.rejecting.rejection().name) if servers.rejecting else None
    return profile_of(version, costs, kinds, rejection, levels, last.saturation, last.cpus)


def level_cost(level: str, pages: tuple[PageView, ...], cost: Cost, results: Measurements) -> LevelCost:
    """Return a level as it was measured, and as its costs predict it."""
    requests = sum(len(page.paths) for page in pages) / len(pages)
    kilobytes = sum(page.kilobytes for page in pages) / len(pages)
    predicted = cost.of_view(requests, kilobytes)
    return LevelCost(level, round(requests, 3), round(kilobytes, 3), *(
        round(seconds * 1000, 6) for seconds in (results.view(level), predicted)
    ))  # fmt: skip


# ---- a server that runs on this machine: with its own configuration, in the mode that it is in
#
# Nothing is written where the server reads, and nothing is switched: files of the site itself are requested, small and
# large ones, and its pages.

SMALL_FILES, LARGE_FILES = 32, 8  # files of a site that are requested
REQUESTS = 480  # of a job
LEAST_RATIO = 4  # of large and small files: with less, noise is taken for the cost of a kilobyte
AS_SERVED = "as served"  # the level of a server that sends originals, or does not say what it sends


def calibrate_running(config: Config, url: str, process: int, extent: Extent, progress: Progress) -> Calibration:
    """Measure what the work of the server at ``url`` costs, whose first process is ``process``.

    Raises ``UsageError`` where there is no such process, where it does not serve the URL, and for answers with errors.
    """
    check_process(process)
    address_of(url)  # whether it is one
    manifest, processes = last_manifest(config.output), ServerProcesses(process)
    pages = sampled_pages(manifest, page_weights(manifest))
    with load_client() as client:
        site = _probe(client, processes, url.removesuffix("/"), pages[0], manifest)
        views = {site.name: views_by_level(config, manifest, pages)[site.level]}
        level = views_of_pages(site.name, processes, site.base, views[site.name])
        experiments = [*(each for server in site.servers for each in server.experiments()), level]
        progress.begin("measuring", round(extent.seconds), 0)
        results = measure(experiments, client, extent.seconds, lambda seconds: progress.advance(seconds, 0, 0))
        progress.end()
        saturation, load = observed_saturation(level, client, extent.seconds, extent.line)
    if not results.total.cpu:
        raise UsageError(f"process {process} did not work while {url} answered: name the server's first process")
    costs = {server.name: server.cost(results) for server in site.servers}
    cost = next(iter(costs.values()))
    levels = tuple(level_cost(name, pages, cost, results) for name, pages in views.items())
    profile = profile_of(process_version(process), costs, {}, None, levels, saturation, allowed_cpus(process))
    profile = replace(profile, line=extent.line)
    said = [*site.diagnostics(results), *judge(profile), *load_diagnostics(results.total.plus(load))]
    return Calibration(profile, tuple(said))


@dataclass(frozen=True, slots=True)
class _RunningSite:
    """A site as a running server sends it. ``level`` is the one that it sends, or the first where it sends none."""

    base: str
    name: str
    level: str
    servers: tuple[_RunningFiles, ...]

    def diagnostics(self, results: Measurements) -> Iterator[Diagnostic]:
        if not self.servers[0].has_two_sizes(results):
            yield diagnose("calibration-one-size")


def _probe(client: LoadClient, processes: ServerProcesses, base: str, page: str, manifest: Manifest) -> _RunningSite:
    """Ask for a page, and return what that tells about the server. Raises ``UsageError`` when it does not answer."""
    is_encrypted = base.startswith("https:")
    view = View((base + quote_path(f"/{page}"),), BEST)
    job = Job((view,), protocol="http2" if is_encrypted else "http1")
    _, outcome = run(Experiment(view.urls[0], processes, job), client)
    ((_, adapted),) = outcome.answers
    level = adapted.partition("/")[0]
    is_known = level in manifest.level_names
    measured = level if is_known else manifest.level_names[0]
    small, large = _chosen_files(manifest, measured)
    targets = [tuple(base + quote_path(f"/{path}") for path in paths) for paths in (small, large)]
    names = {"http1": "http1"}
    if is_encrypted:
        names = {"https1": "http1", "https2": "http2"} if outcome.is_http2 else {"https1": "http1"}
    servers = tuple(_RunningFiles(name, protocol, processes, *targets) for name, protocol in names.items())
    return _RunningSite(base, level if is_known else AS_SERVED, measured, servers)


def _chosen_files(manifest: Manifest, level: str) -> tuple[list[str], list[str]]:
    """Return the paths of the smallest and of the largest files of a site, as sent."""
    sizes = sorted((_transfer(resource, level), path) for path, resource in manifest.resources.items() if resource.size)
    paths = [path for _, path in sizes]
    return paths[:SMALL_FILES], paths[-LARGE_FILES:]


def _transfer(resource: BuiltResource, level: str) -> int:
    return min((file.size for file in resource.files.get(level, {}).values()), default=resource.size)


@dataclass(frozen=True, slots=True)
class _RunningFiles:
    """Small and large files of a running server, by their URLs."""

    name: str
    protocol: str
    processes: ServerProcesses
    small: tuple[str, ...]
    large: tuple[str, ...]

    def experiments(self) -> Iterator[Experiment]:
        for length in LENGTHS:
            yield self._experiment(self._small(length), self.small, length)
        yield self._experiment(self._large, self.large, LENGTH)

    def _experiment(self, name: str, targets: tuple[str, ...], length: int) -> Experiment:
        job = Job(views_of(targets, length, REQUESTS, BEST), BROWSERS, protocol=self.protocol)
        return Experiment(name, self.processes, job)

    def _small(self, length: int) -> str:
        return f"{self.name}: {length} small files"

    @property
    def _large(self) -> str:
        return f"{self.name}: {LENGTH} large files"

    def _kilobytes(self, results: Measurements) -> tuple[float, float]:
        outcomes = [results.samples[name].outcome for name in (self._small(LENGTH), self._large)]
        small, large = (outcome.octets / 1000 / sum(outcome.answers.values()) for outcome in outcomes)
        return small, large

    def has_two_sizes(self, results: Measurements) -> bool:
        """Whether the files differ enough to tell a request from a kilobyte."""
        small, large = self._kilobytes(results)
        return large > LEAST_RATIO * small

    def cost(self, results: Measurements) -> Cost:
        """Return p, a and b; b is 0 where all files have about one size."""
        connection, request = fit_line({length: results.view(self._small(length)) for length in LENGTHS})
        kind = KindCost(request, 0.0)
        if self.has_two_sizes(results):
            large = (results.view(self._large) - connection) / LENGTH
            kind = kind_cost(request, large, self._kilobytes(results))
        return Cost(kind.request, kind.kilobyte, view=connection)
