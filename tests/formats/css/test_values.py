"""Canonical forms of values: spellings that mean the same are equal, and a browser agrees; others differ."""

from __future__ import annotations

import json

import pytest
import tinycss2

from tests.sites.shown import visit

from adaptc.browser.tab import Tab
from adaptc.formats.css.values import Declaration, canonical_declaration

SAME = [
    ("color", "rgba(0, 20, 80, .05)", "rgb(0,20,80,5%)"),
    ("color", "rgb(0 20 80 / 30%)", "rgba(0,20,80,.3)"),
    *(
        ("color", f"rgba(1,2,3,.{tenth})", f"#010203{digits}")
        for tenth, digits in zip("13579", ("1a", "4d", "80", "b3", "e6"), strict=True)
    ),
    ("border-bottom-color", "currentColor", "initial"),
    ("border", "medium none", "none"),
    ("outline", "medium none", "none"),
    ("flex-flow", "wrap row", "row wrap"),
    ("place-content", "center", "center center"),
    ("background", "repeat scroll url(a.png)", "url(a.png)"),
    ("font", "normal 400 14px/1.2 Arial", "14px/1.2 Arial"),
    ("background-position", "center", "50%"),
    ("background-position", "top right", "100% 0"),
    ("background-position", "bottom", "50% 100%"),
    ("background-position", "left 10px", "0 10px"),
    ("background-position", "0, center", "0 50%,50%"),
    ("background", "url(a.png) no-repeat 0 0", "url(a.png)no-repeat"),
    ("background", "url(a.png) center top / 10px auto", "url(a.png)50% 0/10px"),
    ("background", "none", "0 0"),
    ("background", "transparent", "0 0"),
    ("background-size", "48px auto", "48px"),
    ("object-position", "center center", "50%"),
    ("box-shadow", "0 2px 2px 0 rgba(0, 0, 0, .14), inset 0 1px 0 0 red", "0 2px 2px rgb(0,0,0,.14),inset 0 1px red"),
    ("text-shadow", "1px 1px 0 #fff", "1px 1px #fff"),
    ("border", ".25em solid currentColor", ".25em solid"),
    ("border", "0 none", "0"),
    ("border-radius", "5px 5px", "5px"),
    ("border-radius", "0 0 3px 0 / 0 0 3px 0", "0 0 3px"),
    ("flex", "1 1 0%", "1"),
    ("flex", "1 0 0%", "1 0"),
    ("flex", "0 1 auto", "initial"),
    ("flex", "1 1 auto", "auto"),
    ("transform", "scale(1, 1) translate(0, 0)", "scale(1)translate(0)"),
    ("transform", "translate(3px, 0) rotate(45deg)", "translate(3px)rotate(45deg)"),
    ("margin-left", "calc(8% + 1.25rem / 2)", "calc(8% + .625rem)"),
    ("margin-left", "calc(1.5rem * -1)", "-1.5rem"),
    ("width", "calc(24px - 11px)", "13px"),
    ("font-family", "'Noto Color Emoji', x", "Noto Color Emoji,x"),
]
DIFFERENT = [
    ("color", "rgba(0,20,80,.05)", "rgb(0,20,80,.5)"),
    ("background-position", "top", "0 50%"),
    ("background-position", "center top 5px", "50% 0 5px"),
    ("background", "url(a.png) 0 1px", "url(a.png)"),
    ("background", "url(a.png)", "url(a.png) fixed"),
    ("background", "url(a.png) no-repeat", "url(a.png)"),
    ("flex-flow", "row wrap", "column wrap"),
    ("place-content", "center", "center start"),
    ("-webkit-background-size", "48px auto", "48px"),
    ("-webkit-border-radius", "5px 9px 5px 9px", "5px 9px"),
    ("box-shadow", "0 0 0 var(--wide)", "0 0 var(--wide)"),
    ("box-shadow", "0 0 0 1px red", "0 0 1px red"),
    ("border", "none", "0"),
    ("outline", "1px solid currentColor", "1px solid"),
    ("border-radius", "5px / 6px", "5px"),
    ("flex", "1 1 0", "1 1 0%"),
    ("flex", "1 1 0px", "auto"),
    ("transform", "scale(1, 2)", "scale(1)"),
    ("transform", "translate(0, 3px)", "translate(0)"),
    ("padding-left", "calc(1px - 2px)", "-1px"),
    ("width", "calc(100% - 2px)", "98px"),
    ("width", "calc(2px * 3px)", "6px"),
    ("z-index", "calc(2 - 1)", "1px"),
    ("font-family", "'emoji'", "emoji"),
    ("font-family", "'my initial'", "my initial"),
]


def forms(name: str, value: str) -> list[Declaration]:
    (node,) = tinycss2.parse_blocks_contents(f"{name}:{value}")
    return list(canonical_declaration(node))


@pytest.mark.parametrize(("name", "one", "other"), SAME)
def test_what_means_the_same_is_equal(name: str, one: str, other: str) -> None:
    assert forms(name, one) == forms(name, other)


@pytest.mark.parametrize(("name", "one", "other"), DIFFERENT)
def test_what_may_differ_is_not_equal(name: str, one: str, other: str) -> None:
    assert forms(name, one) != forms(name, other)


# All properties that a browser computes for a declaration in boxes of several kinds
COMPUTED = """(pairs) => pairs.map(({ name, values }) => values.map((value) => {
  const box = document.createElement('div'), inner = document.createElement('p')
  box.style.cssText = 'display:flex;width:300px;color:#123;font-size:10px'
  inner.style.cssText = `border:1px dotted red;${name}:${value}`
  inner.textContent = 'words'
  box.append(inner)
  document.body.replaceChildren(box)
  const style = getComputedStyle(inner)
  if (!inner.style.getPropertyValue(name) && !/^(border|background)$/.test(name)) return 'not a value: ' + value
  const zero = (each, value) => each.includes('position') ? value.replace(/(?<![\\d.])0%/g, '0px') : value
  return [...style].map((each) => each + ':' + zero(each, style.getPropertyValue(each))).join()
}))"""


@pytest.mark.chromium
def test_a_browser_computes_the_same(chromium: str) -> None:
    pairs = [{"name": name, "values": [one, other]} for name, one, other in SAME if name != "font-family"]

    async def compute(tab: Tab) -> list[list[str]]:
        found: list[list[str]] = await tab.run(COMPUTED, pairs)
        return found

    computed = visit(chromium, "<!DOCTYPE html><title>t</title><body>", compute)
    assert [json.dumps(pair) for pair, (one, other) in zip(pairs, computed, strict=True) if one != other] == []
    assert not [one for one, _ in computed if one.startswith("not")]
