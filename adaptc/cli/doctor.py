"""``adaptc doctor``: reports what on a server's machine keeps adaptation from working, and how to fix it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, exit_code, print_diagnostics, print_json, print_text
from adaptc.cli.site_options import with_mirror
from adaptc.core.diagnostics import Diagnostic, printable
from adaptc.serve.servers import examinable

if TYPE_CHECKING:
    from adaptc.serve.doctor import ServerHealth

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@command("doctor")
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
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
    _show(invocation, reports, diagnostics)
    return exit_code(diagnostics)


def _show(invocation: Invocation, reports: list[ServerHealth], diagnostics: list[Diagnostic]) -> None:
    if invocation.format == "json":
        print_json({"servers": [_record(report) for report in reports], "diagnostics": diagnostic_records(diagnostics)})
        return
    print_diagnostics(diagnostics, invocation)
    for report in reports:
        outcome = "nothing wrong" if not report.diagnostics else f"{len(report.diagnostics):,} found"
        target = f"{report.server} ({printable(report.file)}, as {printable(report.user)})"
        print_text(f"{target}: {report.checks} checks, {outcome}", invocation)


def _record(report: ServerHealth) -> dict[str, Any]:
    return {"server": report.server, "user": report.user, "file": report.file, "checks": report.checks}
