"""``adaptc emit`` writes the configuration of a server; ``doctor`` says what keeps a server from adapting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.command import FOLDER, ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, exit_code, print_diagnostics, print_json, print_text
from adaptc.cli.site_options import with_mirror
from adaptc.config.config import ACTIONS, EMIT_TARGETS, with_severities
from adaptc.core.diagnostics import Diagnostic, UsageError, printable
from adaptc.serve.servers import examinable

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.serve.doctor import ServerHealth
    from adaptc.serve.emitter import Emitted

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@command("emit")
@click.argument("what", type=click.Choice([*EMIT_TARGETS, "all"]))
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option("--check", "table", type=_FILE, metavar="TABLE", help="With actions: compare TABLE with the build.")
def emit(invocation: Invocation, what: str, output: Path | None, table: Path | None) -> ExitCode:
    """Write server configuration for the last build.

    The files go to opt/serve, each with instructions on top; what changes while the server runs is in opt/run.
    """
    config = with_mirror(invocation.load({"output": output}))
    if table is not None:
        return _check(invocation, config, what, table)
    from adaptc.serve.emitter import complete_targets
    from adaptc.serve.emitter import emit as run

    _show(invocation, run(config, complete_targets(config.serve.reverse_proxy) if what == "all" else (what,)))
    return ExitCode.DONE


def _check(invocation: Invocation, config: Config, what: str, table: Path) -> ExitCode:
    from adaptc.serve.emitter import check_actions

    if what != ACTIONS:
        raise UsageError("--check goes with adaptc emit actions")
    diagnostics = list(with_severities(check_actions(config, table), config))
    if invocation.format == "json":
        print_json({"table": str(table), "diagnostics": diagnostic_records(diagnostics)})
    elif diagnostics:
        print_diagnostics(diagnostics, invocation)
    else:
        print_text(f"{printable(str(table))} names what was built", invocation)
    return exit_code(diagnostics)


def _show(invocation: Invocation, emitted: Emitted) -> None:
    policy = emitted.policy
    if invocation.format == "json":
        files = [str(file) for file in emitted.files]
        print_json({"files": files, "name": policy.name, "state": policy.state, "flag": policy.flag})
        return
    for file in emitted.files:
        print_text(f"wrote {printable(str(file))}", invocation)
    if emitted.policy.hidden_fields and any(file.name.startswith("nginx") for file in emitted.files):
        names = ", ".join(dict.fromkeys(words[0] for words in emitted.policy.hidden_fields if words))
        print_text(f"repeats add_header lines of nginx's block http: {printable(names)}", invocation)
    if emitted.configures:
        print_text(f"switch it on: touch {printable(policy.flag)}", invocation)


# ---- what keeps a server from adapting


@command("doctor")
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option("--server", type=click.Choice([server.name for server in examinable()]), help="Check this server only.")
@click.option("--server-config", type=_FILE, metavar="FILE", help="The server's main file, if not the default one.")
@click.option("--user", metavar="NAME", help="Its user, if not the configured one.")
def doctor(
    invocation: Invocation, output: Path | None, server: str | None, server_config: Path | None, user: str | None
) -> ExitCode:
    """Report what keeps a server from adapting.

    Checks the servers of this machine for which adaptc emit wrote configuration: modules, includes, permissions,
    caches, access rules, media types, times of files. Nothing is changed.
    """
    from adaptc.config.config import with_severities
    from adaptc.serve.doctor import examine

    config = with_mirror(invocation.load({"output": output}))
    reports = examine(config, [server] if server else [], server_config, user)
    diagnostics = list(with_severities((diagnostic for report in reports for diagnostic in report.diagnostics), config))
    _show_health(invocation, reports, diagnostics)
    return exit_code(diagnostics)


def _show_health(invocation: Invocation, reports: list[ServerHealth], diagnostics: list[Diagnostic]) -> None:
    if invocation.format == "json":
        servers = [
            {"server": each.server, "user": each.user, "file": each.file, "checks": each.checks} for each in reports
        ]
        print_json({"servers": servers, "diagnostics": diagnostic_records(diagnostics)})
        return
    print_diagnostics(diagnostics, invocation)
    for report in reports:
        outcome = "nothing wrong" if not report.diagnostics else f"{len(report.diagnostics):,} found"
        target = f"{report.server} ({printable(report.file)}, as {printable(report.user)})"
        print_text(f"{target}: {report.checks} checks, {outcome}", invocation)
