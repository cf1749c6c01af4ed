"""The manifest: it is what docs/manifest.md says, and the trees are what it says."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.places import DOCS
from tests.sites.built import BuiltSite, far_output, files_below

from adaptc.core.digest import digest_bytes
from adaptc.report.manifest import SCHEMA

DOCUMENT = (DOCS / "manifest.md").read_text("utf-8")
DESCRIBED = json.loads(re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)[0])
LATIN = os.fsdecode(b"latin-\xe9.txt")
WORDS = "<p>Words to be encoded, again and again and again.</p>" * 9
TYPES = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip


def violations(value: Any, schema: dict[str, Any], place: str = "$") -> Iterator[str]:
    """Yield where ``value`` is not as ``schema`` says: as much of JSON Schema as the document uses."""
    schema = DESCRIBED["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    unknown = set(schema) - {"$schema", "$defs", *_CHECKS, *_PARTS}
    assert not unknown, f"{unknown}: not known to this test"
    for word, check in _CHECKS.items():
        if word in schema and not check(value, schema[word]):
            yield f"{place}: {word} {schema[word]}"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, inner in value.items():
            if "propertyNames" in schema:
                yield from violations(name, schema["propertyNames"], f"{place}.{name}")
            part = known.get(name, schema.get("additionalProperties", {}))
            yield from violations(inner, part, f"{place}.{name}") if part is not False else [f"{place}.{name}: unknown"]
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from violations(inner, schema.get("items", {}), f"{place}[{number}]")


def _is_type(value: Any, names: str | list[str]) -> bool:
    wanted = [TYPES[name] for name in ([names] if isinstance(names, str) else names)]
    return any(isinstance(value, one) and (one is bool or not isinstance(value, bool)) for one in wanted)


_CHECKS = {
    "type": _is_type,
    "const": lambda value, wanted: value == wanted,
    "enum": lambda value, wanted: value in wanted,
    "pattern": lambda value, wanted: re.search(wanted, value) is not None,
    "minimum": lambda value, wanted: value >= wanted,
    "required": lambda value, wanted: set(wanted) <= set(value),
}
_PARTS = ("properties", "additionalProperties", "propertyNames", "items")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    """A site with an alias, an import, a strange name, and a page that takes a sheet in."""
    made = BuiltSite(tmp_path_factory.mktemp("manifest")).write(
        {
            "index.html": f'<!DOCTYPE html><link rel="stylesheet" href="s.css"><img src="i.bin">{WORDS}',
            "s.css": '@import "t.css"; .a  { color : red }' + "/* words */" * 9,
            "t.css": ".b  { color : blue }",
            "i.bin": b"\0" * 9,
            LATIN: "words\n" * 9,
            "日本.txt": "words\n" * 9,
        }
    )
    (made.docroot / "alias.css").symlink_to("t.css")
    made.build(site__base_url="https://example.org/docs/")
    return made


@pytest.fixture(scope="module")
def manifest(site: BuiltSite) -> dict[str, Any]:
    return json.loads((site.output / "manifest.json").read_bytes())  # type: ignore[no-any-return]


def rows(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in manifest["resources"]}


def names(manifest: dict[str, Any], numbers: list[int]) -> list[str]:
    return [manifest["resources"][number]["path"] for number in numbers]


def test_it_is_as_described(manifest: dict[str, Any]) -> None:
    assert list(violations(manifest, DESCRIBED)) == []
    assert DESCRIBED["properties"]["schema"]["const"] == SCHEMA
    assert f"`schema` is {SCHEMA}." in DOCUMENT


def test_the_description_is_strict(manifest: dict[str, Any]) -> None:
    broken = json.loads(json.dumps(manifest))
    broken["effort"] = "some"
    broken["resources"][0]["surplus"] = 1
    broken["resources"][1]["source"]["sha256"] = "x"
    del broken["resources"][2]["path"]
    assert len(list(violations(broken, DESCRIBED))) == 4


def test_every_field_is_explained() -> None:
    table = DOCUMENT.partition("## Versions")[0]
    parts = [DESCRIBED, *(DESCRIBED["$defs"][name] for name in ("resource", "representation"))]
    fields = [name for part in parts for name in part["properties"]]
    assert [name for name in fields if not re.search(rf"^\| `[a-z.\[\]]*\b{name}` \|", table, re.MULTILINE)] == []


def test_the_trees_hold_what_it_says_and_nothing_else(site: BuiltSite, manifest: dict[str, Any]) -> None:
    listed = {
        f"{level}/{coding}/{path}": file
        for path, row in rows(manifest).items()
        for level, made in row["levels"].items()
        for coding, file in made["files"].items()
    }
    assert set(listed) | {"manifest.json", "report.html"} == set(files_below(site.output))
    for path, file in listed.items():
        content = (site.output / path).read_bytes()
        assert (file["size"], file["sha256"]) == (len(content), digest_bytes(content))


def test_sources(site: BuiltSite, manifest: dict[str, Any]) -> None:
    for path, row in rows(manifest).items():
        content = (site.docroot / path).read_bytes()
        assert row["source"] == {"size": len(content), "sha256": digest_bytes(content)}
        for made in row["levels"].values():
            assert made["changed"] == (made["files"]["id"]["sha256"] != row["source"]["sha256"])
    assert rows(manifest)["alias.css"]["alias_of"] == "t.css"
    assert [path for path, row in rows(manifest).items() if "alias_of" in row] == ["alias.css"]


def test_references_of_the_source_and_of_levels(manifest: dict[str, Any]) -> None:
    page, sheet = rows(manifest)["index.html"], rows(manifest)["s.css"]
    assert names(manifest, page["references"]) == ["i.bin", "s.css"]
    assert "references" not in page["levels"]["full"]
    assert names(manifest, page["levels"]["lossless"]["references"]) == ["i.bin"]
    assert names(manifest, sheet["references"]) == ["t.css"]
    assert names(manifest, sheet["levels"]["full"]["references"]) == ["t.css"]
    assert sheet["levels"]["lossless"]["references"] == []


def test_the_order_of_rows_is_that_of_the_bytes(manifest: dict[str, Any]) -> None:
    paths = list(rows(manifest))
    assert paths == sorted(paths, key=os.fsencode)
    assert set(paths) >= {LATIN, "日本.txt"}


def test_the_head(manifest: dict[str, Any]) -> None:
    assert manifest["base_url"] == "https://example.org/docs/"
    assert manifest["effort"] == "fast"
    assert [(one["name"], one["number"]) for one in manifest["levels"]] == [("full", 5), ("lossless", 4)]


def test_a_resource_stands_on_a_line(site: BuiltSite, manifest: dict[str, Any]) -> None:
    text = (site.output / "manifest.json").read_text("ascii")
    lines = text[: text.index('],"extras":[')].splitlines()
    assert len(lines) == len(manifest["resources"]) + 1
    assert [json.loads(line.rstrip(","))["path"] for line in lines[1:]] == list(rows(manifest))


def test_what_could_not_be_published_has_no_files(tmp_path: Path) -> None:
    name = "/".join(["d" * 250] * 15) + "/x.txt"
    site = BuiltSite(tmp_path).write({name: WORDS, "y.txt": WORDS})
    result = site.build(output=far_output(tmp_path))
    found = json.loads(result.manifest.read_bytes())
    assert list(violations(found, DESCRIBED)) == []
    assert [made["files"] for made in rows(found)[name]["levels"].values()] == [{}, {}]
