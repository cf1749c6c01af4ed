"""``adaptc force`` asks the daemons for a level, for some time; ``adaptc auto`` ends it."""

from __future__ import annotations

from pathlib import Path

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.daemon_options import existing_output, output_option
from adaptc.cli.render import print_text
from adaptc.core.diagnostics import UsageError


@command("force")
@click.argument("level")
@output_option
@click.option("--for", "period", default="10m", metavar="TIME", help="For how long: 30s, 10m, 2h.  [default: 10m]")
def force(invocation: Invocation, level: str, output: Path | None, period: str) -> None:
    """Serve LEVEL for some time, whatever the load.

    LEVEL is a level that was built, "original" for the site as it is, or "reject". adaptc switch has two modes, so
    it sets the flag for every LEVEL but the original; adaptc control sends every client to LEVEL. When the time is
    over, or after adaptc auto, they decide again.

    "off" is the kill switch: flag, levels of buckets and classes go, whether a daemon runs or not, and come back after
    adaptc auto only.
    """
    from adaptc.config.schema import seconds
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.status import force_level

    run = RunDirectory.of(existing_output(invocation.load({"output": output})))
    span = seconds(period)
    if span is None:
        raise UsageError(f"--for {period}: a time such as 30s, 10m or 2h, 30 days at most")
    print_text(force_level(run, level, span, period), invocation)


@command("auto")
@output_option
def auto(invocation: Invocation, output: Path | None) -> None:
    """Let the daemons decide again, after adaptc force.

    What a daemon that died has left, flag and levels of buckets, is reset.
    """
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.status import let_decide

    print_text(let_decide(RunDirectory.of(existing_output(invocation.load({"output": output})))), invocation)
