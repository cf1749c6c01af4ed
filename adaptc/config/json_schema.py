"""The JSON schema of ``adaptc.toml`` (draft 2020-12), by which editors complete and check it.

It follows from ``config_file.FIELDS``: each key is asked what it allows, so that the two cannot differ. Rules that no
schema has words for, such as which levels there are, stay with the program.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from adaptc.config.budgets import TYPES, Budget
from adaptc.config.config import SECTIONS
from adaptc.config.config_file import FIELDS, OPEN_TABLES
from adaptc.config.schema import Check, InvalidValue, fits
from adaptc.core.diagnostics import KINDS, Severity

# Values of each JSON type, some of which any check of this type allows
_SAMPLES: dict[str, tuple[Any, ...]] = {
    "boolean": (True,),
    "integer": (1, 0, 4096),
    "number": (0.5, 1.5),
    "array": ([], ["a"], ["/a"], ["10.0.0.0/8"], ["gz"], ["Require"]),
    "object": ({}, {"*": "max-age=1"}),
}
_TEXTS = (
    "a",
    "/a",
    "1MB",
    "10s",
    "https://example.org/",
    "s3://bucket",
    "tcp://a:1",
    "127.0.0.1:8901",
    "X-A",
    "combined",
)
_WORDS = re.compile(r"one of ([\w, -]+)$")


def json_schema() -> dict[str, Any]:
    """Return the schema."""
    properties: dict[str, Any] = {}
    for key, check in FIELDS.items():
        table, _, leaf = key.rpartition(".")
        place = properties.setdefault(table, _table({}))["properties"] if table else properties
        place[leaf] = {**_allowed(check), **_default(table, leaf)}
    properties |= {name: {"type": "object"} for name in OPEN_TABLES}
    severities = {"enum": [*(severity.value for severity in Severity), "off"]}
    properties["diagnostics"] = _table(dict.fromkeys(KINDS, severities))
    properties["budgets"] = {"type": "object", "additionalProperties": _budget()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "adaptc.toml",
        **_table(properties),
    }


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _budget() -> dict[str, Any]:
    amount = {"type": ["number", "string"]}
    limits = {name: amount for name in Budget.__slots__ if name not in ("level", "types", "paths")}
    types = _table(dict.fromkeys(TYPES, amount))
    of_pages = {**{name: each for name, each in limits.items() if name.startswith("page_")}, "types": types}
    return _table({**limits, "types": types, "paths": {"type": "object", "additionalProperties": _table(of_pages)}})


def _allowed(check: Check) -> dict[str, Any]:
    """Return what a check allows: its words, or the types of which it takes some value."""
    words = _words(check)
    types = [name for name, values in _SAMPLES.items() if any(fits(check, value) for value in values)]
    if words and not types:
        return {"enum": words}
    if any(fits(check, text) for text in (*_TEXTS, *words)):
        types.append("string")
    return {"type": types[0] if len(types) == 1 else types}


def _words(check: Check) -> list[str]:
    """Return the words of a check that says so: "one of fast, default, max"."""
    try:
        check("\0", Path())
    except InvalidValue as error:
        match = _WORDS.search(str(error))
        return match[1].split(", ") if match else []
    return []


def _default(table: str, leaf: str) -> dict[str, Any]:
    value = getattr(SECTIONS[table](), leaf) if table in SECTIONS else None
    if isinstance(value, tuple):
        value = list(value) if all(isinstance(each, str) for each in value) else None
    return {} if value is None else {"default": value}
