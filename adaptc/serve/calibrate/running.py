"""A calibration of a server that runs on this machine: with its own configuration, in the mode that it is in.

Nothing is written where the server reads, and nothing is switched: files of the site itself are requested, small and
large ones, and its pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.urls import quote_path
from adaptc.report.manifest import BuiltResource, Manifest, last_manifest
from adaptc.serve.calibrate.calibration import Calibration, Extent, judge, level_cost
from adaptc.serve.calibrate.costs import KindCost, fit_line, kind_cost
from adaptc.serve.calibrate.cpu_time import ServerProcesses, allowed_cpus, check_process
from adaptc.serve.calibrate.experiments import BROWSERS, LENGTH, LENGTHS, views_of, views_of_pages
from adaptc.serve.calibrate.load_client import Job, LoadClient, View, load_client
from adaptc.serve.calibrate.measurement import Experiment, Measurements, measure, run
from adaptc.serve.calibrate.page_views import page_weights, sampled_pages, views_by_level
from adaptc.serve.calibrate.profile import profile_of
from adaptc.serve.calibrate.saturation import load_diagnostics, observed_saturation
from adaptc.serve.calibrate.versions import process_version
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.verify.scenario import BEST
from adaptc.serve.verify.verification import address_of

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
