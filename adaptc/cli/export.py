"""``adaptc export``: writes the whole site at one level into a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, exit_code, print_diagnostics, print_json, print_text, watching
from adaptc.cli.site_options import with_mirror

if TYPE_CHECKING:
    from adaptc.workflow.export.export import Export

_FOLDER = click.Path(file_okay=False, path_type=Path)


@command("export")
@click.argument("level")
@click.argument("dest", type=_FOLDER)
@click.argument("docroot", required=False, type=_FOLDER)
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option(
    "--encodings",
    type=click.Choice(["suffix", "parallel", "none"]),
    default="suffix",
    show_default=True,
    help="Where encoded files go: foo.html.br next to foo.html, or br/foo.html next to id/foo.html.",
)
@click.option(
    "--ladder/--no-ladder",
    default=None,
    help="Add lower levels, and a service worker that picks one for visitors on slow lines, or who save data. "
    "--no-ladder removes the worker of an earlier export from their browsers.",
)
def export(
    invocation: Invocation,
    level: str,
    dest: Path,
    docroot: Path | None,
    output: Path | None,
    encodings: str,
    ladder: bool | None,
) -> ExitCode:
    """Write the whole site at LEVEL into DEST.

    For hosts that only send files. A new DEST appears when it is complete; in one that an earlier
    export made, files are replaced one by one, and what is gone from the site is removed. Other files are left alone.
    """
    from adaptc.workflow.export.export import export_site

    config = with_mirror(invocation.load({"docroot": docroot, "output": output}))
    with watching(invocation) as progress:
        done = export_site(config, level, dest, encodings, progress, ladder=ladder)
    if invocation.format == "json":
        print_json(_record(done, level))
    else:
        print_diagnostics(done.diagnostics, invocation)
        print_text(_sentence(done), invocation)
    return exit_code(done.diagnostics)


def _sentence(done: Export) -> str:
    from adaptc.core.quantities import written_bytes

    counts = f"wrote {done.written:,} files, kept {done.kept:,}, removed {done.removed:,}"
    encoded = f", {written_bytes(done.encoded)} of it encodings" if done.encoded else ""
    return f"{done.destination}: {counts}; {written_bytes(done.size)}{encoded}"


def _record(done: Export, level: str) -> dict[str, Any]:
    return {
        "destination": str(done.destination),
        "level": level,
        "written": done.written,
        "kept": done.kept,
        "removed": done.removed,
        "size": done.size,
        "encoded": done.encoded,
        "diagnostics": diagnostic_records(done.diagnostics),
    }
