"""``adaptc calibrate``: measures what the work of a server costs, and writes a profile of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import FILE, FOLDER, ExitCode, Invocation, command
from adaptc.cli.render import (
    diagnostic_records,
    show,
    table,
    watching,
)
from adaptc.cli.site_options import with_mirror
from adaptc.core.diagnostics import UsageError
from adaptc.serve.servers import examinable, server_named

if TYPE_CHECKING:
    from adaptc.serve.calibrate.calibration import Calibration
    from adaptc.serve.calibrate.profile import Profile, Saturation

_SERVERS = [server.name for server in examinable()]


@command("calibrate")
@click.argument("output", required=False, type=FOLDER)
@click.option("--docroot", type=FOLDER, metavar="DIR", help="The site.  [default: that of the last build]")
@click.option("--server", type=click.Choice(_SERVERS), help="Start this server on loopback.")
@click.option("--url", metavar="URL", help="Measure the server at URL, on this machine, in its current mode.")
@click.option("--pid", type=click.IntRange(1), metavar="PID", help="The first process of the server at URL.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 3600, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Measure for S seconds, and each experiment at least twice.",
)
@click.option(
    "--line", type=click.FloatRange(0, min_open=True), metavar="MBIT", help="Megabits a second of the access line."
)
@click.option("--profile", type=FILE, metavar="FILE", help="Write FILE.  [default: OUTPUT/run/cost.json]")
def calibrate(
    invocation: Invocation,
    output: Path | None,
    docroot: Path | None,
    server: str | None,
    url: str | None,
    pid: int | None,
    seconds: float,
    line: float | None,
    profile: Path | None,
) -> ExitCode:
    """Measure what the work of a server costs.

    Starts the server with the configuration that adaptc would emit, or asks the one at URL, and measures the CPU time
    of its processes for connections, requests and kilobytes in each coding, over TLS and HTTP/2 too, for rejections
    and for page views at each level. The profile of this is what adaptc capacity and adaptc control compute with.
    """
    from adaptc.serve.calibrate.calibration import Extent, calibrate_running, calibrate_started
    from adaptc.serve.calibrate.profile import profile_path, write_profile

    if (server is None) == (url is None) or (url is None) != (pid is None):
        names = " or ".join(f"--server {name}" for name in _SERVERS)
        raise UsageError(f"say either {names}, or --url URL with --pid PID")
    config = with_mirror(invocation.load({"docroot": docroot, "output": output}))
    extent = Extent(seconds, line)
    with watching(invocation) as progress:
        if server is not None:
            calibration = calibrate_started(config, server_named(server), extent, progress)
        else:
            calibration = calibrate_running(config, str(url), int(pid or 0), extent, progress)
    path = profile or profile_path(config.output)
    write_profile(calibration.profile, path)
    return _show(calibration, path, invocation)


def _show(calibration: Calibration, path: Path, invocation: Invocation) -> ExitCode:
    said = calibration.diagnostics
    record = {"file": str(path), **asdict(calibration.profile), "diagnostics": diagnostic_records(said)}
    return show(record, f"{_text(calibration.profile)}\n\nProfile: {path}", invocation, said)


def _text(profile: Profile) -> str:
    parts = [f"{profile.server}, CPU microseconds:", _costs(profile), _levels(profile)]
    if profile.rejection_ms is not None:
        parts.insert(2, f"A rejected visitor: {1000 * profile.rejection_ms:.1f}")
    if profile.saturation is not None:
        parts.append(_saturation(profile.saturation))
    return "\n\n".join(parts)


def _saturation(seen: Saturation) -> str:
    limits = {"unknown": "nothing was full", "quota": "a quota was used up", "network": "the line was full"}
    limit = limits.get(seen.limit, f"the {seen.limit} was busy")
    rate = f"{seen.pages_per_second:,.0f} pages a second of {seen.level}"
    return f"{rate} were seen, {seen.busy:.2f} CPUs used: {limit}."


def _costs(profile: Profile) -> str:
    rows = [["", "connection", "request", "kilobyte"]]
    for name, costs in profile.costs.items():
        rows.append([name, *(_us(costs[key]) for key in ("view_ms", "request_ms", "kilobyte_ms"))])
    for name, costs in profile.kinds.items():
        rows.append([name, "", _us(costs["request_ms"]), _us(costs["kilobyte_ms"])])
    return table(rows, right=range(1, 4))


def _levels(profile: Profile) -> str:
    head = ["level", "requests", "kB", "measured", "predicted", "error", "pages/s a CPU"]
    rows = [
        [
            level.level,
            f"{level.requests:.1f}",
            f"{level.kilobytes:.1f}",
            _us(level.measured_ms),
            _us(level.predicted_ms),
            f"{level.error:+.0%}",
            f"{1000 / level.measured_ms:,.0f}",
        ]
        for level in profile.levels
    ]
    return table([head, *rows], right=range(1, 7))


def _us(milliseconds: float) -> str:
    return f"{1000 * milliseconds:,.2f}"
