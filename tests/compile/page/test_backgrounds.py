"""Backgrounds that go from style sheets, style elements and attributes, and what they leave behind."""

from __future__ import annotations

import pytest

from tests.sites.stripped import IMAGES, StrippedSite, body, picture

from adaptc.compile.analyse.decorations.evidence import ImageEvidence
from adaptc.compile.page.backgrounds import RemovableImage, clear_backgrounds
from adaptc.formats.css.colours import as_hex, contrast

NAVY, IVORY = (0, 0, 128), (255, 255, 240)


def seen(colour: tuple[int, int, int] = NAVY, size: float = 64, opaque: float = 1.0) -> ImageEvidence:
    return ImageEvidence("image/png", 99, size, size, opaque=opaque, transparent=1 - opaque, colour=colour)


def cleared(
    css: str, evidence: ImageEvidence | None = None, *, is_bare: bool = False, declarations: bool = False
) -> str:
    image = RemovableImage(evidence or seen(), is_bare)
    return clear_backgrounds(css, lambda url: image if url == "a.png" else None, declarations=declarations).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # tiles cover: their colour stays
        ("p{background:url(a.png)}", "p{background:none #000080}"),
        ("p{background: url('a.png') 0 0 !important; top: 0}", "p{background: none 0 0 #000080 !important; top: 0}"),
        ("p{background-image:url(a.png)}", "p{background:#000080}"),
        (
            "p{background-image:url(a.png)!important}",
            "p{background:#000080!important}",
        ),
        (
            "p{background:url(a.png) no-repeat 0 0/cover}",
            "p{background:none no-repeat 0 0/cover #000080}",
        ),
        (
            "p{width:60px;height:9px;background:url(a.png) no-repeat}",
            "p{width:60px;height:9px;background:none no-repeat #000080}",
        ),
        # the author's own colour is the better one
        ("p{background:#eee url(a.png)}", "p{background:#eee none}"),
        ("p{background:url(a.png);background-color:red}", "p{background:none;background-color:red}"),
        ("p{background:url(a.png) var(--c)}", "p{background:none var(--c)}"),
        (
            "p{background-image:url(a.png);background-clip:text}",
            "p{background-image:none;background-color:#000080;background-clip:text}",
        ),
        ("p{background-image:url(b.png),url(a.png)}", "p{background-image:url(b.png),none;background-color:#000080}"),
        # other layers stay
        ("p{background:url(b.png),url(a.png)}", "p{background:url(b.png),none #000080}"),
        ("p{background:url(a.png),url(b.png)}", "p{background:none,url(b.png)}"),
        ("@media print{p{background:url(a.png)}}", "@media print{p{background:none #000080}}"),
    ],
)
def test_the_colour_instead_of_a_background(before: str, after: str) -> None:
    assert cleared(before) == after


@pytest.mark.parametrize(
    "css",
    [
        "li{list-style-image:url(a.png)}",
        "p::before{content:url(a.png)}",
        "p{border-image:url(a.png) 3}",
        "p{--bg:url(a.png)}",
        "p{background:url(b.png)}",
    ],
)
def test_what_is_left_alone(css: str) -> None:
    assert cleared(css) == css


def test_text_stays_readable() -> None:
    assert cleared("p{color:#fff;background:url(a.png)}") == "p{color:#fff;background:none #000080}"
    dark_on_dark = "p{color:#111;background:url(a.png)}"
    assert cleared(dark_on_dark) == dark_on_dark
    white_on_what = "p{color:#fff;background:url(a.png) no-repeat}"
    assert cleared(white_on_what) == white_on_what
    own = "p{color:#fff;background:#00f url(a.png) no-repeat}"
    assert cleared(own) == "p{color:#fff;background:#00f none no-repeat}"


def test_text_in_a_colour_that_other_rules_give() -> None:
    dark = "p{background:url(a.png) no-repeat}"
    assert cleared(dark) == dark
    gone = "p{background:none no-repeat}"
    assert cleared(dark, is_bare=True) == gone
    large = "p{background:none no-repeat #000080}"
    assert cleared(dark, seen(size=200), is_bare=True) == large  # text of another element may stand before it
    assert cleared(dark, seen(IVORY)) == gone  # what is readable on it is readable on white
    assert cleared(dark, seen(size=16)) == gone  # no text stands on it
    assert cleared(dark, seen(opaque=0.1)) == gone  # text is read on what is behind it


def test_an_image_of_another_site_leaves_no_colour() -> None:
    image = clear_backgrounds("p{background:url(a.png)}", lambda _: RemovableImage(None))
    assert (image.text, image.unreadable) == ("p{background:url(a.png)}", ("a.png",))


def test_declarations_of_an_attribute() -> None:
    assert cleared("background-image: url(a.png); top: 0", declarations=True) == ("background:#000080; top: 0")


def test_colours() -> None:
    assert (as_hex((255, 0, 17)), as_hex((1, 2, 3))) == ("#f01", "#010203")
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)  # the example of WCAG's authors


# ---- pages


def test_the_backgrounds_of_a_page() -> None:
    html = '<div style="background-image: url(i/light-bg.png)"><p>Words that stand on it.</p></div>'
    assert body(html) == html.replace('"background-image: url(i/light-bg.png)"', "background:#fffff0")


def test_a_style_element() -> None:
    html = "<style>.hero{background:url(i/bg.png)}</style><div class=hero><p>Words that stand on it.</p></div>"
    assert body(html) == html.replace("url(i/bg.png)", "none #000080")


def test_a_background_attribute_leaves_a_colour() -> None:
    html = '<table><tr><td background="i/bg.png">Words on it</td></tr></table>'
    assert body(html) == '<table><tr><td bgcolor="#000080">Words on it</td></tr></table>'.replace(
        '"#000080"', "#000080"
    )


def test_a_page_whose_script_reads_backgrounds_keeps_those_of_attributes() -> None:
    html = '<script>x = e.style.backgroundImage</script><div style="background:url(i/bg.png)"><p>Words.</p></div>'
    assert body(html) == html


def test_text_on_a_picture_of_another_site_stays_readable() -> None:
    url = "https://elsewhere.example/hero-bg.jpg"
    html = f'<div style="background-image:url({url})"><p>Words that stand on it.</p></div>'
    assert body(html) == html
    bare = f'<div style="background-image:url({url});height:9em"></div>'
    assert body(bare) == bare


# ---- sheets


def sheet(css: str, rules: str = "", **options: str | bool) -> str:
    return StrippedSite({"s.css": css, "i/sprite.png": picture(200, 20), **IMAGES}, rules=rules).sheet(
        "s.css", **options
    )[0]


@pytest.mark.parametrize(
    ("css", "after"),
    [
        ("body{background:url(i/light-bg.png)}", "body{background:none #fffff0}"),
        (".box h2{background:url(i/bg.png) repeat-x}", ".box h2{background:url(i/bg.png) repeat-x}"),
        (".box h2{background:url(i/light-bg.png) repeat-x}", ".box h2{background:none repeat-x}"),
        ("li{background:url(i/spacer.gif) no-repeat 0 5px}", "li{background:none no-repeat 0 5px}"),
    ],
)
def test_patterns_bullets_and_ornaments_of_sheets_go(css: str, after: str) -> None:
    assert sheet(css) == after
    assert sheet(css, decorations=False) == css


@pytest.mark.parametrize(
    "css",
    [
        ".card{background:url(i/photo.png) center/cover}",  # nothing says what it is
        ".nav a{background:url(i/spacer.gif) no-repeat}",
        "input[type=submit]{background:url(i/bg.png)}",
        ".icheckbox{background:url(i/bg.png)}",
        ".x{width:20px;height:20px;background:url(i/sprite.png) no-repeat -20px 0}",
        ".logo{background:url(i/logo.png) no-repeat}",
        "li{background:url(gone.gif)}",
        "p{color:red}",
    ],
)
def test_what_may_be_a_control_or_content_stays(css: str) -> None:
    assert sheet(css) == css


def test_the_user_has_the_last_word_on_sheets() -> None:
    css = ".card{background:url(i/light-bg.png)}"
    assert sheet(css) != css
    assert sheet(css, '[[keep]]\nurl = "*/light-bg.png"') == css
    assert sheet(css, '[[keep]]\nselector = ".card"') == css
    photo = ".card{background:url(i/photo.png) center/cover}"
    assert sheet(photo, '[[drop]]\nurl = "*/photo.png"') == ".card{background:none center/cover #000080}"


def test_a_sheet_in_an_encoding_of_its_own_and_a_malformed_one_stay() -> None:
    css = "body{background:url(i/light-bg.png)}"
    site = StrippedSite({"s.css": css.encode() + "/* é */".encode("latin-1"), "t.css": css + "p{color:url(}"})
    assert site.asset_of("strip-sheets", "s.css", {}).content is None
    assert site.asset_of("strip-sheets", "t.css", {}).content is None


def test_actions_on_a_sheet_are_reported() -> None:
    css = "body{background:url(i/light-bg.png)}.box h2{background:url(i/bg.png) repeat-x}"
    actions = StrippedSite({"s.css": css}).sheet("s.css")[1]
    assert [(each.verb, each.subject) for each in actions] == [("stripped", "i/light-bg.png"), ("kept", "i/bg.png")]
    assert actions[1].reason == "text could not be read without it"
