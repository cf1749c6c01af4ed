"""``adaptc emit``: writes the configuration of a server, and action tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame, command
from adaptc.cli.render import print_json, print_text
from adaptc.diagnostics import printable

if TYPE_CHECKING:
    from adaptc.emit.serve.emitter import Emitted

_FOLDER = click.Path(file_okay=False, path_type=Path)
_ALL = ("apache", "nginx")


@command("emit")
@click.argument("what", type=click.Choice(["apache", "nginx", "all"]))
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
def emit(frame: Frame, what: str, output: Path | None) -> ExitCode:
    """Write server configuration for the last build.

    The files go to opt/serve, each with instructions on top; what changes while the server runs is in opt/run.
    """
    from adaptc.emit.serve.emitter import emit as run

    emitted = run(frame.load({"output": output}), _ALL if what == "all" else (what,))
    _show(frame, emitted)
    return ExitCode.DONE


def _show(frame: Frame, emitted: Emitted) -> None:
    policy = emitted.policy
    if frame.format == "json":
        files = [str(file) for file in emitted.files]
        print_json({"files": files, "name": policy.name, "state": policy.state, "flag": policy.flag})
        return
    for file in emitted.files:
        print_text(f"wrote {printable(str(file))}", frame)
    print_text(f"switch it on: touch {printable(policy.flag)}", frame)
