"""The text of a page as those read it who run no scripts."""

from __future__ import annotations

import pytest

from adaptc.formats.html.static_text import insert_literals, leave_out_waiting_values, static_text, written_literal


@pytest.mark.parametrize(
    ("script", "literal"),
    [
        ("document.write('<a href=\"x\">Home</a>')", '<a href="x">Home</a>'),
        ("document.write('<p>a' + \"b</p>\");\ndocument.writeln('<p>c', '</p>');", "<p>ab</p><p>c</p>"),
        ("/* menu */ var a = 1; document.write(`<p>x\\u00e9</p>`);", "<p>x\u00e9</p>"),
        ("document.write('<p>' + name + '</p>')", None),
        ("if (a) document.write('<p>x</p>')", None),
        ("function f() { document.write('<p>x</p>') } f()", None),
        ("document.write('<p>a</p>'); if (b) { document.write('<p>b</p>') }", None),
        ("document.write('<p>x</p>'.toUpperCase())", None),
        ("document.write(`<p>${x}</p>`)", None),
        ("document.write('<br>')", None),
    ],
)
def test_literals_that_a_script_writes_at_once(script: str, literal: str | None) -> None:
    assert written_literal(script) == literal


def test_a_header_that_a_script_writes_is_in_its_place() -> None:
    sources = {"header.js": "document.write('<form action=/s><input name=q></form><a href=a>A</a>')"}
    page = "<body><script src=header.js></script><h1>T</h1>"
    written = insert_literals(page, lambda script: sources.get(script.attr("src") or "", script.text))
    assert written == page.replace("<h1>", "<form action=/s><input name=q></form><a href=a>A</a><h1>")
    assert static_text(page) == page  # nobody knows the script


@pytest.mark.parametrize(
    "page",
    [
        "<head><script>document.write('<p>x</p>')</script></head><body>y",
        "<body><script>document.write('<p>x</p><scr' + 'ipt src=a.js></scr' + 'ipt>')</script>y",
        "<body><script>document.write('<p>x y</p>')</script><p>x y</p>",  # what a browser made of it
    ],
)
def test_other_literals_are_not_inserted(page: str) -> None:
    assert static_text(page) == page


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("<b id=n>0</b>", "<b id=n>&hellip;</b>"),
        ("<b id=n>\u20ac 0.00</b>", "<b id=n>&hellip;</b>"),
        ("<b id=n> 0 toman</b>", "<b id=n>&hellip;</b>"),
        ("<div id=n>Loading donors\u2026</div>", "<div id=n></div>"),
        ("<div id=n>Fetching data...</div>", "<div id=n></div>"),
        ("<b id=n>-</b>", "<b id=n></b>"),
        ("<b id=n>7</b>", "<b id=n>7</b>"),
        ("<b id=n>100</b>", "<b id=n>100</b>"),
        ("<b id=other>0</b>", "<b id=other>0</b>"),
        ("<b id=n>0 <i>x</i></b>", "<b id=n>0 <i>x</i></b>"),
    ],
)
def test_values_that_a_script_fetches_are_not_stated(value: str, written: str) -> None:
    page = "<body><p>Raised: {}</p><script>x</script>"
    assert leave_out_waiting_values(page.format(value), {"n"}) == page.format(written)
