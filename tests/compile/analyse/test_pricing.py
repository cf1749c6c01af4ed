"""Copies of images that are chosen by their bytes and by what a reader loses, with one multiplier."""

from __future__ import annotations

import io
import re
from math import inf
from typing import Any

import pytest
from PIL import Image

from tests.samples.drawn import encoded
from tests.sites.small import SmallSite
from tests.sites.stripped import StrippedSite

from adaptc.compile.analyse.decorations.labels import Label
from adaptc.compile.analyse.harm import ShownImage
from adaptc.compile.page.context import page_context
from adaptc.compile.page.pricing import _Choice, _tried
from adaptc.compile.passes.half_images import halve_images
from adaptc.compile.passes.images import recompress_image
from adaptc.compile.passes.sheet_images import halve_sheet
from adaptc.compile.pipeline import BY_NAME, plan_level
from adaptc.compile.view import Asset
from adaptc.config.rulebook import Level, PassUse
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.document import read_page
from adaptc.formats.html.edit import Editor
from adaptc.formats.image.copiers import likeness

CHEAP, FAIR, DEAR = 1e3, 2e6, 1e9


def photograph(width: int = 400, height: int = 300) -> bytes:
    """A soft picture with discs, so that each quality has another size."""
    ramp = Image.linear_gradient("L").resize((width, height))
    disc = Image.radial_gradient("L").resize((40, 30))
    discs = Image.new("L", (width, height))
    for left in range(0, width, 40):
        for top in range(0, height, 30):
            discs.paste(disc.rotate(left + 2 * top), (left, top))
    return encoded(Image.merge("RGB", (Image.blend(ramp, discs, 0.4), ramp, discs)), "JPEG", quality=95)


PHOTOGRAPH = photograph()
PAGE = "<!doctype html><title>t</title><h1>Story</h1><p>{}<p>Some words about the picture, and more of them."


def site(body: str, **files: bytes) -> StrippedSite:
    return StrippedSite({"index.html": PAGE.format(body), "photo.jpg": PHOTOGRAPH, **files})


def halved(body: str, **options: Any) -> tuple[str, list[Action], StrippedSite]:
    """Return a page after half-images, the actions and the site with the copies."""
    own = site(body)
    page, view = read_page(own.contents["index.html"]), own.view()
    editor = Editor(page.text)
    report = halve_images(editor, page_context("index.html", page, editor.tree, view), view, options)
    return editor.apply().text, report.actions, own


def copy_size(body: str, price: float, **options: Any) -> int:
    """Return the bytes of the copy that a page shows; those of the original where it stays."""
    text, _, own = halved(body, price=price, **options)
    name = re.search(r"_adaptc/\w+\.\w+", text)
    return len(own.made[name[0]]) if name else len(PHOTOGRAPH)


def test_a_higher_price_buys_more_bytes() -> None:
    sizes = [copy_size("<img src=photo.jpg>", price) for price in (CHEAP, FAIR, DEAR)]
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize("price", [10.0, 1e4, 1e6, 1e8, 1e10])
def test_copies_are_tried_around_the_best_one(price: float) -> None:
    """Bytes that halve and harm that grows by half from one to the next: costs have one minimum."""
    asked: list[int] = []

    def rate(number: int) -> _Choice | None:
        asked.append(number)
        return _Choice("copy", 65_536 / 2**number, price * 1.5**number / 1e4) if number != 5 else None

    costs = [choice.cost for number in range(13) if (choice := rate(number)) is not None]
    asked.clear()
    assert min(choice.cost for choice in _tried(rate, 13)) == min(costs)
    assert len(asked) == len(set(asked))
    best = costs.index(min(costs))
    assert max(asked) <= max(best, 3) + 4


def test_copies_too_unlike_cost_too_much_and_larger_ones_are_tried() -> None:
    tried = _tried(lambda number: _Choice("copy", 100 - number, inf if number > 1 else 1.0), 5)
    assert min(tried, key=lambda choice: choice.cost).size == 99


def test_what_is_shown_small_needs_fewer_bytes() -> None:
    small = copy_size("<img src=photo.jpg width=100 height=75>", FAIR)
    assert small < copy_size("<img src=photo.jpg>", FAIR)


def test_no_copy_is_less_alike_than_allowed() -> None:
    _, _, own = halved("<img src=photo.jpg>", price=CHEAP, least=0.97)
    text, _, _ = halved("<img src=photo.jpg>", price=CHEAP, least=0.97)
    name = re.search(r"_adaptc/\w+\.\w+", text)
    shown = own.made[name[0]] if name else PHOTOGRAPH
    assert likeness(PHOTOGRAPH, shown, 400) >= 0.97


def test_the_multiplier_and_what_it_decided_are_said() -> None:
    _, actions, _ = halved("<img src=photo.jpg>", price=FAIR)
    (action,) = [action for action in actions if action.subject == "photo.jpg"]
    assert "of 400x300 CSS pixels, harm 0.0" in action.reason
    assert "at 2,000,000 bytes for a harm of 1" in action.reason


def test_an_image_without_a_size_stays() -> None:
    own = site("<img src=broken.jpg>", **{"broken.jpg": b"\xff\xd8 broken"})
    page, view = read_page(own.contents["index.html"]), own.view()
    editor = Editor(page.text)
    report = halve_images(editor, page_context("index.html", page, editor.tree, view), view, {"price": FAIR})
    assert [action.reason for action in report.actions] == ["its size is not known"]


def test_sheets_get_copies_of_exactly_the_same_shape() -> None:
    sheet = b".a{background:url(photo.jpg)}"
    own = site("<link rel=stylesheet href=s.css>", **{"s.css": sheet})
    made = halve_sheet(Asset("s.css", media.CSS, sheet), own.view(), {"price": FAIR})
    assert made.content is not None
    assert b"image-set(" in made.content


def recompressed(price: float) -> bytes:
    own = site("<img src=photo.jpg>")
    asset = Asset("photo.jpg", media.JPEG, PHOTOGRAPH)
    return recompress_image(asset, own.view(), {"target": 0.95, "price": price, "least": 0.0}).content or PHOTOGRAPH


def test_files_under_their_own_names_follow_the_price() -> None:
    assert len(recompressed(CHEAP)) < len(recompressed(DEAR))


def test_at_a_high_price_a_file_loses_nothing() -> None:
    exact = SmallSite({"photo.jpg": PHOTOGRAPH}).asset("photo.jpg", "images").content or PHOTOGRAPH
    assert recompressed(DEAR) == exact


@pytest.mark.parametrize(
    ("price", "request_bytes", "stays"), [(CHEAP, 0.0, False), (DEAR, 0.0, True), (FAIR, 25e3, False)]
)
def test_a_decoration_stays_where_it_is_worth_its_bytes(price: float, request_bytes: float, stays: bool) -> None:
    own = site('<img src="i/note.png" alt="">')
    page, view = read_page(own.contents["index.html"]), own.view()
    editor = Editor(page.text)
    options = {"decorations": True, "ads": True, "keep": "content", "price": price, "request": request_bytes}
    BY_NAME["strip"].run(editor, page_context("index.html", page, editor.tree, view), view, options)  # type: ignore[operator]
    assert ("i/note.png" in editor.apply().text) is stays


# ---- harm


def test_the_harm_of_an_image_is_what_it_covers_by_its_label() -> None:
    assert ShownImage(Label.CONTENT, 1280, 800).harm(0.0) == 1.0
    assert ShownImage(Label.CONTENT, 640, 400).harm(0.6) == pytest.approx(0.1)
    assert ShownImage(Label.AD, 1280, 800).harm(0.0) == 0.0
    assert ShownImage(Label.LOGO, 100, 100).worth > ShownImage(Label.STORY, 100, 100).worth
    assert ShownImage(Label.DECORATION, 100, 100).worth < ShownImage(Label.CONTENT, 100, 100).worth


def test_an_image_is_shown_no_wider_than_a_window() -> None:
    assert ShownImage.of(Label.CONTENT, (2560, 1000), None) == ShownImage(Label.CONTENT, 1280, 500)
    assert ShownImage.of(Label.CONTENT, None, None) is None


def test_likeness_counts_what_resolution_loses() -> None:
    image = Image.open(io.BytesIO(PHOTOGRAPH))
    half = encoded(image.resize((200, 150)), "PNG")
    assert likeness(PHOTOGRAPH, PHOTOGRAPH, 400) == 1.0
    assert likeness(PHOTOGRAPH, half, 400) < likeness(PHOTOGRAPH, half, 100)


def test_a_level_with_a_price_needs_labels() -> None:
    def needs(price: float) -> bool:
        return plan_level(Level("l", 1, "", "words", (PassUse("half-images", (("price", price),)),))).needs_labels

    assert needs(1.0)
    assert not needs(0.0)
