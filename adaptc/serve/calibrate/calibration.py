"""A whole calibration of a server that is started for it: samples and levels in turn, and the profile of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.report.manifest import last_manifest
from adaptc.serve.calibrate.costs import KindCost, site_cost
from adaptc.serve.calibrate.cpu_time import Reading, allowed_cpus
from adaptc.serve.calibrate.experiments import SampleServer, views_of_pages
from adaptc.serve.calibrate.load_client import LoadClient, load_client
from adaptc.serve.calibrate.measurement import Experiment, Measurements, measure, run
from adaptc.serve.calibrate.page_views import PageView, page_weights, sample_files, sampled_pages, views_by_level
from adaptc.serve.calibrate.profile import LevelCost, Profile, Saturation, profile_of, settings_of
from adaptc.serve.calibrate.samples import SampleFiles
from adaptc.serve.calibrate.saturation import (
    load_diagnostics,
    network_diagnostics,
    observed_saturation,
    quota_diagnostics,
)
from adaptc.serve.calibrate.testbed import OFF, REJECTING, Testbed, make_certificate, testbed
from adaptc.serve.calibrate.versions import installed_version
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.server import Server
from adaptc.serve.verify.verification import refuse_unreadable_trees
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
