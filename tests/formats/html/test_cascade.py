"""The cascade of a page for the properties that hide elements."""

import pytest

from adaptc.formats.html.cascade import HIDING, Cascade, is_hiding
from adaptc.formats.html.document import parse

PAGE = '<div class="a b:c"><p id=x class="y z">text</p><svg><linearGradient></linearGradient></svg></div>'


@pytest.mark.parametrize(
    ("sheets", "value"),
    [
        (("p{display:block}", ".y{display:none}"), "none"),
        ((".y{display:none}", ".z{display:block}"), "block"),
        ((".z{display:block}.y{display:none}",), "none"),
        ((".a{.n,.y{display:none}}",), "none"),
        (("div{& > p{&.z{display:none}}.z{display:block}}",), "none"),
        ((".y{display:none;@media (min-width:800px){display:block}}",), "block"),
        ((".y{display:none;@media (max-width:800px){display:block}}",), "none"),
        (("p{.n &,.y&{display:none}}",), ""),
        (("p,.n{" * 40 + "&{display:none}",), ""),
        (("#x{display:none}", ".y.z{display:block}"), "none"),
        (("*{display:none}",), "none"),
        ((".a P{display:none}",), "none"),
        ((".b\\:c > :is(.y, .n){display:none}",), "none"),
        ((".z,.y{display:none}", ".n .y{display:block}"), "none"),
        (("p:not(.n){display:none}", ".n{display:block}"), "none"),
    ],
)
def test_the_last_rule_of_the_highest_specificity_wins(sheets: tuple[str, ...], value: str) -> None:
    tree = parse(PAGE)
    (element,) = tree.select("#x")
    assert Cascade(tree, sheets).value(element, "display", 1280) == value


def test_a_type_of_svg_is_found_in_any_case() -> None:
    tree = parse(PAGE)
    (element,) = tree.select("svg > *")
    assert Cascade(tree, ("linearGradient{opacity:0}",)).hiding(element, 412) == ("opacity",)


@pytest.mark.parametrize("width", [412, 1280])
def test_what_hides_an_element_are_the_properties_whose_values_do(width: float) -> None:
    sheets = (
        ".y{display:none;opacity:0}.z{opacity:1}#x{left:-999px!important}p{left:0!important}",
        "@media (max-width:600px){.y{display:block!important;visibility:hidden}}.z:hover{display:block}",
    )
    for attributes in ("", "hidden", "style='height:0;opacity:.5'", "style=display:none", "hidden style='display: '"):
        tree = parse(f'<div><p id=x class="y z" {attributes}>text</p><p {attributes}>other</p></div>')
        cascade = Cascade(tree, sheets)
        for element in tree.select("*"):
            found = tuple(name for name in HIDING if is_hiding(name, cascade.value(element, name, width)))
            assert cascade.hiding(element, width) == found
