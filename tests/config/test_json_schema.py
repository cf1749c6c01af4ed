"""The JSON schema of ``adaptc.toml`` has every key and takes what the program takes."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from tests.places import EXAMPLES

from adaptc.cli.init import PROFILES, profiled, starting_text
from adaptc.cli.main import run
from adaptc.config.config_file import FIELDS
from adaptc.config.json_schema import json_schema

TYPES: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}


def faults(schema: dict[str, Any], value: Any, place: str = "") -> list[str]:
    """What the parts of JSON Schema that are used here say against a value."""
    if "enum" in schema:
        return [] if value in schema["enum"] else [place]
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) for name in wanted):
        return [place]
    if not isinstance(value, dict):
        return []
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = []
    for key, each in value.items():
        if key in known or isinstance(more, dict):
            found += faults(known.get(key, more), each, f"{place}.{key}")
        elif not more:
            found.append(f"{place}.{key}")
    return found


def test_every_key_is_in_it_with_a_type() -> None:
    properties = json_schema()["properties"]
    for key in FIELDS:
        table, _, leaf = key.rpartition(".")
        row = (properties[table]["properties"] if table else properties)[leaf]
        assert row.get("enum") or row["type"], key


def test_words_and_defaults() -> None:
    build = json_schema()["properties"]["build"]["properties"]
    assert build["effort"] == {"enum": ["fast", "default", "max"], "default": "default"}
    assert build["levels"] == {"type": "array", "default": ["full", "lossless"]}
    assert build["unit_seconds"]["type"] == ["integer", "number", "string"]


@pytest.mark.parametrize("profile", [None, *PROFILES])
def test_what_init_writes_is_valid(profile: str | None) -> None:
    text = profiled(starting_text("public", "opt"), PROFILES[profile] if profile else {})
    assert faults(json_schema(), tomllib.loads(text)) == []


def test_examples_are_valid_and_mistakes_are_not() -> None:
    for file in EXAMPLES.rglob("adaptc.toml"):
        assert faults(json_schema(), tomllib.loads(file.read_text())) == [], file
    wrong = tomllib.loads("docroot = 1\n[build]\neffort = 'most'\nlevel = 'a'\n[budgets.full.types]\nstyle = 1\n")
    assert faults(json_schema(), wrong) == [".docroot", ".build.effort", ".build.level", ".budgets.full.types.style"]


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()
