"""``adaptc watch``: keeps the trees fresh while files change."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import IO, Any

import click

from adaptc.cli.daemon import say
from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame, command
from adaptc.cli.site_options import overrides, site_options, with_mirror


@command("watch")
@site_options
@click.option("--poll", type=click.FloatRange(0.1, 3600), metavar="SECONDS", help="Compare, where there are no events.")
@click.option(
    "--reconcile",
    type=click.FloatRange(1, 86400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Look this often for changes that no event told of.",
)
@click.option(
    "--idle",
    type=click.FloatRange(0, 86400),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Without changes for so long, build the best encodings.",
)
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Append events as JSON.")
def watch(frame: Frame, poll: float | None, reconcile: float, idle: float, log: Path | None, **site: Any) -> ExitCode:
    """Keep the trees fresh while files change.

    Runs until it is told to stop. When a file of DOCROOT changes, what was made of it, and of every page that depends
    on it, leaves the trees at once, so that the server falls back to the original; then the fast encodings appear;
    when nothing changes for a while, the best ones replace them.
    """
    from adaptc.compile.engine.progress import Silent
    from adaptc.workflow.watch.driver import Surroundings, Watcher
    from adaptc.workflow.watch.journal import Journal
    from adaptc.workflow.watch.machine import Timing

    timing = Timing(idle=idle, reconcile=poll or reconcile)
    with contextlib.ExitStack() as stack:
        terminal = sys.stderr if sys.stderr.isatty() and not frame.quiet else None
        journal = Journal(say(frame), _records(frame, log, stack), terminal)
        around = Surroundings(
            lambda: with_mirror(frame.load(overrides(site))), timing, journal, Silent(), observes=poll is None
        )
        Watcher(around).run()
    return ExitCode.DONE


def _records(frame: Frame, log: Path | None, stack: contextlib.ExitStack) -> list[IO[str]]:
    """Return where events go as JSON: standard output with ``--format json``, and the log."""
    found: list[IO[str]] = [sys.stdout] if frame.format == "json" else []
    if log is not None:
        from adaptc.workflow.watch.journal import open_log

        found.append(stack.enter_context(open_log(log)))
    return found
