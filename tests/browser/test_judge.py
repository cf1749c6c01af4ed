"""The judge of proofs: what a level does not keep of a page, and what of it the original does not keep either."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from tests.sites.shown import URL, side_by_side, site

from adaptc.browser.judge import (
    CONTENT,
    EDITION,
    LAYOUT,
    LIKENESS,
    PIXELS,
    PageView,
    differences,
    promised_by,
    view_page,
)  # fmt: skip
from adaptc.browser.pictures import coarse_difference, is_uniform, pixel_difference
from adaptc.browser.tab import Load, Tab
from adaptc.config.rulebook import load_levels

Box = tuple[int, int, int, int]


def picture(*boxes: Box, size: tuple[int, int] = (320, 320), colour: tuple[int, int, int] = (0, 0, 0)) -> bytes:
    """A white page with a line of text, and boxes (left, top, right, bottom)."""
    image = Image.new("RGB", size, (255, 255, 255))
    draw = ImageDraw.Draw(image)
    draw.rectangle((10, 10, 60, 12), fill=(0, 0, 0))
    for box in boxes:
        draw.rectangle(box, fill=colour)
    png = io.BytesIO()
    image.save(png, "PNG")
    return png.getvalue()


PAGE = PageView(
    "CSS1Compat",
    "Home News of the day",
    320,
    320,
    texts=(("Home", 8, 8), ("News of the day", 8, 40)),
    images=((8, 80, 100, 50),),
    names=("top", "news"),
    links=("/", "/news/"),
    forms=1,
    fields=("input text q",),
    seen="Home News of the day",
    seen_links=("/", "/news/"),
    seen_fields=("input text q",),
    content="News of the day",
    content_links=("/news/",),
    content_fields=("input text q",),
    samples=4,
    errors=("x is not defined at a.js:1",),
    failed=("https://site.invalid/gone.png",),
    requests=3,
    size=1000,
    picture=picture(),
)
EVERY = (PIXELS, LIKENESS, LAYOUT, CONTENT, EDITION)
STRICT = (PIXELS, LIKENESS, LAYOUT)


def found(view: PageView, promised: str, *others: PageView) -> list[str]:
    return [each.kind for each in differences((PAGE, *others), view, promised)]


@pytest.mark.parametrize("promised", EVERY)
def test_a_page_is_equal_to_itself(promised: str) -> None:
    assert found(PAGE, promised) == []


def test_levels_are_held_to_what_they_promise() -> None:
    promised = {name: promised_by(level) for name, level in load_levels().items()}
    assert {promised[name] for name in ("full", "lossless", "bundle")} == {PIXELS}
    assert promised["web"] == LIKENESS
    assert {promised[name] for name in ("moderate", "unhydrated")} == {LAYOUT}
    assert {promised[name] for name in ("baseonly", "halfobject")} == {CONTENT}
    assert {promised[name] for name in ("extreme", "text")} == {EDITION}


@pytest.mark.parametrize(
    ("change", "kind", "promises"),
    [
        ({"errors": (*PAGE.errors, "$ is not defined")}, "errors", EVERY),
        ({"failed": (*PAGE.failed, "https://site.invalid/b.png")}, "failed", EVERY),
        ({"missing": ("https://site.invalid/b.png",)}, "missing", EVERY),
        ({"fonts": ("Inter",)}, "fonts", EVERY),
        ({"replaced": 2}, "encoding", EVERY),
        ({"departure": "https://example.com/"}, "departure", EVERY),
        ({"requests": 4}, "weight", EVERY),
        ({"size": 1100}, "weight", EVERY),
        ({"mode": "BackCompat"}, "mode", STRICT),
        ({"text": "Home News of day"}, "text", STRICT),
        ({"texts": (("Home", 8, 8), ("News of the day", 8, 42))}, "layout", STRICT),
        ({"images": ((8, 80, 90, 50),)}, "layout", STRICT),
        ({"height": 330}, "layout", STRICT),
        ({"links": ("/", "/")}, "links", STRICT),
        ({"fields": ()}, "controls", STRICT),
        ({"forms": 0}, "controls", STRICT),
        ({"names": ("top",)}, "names", STRICT),
        ({"covered": ("News of the day",)}, "covered", EVERY),
        ({"seen": "Home"}, "words", (CONTENT, EDITION)),
        ({"seen_links": ("/",)}, "links", (CONTENT, EDITION)),
        ({"seen_fields": ()}, "controls", (CONTENT, EDITION)),
        ({"picture": picture((200, 200, 201, 201))}, "pixels", (PIXELS,)),
    ],
)
def test_what_is_lost_breaks_a_promise(change: dict[str, object], kind: str, promises: tuple[str, ...]) -> None:
    view = replace(PAGE, **change)
    assert {promised: found(view, promised) for promised in EVERY} == {
        promised: [kind] if promised in promises else [] for promised in EVERY
    }


# A page whose menu is not shown until it is used
WITH_MENU = replace(
    PAGE,
    links=(*PAGE.links, "/menu/"),
    fields=(*PAGE.fields, "button button "),
    names=(*PAGE.names, "menu"),
    images=(*PAGE.images, (-300, 8, 32, 32)),
    seen_images=PAGE.images,
    labelled=2,
)
ASLEEP = replace(
    WITH_MENU,
    links=PAGE.links,
    fields=PAGE.fields,
    names=PAGE.names,
    text="Home News of the day K",
    images=(*PAGE.images, (0, 0, 0, 0)),
    awake=WITH_MENU,
)


@pytest.mark.parametrize("promised", STRICT)
def test_what_nobody_sees_may_come_with_scripts_that_wait_and_must_then_be_there(promised: str) -> None:
    def found(view: PageView) -> set[str]:
        return {each.kind for each in differences((WITH_MENU,), view, promised)}

    assert found(ASLEEP) == set()
    assert found(replace(ASLEEP, awake=None)) == {"text", "layout", "links", "controls", "names"}
    assert found(replace(ASLEEP, awake=PAGE)) == {"links", "controls", "names"}
    for change in (
        {"seen_links": ("/",)},
        {"seen_fields": ()},
        {"seen_images": ((8, 90, 100, 50),)},
        {"text": "Home", "reading": "Home"},
        {"text": "Home", "labelled": 1},
        {"links": (*PAGE.links, "/news/#menu")},
    ):
        assert len(found(replace(ASLEEP, **change))) == 1, change
    for change in ({"errors": (*PAGE.errors, "$ is not defined")}, {"text": "Home"}, {"missing": ("/b.png",)}):
        assert len(found(replace(ASLEEP, awake=replace(WITH_MENU, **change)))) == 1, change


@pytest.mark.chromium
def test_a_hint_that_names_a_key_may_be_missing_until_scripts_run_but_not_a_key_of_the_text(chromium: str) -> None:
    def views(*pages: str) -> list[PageView]:
        looks = [lambda browser, text=text: view_page(browser, site({"index.html": text}), URL, 412) for text in pages]
        return side_by_side(chromium, looks)

    hint, key = "<kbd>Ctrl K</kbd>", "<kbd>Esc</kbd>"
    after = "<img alt='' width=9 height=9> <a href=/>Home</a>"  # stands further to the right where there is a hint
    text = f"<!doctype html><header><button>Menu</button><input>{{}}{after}</header><main><p>Words {{}}</main>"
    wait = "<script type=adaptc-later></script><script>addEventListener('adaptc-later', () => {{ {} }})</script>"
    write = wait.format("document.querySelector('input').insertAdjacentHTML('afterend', '<kbd>Ctrl K</kbd>')")
    original, waits, lost, other = views(
        text.format(hint, key), text.format("", key) + write, text.format("", "") + write, text.format("", key) + wait
    )
    assert [original.labelled, waits.labelled, lost.labelled] == [2, 2, 1]
    kinds = [{each.kind for each in differences((original,), view, LAYOUT)} for view in (waits, lost, other)]
    assert [each - {"weight"} for each in kinds] == [set(), {"text"}, {"text"}]


@pytest.mark.chromium
def test_an_icon_in_the_page_weighs_as_little_as_one_in_a_file_that_nobody_loads(chromium: str) -> None:
    pages = [f"<!doctype html><link rel=icon href={icon}><p>Words" for icon in ("/a.svg", f"data:,{'a' * 999}")]
    looks = [lambda browser, text=text: view_page(browser, site({"index.html": text}), URL, 412) for text in pages]
    original, view = side_by_side(chromium, looks)
    assert differences((original,), view, PIXELS) == ()


class _Moving(Tab):
    """A tab that asks for another file while a picture of it is taken: the window has another size then."""

    async def picture(self, height: int | None = None) -> bytes:
        self.seen.loads.append(Load(f"{URL}narrow.png", "image", 200, 9))
        return await super().picture(height)


@pytest.mark.chromium
def test_what_a_page_loads_for_its_picture_to_be_taken_is_not_counted(
    chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptc.browser.chromium.Tab", _Moving)
    look = lambda browser: view_page(browser, site({"index.html": "<p>text"}), URL, 1280)  # noqa: E731
    view = side_by_side(chromium, [look])[0]
    assert (view.requests, view.size) == (1, len(b"<p>text"))


def test_a_page_that_shows_nothing_is_blank() -> None:
    assert found(replace(PAGE, picture=picture(size=(320, 9))), CONTENT) == ["blank"]


def test_what_the_original_does_not_keep_is_not_asked_of_a_level() -> None:
    restless = replace(
        PAGE,
        text="Home News at noon",
        texts=(("Home", 8, 8), ("News", 8, 48)),
        height=340,
        errors=(*PAGE.errors, "timeout"),
        failed=("https://site.invalid/other.png",),
        links=("/", "/noon/"),
    )
    view = replace(restless, text="Home News at one", height=350, links=("/", "/one/"))
    assert found(view, LAYOUT) == ["errors", "failed", "text", "layout", "links"]
    assert found(view, LAYOUT, restless) == []


def test_an_error_that_names_another_file_or_line_is_the_same_error() -> None:
    assert found(replace(PAGE, errors=("x is not defined at all.min.js:2",)), PIXELS) == []


def test_words_are_letters_and_digits_however_they_are_marked_up() -> None:
    code = replace(PAGE, content="for i in range ( 6 ) : print ( screen )")
    view = replace(PAGE, seen="Home for i in range(6): print(screen)")
    assert differences((code,), view, CONTENT) == ()
    assert differences((code,), replace(view, seen="Home for i in range: print()"), CONTENT) != ()


def test_links_to_one_target_may_become_one() -> None:
    twice = replace(PAGE, content_links=("/news/", "/news/"), seen_links=("/news/",))
    assert [each.kind for each in differences((twice,), replace(PAGE, seen_links=("/news/",)), CONTENT)] == []


def test_a_text_that_only_the_level_has_may_be_covered() -> None:
    assert found(replace(PAGE, covered=("Logo",)), CONTENT) == []


def test_a_difference_says_what_was_seen() -> None:
    view = replace(PAGE, texts=(("Home", 8, 8), ("News of the day", 8, 42)), text="Home News of day")
    assert [each.message for each in differences((PAGE,), view, LAYOUT)] == [
        "another text: without “the”",
        "“News of the day” is at 8, 42, not 8, 40",
    ]


# ---- pixels


def test_pixels_that_differ_are_counted_and_located() -> None:
    difference = pixel_difference([picture()], picture((100, 200, 109, 209)))
    assert difference is not None
    assert (difference.top, round(difference.share * 320 * 320)) == (200, 100)


def test_what_moves_by_itself_is_masked() -> None:
    moving = [picture((100, 200, 109, 209)), picture((104, 200, 113, 209))]
    assert pixel_difference(moving, picture((108, 200, 117, 209))) is None
    assert pixel_difference(moving, picture((200, 100, 201, 101))) is not None


def test_a_single_pixel_is_seen_and_masked() -> None:
    assert pixel_difference([picture()], picture((100, 200, 100, 200))) is not None
    assert pixel_difference([picture(), picture((100, 200, 100, 200), colour=(254, 255, 255))], picture()) is None


def test_pages_that_change_all_over_say_nothing() -> None:
    restless = [picture((0, 0, 319, 100)), picture((0, 100, 319, 319))]
    assert pixel_difference(restless, picture()) is None
    assert pixel_difference([picture(), picture(size=(320, 330))], picture((9, 9, 99, 99))) is None


def test_a_level_that_encodes_images_with_a_loss_is_held_to_what_they_look_like() -> None:
    assert found(replace(PAGE, picture=picture((200, 200, 210, 210))), LIKENESS) == ["likeness"]


def test_squares_differ_by_their_mean_colours() -> None:
    assert coarse_difference([picture()], picture((200, 200, 201, 201))) is None
    assert coarse_difference([picture()], picture((96, 200, 127, 231), colour=(235, 235, 235))) is None
    difference = coarse_difference([picture()], picture((96, 200, 111, 215)))
    assert difference is not None and difference.share == pytest.approx(4 / 1600) and difference.top == 200
    moving = [picture((96, 200, 111, 215)), picture((104, 200, 119, 215))]
    assert coarse_difference(moving, picture((112, 200, 127, 215))) is None


def test_few_pixels_that_are_one_shade_off_do_not_count() -> None:
    near = (254, 254, 254)
    assert pixel_difference([picture()], picture((100, 200, 104, 204), colour=near)) is None
    assert pixel_difference([picture()], picture((100, 100, 200, 200), colour=near)) is not None


def test_a_page_of_another_height_differs() -> None:
    difference = pixel_difference([picture()], picture(size=(320, 400)))
    assert difference is not None
    assert (difference.top, difference.share) == (320, 0.2)


def test_a_window_of_one_colour_is_uniform() -> None:
    assert is_uniform(picture(), 9)
    assert not is_uniform(picture(), 20)


# ---- looks of pages that are written anew


def test_faults_are_named_with_their_element() -> None:
    view = replace(PAGE, text="Home, and News of the day", faults=(("wide", "<p.a> “Ships”"), ("faint", "<b> “x”")))
    (difference,) = differences((PAGE,), view, EDITION)
    assert difference.kind == "looks"
    assert difference.message == (
        "the page is wider than the window: <p.a> “Ships”; a text has a contrast under 3: <b> “x”"
    )


def test_a_page_that_is_not_written_anew_is_as_it_is() -> None:
    assert differences((PAGE,), replace(PAGE, faults=(("wide", "<p> “Ships”"),)), EDITION) == ()
