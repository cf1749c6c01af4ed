"""Selectors by which scripts find links and scripts by their files."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.formats.script.lookups import file_selectors, selects_file
from adaptc.formats.script.script import Script


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("""document.querySelector("[href$='ayu-highlight.css']")""", {"href$=ayu-highlight.css"}),
        ("""d.querySelector('link[href*="theme"]')""", {"href*=theme"}),
        ("""$('.x [src="js/main.js"]')""", {"src=js/main.js"}),
        ("const s = `[href^=css/]`", {"href^=css/"}),
        ("""q('[href$="' + name + '.css"]')""", {"href*=.css"}),
        ("q(`[src$='${name}.mjs']`)", {"src*=.mjs"}),
        ("""$('a[href="#top"]'), $("img[src$='.png']"), $('[href="#' + id + '"]')""", {"href=#"}),
        ("$('[href]')", set()),
        ("q(`link[href=\"${n}\"]`); 'a.css'", {"href*=.css"}),
        ("q(`link[href=\"${n}\"]${r}`); l.rel = 'modulepreload'; 'a.css'", set()),
        ("'unclosed [href$=a.css] ", {"href$=a.css"}),
    ],
)
def test_selectors_of_a_script(text: str, wanted: set[str]) -> None:
    assert file_selectors(Script(text)) == wanted


@pytest.mark.parametrize(
    ("selector", "finds"),
    [
        ("href$=a.css", True),
        ("href^=css/", True),
        ("href*=/a", True),
        ("href=css/a.css", True),
        ("href~=css/a.css", True),
        ("href|=css/a.css", True),
        ("href$=b.css", False),
        ("href=a.css", False),
        ("src$=a.css", False),
    ],
)
def test_what_a_selector_finds(selector: str, *, finds: bool) -> None:
    assert selects_file({selector}, "href", "css/a.css") is finds


def test_what_scripts_find_by_its_address_stays_a_file() -> None:
    """mdBook's themes: querySelector("[href$='ayu-highlight.css']").disabled = true."""
    sheets = "<link rel=stylesheet href=a.css><link rel=stylesheet href=b.css>"
    scripts = "<script src=c.js></script><script src=d.js></script>"
    script = "document.querySelector(\"[href$='a.css']\").disabled=true;$(\"[src='c.js']\")"
    page = f"<!DOCTYPE html><title>t</title>{sheets}{scripts}<p>Text</p>"
    site = SmallSite(
        {"i.html": page, "a.css": "p{color:red}", "b.css": "p{margin:0}", "c.js": "var c=1", "d.js": script}
    )
    text = site.page("i.html")
    assert "href=a.css" in text and "p{color:red}" not in text
    assert "b.css" not in text
    assert "src=c.js" in text
