"""``adaptc watch``: keeps the trees fresh while files change."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from typing import IO, Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.daemon_options import say
from adaptc.cli.site_options import overrides, site_options, with_mirror


@command("watch")
@site_options
@click.option(
    "--poll",
    type=click.FloatRange(0.1, 3600),
    metavar="SECONDS",
    help="Compare this often instead of waiting for events.",
)
@click.option(
    "--reconcile",
    type=click.FloatRange(1, 86400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Compare this often, for changes that no event reported.",
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
def watch(
    invocation: Invocation, poll: float | None, reconcile: float, idle: float, log: Path | None, **site: Any
) -> ExitCode:
    """Keep the trees fresh while files change.

    Runs until it is stopped. When a file of DOCROOT changes, its outputs, and those of every page that depends on it,
    are removed from the trees at once, so that the server falls back to the original; then the fast encodings appear;
    when nothing changes for a while, the best ones replace them.
    """
    # While it starts, the configuration is yet to be read: a request to read it again must not end the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from adaptc.compile.engine.reporting import Silent
    from adaptc.workflow.watch.event_loop import Watcher, WatcherContext
    from adaptc.workflow.watch.journal import Journal
    from adaptc.workflow.watch.state_machine import Timing

    timing = Timing(idle=idle, reconcile=poll or reconcile)
    with contextlib.ExitStack() as stack:
        terminal = sys.stderr if sys.stderr.isatty() and not invocation.quiet else None
        journal = Journal(say(invocation), _records(invocation, log, stack), terminal)
        context = WatcherContext(
            lambda: with_mirror(invocation.load(overrides(site))), timing, journal, Silent(), observes=poll is None
        )
        Watcher(context).run()
    return ExitCode.DONE


def _records(invocation: Invocation, log: Path | None, stack: contextlib.ExitStack) -> list[IO[str]]:
    """Return where events go as JSON: standard output with ``--format json``, and the log."""
    streams: list[IO[str]] = [sys.stdout] if invocation.format == "json" else []
    if log is not None:
        from adaptc.workflow.watch.journal import open_log

        streams.append(stack.enter_context(open_log(log)))
    return streams
