"""``adaptc classify``: tells clients on poor and on rich lines apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.daemon_options import daemon_options, existing_output, owned, say, serve_metrics
from adaptc.cli.render import print_json, print_text, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.daemons.classify.settings import ClassifySettings

_LOG = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@command("classify")
@click.argument("logs", nargs=-1, type=_LOG, metavar="LOG")
@daemon_options
@click.option("--log-format", metavar="FORMAT", help="The format of the logs.  [default: common or combined]")
@click.option("--replay", is_flag=True, help="Read the logs to their end, print a table of the classes and end.")
def classify(
    invocation: Invocation,
    logs: tuple[Path, ...],
    output: Path | None,
    assignments: tuple[str, ...],
    metrics: int | None,
    dry_run: bool,
    shadow: bool,
    log_format: str | None,
    replay: bool,
) -> ExitCode:
    """Tell poor, normal and rich clients apart by the access log.

    Follows each LOG of Apache or nginx and measures, for every client, how long after a page its first and last
    embedded object were requested. The class of each client and network goes to the tables in DIR/run by which the
    server's configuration picks a level.
    """
    from adaptc.config.schema import read_settings
    from adaptc.daemons.classify.settings import CHECKS, ClassifySettings

    config = invocation.load({"output": output})
    settings = read_settings(ClassifySettings, CHECKS, config.daemons.below("classify"), assignments)
    settings = replace(settings, logs=logs or settings.logs, log_format=log_format or settings.log_format,
                       shadow=shadow or settings.shadow)  # fmt: skip
    if not settings.logs:
        raise UsageError("name a LOG, or logs in [daemons.classify]")
    if replay:
        return _replay(invocation, settings)
    return _run(invocation, settings, existing_output(config), metrics, dry_run)


def _run(
    invocation: Invocation, settings: ClassifySettings, output: Path, metrics: int | None, dry_run: bool
) -> ExitCode:
    from adaptc.daemons.classify.daemon import ClassifyDaemon
    from adaptc.daemons.loop import run as drive
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory

    run = None if dry_run else RunDirectory.of(output)
    reporter = Reporter("classify", [run] if run else [], say(invocation))
    with owned(run, "classify", "classifies clients") as keep:
        serve_metrics(reporter, metrics)
        drive(ClassifyDaemon(settings, reporter, run), settings.interval, [keep])
    return ExitCode.DONE


def _replay(invocation: Invocation, settings: ClassifySettings) -> ExitCode:
    from adaptc.daemons.classify.daemon import replay
    from adaptc.daemons.classify.hits import read_history
    from adaptc.formats.accesslog.parser import compile_format

    skipped = [0]
    history = read_history(settings.logs, compile_format(settings.log_format), frozenset(settings.unacted), skipped)
    classifier = settings.classifier()
    shares = replay(classifier, history)
    classes = {name: client.estimate.believed for name, client in classifier.clients.items() if client.estimate}
    if invocation.format == "json":
        print_json({"skipped": skipped[0], "clients": [
            {"client": client, **_counts(counts), "class": classes.get(client)} for client, counts in shares.items()
        ]})  # fmt: skip
    else:
        _print_shares(invocation, shares, skipped[0])
    return ExitCode.DONE


def _counts(counts: Counter[str]) -> dict[str, int]:
    from adaptc.daemons.classify.classifier import CLASSES

    return {name: counts[name] for name in CLASSES}


def _print_shares(invocation: Invocation, shares: Mapping[str, Counter[str]], skipped: int) -> None:
    """Print the table with the busiest clients first, in percent of their pages."""
    rows = [["client", "pages", "poor", "normal", "rich"]]
    for client, counts in sorted(shares.items(), key=lambda item: (-item[1].total(), item[0])):
        percent = [f"{count / counts.total():.0%}" if count else "-" for count in _counts(counts).values()]
        rows.append([client, f"{counts.total():,}", *percent])
    print_text(table(rows, right=range(1, 5)), invocation)
    if skipped:
        say(invocation)(f"{skipped:,} lines were not in the format and were skipped")
