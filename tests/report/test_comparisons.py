"""What reports show of a proof: pictures of the original and of levels, and the passes that were dropped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.samples.proof_reports import BLUE, GREEN, PICTURES, RED, pages, proven
from tests.samples.report_figures import render_report, site
from tests.servers.browser import Browser

from adaptc.report.comparisons import Comparison, DroppedPass


def test_levels_that_look_the_same_share_a_picture() -> None:
    assert proven().kept == (
        Comparison("b.html", 412, PICTURES[RED], ((("low", "lower"), PICTURES[BLUE]),), ("full",)),
    )


def test_what_differs_is_shown_with_its_reasons_and_pictures_if_there_are_any() -> None:
    blank, gone = proven().differing
    assert (blank.level, blank.problems[0]) == ("text", "blank: it is blank")
    assert (blank.original, blank.others) == (PICTURES[RED], ((("text",), PICTURES[GREEN]),))
    assert (gone.level, gone.original, gone.others) == ("gone", b"", ())


def test_dropped_passes_come_by_file_with_what_they_break() -> None:
    assert proven().dropped == (
        DroppedPass("a.css", "low", "fonts", "b.html at 412 pixels shows another text"),
        DroppedPass("b.html", "text", "", "at 412 pixels shows nothing"),
    )


def test_without_scripts_pictures_stand_side_by_side() -> None:
    for page in pages().values():
        tree = LexborHTMLParser(page)
        groups = [[image.attributes["alt"] for image in group.css("img")] for group in tree.css(".shots")]
        assert groups == [
            ["b.html at 412 pixels, the original", "b.html at 412 pixels, text"],
            ["b.html at 412 pixels, the original", "b.html at 412 pixels, low, lower"],
        ]
        rows = [[cell.text() for cell in row.css("th, td")] for row in tree.css(".demoted tbody tr")]
        assert [row[:3] for row in rows] == [
            ["a.css", "low", "fonts"],
            ["b.html", "text", "all: as at the level above"],
        ]
        assert "words: &lt;none&gt;" in page
        assert not re.search(r'(?:src|href)="(?!data:image/webp|#)', page)


def test_equal_proofs_give_equal_pages() -> None:
    assert pages() == pages()


def test_a_report_without_a_proof_has_one_script() -> None:
    assert render_report(site()).count("<script>") == 1


STATE = """(() => {
    const slider = document.querySelector('.shots input'), stack = slider.previousElementSibling
    const over = getComputedStyle(stack.querySelectorAll('img')[1]).clipPath
    return [document.querySelectorAll('.shots input').length, slider.value, slider.ariaValueText, over]
})()"""
TOUCH = """(() => {
    const slider = document.querySelector('.shots input')
    slider.scrollIntoView({ block: 'center', behavior: 'instant' })
    const box = slider.getBoundingClientRect()
    return [box.left + box.width - 1, box.top + box.height / 2, document.documentElement.scrollWidth <= innerWidth]
})()"""


@pytest.mark.chromium
def test_a_slider_lays_the_original_over_a_level_by_keyboard_and_by_touch(browser: Browser, tmp_path: Path) -> None:
    for name, page in pages().items():
        (tmp_path / name).write_text(page, "utf-8")
        view = browser.view((tmp_path / name).as_uri(), width=412)
        assert view.errors == []
        assert browser.evaluate(STATE) == [2, "50", "50 %", "inset(0px 50% 0px 0px)"]
        browser.evaluate("document.querySelector('.shots input').focus()")
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowLeft", windowsVirtualKeyCode=37)
        assert browser.evaluate(STATE) == [2, "49", "49 %", "inset(0px 51% 0px 0px)"]
        browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
        left, top, fits = browser.evaluate(TOUCH)
        assert fits
        browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": left, "y": top}])
        browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        assert browser.evaluate(STATE) == [2, "100", "100 %", "inset(0px 0% 0px 0px)"]
