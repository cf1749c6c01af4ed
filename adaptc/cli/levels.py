"""``adaptc levels``: the ladder of levels, or the passes of one level with their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.render import print_json, print_text, table
from adaptc.config.toml import shown

if TYPE_CHECKING:
    from adaptc.config.rulebook import Level


@command("levels")
@click.argument("name", required=False)
def levels(invocation: Invocation, name: str | None) -> None:
    """Show the levels, or the passes of one.

    Without NAME: each level with its number (the highest is the full site; - is not on the ladder), whether
    the configuration builds it, and what it promises. With NAME: the passes of that level in the order in which
    they run, and their options.
    """
    from adaptc.config.rulebook import choose_levels
    from adaptc.workflow.configuration import known_levels

    config = invocation.load()
    known = known_levels(config)
    if name is not None:
        _show_level(choose_levels([name], known)[0], invocation)
    else:
        _show_levels(known, config.build.levels, invocation)


def _show_levels(known: Mapping[str, Level], built: tuple[str, ...], invocation: Invocation) -> None:
    if invocation.format == "json":
        print_json([{**level_record(level), "built": level.name in built} for level in known.values()])
        return
    rows = [["level", "number", "built", "promise", "title"]]
    for level in known.values():
        is_built = "yes" if level.name in built else "no"
        rows.append([level.name, _number(level), is_built, level.promise, level.title])
    print_text(table(rows, right=(1,)), invocation)


def _show_level(level: Level, invocation: Invocation) -> None:
    if invocation.format == "json":
        print_json(level_record(level))
        return
    lines = [f"{level.name} ({_number(level)}): {level.title}", f"promise: {level.promise}", ""]
    rows = [[use.name, ", ".join(f"{key} = {shown(value)}" for key, value in use.options)] for use in level.passes]
    print_text("\n".join(lines) + (table(rows) if rows else "no passes: the files stay as they are"), invocation)


def _number(level: Level) -> str:
    return "-" if level.number is None else str(level.number)


def level_record(level: Level) -> dict[str, Any]:
    """Return a level for JSON: name, number, title, promise, and passes with their options."""
    passes = [{"name": use.name, "options": dict(use.options)} for use in level.passes]
    return {
        "name": level.name,
        "number": level.number,
        "title": level.title,
        "promise": level.promise,
        "passes": passes,
    }
