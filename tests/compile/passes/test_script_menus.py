"""compose: menus that a script builds from a list of links are written as links."""

from __future__ import annotations

import re

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import KNOWN_PASSES, plan_level
from adaptc.config.rulebook import load_levels
from adaptc.core import media

STEPS = tuple(
    step
    for step in plan_level(load_levels(known_passes=KNOWN_PASSES)["extreme"]).steps_for(media.HTML)
    if step.name == "compose"
)
ARTICLE = "<h1>Title</h1><p>" + "Words of an article that can be read without any script. " * 4
DOXYGEN = (
    'var menudata={children:[{text:"Main Page",url:"index.html"},{text:"Classes",url:"a.html",children:['
    '{text:"Class &lt;A&gt;",url:"b.html"}]},{text:"Gone",url:"gone.html"},{text:"Files",url:"c.html"}]}'
)
TREE = (
    'var NAVTREE=[["Manual","index.html",[["One","a.html",[["Part","a.html#p",null]]],'
    '["Two","b.html",null],["Three","c.html","c"]]]]'
)


def written(menu: str, data: str, body: str = ARTICLE) -> str:
    page = (
        f"<!doctype html><title>T</title>{menu}{body}<script src=data.js></script><script>build('#main-nav')</script>"
        f"<script>start({list(range(900))})</script>"  # what it costs pays for the sheet
    )
    files = {"index.html": page, "data.js": data, **dict.fromkeys(("a.html", "b.html", "c.html"), "<p>x")}
    return (SmallSite(files).rewrite(steps=STEPS, promise="article").content or b"").decode()


def links(menu: str, data: str, body: str = ARTICLE) -> list[tuple[str, str]]:
    return re.findall(r"<li><a href=[\"']?([^\"'>]*)[\"']?>(.*?)</a>", written(menu, data, body))


MOUNT = "<div id=main-nav></div>"


def test_the_upper_links_that_lead_to_files_are_written() -> None:
    expected = [("index.html", "Main Page"), ("a.html", "Classes"), ("c.html", "Files")]
    assert links(MOUNT, DOXYGEN) == expected


def test_a_tree_with_one_root_shows_what_is_below_it() -> None:
    expected = [("index.html", "Manual"), ("a.html", "One"), ("b.html", "Two"), ("c.html", "Three")]
    assert links(MOUNT, TREE) == expected


@pytest.mark.parametrize(
    ("menu", "data", "body"),
    [
        ("<div id=main-nav><a href=a.html>A</a></div>", DOXYGEN, ARTICLE),  # a menu of its own
        ("<div id=other></div>", DOXYGEN, ARTICLE),  # nothing that a script fills
        (MOUNT, DOXYGEN, "<a href=index.html>i</a><a href=a.html>a</a><a href=c.html>c</a>" + ARTICLE),
        (MOUNT, 'search([["word","gone.html"],["other","lost.html"]])', ARTICLE),
        (MOUNT, 'var x={text:"a\\x41",url:"a.html"}', ARTICLE),
    ],
)
def test_other_lists_are_left_alone(menu: str, data: str, body: str) -> None:
    assert not {"Files", "Gone", "word"} & {name for _, name in links(menu, data, body)}
