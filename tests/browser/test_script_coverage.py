"""How much of scripts runs where a browser looks: what is counted, and where it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.browser.script_coverage import RanParts, ran_parts, script_coverage
from adaptc.cli.main import run

USED = "function used() { document.body.dataset.x = 'é€😀' }"
MENU = "function menu() { document.body.dataset.menu = 1 }"
NEVER = "function never() { return 'never' }"
SCRIPT = f"{USED}\n{MENU}\n{NEVER}\nused();"
PAGE = "<!DOCTYPE html><meta charset=utf-8><title>t</title><h1>T</h1>{}<script src=a.js></script>"


def function(start: int, end: int, count: int) -> dict[str, Any]:
    return {"ranges": [{"startOffset": start, "endOffset": end, "count": count}]}


def test_an_inner_function_decides_over_its_range() -> None:
    parts = ran_parts([function(50, 60, 1), function(20, 80, 0), function(0, 100, 1)])
    assert (parts.size, parts.ran.bit_count()) == (100, 100 - 60 + 10)
    assert ran_parts([]) == RanParts(0, 0)


def test_what_ran_in_any_view_counts() -> None:
    one, other = ran_parts([function(0, 10, 1), function(0, 4, 0)]), ran_parts([function(0, 10, 1), function(6, 10, 0)])
    assert [
        (each.path, each.size, each.ran) for each in script_coverage([{"b.js": one}, {"b.js": other, "a.js": one}])
    ] == [
        ("a.js", 10, 6),
        ("b.js", 10, 10),
    ]


@pytest.fixture
def site(chromium: str, tmp_path: Path) -> BuiltSite:
    """A site of two pages with a script; one of them has a menu."""
    menu = "<button type=button onclick=menu()>Menu</button>"
    site = BuiltSite(tmp_path)
    return site.write({"index.html": PAGE.format(menu), "b.html": PAGE.format(""), "a.js": SCRIPT})


def explained(site: BuiltSite, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert run(["explain", "-o", str(site.output), *options, "a.js"]) == 0
    return capsys.readouterr().out


@pytest.mark.chromium
def test_what_ran_on_the_page_with_most_of_it_is_said(site: BuiltSite, capsys: pytest.CaptureFixture[str]) -> None:
    site.build(browser__pages="all")
    size = len(SCRIPT.encode("utf-16-le")) // 2
    share = f"{100 * (size - len(NEVER)) / size:.1f} %"
    assert f"at most {share} of it ran on 2 pages at which a browser looked" in explained(site, capsys)
    assert json.loads(explained(site, capsys, "--format", "json"))["ran"] == {
        "characters": size - len(NEVER),
        "of": size,
        "pages": 2,
    }


@pytest.mark.chromium
def test_it_is_known_without_a_browser_until_none_is_wanted(
    site: BuiltSite, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.build(browser__pages="all")
    said = explained(site, capsys)
    monkeypatch.setattr("adaptc.browser.chromium.Chromium.start", lambda _: pytest.fail("a browser was started"))
    site.write({"other.css": "p { margin: 0 }"}).build(browser__pages="all")
    assert explained(site, capsys) == said
    site.build()
    assert "a browser looked" not in explained(site, capsys)
    assert json.loads(explained(site, capsys, "--format", "json"))["ran"] is None


@pytest.mark.chromium
def test_the_report_names_scripts_of_which_little_ran(site: BuiltSite) -> None:
    idle = "".join(f"function f{number}() {{ return {number**9 % 9973**2} }}\n" for number in range(4000))
    site.write({"a.js": idle + SCRIPT, "small.js": NEVER})
    figures = site.build(browser__pages="all").figures
    (script,) = figures.scripts
    assert (script.path, script.pages) == ("a.js", 2)
    assert script.share < 0.05
    report = (site.output / "report.html").read_text()
    assert "Scripts of which little ran where a browser looked: a.js (" in report
    assert site.build(browser__pages="all").figures.scripts == figures.scripts
