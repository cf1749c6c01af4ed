"""``adaptc explain`` and ``preview``: what was done to a page, in words and side by side in a browser."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FOLDER, ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, show
from adaptc.cli.site_options import with_mirror
from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.quantities import written_plural, written_share

if TYPE_CHECKING:
    from adaptc.core.model import Action
    from adaptc.report.explain import Explanation

# How many diagnostics of one id are printed without --verbose
_ALIKE = 5


@command("explain")
@click.argument("name", metavar="PAGE|FILE")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="The output of the build."
)
@click.option("--level", "levels", multiple=True, metavar="NAME", help="Explain this level; may be given again.")
def explain(invocation: Invocation, name: str, output: Path | None, levels: tuple[str, ...]) -> ExitCode:
    """Say what was done to a page or file at each level, and why.

    PAGE is a path inside the docroot, as in docs/index.html, or a URL of the site.
    """
    from adaptc.report.explain import explain as explain_file

    explanation = explain_file(with_mirror(invocation.load({"output": output})), name, levels)
    return show(_record(explanation), "\n".join(_lines(explanation, invocation)), invocation)


def _lines(explanation: Explanation, invocation: Invocation) -> list[str]:
    lines = [f"{printable(explanation.path)}  {explanation.media_type}, {explanation.size:,} bytes"]
    if explanation.alias_of is not None:
        lines.append(f"  a symbolic link to {printable(explanation.alias_of)}")
    lines.extend(f"  {sentence}" for sentence in explanation.decisions)
    if (script := explanation.seen) is not None:
        pages = written_plural(script.pages, "page")
        lines.append(f"  at most {written_share(script.share)} of it ran on {pages} at which a browser looked")
    if explanation.used_by:
        lines.append(f"  used by {explanation.used_by:,} pages")
    lines.extend(_diagnostic_lines(explanation, invocation))
    for result in explanation.levels:
        sizes = ", ".join(f"{output.coding} {output.size:,}" for output in result.outputs) or "the original is served"
        lines.append(f"{result.level}: {sizes}")
        for action in result.actions:
            times = f" ({action.count} times)" if action.count > 1 else ""
            reason = f": {action.reason}" if action.reason else ""
            lines.append(f"  {action.pass_name}: {action.verb} {printable(action.subject)}{times}{reason}")
        lines.extend(f"  {diagnostic}" for diagnostic in result.diagnostics)
    return lines


def _diagnostic_lines(explanation: Explanation, invocation: Invocation) -> Iterator[str]:
    """Yield what is wrong with the source: a few of each id, since a page of dead links would hide the levels."""
    for identifier, group in groupby(sorted(explanation.diagnostics, key=attrgetter("id")), attrgetter("id")):
        alike = list(group)
        shown = alike if invocation.verbose else alike[:_ALIKE]
        yield from (f"  {diagnostic}" for diagnostic in shown)
        if hidden := len(alike) - len(shown):
            yield f"  and {hidden:,} more [{identifier}]; see --verbose"


def _record(explanation: Explanation) -> dict[str, Any]:
    script = explanation.seen
    return {
        "path": explanation.path,
        "media_type": explanation.media_type,
        "size": explanation.size,
        "alias_of": explanation.alias_of,
        "used_by": explanation.used_by,
        "ran": script and {"characters": script.ran, "of": script.size, "pages": script.pages},
        "decisions": list(explanation.decisions),
        "diagnostics": diagnostic_records(explanation.diagnostics),
        "levels": [
            {
                "level": result.level,
                "changed": result.changed,
                "files": {output.coding: output.size for output in result.outputs},
                "demoted": list(result.demoted),
                "actions": [_action_record(action) for action in result.actions],
                "diagnostics": diagnostic_records(result.diagnostics),
            }
            for result in explanation.levels
        ],
    }


def _action_record(action: Action) -> dict[str, Any]:
    return {
        "pass": action.pass_name,
        "verb": action.verb,
        "subject": action.subject,
        "reason": action.reason,
        "count": action.count,
    }


# ---- side by side


@command("preview")
@click.argument("docroot", required=False, type=FOLDER)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
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
    show({"url": url}, f"{url} shows the levels; Ctrl-C ends it", invocation)
    if opens:
        click.launch(url)
