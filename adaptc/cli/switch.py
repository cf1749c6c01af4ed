"""``adaptc switch``: serves the optimized site while the server is overloaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.daemon_options import (
    FILE,
    cpu_source,
    daemon_options,
    existing_output,
    owned,
    say,
    serve_metrics,
    settings_table,
)
from adaptc.cli.render import print_json, print_text

if TYPE_CHECKING:
    from adaptc.daemons.sensors.panel import Panel
    from adaptc.daemons.switch.settings import SwitchSettings


@command("switch")
@daemon_options
@click.option("--policy", type=click.Choice(["steady", "gopshtein"]), help="The rule that decides.  [default: steady]")
@click.option("--record", type=FILE, metavar="FILE", help="Append every sample of the sensors to FILE.")
@click.option("--replay", type=FILE, metavar="FILE", help="Decide on the samples of FILE, print what and end.")
def switch(
    invocation: Invocation,
    output: Path | None,
    assignments: tuple[str, ...],
    metrics: int | None,
    dry_run: bool,
    policy: str | None,
    record: Path | None,
    replay: Path | None,
) -> ExitCode:
    """Serve the optimized site while the server is overloaded.

    Runs until it is stopped. Twice a second it reads how busy the CPUs are, the rate of new connections and,
    with status_url, the idle workers; on overload it sets the flag DIR/run/opt.do, by which the server's
    configuration sends levels instead of the original, and removes it when the overload is over.
    """
    from adaptc.daemons.switch.settings import read_switch

    config = invocation.load({"output": output})
    chosen = (*assignments, f"policy={policy}") if policy else assignments
    settings = read_switch(settings_table(config, "switch"), chosen)
    if replay:
        return _replay(invocation, settings, replay)
    return _run(invocation, settings, existing_output(config), metrics, dry_run, record)


def _run(
    invocation: Invocation,
    settings: SwitchSettings,
    output: Path,
    metrics: int | None,
    dry_run: bool,
    record: Path | None,
) -> ExitCode:
    from adaptc.daemons.loop import run as drive
    from adaptc.daemons.mode import guard_of
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.switch.daemon import Environment, SwitchDaemon

    run = None if dry_run else RunDirectory.of(output)
    reporter = Reporter("switch", [run] if run else [], say(invocation))
    panel = _panel(settings)
    with owned(run, "mode", "sets the mode"):
        serve_metrics(reporter, metrics)
        if run:
            run.clear_buckets()
        guard = guard_of([run] if run else [], settings)
        environment = Environment(panel, run, reporter=reporter, guard=guard, record=record)
        drive(SwitchDaemon(settings, environment), settings.interval)
    return ExitCode.DONE


def _panel(settings: SwitchSettings) -> Panel:
    from adaptc.daemons.sensors import LIMIT_SENSORS
    from adaptc.daemons.sensors.panel import Panel, PassiveOpens
    from adaptc.daemons.sensors.status_page import StatusPage

    status = StatusPage(settings.status_url) if settings.status_url else None
    limits = {
        sensor.name: sensor.open(settings.cgroup) for sensor in LIMIT_SENSORS if sensor.name in settings.active_limits
    }
    return Panel(cpu_source(settings.cgroup), PassiveOpens(settings.snmp), status, limits)


def _replay(invocation: Invocation, settings: SwitchSettings, trace: Path) -> ExitCode:
    from adaptc.daemons.switch.policies import ModeChange
    from adaptc.daemons.trace import read_trace

    policy = settings.rule()
    state, records = policy.start(), []
    for sample in read_trace(trace):
        state, decisions = policy.step(state, sample)
        for decision in decisions:
            mode = decision.mode.value if isinstance(decision, ModeChange) else "remark"
            records.append({"at": sample.at, "decision": mode, "rule": decision.rule})
    if invocation.format == "json":
        print_json(records)
    else:
        print_text(
            "\n".join(f"{record['at']:g} {record['decision']}: {record['rule']}" for record in records), invocation
        )
    return ExitCode.DONE
