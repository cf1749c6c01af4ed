"""``adaptc control``: keeps the server's utilization at a bound, by content."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.daemon import (
    busy,
    cpu_source,
    daemon_options,
    existing_output,
    owned,
    say,
    serve_metrics,
    settings_table,
)
from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame, command
from adaptc.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config import Config
    from adaptc.runtime.control.daemon import Place
    from adaptc.runtime.control.machine import Machine
    from adaptc.runtime.control.settings import ControlSettings, SiteSettings
    from adaptc.runtime.run_directory import RunDirectory

_LOG = click.Path(dir_okay=False, path_type=Path)


@command("control")
@click.argument("logs", nargs=-1, type=_LOG, metavar="LOG")
@daemon_options
@click.option("--log-format", metavar="FORMAT", help="The format of the logs.  [default: common or combined]")
def control(
    frame: Frame,
    logs: tuple[Path, ...],
    output: Path | None,
    given: tuple[str, ...],
    metrics: int | None,
    dry_run: bool,
    log_format: str | None,
) -> ExitCode:
    """Keep the server's utilization at a bound, by content.

    Reads requests and bytes from each LOG once a second and moves m between 0 (reject) and the number of levels: m =
    2.25 gives a quarter of the clients level 3 and the others level 2. With [daemons.control.sites.NAME] several
    sites of one machine are controlled together, each with what it is promised.
    """
    from adaptc.capacity.utilization import Cost
    from adaptc.runtime.control.settings import machine_of, read_control

    config = frame.load({"output": output})
    settings, sites = read_control(settings_table(config, "control"), given)
    settings = replace(settings, logs=logs or settings.logs, log_format=log_format or settings.log_format)
    sites = sites or _only_site(config, settings)
    cost = Cost(config.cost.request_ms / 1000, config.cost.kilobyte_ms / 1000)
    return _run(frame, settings, machine_of(settings, sites, cost), sites, metrics, dry_run)


def _only_site(config: Config, settings: ControlSettings) -> dict[str, SiteSettings]:
    from adaptc.runtime.control.settings import SiteSettings

    if not settings.logs:
        raise UsageError("name a LOG, or logs in [daemons.control]")
    return {"site": SiteSettings(existing_output(config), settings.logs)}


def _run(
    frame: Frame,
    settings: ControlSettings,
    machine: Machine,
    sites: Mapping[str, SiteSettings],
    metrics: int | None,
    dry_run: bool,
) -> ExitCode:
    from adaptc.runtime.control.daemon import ControlDaemon, Surroundings
    from adaptc.runtime.guard import SILENCE, Guard
    from adaptc.runtime.loop import run as drive
    from adaptc.runtime.reporter import Reporter
    from adaptc.runtime.run_directory import DaemonBusy

    places = _places(settings, sites, dry_run)
    runs = [place.run for place in places.values() if place.run]
    reporter = Reporter("control", runs, say(frame))
    try:
        with ExitStack() as stack:
            _own(stack, runs)
            serve_metrics(reporter, metrics)
            guard = Guard([run.flag for run in runs], SILENCE) if runs and settings.expire == "normal" else None
            around = Surroundings(places, cpu_source(settings.cgroup), reporter, guard)
            drive(ControlDaemon(settings, machine, around), settings.interval)
    except DaemonBusy as error:
        return busy(error)
    return ExitCode.DONE


def _places(settings: ControlSettings, sites: Mapping[str, SiteSettings], dry_run: bool) -> dict[str, Place]:
    from adaptc.accesslog.parser import compile_format
    from adaptc.runtime.control.daemon import Place
    from adaptc.runtime.control.meter import Meter
    from adaptc.runtime.run_directory import RunDirectory

    parser = compile_format(settings.log_format)
    return {
        name: Place(Meter(site.logs, parser), None if dry_run else RunDirectory.of(site.output or Path()))
        for name, site in sites.items()
    }


def _own(stack: ExitStack, runs: list[RunDirectory]) -> None:
    for run in runs:
        stack.enter_context(owned(run, "mode", "sets the mode"))
