"""Writes a planned level into ``adaptc.toml``: between two lines of comment, so that the next plan replaces it.

All other bytes of the file stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import UsageError


def level_text(name: str, title: str, values: Mapping[str, Any]) -> str:
    """Return the tables of a level as TOML; ``values`` are those of ``[levels.NAME]``, tables of passes among them."""
    plain = {"title": title, **{key: value for key, value in values.items() if not isinstance(value, Mapping)}}
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    lines = [f"[levels.{name}]", *(f"{key} = {_toml(value)}" for key, value in plain.items())]
    for table, options in tables.items():
        lines += ["", f"[levels.{name}.{table}]", *(f"{key} = {_toml(value)}" for key, value in options.items())]
    return "".join(f"{line}\n" for line in lines)


def with_level(text: str, name: str, tables: str) -> str:
    """Return the text of a configuration with the ``tables`` of a planned level, in place of those of the last plan.

    Raises ``UsageError`` where the level ``name`` is there and was not written by a plan.
    """
    first, last = f"# adaptc plan: {name}, written anew by each plan\n", f"# adaptc plan: end of {name}\n"
    start, end = text.find(first), text.find(last)
    if start >= 0 and end > start:
        return text[:start] + first + tables + last + text[end + len(last) :]
    known = parse_toml(text, "adaptc.toml").values.get("levels", {})
    for own in (name, *parse_toml(tables, "the plan").values.get("levels", {})):
        if own in known:
            raise UsageError(f"level {own} of the configuration was not written by adaptc plan: choose another --name")
    space = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return text + space + first + tables + last


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return f"{int(value):_}.0"
    return json.dumps(value) if isinstance(value, str | list) else str(value)
