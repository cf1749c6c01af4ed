"""Images of pages and sheets at half resolution: references rewritten so that no box moves."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.samples.drawn import photo_file
from tests.servers.browser import Browser, serving
from tests.sites.half import HalfSite

from adaptc.compile.page.copies import Copy, halve_css, halve_srcset, slot_width
from adaptc.compile.page.guarded_images import GUARD, checksum
from adaptc.compile.view import DerivedFile, Settings
from adaptc.formats.css.images import image_declarations
from adaptc.formats.html.syntax import parse_srcset
from adaptc.formats.image import jpeg
from adaptc.formats.image.probe import orientation_exif


@cache
def site(body: str, **files: str | bytes) -> HalfSite:
    """A page with images a.jpg (400 by 300), b.jpg (800 by 600), c.jpg (500 by 333), odd.png (401 by 307), odd2.png."""
    images = {"a.jpg": photo_file(), "b.jpg": photo_file(800, 600), "odd.png": photo_file(401, 307, "PNG")}
    images |= {"odd2.png": photo_file(802, 614, "PNG"), "tiny.gif": b"GIF89a", "c.jpg": photo_file(500, 333)}
    named = {name.replace("_", "."): content for name, content in files.items()}
    return HalfSite({"index.html": f"<!doctype html><meta charset=utf-8>{body}", **images, **named})


def halved(body: str, **options: Any) -> str:
    """Return the body after the pass, with HALF for each copy."""
    text = site(body).page_text(**options)
    return re.sub(r"_adaptc/[0-9a-f]{16}\.webp", "HALF", text.removeprefix("<!doctype html><meta charset=utf-8>"))


def kept(body: str, **options: Any) -> list[str]:
    """Return why images stayed, where nothing changed."""
    text, actions = site(body).halved(**options)
    assert text.endswith(body)
    return [action.reason for action in actions]


# --- img


def test_an_image_gets_its_copy_and_its_size() -> None:
    assert halved("<img src=a.jpg>") == '<img srcset="HALF 200w" sizes=400px src=HALF>'


TAKE_IN = {"budget": 60_000, "largest": 20_000}


def taken_in(body: str, **options: Any) -> list[str]:
    """Return ``copy`` or ``page`` for each image of a page, by where its bytes are."""
    text = halved(body, **{**TAKE_IN, **options})
    return ["page" if "data:image/webp" in tag else "copy" for tag in re.findall(r"<img[^>]*>", text)]


def test_a_small_copy_moves_into_the_page() -> None:
    text = halved("<img src=a.jpg>", **TAKE_IN)
    assert re.fullmatch(r'<img srcset="data:image/webp;base64,[A-Za-z0-9+/=]+ 200w" sizes=400px>', text)
    assert taken_in("<img src=a.jpg><img src=b.jpg>") == ["page", "page"]
    assert taken_in("<img src=a.jpg>", largest=10) == ["copy"]


def test_the_budget_takes_in_what_takes_least() -> None:
    small = len(halved("<img src=a.jpg>", **TAKE_IN))
    assert taken_in("<img src=b.jpg><img src=a.jpg>", budget=small) == ["copy", "page"]
    assert taken_in("<img src=a.jpg><p><img src=a.jpg>", budget=small) == ["copy", "copy"]


def test_a_copy_that_the_page_shows_twice_counts_twice() -> None:
    assert taken_in("<img src=a.jpg><p><img src=a.jpg>") == ["page", "page"]
    pages = site("<img src=a.jpg>")
    pages.page_text()
    [copy] = pages.made.values()
    assert taken_in("<img src=a.jpg>", largest=len(copy)) == ["page"]
    assert taken_in("<img src=a.jpg><p><img src=a.jpg>", largest=len(copy)) == ["copy", "copy"]


def test_a_picture_without_a_copy_keeps_its_choices() -> None:
    picture = "<picture><source media=print srcset=a.svg><img src=b.svg></picture>"
    assert halved(picture, kind="hard") == picture


LAZY = "<script>i.src = i.dataset.src; new Image().src = 'count.gif'</script>"


def test_an_image_that_waits_for_a_script_keeps_its_addresses() -> None:
    waiting = '<img src=a.jpg data-src="b.jpg">'
    text = halved(f"{LAZY}{waiting}")
    assert f'<img srcset="HALF 200w" sizes=400px data-half={checksum("a.jpg")} src=a.jpg data-src="b.jpg">' in text
    assert halved(waiting) == '<img srcset="HALF 200w" sizes=400px src=HALF data-src="b.jpg">'


def test_a_copy_that_must_be_a_file_somewhere_is_one_everywhere() -> None:
    assert taken_in("<img src=a.jpg><img id=x src=a.jpg>") == ["copy", "copy"]


def test_other_attributes_stay() -> None:
    text = halved('<img class=x loading="lazy" src="a.jpg" alt="A cat" width=100 usemap=#m>')
    assert text == (
        '<img srcset="HALF 200w" sizes=400px class=x loading="lazy" src=HALF alt="A cat" width=100 usemap=#m>'
    )


def test_a_size_without_half_is_given_with_what_browsers_round_away() -> None:
    result = re.search(r'srcset="HALF (\d+)w" sizes=([\d.]+)px', halved("<img src=odd.png>"))
    assert result is not None
    assert 201 <= int(result[1]) <= 215
    assert result[2] == "401.02"


def test_urls_are_relative_to_the_base() -> None:
    body = '<base href="/deep/er/"><img src="../../a.jpg">'
    result = site(body).page_text()
    assert re.search(r"src=\.\./\.\./_adaptc/[0-9a-f]{16}\.webp", result)


def test_queries_lead_to_the_same_copy() -> None:
    assert halved('<img src="a.jpg?v=3">') == halved('<img src="a.jpg">')


def test_options_decide_the_copy() -> None:
    assert "100w" in halved("<img src=a.jpg>", scale=0.25)
    assert site("<img src=a.jpg>").page_text(formats=("jpeg",)).count(".jpg 200w") == 1


def test_actions_name_the_file_and_the_gain() -> None:
    _, actions = site("<img src=a.jpg><img src=tiny.gif><img src=a.jpg><img src=missing.png>").halved()
    assert [(action.pass_name, action.verb, action.subject) for action in actions] == [
        ("half-images", "halved", "a.jpg"),
        ("half-images", "kept", "tiny.gif"),
    ]
    assert actions[0].reason.startswith("200x150 of 400x300 pixels, ")
    assert "not a readable" in actions[1].reason


@pytest.mark.parametrize(
    "body",
    [
        "<p>words</p>",
        "<img src=missing.jpg>",
        "<img src=https://elsewhere.invalid/a.jpg>",
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
        "<img alt=none>",
        "<img src=a.jpg#part>",
        "<input type=image src=a.jpg>",
        "<video poster=a.jpg></video>",
        "<svg><image href=a.jpg /></svg>",
        "<table background=a.jpg></table>",
        "<noscript><img src=a.jpg></noscript>",
        "<template><img src=a.jpg></template>",
        "<a href=a.jpg>large</a>",
        "<link rel=icon href=a.jpg>",
        "<source srcset=a.jpg>",
        "<style type=text/less>p{background:url(a.jpg)}</style>",
    ],
)
def test_what_cannot_keep_its_size_stays(body: str) -> None:
    assert kept(body) == []


# --- reasons to leave a page


def test_a_page_whose_scripts_touch_images_is_guarded() -> None:
    script = "<script>document.images[0].src = document.images[0].src.replace('s','l')</script>"
    text = halved(f"<img src=a.jpg>{script}")
    assert -1 < text.find(f"<script>{GUARD}</script>") < text.find(script) and "HALF" in text


@pytest.mark.parametrize(
    "draws",
    ["drawImage(i, 9, f(9, 9), 9, 9, 0, 0, 9, 9)", "drawImage.apply(c, a)", "drawImage(...a)", "createPattern(i, '')"],
)
def test_images_of_which_a_script_draws_parts_stay(draws: str) -> None:
    body = f"<img src=a.jpg><script>c.{draws}</script>"
    assert kept(body) == ["a script counts pixels of images that it draws"]


def test_a_script_that_draws_whole_images_lets_them_be_halved() -> None:
    assert "HALF" in halved("<img src=a.jpg><script>c.drawImage(i, 0, 0, f(9, 9), 9)</script>")


def test_scripts_of_others_and_links_do_not_count() -> None:
    for script in (
        "<script src=https://elsewhere.invalid/count.js></script>",
        "<script>document.links[0].href = '/there'</script>",
        "<script>const s = document.createElement('script'); s.src = 'x.js'</script>",
    ):
        assert "HALF" in halved(f"<img src=a.jpg>{script}")


def test_pages_whose_scripts_do_nothing_to_images_need_no_guard() -> None:
    script = "<script>document.getElementById('q').focus()</script>"
    assert halved(f"<img src=a.jpg>{script}") == f'<img srcset="HALF 200w" sizes=400px src=HALF>{script}'


def test_handlers_alone_have_the_guard_in_the_head() -> None:
    text = halved("<body><img src=a.jpg onclick='go(this)'>")
    assert text.startswith(f"<script>{GUARD}</script><body>") and "src=a.jpg" in text


def test_an_image_of_several_files_has_no_guard() -> None:
    text = halved("<img src=a.jpg srcset='a.jpg 400w'><script>go()</script>")
    assert text == '<img src=a.jpg srcset="HALF 200w"><script>go()</script>'


@pytest.mark.parametrize("selector", ['img[src$=".jpg"]', "img[ srcset]", "[sizes]"])
def test_a_page_with_selectors_by_source_stays(selector: str) -> None:
    assert kept(f"<style>{selector}{{border:0}}</style><img src=a.jpg>") == [
        "a style sheet selects images by their addresses"
    ]


@pytest.mark.parametrize(
    "selector",
    [
        '.lazy[src^=""]',
        "img:not([src])",
        "img[src]",
        'iframe[src*="tube.example"]',
        'img[src$=".svg"]',
        'img:is([sizes="auto" i],[sizes^="auto," i])',
    ],
)
def test_a_selector_by_source_that_cannot_tell_lets_images_be_halved(selector: str) -> None:
    assert "HALF" in halved(f"<style>{selector}{{border:0}}</style><img src=a.jpg>")


def test_a_selector_by_source_keeps_the_images_that_it_selects() -> None:
    text = halved('<style>img[src*="a."]{border:0}</style><img src=a.jpg><img src=b.jpg>')
    assert "src=a.jpg" in text and "HALF" in text


def test_a_selector_by_source_finds_the_addresses_of_a_page_with_scripts() -> None:
    script = "<script>go()</script>"
    assert "HALF" in halved(f"<style>img[src$='.jpg']{{border:0}}</style><img src=a.jpg>{script}")
    assert "HALF" not in halved(f"<style>img[srcset]{{border:0}}</style><img src=a.jpg>{script}")


def test_a_page_under_a_policy_stays() -> None:
    policy = '<meta http-equiv=Content-Security-Policy content="img-src /images/">'
    assert kept(f"{policy}<img src=a.jpg>") == ["a Content-Security-Policy restricts the page"]
    under_header = HalfSite(
        {"index.html": "<img src=a.jpg>", "a.jpg": photo_file()}, settings=Settings(csp="img-src x")
    )
    assert under_header.page_text() == "<img src=a.jpg>"


def test_a_page_with_its_base_elsewhere_stays() -> None:
    reasons = kept("<base href=https://elsewhere.invalid/><img src=a.jpg>")
    assert reasons == ["the page's base is not on this site"]


# --- srcset


def copies(**sizes: tuple[int, int]) -> Any:
    """A lookup of copies by URL: natural width and width; the ratio of the sides is 1."""

    def copy_of(url: str) -> Copy | None:
        if url not in sizes:
            return None
        natural, width = sizes[url]
        return Copy(f"h{url}", DerivedFile(f"h{url}", "image/webp", "", 1, width, width, natural, natural))

    return copy_of


@pytest.mark.parametrize(
    ("srcset", "sizes", "expected"),
    [
        # by width: every descriptor is the copy's pixels, sizes stays
        ("a 400w, b 800w", "100vw", ("ha 200w, hb 400w", None)),
        ("a 400w, b 800w", None, ("ha 200w, hb 400w", None)),
        # candidates beyond what a screen of 1280 pixels takes go
        ("a 400w, b 800w, c 1600w", "400px", ("ha 200w", None)),
        ("a 400w, b 800w, c 1600w", "(max-width: 600px) 100vw, 500px", ("ha 200w, hb 400w", None)),
        ("c 1600w, a 400w", "(min-width: 40em) 25vw, 100vw", ("ha 200w", None)),
        ("a 400w, b 800w, c 1600w", "calc(100vw - 2em)", ("ha 200w, hb 400w, hc 800w", None)),
        # an original that has no copy stays, with its descriptor
        ("a 400w, other 900w", "100vw", ("ha 200w, other 900w", None)),
        # a descriptor that is not the file's width keeps its ratio, if a whole number can say it
        ("a 300w", "100vw", ("ha 150w", None)),
        ("a 301w", "100vw", None),
        # by density: what a 1x screen takes
        ("a, b 2x", None, ("ha 200w", "400px")),
        ("b 2x, a 1x", "9px", ("ha 200w", "400px")),
        ("b 2x", None, ("hb 400w", "400px")),
        ("a .5x, b 1.5x", None, ("hb 400w", "533.333px")),
        ("a 0.5x", None, ("ha 200w", "800px")),
        ("a 0x", None, None),
        ("other, b 2x", None, None),
        ("a 400w, b 2x", None, None),
        ("", None, None),
    ],
)
def test_source_sets(srcset: str, sizes: str | None, expected: tuple[str, str | None] | None) -> None:
    result = halve_srcset(srcset, sizes, copies(a=(400, 200), b=(800, 400), c=(1600, 800)))
    assert (None if result is None else (result.srcset, result.sizes)) == expected


@pytest.mark.parametrize(
    ("sizes", "width"),
    [
        (None, 1280), ("", 1280), ("auto", 1280), ("300px", 300), ("50vw", 640), ("20em", 320), ("5rem", 80),
        (".5px", 0.5), ("(max-width: 600px) 100vw, 33vw", 422.4), ("(min-width:600px) 500px, 100vw", 500),
        ("(max-width: 1280px) 10px", 10), ("(max-width: 100px) 10px", 1280),
        ("(orientation: portrait) 10px, 20px", 1280),
    ],
)  # fmt: skip
def test_the_slot_on_a_wide_screen(sizes: str | None, width: float) -> None:
    assert slot_width(sizes) == pytest.approx(width)


def test_a_source_set_of_an_image_is_rewritten_with_its_src() -> None:
    assert halved('<img src=a.jpg srcset="a.jpg 400w, b.jpg 800w" sizes="50vw">') == (
        '<img src=HALF srcset="HALF 200w, HALF 400w" sizes="50vw">'
    )
    assert halved('<img src=a.jpg srcset="b.jpg 2x">') == '<img sizes=400px src=HALF srcset="HALF 200w">'
    assert halved('<img src=a.jpg srcset="b.jpg 1x">') == '<img sizes=800px src=HALF srcset="HALF 400w">'
    assert halved('<img srcset="a.jpg">') == '<img sizes=400px srcset="HALF 200w">'


def test_an_image_without_a_copy_in_its_source_set_stays() -> None:
    kept_set = '<img src=a.jpg srcset="missing.jpg 1x">'
    assert halved(kept_set) == kept_set


def test_sources_of_a_picture_get_copies_and_their_type() -> None:
    text = halved('<picture><source type="image/jpeg" media=print srcset="b.jpg"><img src=a.jpg></picture>')
    assert text == (
        '<picture><source sizes=800px type=image/webp media=print srcset="HALF 400w">'
        '<img srcset="HALF 200w" sizes=400px src=HALF></picture>'
    )


def test_a_source_of_a_type_with_an_original_in_it_stays() -> None:
    source = '<source type="image/jpeg" srcset="a.jpg 400w, missing.jpg 800w">'
    assert source in halved(f"<picture>{source}<img src=a.jpg></picture>")
    untyped = source.replace('type="image/jpeg" ', "")
    assert '<source srcset="HALF 200w, missing.jpg 800w">' in halved(f"<picture>{untyped}<img src=a.jpg></picture>")


def test_a_preload_fetches_the_copy() -> None:
    assert halved('<link rel=preload as=image type="image/jpeg" href=a.jpg><img src=a.jpg>').startswith(
        "<link rel=preload as=image type=image/webp href=HALF>"
    )
    text = halved('<link rel=preload as=image imagesrcset="a.jpg 400w" imagesizes="10vw"><link rel=preload as=font>')
    assert 'imagesrcset="HALF 200w" imagesizes="10vw"' in text
    mixed = '<link rel=preload as=image type="image/jpeg" imagesrcset="a.jpg 400w, missing.jpg 900w">'
    assert halved(mixed) == '<link rel=preload as=image imagesrcset="HALF 200w, missing.jpg 900w">'


# --- CSS


def copied(css: str, **options: Any) -> str:
    return halve_css(css, copies(a=(400, 200), b=(800, 568), whole=(10, 10)), **options)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p{background:url(a)}", "p{background:url(a);background:image-set(url(ha) 0.5x)}"),
        (
            "p { color: red; BACKGROUND-image : url( 'a' ) ; }",
            "p { color: red; BACKGROUND-image : url( 'a' );BACKGROUND-image : image-set(url(ha) 0.5x) ; }",
        ),
        (
            "p{background:#fff url(a) no-repeat 0 0/cover!important;margin:0}",
            "p{background:#fff url(a) no-repeat 0 0/cover!important;"
            "background:#fff image-set(url(ha) 0.5x) no-repeat 0 0/cover!important;margin:0}",
        ),
        (
            "p{background:url(a),url(other),url(b)}",
            "p{background:url(a),url(other),url(b);"
            "background:image-set(url(ha) 0.5x),url(other),image-set(url(hb) 0.71x)}",
        ),
        ("ul{list-style:url(a) inside}", "ul{list-style:url(a) inside;list-style:image-set(url(ha) 0.5x) inside}"),
        ('q::after{content:url("a")"x"', 'q::after{content:url("a")"x";content:image-set(url(ha) 0.5x)"x"'),
        ("@media print{p{background:url(a)}}", "@media print{p{background:url(a);background:image-set(url(ha) 0.5x)}}"),
        ("p{&:hover{background:url(a)}}", "p{&:hover{background:url(a);background:image-set(url(ha) 0.5x)}}"),
        ("/*;*/p{/*}*/background:url(a)}", "/*;*/p{/*}*/background:url(a);background:image-set(url(ha) 0.5x)}"),
        ("p{background:url(whole)}", "p{background:url(whole);background:image-set(url(hwhole) 1x)}"),
    ],
)
def test_images_of_sheets(before: str, after: str) -> None:
    assert copied(before) == after


@pytest.mark.parametrize(
    "css",
    [
        "p{background:url(other)}",
        "p{background:red}",
        "p{--image:url(a)}",
        "p{background:var(--x,url(a))}",
        "p{background:image-set(url(a) 1x,url(b) 2x)}",
        "p{background:-webkit-cross-fade(url(a),url(b),50%)}",
        "p{border-image:url(a) 30}",
        "p{cursor:url(a),auto}",
        "p{mask:url(a)}",
        "p{filter:url(a)}",
        "@font-face{src:url(a)}",
        "@import url(a);",
        "@supports (background:url(a)){p{color:red}}",
        "p[style='background:url(a)']{color:red}",
        "p{background:'\n;background:url(a",
        "/* background:url(a) */",
    ],
)
def test_what_is_no_image_of_a_known_size_stays(css: str) -> None:
    assert copied(css) == css


def test_declarations_of_an_attribute() -> None:
    assert copied("color:red;background:url(a)", declarations=True) == (
        "color:red;background:url(a);background:image-set(url(ha) 0.5x)"
    )
    assert [(each.start, each.end) for each in image_declarations(" content:url(x) ;", declarations=True)] == [(1, 15)]


def test_an_image_whose_height_would_be_off_stays_in_css() -> None:
    off = Copy("h", DerivedFile("h", "image/webp", "", 1, 50, 26, 99, 50))  # 51.5 high
    assert halve_css("p{background:url(a)}", lambda url: off) == "p{background:url(a)}"


def test_style_elements_and_attributes_of_a_page() -> None:
    text = halved('<style>p{background:url(a.jpg)}</style><p style="background:url(a.jpg)">')
    assert text == (
        "<style>p{background:url(a.jpg);background:image-set(url(HALF) 0.5x)}</style>"
        '<p style="background:url(a.jpg);background:image-set(url(HALF) 0.5x)">'
    )


def test_a_sheet_refers_to_copies_from_where_it_is() -> None:
    result = HalfSite({"css/all.css": "p{background:url(../a.jpg)}", "a.jpg": photo_file()})
    assert re.fullmatch(
        r"p\{background:url\(\.\./a\.jpg\);background:image-set\(url\(\.\./_adaptc/[0-9a-f]{16}\.webp\) 0\.5x\)\}",
        result.sheet("css/all.css"),
    )


# --- images that a library loads late

LOADERS = {
    "lazysizes": "lazySizesConfig = {srcAttr: 'data-src', srcsetAttr: 'data-srcset'}; e.src = e[get](c.srcAttr)",
    "lozad": "lozad = e => { e.src = e.getAttribute('data-src'); e.srcset = e.getAttribute('data-srcset') }",
    "vanilla": 'o = {data_src:"src",data_srcset:"srcset"}; e.setAttribute(n, d(e, o.data_srcset))',
}


@pytest.mark.parametrize("loader", LOADERS.values(), ids=LOADERS)
def test_an_image_that_a_known_library_loads_late_gets_its_copy(loader: str) -> None:
    image, script = "<img class=lazy src=tiny.gif data-src=a.jpg>", f"<script>{loader}</script>"
    expected = '<img data-srcset="HALF 200w" sizes=400px class=lazy src=tiny.gif data-src=HALF>'
    assert halved(image + script) == expected + script


@pytest.mark.parametrize(
    "body",
    [
        "<img src=tiny.gif data-src=a.jpg><script>show(e.dataset.src)</script>",
        "<img src=tiny.gif data-src=a.jpg data-sizes=auto>",
        "<picture><source data-srcset=b.jpg><img src=tiny.gif data-src=a.jpg></picture>",
    ],
)
def test_an_image_that_something_else_may_load_stays(body: str) -> None:
    page = f"{body}<script>{LOADERS['lozad']}</script>"
    assert site(page).page_text().endswith(page)


# --- in a browser

# Each case holds the image at its natural size, or at one that depends on it.
_IMAGE_CASES = (
    "<figure><img src={0} loading=lazy><figcaption>words</figcaption></figure>",
    "<img src={0}>",
    "<img src={0} style='max-width:100%'>",
    "<div style='width:150px'><img src={0} style='max-width:100%'></div>",
    "<div style='width:150px'><img src={0} style='max-width:100%' width=401 height=307></div>",
    "<div style='width:150px'><img src={0} style='max-width:100%;height:auto' width=401 height=307></div>",
    "<img src={0} style='width:200px'>",
    "<img src={0} style='height:90px'>",
    "<img src={0} width=120>",
    "<img src={0} height=120>",
    "<img src={0} width=120 height=200>",
    "<img src={0} style='width:200px;height:200px;object-fit:contain'>",
    "<img src={0} style='width:200px;height:200px;object-fit:none'>",
    "<img src={0} style='border:10px solid;padding:5px;box-sizing:border-box'>",
    "<img src={0} style='width:min-content;max-height:200px'>",
    "<div style='display:flex'><img src={0}><p>beside</p></div>",
    "<div style='display:flex;width:200px'><img src={0} style='flex:1;min-width:0'><p>beside</p></div>",
    "<div style='display:flex;flex-direction:column'><img src={0}><p>below</p></div>",
    "<div style='display:grid;grid-template-columns:auto 1fr'><img src={0}><p>beside</p></div>",
    "<div style='display:grid;grid-template-columns:100px 1fr'><img src={0}><p>beside</p></div>",
    "<div style='float:left'><img src={0}></div><p style='clear:both'>",
    "<table><tr><td><img src={0}><td>cell</table>",
    "<span style='display:inline-block'><img src={0}></span>",
    "<picture><source media='(min-width:5000px)' srcset=b.jpg><img src={0}></picture>",
    "<picture><source srcset={0}><img src=b.jpg></picture>",
    "<img src={0} srcset='{1} 2x'>",
    "<img srcset='{0} 1x, {1} 2x' style='max-width:100%'>",
    "<div style='display:inline-block;width:300px'><img src={0} style='width:100%;display:block'></div>",
)
_SET_CASES = (
    "<img src=a.jpg srcset='a.jpg 400w, b.jpg 800w' sizes='300px'>",
    "<img src=a.jpg srcset='a.jpg 400w, b.jpg 800w' sizes='(max-width:500px) 100vw, 600px'>",
    "<img src=a.jpg srcset='a.jpg 400w, b.jpg 800w' style='width:80%'>",
    "<img srcset='a.jpg 200w, b.jpg 400w' sizes='100px'>",
)
_CSS_CASES = (
    "<p class=bg style='width:900px;height:400px;background:url(a.jpg) no-repeat'>",
    "<p style='width:900px;height:650px;background:url(a.jpg)'>",
    "<p style='width:300px;height:300px;background:url(a.jpg) 50% 50%/cover'>",
    "<p style='width:300px;height:300px;background:url(a.jpg) 50% 50%/contain no-repeat'>",
    "<p style='width:300px;height:300px;background:url(a.jpg) 0 0/auto 50px'>",
    "<ul style='list-style-image:url(a.jpg)'><li>marker</ul>",
    "<ul style='list-style:inside url(a.jpg)'><li>marker</ul>",
    "<div style='display:inline-block;content:url(a.jpg)'></div>",
    "<p style='width:900px;height:650px;background:url(c.jpg)'>",
    "<p style='width:90px;height:65px;background:url(c.jpg) -150px -80px'>",
    "<ul style='list-style:inside url(c.jpg)'><li>marker</ul>",
    "<div style='display:inline-block;content:url(c.jpg)'></div>",
)
_EMBEDDED_CSS = "q::before{content:url(a.jpg)} q{display:inline-block} .sheet{background:url(b.jpg)}"
_CASES = [
    *(case.format(*names) for case in _IMAGE_CASES for names in (("a.jpg", "b.jpg"), ("odd.png", "odd2.png"))),
    *_SET_CASES,
    *_CSS_CASES,
    "<q>generated</q>",
]
_BOXES = """[...document.querySelectorAll('body *')].map(element => {
    const box = element.getBoundingClientRect();
    return [element.tagName, box.x, box.y, box.width, box.height];
})"""
# CSS pixels: what the image without a half may be off, and what all of them may add up to on the page
_BOX_OFF, _DRIFT = 0.3, 1.0


def written(files: HalfSite, root: Path, index: str) -> Path:
    root.mkdir()
    for path, content in files.contents.items():
        (root / path).write_bytes(content)
    (root / "index.html").write_text(index)
    return root


def boxes(browser: Browser, root: Path) -> tuple[list[tuple[str, float, float, float, float]], list[str]]:
    """Return the boxes of a page's elements and the names of the images it fetched."""
    with serving(root) as base:
        browser.view(base, height=4000)
        names = browser.evaluate("performance.getEntriesByType('resource').map(one => one.name)")
        fetched = [name.removeprefix(base) for name in names if not name.endswith("favicon.ico")]
        return browser.evaluate(_BOXES), fetched


@pytest.mark.chromium
def test_no_box_moves_and_no_original_is_fetched(browser: Browser, tmp_path: Path) -> None:
    body = "".join(f"<section>{case}</section>\n" for case in _CASES)
    case_site = site(f"<style>section{{overflow:hidden}}{_EMBEDDED_CSS}</style><p class=sheet>text</p>{body}")
    text = case_site.page_text()
    before, fetched = boxes(browser, written(case_site, tmp_path / "full", case_site.contents["index.html"].decode()))
    half = written(case_site, tmp_path / "half", text)
    case_site.publish(half)
    after, fetched_after = boxes(browser, half)
    assert len(before) == len(after) > len(_CASES) * 2
    for original, halved_box in zip(before, after, strict=True):
        assert original[0] == halved_box[0]
        assert original[3:] == pytest.approx(halved_box[3:], abs=_BOX_OFF), original
        assert original[1:3] == pytest.approx(halved_box[1:3], abs=_DRIFT), original
    # Chromium may take the image for 2x where it has it already
    shown = {"a.jpg", "b.jpg", "c.jpg", "odd.png"}
    assert shown <= set(fetched) <= shown | {"odd2.png"}
    assert set(fetched_after) <= set(case_site.made)


_COLUMN = "<style>body{margin:0;width:396px}img{display:block;width:100%}</style>"
_SHAPE = "style=aspect-ratio:500/333"


@pytest.mark.chromium
def test_many_images_without_a_half_of_their_shape_move_nothing_below(browser: Browser, tmp_path: Path) -> None:
    case_site = site(_COLUMN + "<img src=c.jpg>" * 12 + "<p>below")
    before, _ = boxes(browser, written(case_site, tmp_path / "full", case_site.contents["index.html"].decode()))
    half = written(case_site, tmp_path / "half", case_site.page_text())
    case_site.publish(half)
    after, _ = boxes(browser, half)
    assert [each[1:] for each in after] == [pytest.approx(each[1:], abs=0.02) for each in before]


@pytest.mark.chromium
def test_an_image_that_a_script_swaps_takes_the_shape_of_the_other(browser: Browser, tmp_path: Path) -> None:
    swap = "<script>onload = () => { document.images[0].src = 'b.jpg' }</script>"
    case_site = site(f"{_COLUMN}{swap}<img src=c.jpg>")
    text = case_site.page_text()
    assert _SHAPE in text
    half = written(case_site, tmp_path / "half", text)
    case_site.publish(half)
    after, _ = boxes(browser, half)
    assert after[-1][3:] == [396, 297]


@pytest.mark.parametrize(
    "body",
    [
        "<style>img[style]{color:red}</style><img src=c.jpg>",
        "<style>img{aspect-ratio:1}</style><img src=c.jpg>",
        "<style>img{box-sizing:border-box;padding:5px}</style><img src=c.jpg>",
        "<link rel=stylesheet href=//other.example/a.css><img src=c.jpg>",
        "<script>document.querySelector('img[style]')</script><img src=c.jpg>",
        "<img src=c.jpg style='color:red'>",
        "<img src=a.jpg>",
    ],
)
def test_the_shape_is_not_written_where_it_would_be_noticed_or_is_the_same(body: str) -> None:
    text = halved(body)
    assert "HALF" in text and "aspect-ratio:500" not in text


@pytest.mark.chromium
@pytest.mark.parametrize("srcset", ["a.jpg 400w, b.jpg 800w", "a.jpg, b.jpg 2x"])
def test_a_screen_takes_half_of_what_it_took(srcset: str, browser: Browser, tmp_path: Path) -> None:
    case_site = site(f"<img src=a.jpg srcset='{srcset}' sizes='380px'>")
    half = written(case_site, tmp_path / "half", case_site.page_text())
    case_site.publish(half)
    with serving(half) as base:
        browser.view(base)
        shown = browser.evaluate("document.images[0].currentSrc").removeprefix(base)
    assert Image.open(io.BytesIO(case_site.made[shown])).width == 200


def test_case_page_covers_every_way_of_rewriting() -> None:
    text = site("".join(_CASES) + f"<style>{_EMBEDDED_CSS}</style>").page_text()
    assert all(name not in text.replace("url(a.jpg);", "") for name in ("src=a.jpg", "src=b.jpg", "src=odd.png"))
    candidates = [parse_srcset(srcset) for srcset in re.findall(r'srcset="([^"]*)"', text)]
    assert len(candidates) > len(_IMAGE_CASES) * 2


# --- images that their metadata turns


@cache
def turned_photo() -> bytes:
    exif = jpeg.Segment(jpeg.APP1, b"Exif\0\0" + orientation_exif(6))
    return jpeg.insert_after_start(photo_file(), exif)


SHOWN_AS_STORED = [
    "<style>.raw img{image-orientation:none}</style><img src=t.jpg>",
    "<img src=t.jpg style='image-orientation: none'>",
    "<p style='IMAGE-ORIENTATION:0deg'><img src=t.jpg>",
    "<link rel=stylesheet href=s.css><img src=t.jpg>",
    "<img src=t.jpg><script>photo.style.imageOrientation='none'</script>",
    "<img src=t.jpg><script src=s.js></script>",
    "<link rel=stylesheet href=https://elsewhere.example/s.css><img src=t.jpg>",
]
STORING = {"s_css": "img{image-orientation:none}", "s_js": "photo.style.cssText='image-orientation:none'"}


@pytest.mark.parametrize("body", SHOWN_AS_STORED)
def test_a_turned_image_stays_where_it_may_be_shown_as_it_is_stored(body: str) -> None:
    pages = site(body, t_jpg=turned_photo(), **STORING)
    text, actions = pages.halved()
    assert text.endswith(body)
    assert [action.reason for action in actions] == ["its metadata turns it, which a style sheet may undo"]


@pytest.mark.parametrize("style", ["", "<style>img{image-orientation: from-image}</style>"])
def test_a_turned_image_has_an_upright_copy_on_other_pages(style: str) -> None:
    pages = site(f"{style}<img src=t.jpg>", t_jpg=turned_photo())
    assert re.search(r"<img srcset=\S+ 150w", pages.page_text().replace('"', ""))


def test_an_upright_image_has_a_copy_wherever_it_is_shown() -> None:
    assert "srcset" in site("<style>img{image-orientation:none}</style><img src=a.jpg>").page_text()


def test_a_sheet_leaves_turned_images_since_another_may_undo_that() -> None:
    pages = site("", t_jpg=turned_photo(), s_css=".a{background:url(t.jpg)}.b{background:url(a.jpg)}")
    text = pages.sheet("s.css")
    assert text.startswith(".a{background:url(t.jpg)}")
    assert "image-set" in text
