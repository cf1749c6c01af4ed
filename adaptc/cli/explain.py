"""``adaptc explain``: says what was done to a file at each level, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame, command
from adaptc.cli.render import diagnostic_record, print_json, print_text
from adaptc.core.diagnostics import UsageError, printable

if TYPE_CHECKING:
    from adaptc.core.model import Action
    from adaptc.report.explain import Explanation


@command("explain")
@click.argument("name", metavar="PAGE|FILE")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="The trees.")
def explain(frame: Frame, name: str, output: Path | None) -> ExitCode:
    """Say what was done to a page or file at each level, and why.

    PAGE is a path inside the docroot, as in docs/index.html, or a URL of the site.
    """
    from adaptc.report.explain import explain as ask

    found = ask(frame.load({"output": output}), name)
    if found is None:
        raise UsageError(f"{name} is not in the last build")
    if frame.format == "json":
        print_json(_record(found))
    else:
        print_text("\n".join(_lines(found)), frame)
    return ExitCode.DONE


def _lines(found: Explanation) -> list[str]:
    lines = [f"{printable(found.path)}  {found.media_type}, {found.size:,} bytes"]
    if found.alias_of is not None:
        lines.append(f"  a symbolic link to {printable(found.alias_of)}")
    lines.extend(f"  {sentence}" for sentence in found.decisions)
    if found.used_by:
        lines.append(f"  used by {found.used_by:,} pages")
    lines.extend(f"  {said}" for said in found.diagnostics)
    for result in found.levels:
        sizes = ", ".join(f"{one.coding} {one.size:,}" for one in result.outputs) or "the original is served"
        lines.append(f"{result.level}: {sizes}")
        for action in result.actions:
            times = f" ({action.count} times)" if action.count > 1 else ""
            lines.append(f"  {action.pass_name}: {action.verb} {printable(action.subject)}{times}: {action.reason}")
        lines.extend(f"  {said}" for said in result.diagnostics)
    return lines


def _record(found: Explanation) -> dict[str, Any]:
    return {
        "path": found.path,
        "media_type": found.media_type,
        "size": found.size,
        "alias_of": found.alias_of,
        "used_by": found.used_by,
        "decisions": list(found.decisions),
        "diagnostics": [diagnostic_record(one) for one in found.diagnostics],
        "levels": [
            {
                "level": result.level,
                "changed": result.changed,
                "files": {one.coding: one.size for one in result.outputs},
                "demoted": list(result.demoted),
                "actions": [_action_record(one) for one in result.actions],
                "diagnostics": [diagnostic_record(one) for one in result.diagnostics],
            }
            for result in found.levels
        ],
    }


def _action_record(one: Action) -> dict[str, Any]:
    return {"pass": one.pass_name, "verb": one.verb, "subject": one.subject, "reason": one.reason, "count": one.count}
