"""Which images a page has, and what is seen around them."""

from __future__ import annotations

import pytest

from tests.sites.decorated import uses

from adaptc.compile.analyse.decorations.image_rules import sheet_images

FOUND = [
    ("<img src=a.png>", "img", "a.png", "a.png"),
    ("<img src=' a.png'>", "img", " a.png", "a.png"),
    ("<img src=d//a.png>", "img", "d//a.png", "d/a.png"),
    ("<noscript><img src=a.png></noscript>", "img", "a.png", "a.png"),
    ("<img data-src=a.png>", "img", "a.png", "a.png"),
    ("<img srcset='a.png 1x, b.png 2x'>", "img", "a.png 1x, b.png 2x", "a.png"),
    ("<input type=image src=a.png>", "input", "a.png", "a.png"),
    ("<picture><source srcset='a.png 2x'></picture>", "source", "a.png 2x", "a.png"),
    ("<object data=a.png></object>", "img", "a.png", "a.png"),
    ("<object data=v.svg></object>", "svg", "v.svg", "v.svg"),
    ("<svg><use href='v.svg#part'/></svg>", "svg", "v.svg#part", "v.svg"),
    ("<svg><image href='a.png'/></svg>", "svg", "a.png", "a.png"),
    ("<video poster=a.png></video>", "img", "a.png", "a.png"),
    ("<table background=a.png></table>", "background", "a.png", "a.png"),
    ("<p style='background:url(a.png)'>", "background", "a.png", "a.png"),
    ("<style>p{background:url(a.png)}</style><p>", "background", "a.png", "a.png"),
    ("<img src=missing.png>", "img", "missing.png", None),
    ("<img src=//host.example/x.png>", "img", "//host.example/x.png", None),
]


@pytest.mark.parametrize(("html", "kind", "ref", "path"), FOUND)
def test_images_of_the_markup(html: str, kind: str, ref: str, path: str | None) -> None:
    (use,) = uses(html)
    assert (use.kind, use.ref, use.path) == (kind, ref, path)


def test_the_rules_without_images_make_no_difference_to_those_with_some() -> None:
    """Escapes may spell the name of any function or property; what is malformed is read as it is with the others."""
    others = "a{color:red}@media print{b{c:d}}/* } */p>i{e:f}@font-face{font-family:x}"
    loading = (
        "@import 's.css';",
        ".a{background:u\\72l(a.png)}",
        "@media screen{.b{width:9px;background:url(b.png)}.x{y:z}}",
        ".c{tex\\t-indent:-999px}",
        ".d{text-indent:-999px}",
        "}.e{background:url(e.png) no-repeat}",
    )
    alone, among = sheet_images("".join(loading)), sheet_images(others.join(("", *loading, "")))
    assert among == alone
    assert [rule.url for rule in alone.rules] == ["a.png", "b.png", "e.png"]
    assert (alone.imports, alone.hiding) == (("s.css",), (".c", ".d"))


@pytest.mark.parametrize(
    "html",
    [
        "<img src=data:image/png;base64,AA==>",
        "<template><img src=a.png></template>",
        "<input type=text src=a.png>",
        "<video><source src=a.mp4></video>",
        "<object data=other.html></object>",
        "<svg><use href='#part'/></svg>",
        "<style>p{background:url(a.png)}</style><div>",
        "<style media=print>p{background:url(a.png)}</style><p>",
        "<style>@media print{p{background:url(a.png)}}</style><p>",
        "<style>@font-face{src:url(a.png)}</style><p>",
        "<link rel='alternate stylesheet' href=s.css><p>",
    ],
)
def test_what_is_no_image_of_the_page(html: str) -> None:
    assert uses(html, s="p{background:url(b.png)}") == []


def test_base_and_sheet_govern_their_own_references() -> None:
    html = "<base href=d/><link rel=stylesheet href=../s.css><p><img src=a.png>"
    found = {use.kind: use.path for use in uses(html, s="p{background:url(a.png)}")}
    assert found == {"img": "d/a.png", "background": "a.png"}


def test_imported_sheets_count_once_even_in_a_circle() -> None:
    sheets = {"one": '@import "two.css";', "two": "@import url(one.css) screen;p{background:url(a.png)}"}
    (use,) = uses("<link rel=stylesheet href=one.css><link rel=stylesheet href=two.css><p>", **sheets)
    assert use.path == "a.png"


@pytest.mark.parametrize(
    "sheet",
    [
        "p:hover::before{content:url(a.png)}",
        "@media (min-width: 1px){@supports (x:y){p{background:url(a.png)}}}",
        "body{p{background:url(a.png)}}",
        "body{& p{background:url(a.png)}}",
        "p:not(.x){list-style:url(a.png)}",
        ":is(p, q){border-image:url(a.png) 1}",
        "::selection{background:url(a.png)}",
        "@layer x{p{mask-image:image-set('a.png' 1x)}}",
    ],
)
def test_selectors_match_without_their_pseudo_classes(sheet: str) -> None:
    (use,) = uses(f"<style>{sheet}</style><p>")
    assert (use.kind, use.path) == ("background", "a.png")


def test_selectors_that_nobody_knows_are_passed_over() -> None:
    (use,) = uses("<style>p{{}} a||b{background:url(b.png)} p{background:url(a.png)}</style><p>")
    assert use.path == "a.png"


@pytest.mark.parametrize(
    ("html", "region"),
    [
        ("<header><img src=a.png></header>", "header"),
        ("<div role=navigation><img src=a.png></div>", "nav"),
        ("<div class=site-footer><img src=a.png></div>", "footer"),
        ("<div id=leftSidebar><img src=a.png></div>", "aside"),
        ("<main><div class=x><img src=a.png></div></main>", "main"),
        ("<div class=page--with-header><img src=a.png></div>", ""),
        (f"<div class=sidebar-layout><img src=a.png><p>{'word ' * 200}</div>", ""),
        ("<body class=header><img src=a.png>", ""),
    ],
)
def test_landmarks(html: str, region: str) -> None:
    assert uses(html)[0].region == region


@pytest.mark.parametrize(
    ("html", "kind", "alone"),
    [
        ("<a href=other.html><img src=a.png></a>", "page", True),
        ("<a href=other.html><img src=a.png> Words</a>", "page", False),
        ("<a href=./><img src=a.png></a>", "home", True),
        ("<a href=/><img src=a.png></a>", "home", True),
        ("<a href=//host.example/><img src=a.png></a>", "home", True),
        ("<a href=//host.example/x><img src=a.png></a>", "outside", True),
        ("<a href='#top'><img src=a.png></a>", "anchor", True),
        ("<a href=b.png><img src=a.png></a>", "image", True),
        ("<button><img src=a.png></button>", "button", True),
        ("<a name=here><img src=a.png></a>", "", False),
    ],
)
def test_links(html: str, kind: str, alone: bool) -> None:
    (use,) = uses(html)
    assert (use.link, use.alone_in_link) == (kind, alone)


def test_a_link_nearby_with_the_same_target_has_the_words() -> None:
    item = "<li><a href=other.html><img src=a.png></a> <a href=other.html>Other</a></li>"
    assert uses(f"<ul>{item}</ul>")[0].link_alike
    assert not uses("<li><a href=other.html><img src=a.png></a></li>")[0].link_alike


def test_text_next_to_an_image() -> None:
    (use,) = uses("<p>Some <img src=a.png> words<script>not seen</script></p>")
    assert (use.text_length, use.in_text, use.alone) == (10, True, False)
    (use,) = uses("<table><td><b><img src=a.png></b></table>x")
    assert use.alone


def test_sizes_and_alternative_texts() -> None:
    (use,) = uses("<img src=a.png width=20px height=50% alt=' A  word '>")
    assert (use.width, use.height, use.alt) == (20, None, "A word")
    (use,) = uses("<picture><source srcset=a.png><img alt=Word></picture>")
    assert use.alt == "Word"


def test_repetition_on_the_page() -> None:
    html = "<ul><li><img src=a.png><li><img src=a.png><li><img src=b.png><li><img src=c.png></ul>"
    assert [(use.times, use.alike, use.order) for use in uses(html)] == [(2, 3, 0), (2, 3, 1), (1, 3, 2), (1, 3, 3)]


def test_what_a_rule_says_of_its_image() -> None:
    sheet = "<style>.x{background:url(a.png) repeat-x;width:9px;height:8px}</style>"
    (use,) = uses(f"{sheet}<p class=x>Words<p class=x>")
    assert (use.repeat, use.width, use.height, use.places, use.holds_text) == ("repeat-x", 9, 8, 2, 5)


def test_a_thousand_images_in_one_block_are_read_in_no_time() -> None:
    assert len(uses("word " * 20_000 + "<img src=a.png>" * 1000)) == 1000
