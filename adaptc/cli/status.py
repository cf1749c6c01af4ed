"""``adaptc status``: what the daemons do, once or as a live table."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.daemon_options import existing_output, output_option
from adaptc.cli.render import print_json, print_text, table

if TYPE_CHECKING:
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.status import DaemonStatus

_HEAD = ("daemon", "at", "interval")
# When KEY was so, in seconds since 1970, is KEY_at
_TIME = "_at"


@command("status")
@output_option
@click.option("--watch", is_flag=True, help="Show changes until Ctrl-C; needs a terminal.")
def status(invocation: Invocation, output: Path | None, watch: bool) -> None:
    """Show the state of the daemons.

    For each daemon that works for DIR: whether it runs, its mode or m, the values of its sensors and the age of its
    tables; for adaptc watch what it does, the last event and the last error; and whether the server is sending levels
    now.
    """
    from adaptc.daemons.run_directory import RunDirectory

    run = RunDirectory(existing_output(invocation.load({"output": output})) / "run")
    if invocation.format == "json":
        print_json(status_record(run, time.time()))
    elif watch and sys.stdout.isatty():
        _watch(run)
    else:
        print_text(status_text(run, time.time()), invocation)


def status_record(run: RunDirectory, now: float) -> dict[str, Any]:
    """Return the status for JSON."""
    from adaptc.daemons.run_directory import read_override
    from adaptc.daemons.status import daemon_statuses

    override = read_override(run, now)
    return {
        "flag": run.flag.exists(),
        "off": run.is_off,
        "server": _knobs_text(run),
        "override": {"level": override.level, "seconds": round(override.until - now)} if override else None,
        "daemons": [
            {**daemon.record, "daemon": daemon.name, "age": round(daemon.age, 1), "lives": daemon.is_alive}
            for daemon in daemon_statuses(run, now)
        ],
    }


def status_text(run: RunDirectory, now: float) -> str:
    """Return the status for people."""
    from adaptc.daemons.run_directory import read_override
    from adaptc.daemons.status import daemon_statuses, has_mode_daemon

    lines = [
        "flag: " + ("set, the server sends levels" if run.flag.exists() else "none, the server sends the original")
    ]
    lines.append(f"the server obeys: {_knobs_text(run)}")
    override, daemons = read_override(run, now), daemon_statuses(run, now)
    if run.is_off:
        lines.append("off: the kill switch is pulled; adaptc auto ends it")
    if override:
        warning = "" if has_mode_daemon(daemons) else ", but no daemon that obeys it is running"
        lines.append(f"forced: {override.level} for another {override.until - now:.0f} s{warning}")
    rows = [row for daemon in daemons for row in _rows(daemon, now)]
    return "\n".join([*lines, "", table(rows)] if rows else [*lines, "no daemon ever worked here"])


def _knobs_text(run: RunDirectory) -> str:
    """Return what daemons can set in the emitted configuration."""
    from adaptc.serve.state_directory import read_knobs

    knobs = read_knobs(run.path.parent)
    if knobs is None:
        return "nothing is known; run adaptc emit"
    parts = [f"the flag ({knobs.level})"] if knobs.flag else []
    parts += [f"levels of buckets ({', '.join(knobs.ladder)})"] if knobs.buckets else ["no buckets for adaptc control"]
    parts += ["level 0, which rejects"] if knobs.reject else []
    classes = "classes while the flag is set" if knobs.classes_need_flag else "classes"
    return ", ".join([*parts, *([classes] if knobs.classes else [])])


def _rows(daemon: DaemonStatus, now: float) -> list[list[str]]:
    state = "works" if daemon.is_alive else "stopped" if daemon.record.get("stopped") else "dead"
    rows = [[daemon.name, state, _ago(daemon.age)]]
    for key, value in daemon.record.items():
        if key not in (*_HEAD, "stopped") and not key.endswith(_TIME) and value not in (None, [], {}):
            since = daemon.record.get(key + _TIME)
            rows.append(["", key, _formatted(value) + (f", {_ago(now - since)}" if since else "")])
    return rows


def _ago(seconds: float) -> str:
    return f"{max(seconds, 0):.0f} s ago"


def _formatted(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_formatted(inner)}" for key, inner in value.items() if inner is not None)
    if isinstance(value, list):
        return ", ".join(map(_formatted, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _watch(run: RunDirectory) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(refresh_per_second=2) as screen:
        while True:
            screen.update(Text(status_text(run, time.time())))
            time.sleep(0.5)
