"""``adaptc preview``: shows the levels of an output in a browser, two side by side."""

from __future__ import annotations

import errno
from pathlib import Path

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.render import print_json, print_text
from adaptc.cli.site_options import with_mirror
from adaptc.core.diagnostics import UsageError

_FOLDER = click.Path(file_okay=False, path_type=Path)


@command("preview")
@click.argument("docroot", required=False, type=_FOLDER)
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, metavar="N", help="0: any free port."
)
@click.option("--open", "opens", is_flag=True, help="Open it in the default browser.")
def preview(invocation: Invocation, docroot: Path | None, output: Path | None, port: int, opens: bool) -> ExitCode:
    """Show two levels side by side in a browser.

    Each side has a level and a content coding of its own; requests and bytes are counted as pages are opened.
    Only this machine can reach it. Ctrl-C ends it.
    """
    from adaptc.workflow.preview.server import PreviewServer

    config = with_mirror(invocation.load({"docroot": docroot, "output": output}))
    try:
        server = PreviewServer(config, port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise UsageError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from None
    with server:
        try:
            _announce(server.url, invocation, opens)
            server.serve_forever()
        except KeyboardInterrupt:
            return ExitCode.DONE
    return ExitCode.DONE


def _announce(url: str, invocation: Invocation, opens: bool) -> None:
    if invocation.format == "json":
        print_json({"url": url})
    else:
        print_text(f"{url} shows the levels; Ctrl-C ends it", invocation)
    if opens:
        click.launch(url)
