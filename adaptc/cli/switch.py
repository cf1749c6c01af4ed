"""``adaptc switch``: serves the optimized site while the server is overloaded."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import FILE, ExitCode, Invocation, command
from adaptc.cli.daemon_options import (
    cpu_source,
    daemon_options,
    disobedience,
    existing_output,
    opened_limits,
    owned,
    say,
    serve_metrics,
    started_page,
)
from adaptc.cli.render import show
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.daemons.sensors.panel import Panel
    from adaptc.daemons.switch.settings import SwitchSettings
    from adaptc.serve.state_directory import Knobs


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
    shadow: bool,
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
    settings = read_switch(config.daemons.below("switch"), chosen)
    settings = replace(settings, shadow=shadow or settings.shadow)
    if replay:
        return _replay(invocation, settings, replay)
    return _run(invocation, config, settings, metrics, dry_run, record)


def _run(
    invocation: Invocation,
    config: Config,
    settings: SwitchSettings,
    metrics: int | None,
    dry_run: bool,
    record: Path | None,
) -> ExitCode:
    from adaptc.daemons.actuator import refuse_other_state
    from adaptc.daemons.loop import run as drive
    from adaptc.daemons.mode import guard_of, kept
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.switch.daemon import Environment, SwitchDaemon
    from adaptc.serve.purge import purges_of, site_of
    from adaptc.serve.state_directory import read_knobs

    output = existing_output(config)
    run, knobs = None if dry_run else RunDirectory.of(output), read_knobs(output)
    if knobs is not None and not (dry_run or settings.shadow):
        refuse_other_state(knobs, output)
        if not knobs.flag:
            raise UsageError("serve.flag is false: levels are served always, and there is nothing to switch")
    reporter = Reporter("switch", [run] if run else [], say(invocation))
    panel = _panel(settings, knobs)
    with owned(run, "switch-shadow" if settings.shadow else "mode", "sets the mode") as keep:
        serve_metrics(reporter, metrics)
        if run and not settings.shadow:
            run.clear_buckets()
        guard = guard_of([run] if run and not settings.shadow else [], settings)
        if disobedience(settings, {output: run}, reporter, guard):
            return ExitCode.SERVER
        purges = purges_of(config.serve, site_of(config.site.base_url, config.url_prefix), [knobs] if knobs else [])
        environment = Environment(
            panel, run, _lowest(knobs), reporter=reporter, guard=guard, record=record, purges=purges
        )
        drive(SwitchDaemon(settings, environment, kept(run, "switch", time.time())), settings.interval, [keep])
    return ExitCode.DONE


def _lowest(knobs: Knobs | None) -> str:
    """Return the level that every bucket needs while the flag is set: a bucket without an entry has the first one."""
    return knobs.level if knobs is not None and knobs.buckets and knobs.classes else ""


def _panel(settings: SwitchSettings, knobs: Knobs | None) -> Panel:
    from adaptc.daemons.sensors.panel import Panel, PassiveOpens

    status, servers = started_page(settings, knobs.status if knobs else ""), knobs.servers if knobs else ()
    limits = opened_limits(settings, settings.limits, servers)
    return Panel(cpu_source(settings, servers), PassiveOpens(settings.snmp), status, limits)


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
    lines = (f"{record['at']:g} {record['decision']}: {record['rule']}" for record in records)
    return show(records, "\n".join(lines), invocation)
