"""``adaptc control``: adapts content to keep the utilization at a bound."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.daemon_options import (
    FILE,
    cpu_source,
    daemon_options,
    existing_output,
    owned,
    say,
    serve_metrics,
    settings_table,
)
from adaptc.cli.measured_cost import config_cost, measured_cost
from adaptc.cli.render import print_json, print_text, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.daemons.control.daemon import SiteEndpoint
    from adaptc.daemons.control.load_meter import Meter
    from adaptc.daemons.control.machine import Machine
    from adaptc.daemons.control.settings import ControlSettings, SiteSettings
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.formats.accesslog.parser import LineParser
    from adaptc.serve.capacity.utilization import Cost

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
    log_format: str | None,
    record: Path | None,
    replay: Path | None,
) -> ExitCode:
    """Adapt content to keep the utilization at a bound.

    Reads requests and bytes from each LOG, or from the server's status page, once a second and moves m between 0
    (reject) and the number of levels: m = 2.25 gives a quarter of the clients level 3 and the others level 2. With
    [daemons.control.sites.NAME] several sites of one machine are controlled together, each with what it is promised.
    """
    from adaptc.daemons.control.settings import machine_of, read_control

    config = invocation.load({"output": output})
    settings, sites = read_control(settings_table(config, "control"), assignments)
    settings = replace(settings, logs=logs or settings.logs, log_format=log_format or settings.log_format)
    sites = sites or _only_site(config, settings, replay)
    machine = machine_of(settings, sites, _first_cost(config, sites, invocation))
    if replay:
        return _replay(invocation, machine, replay)
    return _run(invocation, settings, machine, sites, metrics, dry_run, record)


def _first_cost(config: Config, sites: Mapping[str, SiteSettings], invocation: Invocation) -> Cost:
    """Return the measured costs of the first site, else those of ``[cost]``, whose p is for the report alone."""
    output = next(iter(sites.values())).output
    measured = measured_cost(config if output is None else replace(config, output=output), invocation)
    return measured or replace(config_cost(config), view=0.0)


def _only_site(config: Config, settings: ControlSettings, replay: Path | None) -> dict[str, SiteSettings]:
    from adaptc.daemons.control.settings import SiteSettings

    if not (settings.logs or settings.status_url or replay):
        raise UsageError("name a LOG, or logs or status_url in [daemons.control]")
    return {"site": SiteSettings(existing_output(config), settings.logs, settings.status_url)}


def _run(
    invocation: Invocation,
    settings: ControlSettings,
    machine: Machine,
    sites: Mapping[str, SiteSettings],
    metrics: int | None,
    dry_run: bool,
    record: Path | None,
) -> ExitCode:
    from adaptc.daemons.control.daemon import ControlDaemon, Environment
    from adaptc.daemons.loop import run as drive
    from adaptc.daemons.mode import guard_of
    from adaptc.daemons.reporter import Reporter

    endpoints = _endpoints(settings, sites, dry_run)
    runs = [endpoint.run for endpoint in endpoints.values() if endpoint.run]
    reporter = Reporter("control", runs, say(invocation))
    with ExitStack() as stack:
        _own(stack, runs)
        serve_metrics(reporter, metrics)
        guard = guard_of(runs, settings)
        cpu = cpu_source(settings.cgroup)
        environment = Environment(endpoints, cpu, reporter=reporter, guard=guard, record=record)
        drive(ControlDaemon(settings, machine, environment), settings.interval)
    return ExitCode.DONE


def _endpoints(settings: ControlSettings, sites: Mapping[str, SiteSettings], dry_run: bool) -> dict[str, SiteEndpoint]:
    from adaptc.daemons.control.daemon import SiteEndpoint
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.formats.accesslog.parser import compile_format

    parser = compile_format(settings.log_format)
    return {
        name: SiteEndpoint(_meter(site, parser), None if dry_run else RunDirectory.of(site.output or Path()))
        for name, site in sites.items()
    }


def _meter(site: SiteSettings, parser: LineParser) -> Meter:
    from adaptc.daemons.control.load_meter import LogMeter, StatusMeter
    from adaptc.daemons.sensors.status_page import StatusPage

    return LogMeter(site.logs, parser) if site.logs else StatusMeter(StatusPage(site.status_url))


def _own(stack: ExitStack, runs: list[RunDirectory]) -> None:
    for run in runs:
        stack.enter_context(owned(run, "mode", "sets the mode"))


def _replay(invocation: Invocation, machine: Machine, trace: Path) -> ExitCode:
    from adaptc.daemons.trace import read_loads, replay

    names = [site.name for site in machine.sites]
    records = [
        {"at": sample.at, "site": site.name, "R": sample.sites[site.name].requests,
         "W": sample.sites[site.name].kilobytes, "U": (state.utilization or {})[site.name], "m": state.m(site)}
        for sample, state in replay(machine, read_loads(trace, names))
        for site in machine.sites
    ]  # fmt: skip
    if invocation.format == "json":
        print_json(records)
    else:
        rows = [
            [f"{record['at']:.1f}", str(record["site"]), *(f"{record[key]:.4g}" for key in "RWUm")]
            for record in records
        ]
        print_text(table([["at", "site", *"RWUm"], *rows], right=(0, 2, 3, 4, 5)), invocation)
    return ExitCode.DONE
