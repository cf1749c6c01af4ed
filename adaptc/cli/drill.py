"""``adaptc drill``: pulls every knob of the emitted configuration on a test server under load."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import FILE, FOLDER, ExitCode, Invocation, command
from adaptc.cli.measured_cost import found_profile
from adaptc.cli.popular import views_in_logs
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
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.serve.drill import Drill, LeverReport


@command("drill")
@click.argument("log", nargs=-1)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of a build.  [default: opt]")
@click.option("--docroot", type=FOLDER, metavar="DIR", help="The site.  [default: that of the last build]")
@click.option(
    "--server", type=click.Choice([server.name for server in examinable()]), required=True, help="Start this server."
)
@click.option("--log-format", metavar="FORMAT", help="The format of the logs: a name, or a format string.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 3600, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Pull levers for S seconds in all.",
)
@click.option("--profile", type=FILE, metavar="FILE", help="Predict with FILE.  [default: DIR/run/cost.json]")
def drill(
    invocation: Invocation,
    log: tuple[str, ...],
    output: Path | None,
    docroot: Path | None,
    server: str,
    log_format: str | None,
    seconds: float,
    profile: Path | None,
) -> ExitCode:
    """Pull every knob on a test server, and say what it buys.

    Starts the server with the configuration that adaptc would emit, lets visitors view pages as LOG has them (without
    one: as the build knows them, else all alike), and puts it into every state that flag, buckets, classes and
    rejection can: CPU time, bytes and times of page views, errors and wrong answers, next to what was predicted.
    """
    from adaptc.serve.drill import drill as pull_levers

    config = with_mirror(invocation.load({"docroot": docroot, "output": output, "select.format": log_format}))
    views, diagnostics = _views(config, log)
    known = found_profile(config, invocation, profile)
    is_of_server = known is not None and known.server.partition("/")[0] == server
    with watching(invocation) as progress:
        drilled = pull_levers(config, server_named(server), seconds, views, known if is_of_server else None, progress)
    said = (*diagnostics, *drilled.diagnostics)
    levers = [asdict(report) for report in drilled.reports]
    record = {"server": drilled.server, "levers": levers, "diagnostics": diagnostic_records(said)}
    return show(record, _text(drilled), invocation, said)


def _views(config: Config, logs: tuple[str, ...]) -> tuple[dict[str, float] | None, tuple[Diagnostic, ...]]:
    """Return the views of each page in access logs. Raises ``UsageError`` for logs without any."""
    if not logs:
        from adaptc.report.manifest import last_manifest
        from adaptc.serve.calibrate.page_views import page_weights

        return page_weights(last_manifest(config.output)), ()
    folder = next((log for log in logs if Path(log).is_dir()), None)
    if folder is not None:
        raise UsageError(f"{folder} is a directory, and no access log: name the output of a build with --output")
    hits, tally = views_in_logs(config, logs)
    if not any(hits.values()):
        raise UsageError(f"no view of a page in {tally.lines:,} lines of {', '.join(logs)}")
    return {page: float(count) for page, count in hits.items()}, tuple(tally.diagnostics)


def _text(drilled: Drill) -> str:
    head = ["lever", "views", "CPU us", "predicted", "kB", "predicted", "ms", "95th", "errors", "wrong"]
    rows = [_row(report) for report in drilled.reports]
    title = f"{drilled.server}; of a page view: CPU microseconds, kB, milliseconds (median and 95th percentile)"
    return f"{title}\n\n{table([head, *rows], right=range(1, 10))}"


def _row(report: LeverReport) -> list[str]:
    predicted = report.predicted
    return [
        report.lever,
        f"{report.views:,}",
        f"{1000 * report.cpu_ms:,.1f}",
        "-" if predicted.cpu_ms is None else f"{1000 * predicted.cpu_ms:,.1f}",
        f"{report.kilobytes:,.1f}",
        "-" if predicted.kilobytes is None else f"{predicted.kilobytes:,.1f}",
        f"{report.median_ms:.2f}",
        f"{report.slow_ms:.2f}",
        f"{report.errors:,}",
        f"{report.wrong:,}",
    ]
