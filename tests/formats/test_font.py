"""Subsets of icon fonts."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from fontTools.ttLib import TTFont

from tests.samples.icon_font import HOME, MENU, icon_font

from adaptc.formats.css.fonts import chosen_source, replace_font_sources
from adaptc.formats.font import FontGlyphs, font_glyphs, subset_font


def test_what_a_font_draws() -> None:
    glyphs = font_glyphs(icon_font())
    assert glyphs is not None
    assert {HOME, MENU, ord("a")} <= glyphs.characters
    assert {"home", "item_ab"} <= glyphs.words
    assert glyphs.are_icons


def test_a_font_of_letters_is_no_icon_font() -> None:
    glyphs = font_glyphs(icon_font(first=0x400))
    assert glyphs is not None
    assert not glyphs.are_icons


@pytest.mark.parametrize("flavor", ["woff2", "woff", None])
def test_a_subset_has_the_glyphs_in_use_and_the_copyright(flavor: str | None) -> None:
    content = icon_font(flavor)
    subset = subset_font(content, FontGlyphs(frozenset({HOME, *b"home"}), frozenset({"home"})))
    assert subset is not None
    assert len(subset) < len(content) / 20
    font = TTFont(io.BytesIO(subset))
    assert font.flavor == "woff2"
    assert set(font.getBestCmap()) == {HOME, *b"home"}
    assert font_glyphs(subset) == FontGlyphs(frozenset({HOME, *b"home"}), frozenset({"home"}))
    assert font["name"].getDebugName(0) == "Us"


def test_the_same_subset_has_the_same_bytes() -> None:
    glyphs = FontGlyphs(frozenset({MENU}), frozenset())
    first = subset_font(icon_font(), glyphs)
    subset_font.cache_clear()
    assert subset_font(icon_font(), glyphs) == first


@pytest.mark.parametrize(
    "content",
    [
        bytes,
        lambda: b"no font",
        lambda: b"wOF2" + b"\0" * 60,
        lambda: icon_font()[:900],
        lambda: icon_font(fs_type=256),
    ],
    ids=["empty", "text", "a head alone", "broken off", "not to be cut"],
)
def test_a_font_that_is_broken_or_must_not_be_cut_has_no_subset(content: Callable[[], bytes]) -> None:
    assert font_glyphs(content()) is None


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("url(a.eot)", None),
        ("url(a.eot?#iefix) format('embedded-opentype'),url(a.woff2?v=4) format('woff2'),url(a.woff)", "a.woff2?v=4"),
        ("local(A),url(a.svg#a) format(svg), url( 'a.ttf' )", "a.ttf"),
        ("url(a.woff) format(woff), url(a.woff2) format(woff2)", "a.woff"),
        ("local(A)", None),
    ],
)
def test_browsers_take_the_first_file_that_they_read(value: str, url: str | None) -> None:
    assert chosen_source(value) == url


def test_a_face_gets_another_source_and_keeps_the_rest() -> None:
    sheet = (
        "a{b:c}@font-face{font-family:F;src:url(f.eot);src:local('F'),url(f.woff) format('woff');font-style:italic}p{}"
    )
    assert replace_font_sources(sheet, lambda _: None) == sheet
    assert replace_font_sources(sheet, lambda value: "new" if "woff" in value else None) == (
        "a{b:c}@font-face{font-family:F;src:local('F'),url(new) format(\"woff2\");font-style:italic}p{}"
    )
