"""icon-fonts: the glyphs that a page may show, whoever writes them."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from tests.samples.icon_font import HOME, MENU, icon_font
from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.formats.font import FontGlyphs, font_glyphs

FACE = "@font-face{font-family:F;src:url(f.woff2) format('woff2')}"
HEAD = f"<!doctype html><meta charset=utf-8><title>T</title><style>{FACE}.i{{font-family:F}}</style>"


def glyphs_of(
    body: str, *, head: str = HEAD, largest: int = 8192, first: int = HOME, **files: str | bytes
) -> FontGlyphs | None:
    """Return what the font in the rewritten page draws, ``None`` if it is still a file."""
    named = {name.replace("_", "."): content for name, content in files.items()}
    site = SmallSite({"index.html": head + body, "f.woff2": icon_font(first=first), **named})
    done = site.rewrite(steps=(Step(BY_NAME["icon-fonts"], {"largest": largest}),), promise="words")
    match = re.search(rb"url\(data:font/woff2;base64,([\w+/=]+)\)", done.content or b"")
    return None if match is None else font_glyphs(base64.b64decode(match[1]))


@pytest.mark.parametrize(
    "body",
    [
        "<style>.h:before{content:'\\f000'}</style>",
        "<style>.h:before{content:'\uf000'}</style>",
        "<p class=i>&#xf000;",
        "<p data-icon='&#61440;'>",
        "<script>b.textContent = '\\uf000'</script>",
        "<script>b.textContent = String.fromCharCode(0xf000)</script>",
        "<script>b.innerHTML = '<i>&#xF000;</i>'</script>",
        "<script>s = '.h:before{content:\"\\\\f000\"}'</script>",
        "<script src=a.js></script>",
        "<link rel=stylesheet href=a.css>",
    ],
)
def test_the_glyphs_in_use_move_into_the_page(body: str) -> None:
    glyphs = glyphs_of(body, a_js="b.textContent='\\u{f000}'", a_css=".h:before{content:'\\F000'}")
    assert glyphs is not None
    assert HOME in glyphs.characters
    assert MENU not in glyphs.characters


def test_a_ligature_is_drawn_for_a_word_of_the_page_or_of_a_script() -> None:
    glyphs = glyphs_of("<i class=i>home</i><script>show('item_ab'); show('item_c' + x); show('item_d_' + y)</script>")
    assert glyphs is not None
    assert glyphs.words == {"home", "item_ab"}


def test_a_composed_word_keeps_all_that_begin_so() -> None:
    glyphs = glyphs_of("<script>show('item_' + name)</script>", largest=100_000, f_woff2=icon_font(None))
    assert glyphs is not None
    assert {"item_ab", "item_cd"} <= glyphs.words
    assert "home" not in glyphs.words


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (
            "<style>"
            + "".join(f".c{code}:before{{content:'\\{code:x}'}}" for code in range(HOME, HOME + 200))
            + "</style>",
            {},
        ),
        ("<p class=i>&#xf000;", {"largest": 100}),
        ("<p class=i>&#xf000;", {"first": 0x400}),
        ("<p class=i>&#xf000;", {"f_woff2": b"broken"}),
        ("<p class=i>&#xf000;<meta http-equiv=Content-Security-Policy content='font-src https:'>", {}),
    ],
)
def test_a_font_stays_that_is_used_throughout_or_not_understood(body: str, options: dict[str, Any]) -> None:
    assert glyphs_of(body, **options) is None


def test_a_font_of_another_site_stays() -> None:
    assert glyphs_of("<p>&#xf000;", head=HEAD.replace("f.woff2", "https://cdn.example/f.woff2")) is None


@pytest.mark.parametrize(
    ("source", "stays"),
    [
        ("url(no.eot);src:url(no.eot?#iefix) format('embedded-opentype'),url(fonts/no.woff2) format('woff2')", False),
        ("url(no.woff2),url(f.woff2)", True),
        ("local(No),url(no.woff2)", True),
        ("url(/fonts/no.woff2)", True),
        ("url(https://cdn.example/no.woff2)", True),
        ("url(data:font/woff2;base64,AAAA)", True),
    ],
)
def test_nothing_asks_for_a_font_that_is_missing(source: str, stays: bool) -> None:
    face = f"@font-face{{font-family:N;src:{source}}}"
    site = SmallSite({"index.html": f"{HEAD}<style>{face}p{{margin:0}}</style><p>x", "f.woff2": icon_font(first=0x400)})
    done = site.rewrite(steps=(Step(BY_NAME["icon-fonts"], {"largest": 8192}),), promise="words")
    content = site.contents["index.html"] if done.content is None else done.content
    assert (face.encode() in content) is stays
    assert b"p{margin:0}" in content
