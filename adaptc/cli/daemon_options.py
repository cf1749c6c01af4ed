"""What the commands of the daemons share: options, output directory, settings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adaptc.cli.command import FOLDER, Invocation
from adaptc.core.diagnostics import UsageError, printable

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.daemons.guard import Guard
    from adaptc.daemons.mode import ModeSettings
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.sensors.cpu import CpuSource
    from adaptc.daemons.sensors.status_page import BackgroundPage
    from adaptc.daemons.sensors.waiting import Counter


F = TypeVar("F", bound=Callable[..., Any])


def output_option(function: F) -> F:
    """Add ``-o``."""
    return click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of a build.  [default: opt]")(
        function
    )


def daemon_options(function: F) -> F:
    """Add the options of every daemon."""
    options = (
        output_option,
        click.option(
            "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting; may be given again."
        ),
        click.option("--metrics", type=click.IntRange(0, 65535), metavar="PORT", help="Serve figures for Prometheus."),
        click.option("--dry-run", is_flag=True, help="Say what would be decided; write nothing."),
        click.option("--shadow", is_flag=True, help="Decide, report and learn; change nothing for the server."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def existing_output(config: Config) -> Path:
    """Return the output directory. Raises ``UsageError`` when nothing was built there."""
    if not config.output.is_dir():
        raise UsageError(
            f"there is no output {printable(str(config.output))}: build the site first, or name it with -o"
        )
    return config.output


def say(invocation: Invocation) -> Callable[[str], None]:
    """Return a function that prints a line for people to standard error, which journals keep."""

    def echo(line: str) -> None:
        if not invocation.quiet:
            click.echo(printable(line), err=True)

    return echo


def serve_metrics(reporter: Reporter, port: int | None) -> None:
    """Serve the figures on ``port``, if any. Raises ``UsageError`` when the port is taken."""
    if port is None:
        return
    try:
        reporter.serve(port)
    except OSError as error:
        raise UsageError(f"--metrics {port}: {error.strerror}") from None


def owned(run: RunDirectory | None, lock: str, work: str) -> AbstractContextManager[Callable[[], None]]:
    """Hold the lock of a daemon's work, if it writes at all; entering raises ``Busy``.

    What it gives holds the lock where the run directory was removed, and is for each step.
    """
    return run.locked(lock, work) if run else nullcontext(lambda: None)


def started_page(settings: ModeSettings, emitted: str = "") -> BackgroundPage | None:
    """Return the status page that is configured, else the ``emitted`` one, read with a deadline; None without any."""
    from adaptc.daemons.sensors.status_page import BackgroundPage, StatusPage

    url = settings.status_url or emitted
    return BackgroundPage(StatusPage(url), settings.interval / 10) if url else None


_PROVEN = 86_400.0  # seconds


def disobedience(
    settings: ModeSettings, runs: Mapping[Path, RunDirectory | None], reporter: Reporter, guard: Guard | None
) -> bool:
    """Whether a server does not obey, which is said, and left as it is; report what a site's levels cannot do."""
    for output, run in runs.items():
        _report_weakness(output, reporter)
        if failure := _canary_failure(settings, output, run, reporter):
            click.echo(f"adaptc: {failure}", err=True)
            if guard:
                guard.close()
            return True
    return False


def _canary_failure(settings: ModeSettings, output: Path, run: RunDirectory | None, reporter: Reporter) -> str:
    """Ask the server for every level, if its URL is known; return how it disobeys, "" where it does not.

    What cannot be proven is reported, and the daemon starts: the server may start later than it. What was proven less
    than a day ago is not asked again: a daemon that starts in a crowd has no time for it.
    """
    from adaptc.daemons.actuator import Canary, Disobedient
    from adaptc.daemons.mode import keep, kept
    from adaptc.report.manifest import last_manifest
    from adaptc.serve.state_directory import read_knobs

    knobs = read_knobs(output)
    if not settings.url or knobs is None or run is None or settings.shadow or run.is_off:
        return ""
    now, proof = time.time(), {"url": settings.url, "knobs": knobs.json().decode("ascii")}
    before = kept(run, "canary", now)
    if before is not None and before[1] < _PROVEN and before[0] | proof == before[0]:
        reporter.decision(now, "canary", f"the server obeyed {before[1]:.0f} s ago")
        return ""
    try:
        unproven = Canary(settings.url, knobs, run).prove(last_manifest(output))
    except Disobedient as error:
        return str(error)
    if not unproven:
        reporter.attempt(lambda: keep(run, "canary", time.time(), **proof))
    rule = (
        f"not proven that the server obeys: {unproven}"
        if unproven
        else "the server sends every level that it is asked for"
    )
    reporter.decision(time.time(), "canary", rule)
    return ""


def _report_weakness(output: Path, reporter: Reporter) -> None:
    """Report where the emitted configuration hardly helps."""
    from adaptc.report.manifest import last_manifest
    from adaptc.serve.capacity.rungs import ladder_of, weakness
    from adaptc.serve.state_directory import read_knobs

    knobs, sentence = read_knobs(output), "nothing was emitted: run adaptc emit"
    if knobs is not None:
        with suppress(UsageError):
            sentence = weakness(ladder_of(last_manifest(output)), knobs.reachable)
    if sentence:
        reporter.decision(time.time(), "remark", sentence)


def programs_of(settings: ModeSettings, servers: Collection[str] = ()) -> set[str]:
    """Return the names of the server's programs; ``servers`` are those for which configuration was emitted."""
    from adaptc.config.config import SERVERS
    from adaptc.serve.servers import server_named

    programs = {program for name in servers for program in server_named(name).programs if name in SERVERS}
    return set(settings.processes) or programs


def cpu_source(settings: ModeSettings, servers: Collection[str] = ()) -> CpuSource:
    """Return the CPU sensor of a control group, of the server's processes, or of the host."""
    from adaptc.daemons.sensors.cpu import GroupCpu, HostCpu, WorkersCpu

    if settings.cgroup:
        return GroupCpu(settings.cgroup, os.cpu_count() or 1)
    programs = programs_of(settings, servers)
    return WorkersCpu(programs) if programs else HostCpu()


def opened_limits(
    settings: ModeSettings, limits: Mapping[str, float], servers: Collection[str] = ()
) -> dict[str, Counter]:
    """Return the sensors whose limit a value can exceed, by name."""
    from adaptc.daemons.sensors import LIMIT_SENSORS

    programs = programs_of(settings, servers)
    active = [sensor for sensor in LIMIT_SENSORS if limits[sensor.name] < sensor.off]
    return {sensor.name: sensor.open(settings.cgroup, programs) for sensor in active}
