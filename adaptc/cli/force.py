"""``adaptc force`` asks the daemons for a level, for some time; ``adaptc auto`` ends it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.daemon_options import existing_output, output_option
from adaptc.cli.render import print_text
from adaptc.config.toml import nearest
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.daemons.run_directory import RunDirectory


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
    from adaptc.daemons.run_directory import OFF, Override, RunDirectory, write_override

    config = invocation.load({"output": output})
    run = RunDirectory.of(existing_output(config))
    if level == OFF:
        run.write(OFF, b"")
        run.reset()
        print_text("off: the server sends the original, until adaptc auto", invocation)
        return
    span = seconds(period)
    if span is None or not 1 <= span <= 30 * 86400:
        raise UsageError(f"--for {period}: a time such as 30s, 10m or 2h, 30 days at most")
    _refuse_unknown(config, run, level)
    _require_daemon(run)
    write_override(run, Override(level, time.time() + span))
    print_text(f"{level} for {period}; adaptc auto ends it", invocation)


def _refuse_unknown(config: Config, run: RunDirectory, level: str) -> None:
    from adaptc.daemons.run_directory import OFF, ORIGINAL, REJECT
    from adaptc.daemons.status import built_levels
    from adaptc.serve.state_directory import read_knobs

    knobs = read_knobs(run.path.parent)
    if knobs is not None and level == REJECT and not knobs.reject:
        raise UsageError("the emitted configuration rejects nobody: say reject = true and buckets = true in [serve]")
    if knobs is not None and level in built_levels(run.path.parent) and level not in knobs.levels:
        raise UsageError(f"the emitted configuration does not know level {level}: run adaptc emit, reload the server")
    known = [ORIGINAL, REJECT, OFF, *built_levels(run.path.parent)]
    if level not in known:
        raise UsageError(f"{config.output} has no level {level}{nearest(level, known)}; there are {', '.join(known)}")


def _require_daemon(run: RunDirectory) -> None:
    """Raise ``UsageError`` when no daemon runs that would apply the override."""
    from adaptc.daemons.status import daemon_statuses, has_mode_daemon

    if not has_mode_daemon(daemon_statuses(run, time.time())):
        raise UsageError(f"no daemon works in {run.path}: start adaptc switch or adaptc control first")


@command("auto")
@output_option
def auto(invocation: Invocation, output: Path | None) -> None:
    """Let the daemons decide again, after adaptc force.

    What a daemon that died has left, flag and levels of buckets, is reset.
    """
    from adaptc.core.fs import remove
    from adaptc.daemons.run_directory import OFF, RunDirectory, clear_override
    from adaptc.daemons.status import daemon_statuses, has_died

    run = RunDirectory.of(existing_output(invocation.load({"output": output})))
    was_off = remove(str(run.path / OFF))
    was_forced = clear_override(run) or was_off
    if has_died(daemon_statuses(run, time.time())):
        run.reset()
        print_text("the daemon died: flag and buckets were reset", invocation)
    else:
        print_text("automatic again" if was_forced else "nothing was forced", invocation)
