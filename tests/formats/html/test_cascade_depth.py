"""The cascade of the properties that hide elements."""

from __future__ import annotations

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import parse


def test_rules_find_elements_by_the_classes_around_them() -> None:
    tree = parse("<div class=menu><p class=closed>a</p></div><p class=closed id=x>b</p>")
    cascade = Cascade(tree, (".menu .closed{display:none}#x{visibility:hidden}",))
    assert [cascade.hiding(each, 1000) for each in tree.select("p")] == [("display",), ("visibility",)]


def test_elements_may_be_20_000_deep() -> None:
    tree = parse("<div class=a>" * 20_000 + "<p class=b>text")
    cascade = Cascade(tree, (".a .b{display:none}",))
    assert [each.tag for each in tree.iter_elements(("div", "p")) if cascade.hiding(each, 1000)] == ["p"]
