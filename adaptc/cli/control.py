"""``adaptc control``: adapts content to keep the utilization at a bound."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FILE, ExitCode, Invocation, command
from adaptc.cli.daemon_options import (
    cpu_source,
    daemon_options,
    disobedience,
    existing_output,
    opened_limits,
    owned,
    programs_of,
    say,
    serve_metrics,
    started_page,
)
from adaptc.cli.measured_cost import found_profile
from adaptc.cli.render import show, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.daemons.control.daemon import SiteEndpoint
    from adaptc.daemons.control.load_meter import Meter
    from adaptc.daemons.control.machine import Machine
    from adaptc.daemons.control.settings import ControlSettings, SiteSettings
    from adaptc.daemons.sensors.cpu import CpuSource
    from adaptc.formats.accesslog.parser import LineParser
    from adaptc.serve.capacity.utilization import Cost
    from adaptc.serve.state_directory import Knobs

_LOG = click.Path(dir_okay=False, path_type=Path)


@command("control")
@click.argument("logs", nargs=-1, type=_LOG, metavar="LOG")
@daemon_options
@click.option("--log-format", metavar="FORMAT", help="The format of the logs.  [default: common or combined]")
@click.option("--record", type=FILE, metavar="FILE", help="Append the load of every sample to FILE.")
@click.option("--replay", type=FILE, metavar="FILE", help="Control the loads of FILE, print m after each and end.")
def control(
    invocation: Invocation,
    logs: tuple[Path, ...],
    output: Path | None,
    assignments: tuple[str, ...],
    metrics: int | None,
    dry_run: bool,
    shadow: bool,
    log_format: str | None,
    record: Path | None,
    replay: Path | None,
) -> ExitCode:
    """Adapt content to keep the utilization at a bound.

    Reads requests and bytes from each LOG, or from the server's status page, once a second and moves m between 0
    (reject) and the number of levels: m = 2.25 gives a quarter of the clients level 3 and the others level 2. With
    [daemons.control.sites.NAME] several sites of one machine are controlled together, each with what it is promised.
    What the server's own processes use rules; nobody is rejected while that is below the bound. The emitted
    configuration must have buckets (serve.buckets).
    """
    from adaptc.daemons.control.settings import machine_of, read_control
    from adaptc.serve.capacity.utilization import Cost

    config = invocation.load({"output": output})
    settings, sites = read_control(config.daemons.below("control"), assignments)
    settings = replace(settings, logs=logs or settings.logs, log_format=log_format or settings.log_format,
                       shadow=shadow or settings.shadow)  # fmt: skip
    sites = sites or _only_site(config, settings, replay)
    if replay:
        return _replay(invocation, machine_of(settings, sites, _measured(config, sites, invocation) or Cost()), replay)
    return _run(invocation, settings, sites, config, metrics, dry_run, record)


def _measured(config: Config, sites: Mapping[str, SiteSettings], invocation: Invocation) -> Cost | None:
    """Return the costs of the first site as ``adaptc calibrate`` measured them, if it did."""
    output = next(iter(sites.values())).output
    profile = found_profile(config if output is None else replace(config, output=output), invocation)
    return None if profile is None else profile.machine_cost()


def _first_cost(
    config: Config,
    settings: ControlSettings,
    sites: Mapping[str, SiteSettings],
    kept: tuple[Mapping[str, Any], float] | None,
    cpus: float,
    invocation: Invocation,
) -> tuple[Cost, str]:
    """Return the costs to begin with, and what they come from: settings, an earlier run, a calibration, a self-test."""
    from adaptc.daemons.control.daemon import kept_cost
    from adaptc.serve.calibrate.cpu_time import self_test
    from adaptc.serve.capacity.utilization import Cost

    learnt, measured = kept_cost(kept[0]) if kept else None, _measured(config, sites, invocation)
    if settings.request_ms is not None and settings.kilobyte_ms is not None:
        assumed = Cost(rejection=settings.request_ms / 1000, is_rejection_measured=False)
        return measured or assumed, "configured"
    if learnt is not None:
        return learnt, "kept"
    if measured is not None:
        return measured, "calibrated"
    return self_test().shared_by(cpus), "self-test"


def _only_site(config: Config, settings: ControlSettings, replay: Path | None) -> dict[str, SiteSettings]:
    from adaptc.daemons.control.settings import SiteSettings
    from adaptc.serve.state_directory import read_knobs

    output = config.output if replay else existing_output(config)
    knobs = read_knobs(output)
    status_url = settings.status_url or (knobs.status if knobs and not settings.logs else "")
    if not (settings.logs or status_url or replay):
        raise UsageError("name a LOG, or logs or status_url in [daemons.control]")
    return {"site": SiteSettings(output, settings.logs, status_url)}


def _run(
    invocation: Invocation,
    settings: ControlSettings,
    sites: Mapping[str, SiteSettings],
    config: Config,
    metrics: int | None,
    dry_run: bool,
    record: Path | None,
) -> ExitCode:
    from adaptc.daemons.control.daemon import CHECKS, ControlDaemon, Environment
    from adaptc.daemons.control.settings import machine_of
    from adaptc.daemons.loop import run as drive
    from adaptc.daemons.mode import guard_of, kept
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.serve.purge import purges_of, site_of

    knobs = _knobs(sites, is_live=not (dry_run or settings.shadow))
    runs = [] if dry_run else [RunDirectory.of(site.output or Path()) for site in sites.values()]
    reporter = Reporter("control", runs, say(invocation))
    with ExitStack() as stack:
        lock = "control-shadow" if settings.shadow else "mode"
        held = [stack.enter_context(owned(run, lock, "sets the mode")) for run in runs]
        serve_metrics(reporter, metrics)
        cpu = cpu_source(settings, _servers(knobs))
        before = kept(runs[0] if runs else None, "control", time.time())
        cost, origin = _first_cost(config, settings, sites, before, _cpus(cpu), invocation)
        machine = machine_of(settings, sites, cost)
        guard = None if settings.shadow else guard_of(runs, settings)
        outputs = [site.output or Path() for site in sites.values()]
        by_output: dict[Path, RunDirectory | None] = dict.fromkeys(outputs) | dict(zip(outputs, runs, strict=False))
        if disobedience(settings, by_output, reporter, guard):
            return ExitCode.SERVER
        environment = Environment(
            _endpoints(settings, sites, dry_run),  # after the canary, whose requests are no load
            cpu,
            costs=origin,
            reporter=reporter,
            guard=guard,
            record=record,
            purges=purges_of(config.serve, site_of(config.site.base_url, config.url_prefix), knobs),
            **_sensors(settings, sites, knobs),
        )
        drive(ControlDaemon(settings, machine, environment, before), settings.interval / CHECKS, held)
    return ExitCode.DONE


def _servers(knobs: Sequence[Knobs]) -> set[str]:
    return {name for each in knobs for name in each.servers}


def _sensors(settings: ControlSettings, sites: Mapping[str, SiteSettings], knobs: Sequence[Knobs]) -> dict[str, Any]:
    """Open what tells of a server's work, but for its CPU and its logs."""
    from adaptc.daemons.sensors.cpu import HostCpu
    from adaptc.daemons.sensors.waiting import open_pending

    servers, status = _servers(knobs), next((each.status for each in knobs if each.status), "")
    return {
        "limits": opened_limits(settings, settings.limits, servers),
        "probe": None if any(site.status_url for site in sites.values()) else started_page(settings, status),
        "pending": open_pending(settings.cgroup, programs_of(settings, servers)),
        "host": HostCpu(),
    }


def _cpus(cpu: CpuSource) -> float:
    """Return how many CPUs the share of a source is of: those of the host where it counts all of them."""
    try:
        is_host = cpu.read().source == "host"
    except (OSError, ValueError):
        is_host = True
    return float(os.cpu_count() or 1) if is_host else cpu.cpus


def _knobs(sites: Mapping[str, SiteSettings], is_live: bool) -> list[Knobs]:
    """Return what the emitted configuration of each site obeys.

    Raises ``UsageError`` for one that cannot be controlled.
    """
    from adaptc.daemons.actuator import required_knobs
    from adaptc.serve.state_directory import read_knobs

    outputs = [site.output or Path() for site in sites.values()]
    found = [required_knobs(output) if is_live else read_knobs(output) for output in outputs]
    return [knobs for knobs in found if knobs is not None]


def _endpoints(settings: ControlSettings, sites: Mapping[str, SiteSettings], dry_run: bool) -> dict[str, SiteEndpoint]:
    from adaptc.daemons.control.daemon import SiteEndpoint
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.formats.accesslog.parser import compile_format

    parser = compile_format(settings.log_format)
    return {
        name: SiteEndpoint(_meter(site, parser, settings), None if dry_run else RunDirectory.of(site.output or Path()))
        for name, site in sites.items()
    }


def _meter(site: SiteSettings, parser: LineParser, settings: ControlSettings) -> Meter:
    from adaptc.daemons.control.load_meter import LogMeter, StatusMeter
    from adaptc.daemons.sensors.status_page import BackgroundPage, StatusPage

    if site.logs:
        return LogMeter(site.logs, parser)
    return StatusMeter(BackgroundPage(StatusPage(site.status_url), settings.interval / 10))


def _replay(invocation: Invocation, machine: Machine, trace: Path) -> ExitCode:
    from adaptc.daemons.trace import read_loads, replay

    names = [site.name for site in machine.sites]
    records = [
        {"at": sample.at, "site": site.name, "R": sample.sites[site.name].requests,
         "W": sample.sites[site.name].kilobytes, "U": (state.utilization or {})[site.name], "m": state.m(site)}
        for sample, state in replay(machine, read_loads(trace, names))
        for site in machine.sites
    ]  # fmt: skip
    rows = [
        [f"{record['at']:.1f}", str(record["site"]), *(f"{record[key]:.4g}" for key in "RWUm")] for record in records
    ]
    return show(records, table([["at", "site", *"RWUm"], *rows], right=(0, 2, 3, 4, 5)), invocation)
