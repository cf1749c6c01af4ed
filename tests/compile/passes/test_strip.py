"""strip: what is removed, what stays, and what takes its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sites.stripped import NOTE, STAND_IN, StrippedSite, body, said

import adaptc
from adaptc.compile.page.guarded_images import GUARD, MARK, checksum
from adaptc.compile.page.placeholders import svg_placeholder

BOX = STAND_IN.format(24, 24)
DROP = '[[drop]]\nurl = "*"\n'


def test_a_decoration_leaves_a_box_of_its_size_and_no_request() -> None:
    assert body(f"<p>{NOTE} Take note.</p>") == f'<p><img src="{BOX}" alt=""> Take note.</p>'


def test_size_and_alternative_text_stay_as_they_are() -> None:
    html = '<p><img src="i/note.png" alt="[Note]" width="12" class="x" id="n"> Take note.</p>'
    assert body(html) == html.replace("i/note.png", BOX)


GUARDED = BOX.replace(" ", "%20")
MARKED = f"{MARK}={checksum('i/note.png')}"


def test_where_scripts_may_look_a_decoration_keeps_its_address() -> None:
    script = "<script>go()</script>"
    shown = f'<p><img srcset="{GUARDED}" {MARKED} src="i/note.png" alt=""> Take note.</p>{script}'
    assert body(f"<p>{NOTE} Take note.</p>{script}") == shown
    head = f"<head><title>T</title><script>{GUARD}</script></head>"
    site = StrippedSite({"index.html": f"<head><title>T</title></head><p>{NOTE} Take note.</p>{script}"})
    assert site.stripped()[0] == f"{head}{shown}"


def test_where_scripts_may_look_a_picture_keeps_its_sources() -> None:
    html = '<p>t <picture><source srcset="i/bg.png"><img src="i/note.png" alt=""></picture></p><script>go()</script>'
    assert f'<source srcset="{GUARDED}"><img srcset="{GUARDED}" {MARKED} src="i/note.png"' in body(html, DROP)


def test_what_waits_for_a_script_gets_the_box_from_it() -> None:
    html = '<p>t <img data-src="i/note.png" src="i/spacer.gif" class="lazy" alt=""></p><script>go()</script>'
    mark = f"{MARK}={checksum('i/spacer.gif')}"
    box = f'<img srcset="{GUARDED}" {mark} data-src="{BOX}" src="i/spacer.gif" class="lazy" alt="">'
    assert box in body(html, DROP)


def test_content_and_what_is_not_there_stay() -> None:
    html = '<p><img src="i/photo.png" alt="A ship in the harbour at night"></p><p><img src="gone.png" alt=""></p>'
    assert body(html) == html


def test_the_reason_is_reported() -> None:
    _, actions = said(f"<p>{NOTE} Take note.</p>")
    (action,) = actions
    assert action[:2] == ("stripped", "i/note.png")
    assert action[2].startswith("decoration: ")


def test_an_option_keeps_decorations_or_advertisements() -> None:
    ad = '<img src="https://ad.doubleclick.net/x.gif" width="468" height="60">'
    html = f"<p>{NOTE} Take note.</p>{ad}"
    assert body(html, decorations=False) == html.replace("https://ad.doubleclick.net/x.gif", STAND_IN.format(468, 60))
    assert body(html, ads=False) == html.replace("i/note.png", BOX)


def test_a_tracker_of_unknown_size_leaves_a_pixel() -> None:
    html = '<img src="https://ad.doubleclick.net/x.gif">'
    assert body(html) == f'<img src="{STAND_IN.format(1, 1)}">'


def test_what_the_author_and_the_user_say_wins() -> None:
    html = '<p data-adapt="keep moderate"><img src="i/note.png" alt=""> Take note.</p>'
    assert body(html) == html
    assert body(html, levels=("planned", "moderate")) == html
    assert body(html, levels=("other",)) == html.replace("i/note.png", BOX)
    photo = '<p><img src="i/photo.png" alt="A ship in the harbour at night"> It is late.</p>'
    assert body(photo, DROP) == photo.replace("i/photo.png", STAND_IN.format(400, 300))


def test_a_block_that_its_author_drops_is_removed() -> None:
    block = (
        '<section data-adapt="drop"><h2>Our shop</h2><p><img src="i/photo.png" alt="A mug"> Buy a mug.</p></section>'
    )
    assert body(f"<p>News.</p>{block}<p>More.</p>") == "<p>News.</p><p>More.</p>"
    other = block.replace('"drop"', '"drop other"')
    assert body(f"<p>News.</p>{other}") == f"<p>News.</p>{other}"
    nested = f'<div data-adapt="drop">{block}</div>'
    assert body(f"<p>News.</p>{nested}") == "<p>News.</p>"


@pytest.mark.parametrize("attribute", ["data-adapt", "DATA-ADAPT"])
def test_a_block_that_its_author_drops_is_at_no_level_that_may_do_without_it(tmp_path: Path, attribute: str) -> None:
    block = f'<aside {attribute}="drop"><h2>Our shop</h2><p>Buy a mug of the author, a large one.</p></aside>'
    words = "<p>Many words of the page, which are its content and stay at every level, for everybody to read.</p>"
    page = f"<!doctype html><html lang=en><title>T</title><main><h1>News</h1>{words}{block}{words}</main></html>"
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text(page)
    levels = ("full", "lossless", "moderate", "extreme", "text")
    settings = {
        "docroot": tmp_path / "site",
        "output": tmp_path / "opt",
        "build.levels": levels,
        "build.effort": "fast",
    }
    result = adaptc.build(adaptc.load_config(None, settings))
    assert "contract-broken" not in {each.id for each in result.diagnostics}
    written = {level: (tmp_path / f"opt/{level}/id/index.html").read_text() for level in levels[1:]}
    assert {level for level, text in written.items() if "Buy a mug" in text} == {"lossless"}
    assert all("Many words" in text for text in written.values())


def test_a_block_that_is_dropped_is_hidden_where_scripts_may_look_for_it() -> None:
    block = '<section data-adapt="drop"><img src="i/photo.png" alt="A mug"> Buy a mug.</section><script>shop()</script>'
    written = body(f"<p>News.</p>{block}")
    assert "<section style=display:none!important" in written
    assert '<img srcset="data:image/svg+xml,' in written  # loads nothing; its src is for scripts


@pytest.mark.parametrize(
    "block",
    [
        '<section data-adapt="drop"><p data-adapt="keep">Terms.</p></section>',
        '<section data-adapt="drop"><p id="terms">Terms.</p></section><a href="#terms">Terms</a>',
    ],
)
def test_a_block_of_which_a_part_is_wanted_stays(block: str) -> None:
    assert body(f"<p>News.</p>{block}") == f"<p>News.</p>{block}"


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ('<map name=m></map><img src="i/note.png" usemap="#m">', "it is an image map"),
        ('<a href="x.html"><img src="i/note.png" alt=""></a>', "nothing else can be seen of its link or button"),
        ('<p>t <img src="i/note.png" srcset="i/note.png 24w"></p>', "its size depends on the width of the window"),
        (
            '<p>t <picture><source srcset="i/bg.png" media="print"><img src="i/note.png"></picture></p>',
            "its size depends on the media query of a source",
        ),
    ],
)
def test_what_stays_although_it_was_asked_to_go(html: str, reason: str) -> None:
    assert said(html, DROP) == (html, [("kept", "i/note.png", reason)])


def test_a_button_of_a_form_stays() -> None:
    html = '<form><input type="image" src="i/note.png" alt="Go"></form>'
    assert body(html, DROP) == html


def test_a_policy_keeps_the_page_as_it_is() -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"img-src 'self'\">"
    site = StrippedSite({"index.html": f"<head>{policy}</head><p>{NOTE} Take note.</p>"})
    text, actions = site.stripped()
    assert NOTE in text
    assert [each.reason for each in actions] == ["a Content-Security-Policy restricts the page"]


def test_images_that_a_sheet_knows_by_their_address_stay() -> None:
    html = f'<style>img[src$=".png"] {{ float: left }}</style><p>{NOTE} Take note.</p>'
    assert body(html) == html


def test_a_vector_image_is_sized_as_it_was() -> None:
    html = '<p>t <img src="i/wave-lines.svg" alt=""></p>'
    box = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 30 10'/>"
    assert body(html, DROP) == html.replace("i/wave-lines.svg", box)


def test_sources_of_pictures_and_sets_go_with_the_image() -> None:
    html = '<p>t <picture><source srcset="i/bg.png"><img src="i/note.png" srcset="i/note.png 2x" alt=""></picture></p>'
    assert body(html, DROP) == f'<p>t <picture><img src="{BOX}" alt=""></picture></p>'


def test_a_lazy_image_is_not_loaded_by_a_script_either() -> None:
    html = '<p>t <img data-src="i/note.png" src="i/spacer.gif" data-srcset="i/note.png 2x" class="lazy" alt=""></p>'
    assert body(html, DROP) == f'<p>t <img data-src="{BOX}" src="{BOX}" class="lazy" alt=""></p>'


def test_an_image_that_has_to_stay_somewhere_stays_everywhere() -> None:
    html = f'<p>{NOTE} Take note.</p><figure><a href="i/note.png"><img src="i/note.png" alt="The sign"></a></figure>'
    assert body(html) == html


def test_a_preload_of_what_nothing_shows_any_more_is_removed() -> None:
    link = '<link rel="preload" as="image" href="i/note.png">'
    shown = "<style>p { content: url(i/note.png) }</style>"
    for styles, is_gone in (("", True), (shown, False)):
        site = StrippedSite({"index.html": f"<head>{link}{styles}</head><p>{NOTE} Take note.</p>"})
        assert (link not in site.stripped()[0]) is is_gone


def test_what_stands_in_noscript_and_templates_stays() -> None:
    html = f"<noscript><p>{NOTE} t</p></noscript><template><p>{NOTE} t</p></template>"
    assert body(html, DROP) == html


def test_where_the_base_is_elsewhere_no_image_is_known() -> None:
    site = StrippedSite({"index.html": f'<base href="https://elsewhere.example/"><p>{NOTE} t</p>'})
    assert NOTE in site.stripped()[0]


# ---- third parties


@pytest.mark.parametrize(
    "html",
    [
        '<script async src="https://www.google-analytics.com/analytics.js"></script>',
        '<script src="//platform.twitter.com/widgets.js"></script>',
        '<link rel="preconnect" href="https://www.google-analytics.com">',
    ],
)
def test_scripts_and_hints_of_trackers_and_networks_go(html: str) -> None:
    assert body(f"<i></i>{html}<b></b>") == "<i></i><b></b>"
    assert body(html, ads=False) == html


def test_scripts_of_the_site_and_of_others_stay() -> None:
    html = '<script src="own.js"></script><script src="https://code.jquery.com/jquery.js"></script>'
    assert body(html) == html


def test_a_frame_of_an_advertiser_stays_as_an_empty_box() -> None:
    html = '<iframe src="https://ad.doubleclick.net/f" width="300" height="250"></iframe>'
    assert body(html) == '<iframe width="300" height="250"></iframe>'


def test_a_script_on_which_the_page_relies_stays() -> None:
    tracker = '<script src="https://www.google-analytics.com/ga.js"></script>'
    relying, careful = "_gat._getTracker('x')", "window._gat = window._gat || {}; _gat.x()"
    assert said(f"{tracker}<script>{relying}</script>")[1] == [
        ("kept", "www.google-analytics.com", "a script of the page uses _gat")
    ]
    assert tracker not in body(f"{tracker}<script>{careful}</script>")


def test_a_script_that_shows_what_the_page_quotes_stays() -> None:
    script = '<script async src="https://platform.twitter.com/widgets.js"></script>'
    quote = '<blockquote class="twitter-tweet">words</blockquote>'
    assert said(quote + script)[1] == [("kept", "platform.twitter.com", "it shows a quotation of the page")]
    assert script not in body(f"<blockquote>words</blockquote>{script}")


SPONSORS = '<div class="sponsors"><a href="https://www.acme.example/x"><img src="i/note.png" {}></a></div>'


@pytest.mark.parametrize(
    ("attributes", "shown"),
    [('alt="Acme &amp; Co"', "Acme %26amp; Co"), ("", "acme.example"), ('alt=""', "acme.example")],
)
def test_the_link_of_a_sponsor_shows_its_name_in_a_box_of_the_same_size(attributes: str, shown: str) -> None:
    text = body(SPONSORS.format(attributes))
    assert "i/note.png" not in text
    assert "width='24' height='24'" in text
    assert f">{shown}</text>" in text
    assert 'href="https://www.acme.example/x"' in text


def test_the_name_of_a_sponsor_fits_into_the_box_of_an_svg() -> None:
    content = b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 300 100'><path/></svg>"
    box = svg_placeholder(content, "Zo\u00eb")
    assert box is not None
    assert "viewBox='0 0 300 100'" in box
    assert "font-size='60'" in box
    assert "Zo%C3%AB</text>" in box
