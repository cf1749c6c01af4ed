"""Many of a kind in one page take time in proportion to their number."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from turbohtml import Element

from tests.waiting import cpu_limit

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import parse
from adaptc.formats.html.forms import find_forms
from adaptc.formats.html.landmarks import find_landmarks, navigation_links
from adaptc.formats.html.minify import minify_markup
from adaptc.formats.html.static_text import insert_literals
from adaptc.formats.html.visible_text import short_text

MANY = 12_000


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    with cpu_limit(6):
        yield


def _many(markup: str, count: int = MANY) -> str:
    return "".join(markup.replace("@", str(number)) for number in range(count))


def test_forms() -> None:
    forms = find_forms(parse(_many("<form action=/s@><input name=a></form><input form=@>")))
    assert len(forms.working) == len(forms.owner) == MANY
    assert not forms.ids


def test_forms_with_controls_outside() -> None:
    forms = find_forms(parse(_many("<table><tr><form action=/s><td><input name=a></td></form></table>")))
    assert list(forms.ids.values()) == [f"f{number}" for number in range(1, MANY + 1)]


def test_links_of_the_navigation() -> None:
    menus = _many("<nav><ul><li><a href=/@>To @</a></ul></nav>")
    landmarks = find_landmarks(parse(f"{menus}<main><p>Words</p></main>"))
    assert navigation_links(landmarks)[0].href == "/0"


def test_style_sheets() -> None:
    sheets = [f".c{number} {{ display: none }}" for number in range(3000)]
    tree = parse(_many("<p class=c@>words"))
    cascade = Cascade(tree, sheets)
    hidden = [each for each in tree.select("p") if cascade.value(each, "display", 1000) == "none"]
    assert len(hidden) == len(sheets)


def test_comments() -> None:
    page = "<!doctype html><title>t</title><body>" + _many("<p>words @<!-- a comment --></p><!-- another -->")
    shorter = minify_markup(page, keep_comments=False)
    assert shorter is not None
    assert "comment" not in shorter.text


def test_scripts_that_write() -> None:
    page = f"<body>{_many('<script>document.write(`<p>words @</p>`)</script>', 1500)}{'<p>words</p>' * MANY}"
    assert insert_literals(page, lambda each: each.text).count("</script><p>words") == 1500


def test_the_text_around_each_image_of_a_gallery() -> None:
    tree = parse(f"<main>{'<a href=a><img src=a></a>' * MANY}</main><p>few <b>words</b></p>")
    main, paragraph = tree.select_one("main"), tree.select_one("p")
    assert isinstance(main, Element)
    assert isinstance(paragraph, Element)
    assert {short_text(main, 300) for _ in range(MANY)} == {None}
    assert short_text(paragraph, 9) == "few words"
    assert short_text(paragraph, 8) is None
