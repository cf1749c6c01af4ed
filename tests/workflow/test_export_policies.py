"""Exports add the hashes of what levels write into pages to the policies in the files for hosts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.engine.reporting import Silent
from adaptc.formats.policy import Policy, allowing, open_to_elements
from adaptc.workflow.export.export import Export, export_site

STRICT = "default-src 'self'; img-src 'self'"
BLOCKED = "document.title = 'blocked'"
PAGE = f"""<!DOCTYPE html><html lang=en><meta charset=utf-8><title>A</title><link rel=stylesheet href=/s.css>
<body><h1>Title</h1><p>{"words and more words " * 30}<script>{BLOCKED}</script><script src=/a.js></script>"""
FILES = {"index.html": PAGE, "s.css": "h1 { color: green }\n", "a.js": "document.body.title = 'a'\n"}
HEADERS = f"/*\n  Content-Security-Policy: {STRICT}\n"
VERCEL = json.dumps(
    {"headers": [{"source": "/(.*)", "headers": [{"key": "Content-Security-Policy", "value": STRICT}]}]}
)


@pytest.mark.parametrize(
    ("text", "kind", "result"),
    [
        ("default-src 'self'", "style", "default-src 'self'; style-src 'self' 'h'"),
        ("style-src 'none'; script-src a", "style", "style-src 'h'; script-src a"),
        ("style-src a; style-src-elem b", "style", "style-src a; style-src-elem b 'h'"),
        ("img-src a", "script", "img-src a"),
        ("script-src a, default-src b", "script", "script-src a 'h', default-src b; script-src b 'h'"),
    ],
)
def test_a_hash_is_added_to_the_directive_that_counts(text: str, kind: str, result: str) -> None:
    assert allowing(text, kind, ["h"]) == result


def test_a_build_may_write_elements_but_no_attributes() -> None:
    policy = Policy.of([open_to_elements("default-src 'self'; style-src 'self' 'sha256-abc'")])
    assert policy.allows_style("a") and policy.allows_script("b") and not policy.is_open
    noncy = "script-src 'nonce-x' 'strict-dynamic'"
    assert open_to_elements(noncy).startswith(noncy) and not Policy.of([open_to_elements(noncy)]).allows_script("")


def exported(tmp_path: Path, files: dict[str, str]) -> tuple[Path, Export]:
    site = BuiltSite(tmp_path / "work").write({**FILES, **files})
    options = {"site__csp_hashes": True, "build__levels": ("full", "lossless")}
    site.build(**options)
    done = export_site(site.config(**options), "lossless", tmp_path / "to", "suffix", Silent())
    return tmp_path / "to", done


@pytest.mark.parametrize(("name", "text"), [("_headers", HEADERS), ("vercel.json", VERCEL)])
def test_hashes_go_into_the_files_of_hosts(tmp_path: Path, name: str, text: str) -> None:
    folder, done = exported(tmp_path, {name: text})
    page, written = (folder / "index.html").read_text(), (folder / name).read_text()
    [style] = re.findall(r"<style>(.*?)</style>", page)
    scripts = re.findall(r"<script>(.*?)</script>", page)
    assert BLOCKED in scripts and len(scripts) == 2 and not done.diagnostics
    value = json.loads(written)["headers"][0]["headers"][0]["value"] if name == "vercel.json" else written[30:].strip()
    policy = Policy.of([value])
    assert policy.allows_style(style) and not policy.allows_style(style + " ")
    assert [policy.allows_script(each) for each in scripts] == [each != BLOCKED for each in scripts]


def test_a_policy_in_pieces_is_an_error(tmp_path: Path) -> None:
    text = VERCEL.replace("default-src", "\\u0064efault-src")
    _, done = exported(tmp_path, {"vercel.json": text})
    assert [each.id for each in done.diagnostics] == ["export-policy"]
