"""``adaptc status``, ``top`` and ``dashboard`` show what the daemons do; ``force`` and ``auto`` override them."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.daemon_options import existing_output, output_option
from adaptc.cli.render import print_json, print_text, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.status import DaemonStatus

_HEAD = ("daemon", "at", "interval")
# When KEY was so, in seconds since 1970, is KEY_at
_TIME = "_at"
_SHOWN = 12  # decisions in a terminal


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
    from adaptc.daemons.status import status_record

    run = RunDirectory(existing_output(invocation.load({"output": output})) / "run")
    if invocation.format == "json":
        print_json(status_record(run, time.time()))
    elif watch and sys.stdout.isatty():
        _watch(lambda: status_text(run, time.time()))
    else:
        print_text(status_text(run, time.time()), invocation)


def status_text(run: RunDirectory, now: float) -> str:
    """Return the status for people."""
    from adaptc.daemons.run_directory import read_override
    from adaptc.daemons.status import daemon_statuses, has_mode_daemon, obeyed

    lines = [
        "flag: " + ("set, the server sends levels" if run.flag.exists() else "none, the server sends the original")
    ]
    lines.append(f"the server obeys: {obeyed(run)}")
    override, daemons = read_override(run, now), daemon_statuses(run, now)
    if run.is_off:
        lines.append("off: the kill switch is pulled; adaptc auto ends it")
    if override:
        warning = "" if has_mode_daemon(daemons) else ", but no daemon that obeys it is running"
        lines.append(f"forced: {override.level} for another {override.until - now:.0f} s{warning}")
    rows = [row for daemon in daemons for row in _rows(daemon, now)]
    return "\n".join([*lines, "", table(rows)] if rows else [*lines, "no daemon ever worked here"])


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


def _watch(text: Callable[[], str]) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(refresh_per_second=2) as screen:
        while True:
            screen.update(Text(text()))
            time.sleep(0.5)


@command("top")
@output_option
def top(invocation: Invocation, output: Path | None) -> None:
    """Show what the daemons do, live in a terminal.

    The state of each daemon, and below it the last decisions with their reasons, as adaptc dashboard shows them on a
    page; without a terminal once.
    """
    from adaptc.daemons.dashboard import Dashboard

    board = Dashboard(existing_output(invocation.load({"output": output})))

    def text() -> str:
        rows = [[_ago(time.time() - row["at"]), row["daemon"], str(row["rule"])] for row in board.decisions()]
        return f"{status_text(board.run, time.time())}\n\n{table(rows[:_SHOWN])}".rstrip()

    if sys.stdout.isatty():
        _watch(text)
    else:
        print_text(text(), invocation)


@command("dashboard")
@output_option
@click.option("--port", type=click.IntRange(0, 65535), default=8902, show_default=True, help="On loopback; 0 for any.")
@click.option(
    "--knobs", is_flag=True, help="Let who has the token, which is printed, force levels, as adaptc force does."
)
@click.option("--token", envvar="ADAPTC_DASHBOARD_TOKEN", metavar="TEXT", help="The token; better in the environment.")
@click.option("--grafana", is_flag=True, help="Print a board of Grafana for the figures of the daemons, and end.")
@click.option("--alerts", is_flag=True, help="Print alert rules of Prometheus for them, and end.")
def dashboard(
    invocation: Invocation,
    output: Path | None,
    port: int,
    knobs: bool,
    token: str | None,
    grafana: bool,
    alerts: bool,
) -> None:
    """Show what the daemons do, on a page for browsers.

    The page is at 127.0.0.1 only: forward the port by ssh to look at it from elsewhere. It shows what adaptc status
    does, the course of its figures, and the last decisions with their reasons.
    """
    from adaptc.daemons.dashboard import Dashboard, alert_rules, grafana_board, serve_dashboard

    if grafana:
        print_json(grafana_board())
    if alerts:
        click.echo(alert_rules(), nl=False)
    if grafana or alerts:
        return
    folder = existing_output(invocation.load({"output": output}))
    secret = (token or secrets.token_urlsafe(12)) if knobs or token else None
    with serve_dashboard(Dashboard(folder, secret), port) as server:
        print_text(f"http://127.0.0.1:{server.server_address[1]}/", invocation)
        if secret is not None and token is None:
            print_text(f"token: {secret}", invocation)
        server.serve_forever()


# ---- a level for some time


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
