"""``adaptc doctor``: says what on a server's machine would keep adaptation from working, and how it is mended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame, command
from adaptc.cli.render import diagnostic_record, exit_code, print_diagnostics, print_json, print_text
from adaptc.core.diagnostics import Diagnostic, printable

if TYPE_CHECKING:
    from adaptc.serve.doctor.examine import Examined

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@command("doctor")
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option("--server", type=click.Choice(["apache", "nginx"]), help="Look at this server only.")
@click.option("--server-config", type=_FILE, metavar="FILE", help="Its main file, if not the usual one.")
@click.option("--user", metavar="NAME", help="Who it runs as, if not as its configuration says.")
def doctor(
    frame: Frame, output: Path | None, server: str | None, server_config: Path | None, user: str | None
) -> ExitCode:
    """Say what would keep a server from adapting.

    Looks at the servers of this machine for which adaptc emit wrote configuration: modules, includes, rights, caches,
    access rules, media types, times of files. Nothing is changed.
    """
    from adaptc.config.config import relevelled
    from adaptc.serve.doctor.examine import examine

    config = frame.load({"output": output})
    examined = examine(config, [server] if server else [], server_config, user)
    found = list(relevelled((one for each in examined for one in each.diagnostics), config))
    _show(frame, examined, found)
    return exit_code(found)


def _show(frame: Frame, examined: list[Examined], found: list[Diagnostic]) -> None:
    if frame.format == "json":
        print_json(
            {"servers": [_record(one) for one in examined], "diagnostics": [diagnostic_record(one) for one in found]}
        )
        return
    print_diagnostics(found, frame)
    for one in examined:
        outcome = "nothing wrong" if not one.diagnostics else f"{len(one.diagnostics):,} found"
        print_text(
            f"{one.server} ({printable(one.file)}, as {printable(one.user)}): {one.checks} checks, {outcome}", frame
        )


def _record(one: Examined) -> dict[str, Any]:
    return {"server": one.server, "user": one.user, "file": one.file, "checks": one.checks}
