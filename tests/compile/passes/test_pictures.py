"""pictures and sheet-pictures: images in other formats and sizes, in pages and sheets that match and look as before."""

from __future__ import annotations

import re

import pytest

from tests.samples.drawn import drawing, encoded, photo, photo_file
from tests.sites.shown import URL, site
from tests.sites.small import SmallSite

from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.passes.sheet_images import offer_formats
from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.rewrite import PageResult
from adaptc.compile.view import Asset
from adaptc.core import media
from adaptc.formats.image import jpeg
from adaptc.formats.image.probe import orientation_exif

HEAD = "<!doctype html><meta charset=utf-8>"
OPTIONS = {"formats": ("avif", "webp"), "target": 0.95, "density": 2.0}
IMAGE = "<img src=a.jpg>"
NONE = 'style="display:none"'
FORMATS = f'<source type="image/avif" srcset="COPY.avif" {NONE}><source type="image/webp" srcset="COPY.webp" {NONE}>'
PICTURE = f'<picture style="display:contents">{FORMATS}{IMAGE}</picture>'


def picture_site(body: str, *, head: str = "", seen: PageEvidence | None = None, **files: str) -> SmallSite:
    contents = {"index.html": f"{HEAD}{head}{body}", "a.jpg": photo_file(), "b.jpg": photo_file(1600, 1200)}
    named = {name.replace("_", "."): text for name, text in files.items()}
    return SmallSite({**contents, **named}, evidence={} if seen is None else {"index.html": seen})


def rewritten(pages: SmallSite, **options: object) -> PageResult:
    return pages.rewrite(steps=(Step(BY_NAME["pictures"], {**OPTIONS, **options}),))


def body_of(pages: SmallSite, **options: object) -> str:
    """Return the body of the page after the pass, with COPY for the name of each copy."""
    content = rewritten(pages, **options).content or pages.contents["index.html"]
    text = re.sub(r"_adaptc/[0-9a-f]{16}", "COPY", content.decode())
    return re.sub(r".*?(?=<body|<p|<div|<ul|<img|<picture)", "", text, count=1, flags=re.DOTALL)


def offered(body: str, head: str = "", **files: str) -> str:
    return body_of(picture_site(body, head=head, **files))


def seen(phone: ImageSeen, laptop: ImageSeen) -> PageEvidence:
    return PageEvidence((WidthEvidence(412, (phone,)), WidthEvidence(1280, (laptop,))))


# ---- formats


def test_an_image_is_offered_in_the_formats_in_which_it_is_smaller() -> None:
    assert offered(f"<p>{IMAGE}") == f"<p>{PICTURE}"


def test_browsers_without_avif_get_a_photograph_that_is_not_small_as_it_is() -> None:
    for kind, formats in (("JPEG", ["avif"]), ("PNG", ["avif", "webp"])):
        pages = picture_site(f"<p>{IMAGE.replace('jpg', kind)}")
        body = body_of(SmallSite({**pages.contents, f"a.{kind}": encoded(photo(1600, 800), kind)}))
        assert re.findall(r"srcset=\"COPY\.(\w+)", body) == formats


def test_of_an_image_as_small_as_the_markup_of_a_choice_no_copy_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = SmallSite({**picture_site(f"<p>{IMAGE}").contents, "a.jpg": encoded(drawing(16))})
    monkeypatch.setattr(SmallSite, "copy", lambda *_: pytest.fail("a copy is made"))
    assert body_of(pages) == f"<p>{IMAGE}"


def test_a_turned_image_is_not_offered_where_a_sheet_may_show_it_as_it_is_stored() -> None:
    exif = jpeg.Segment(jpeg.APP1, b"Exif\0\0" + orientation_exif(6))
    turned = jpeg.insert_after_start(photo_file(), exif)
    style = "<style>img{image-orientation:none}</style>"
    pages = {head: SmallSite({"index.html": f"{HEAD}{head}<p>{IMAGE}", "a.jpg": turned}) for head in ("", style)}
    assert {head: "<source" in body_of(page) for head, page in pages.items()} == {"": True, style: False}
    sheet = offer_formats(Asset("s.css", media.CSS, b"p{background:url(a.jpg)}"), pages[""].view(), OPTIONS)
    assert sheet.content is None


def test_one_format_may_be_left_out_and_without_any_nothing_changes() -> None:
    assert "avif" not in body_of(picture_site(f"<p>{IMAGE}"), formats=("webp",))
    assert body_of(picture_site(f"<p>{IMAGE}"), formats=()) == f"<p>{IMAGE}"


@pytest.mark.parametrize(
    "body",
    [
        "<p><img src=gone.jpg>",
        "<p><img src=a.jpg srcset='b.jpg 2x'>",
        "<p><picture><img src=a.jpg></picture>",
        "<p><img src=a.jpg#x>",
        "<p><noscript><img src=a.jpg></noscript>",
        "<p><img src=a.jpg style='height:inherit'>",
        "<p><img src=a.jpg id=x><script>document.getElementById('x').src = 'b.jpg'</script>",
        "<p class=gallery><img src=a.jpg><script>x.querySelector('.gallery').firstChild.remove()</script>",
    ],
)
def test_what_has_a_choice_or_may_change_stays(body: str) -> None:
    assert offered(body) == body


def test_a_policy_or_an_unknown_sheet_leaves_the_page() -> None:
    policy = "<meta http-equiv=content-security-policy content=\"default-src 'self'\">"
    fonts = "<link rel=stylesheet href=https://fonts.googleapis.com/css?family=Lato>"
    icons = "<link rel=stylesheet href=https://cdnjs.cloudflare.com/ajax/libs/simple-line-icons/2.5.5/css/simple-line-icons.css>"
    assert offered(f"<p>{IMAGE}", policy) == offered(f"<p>{IMAGE}", FOREIGN) == f"<p>{IMAGE}"
    assert offered(f"<p>{IMAGE}", icons) == offered(f"<p>{IMAGE}", fonts) == f"<p>{PICTURE}"


UNSEEN = "<script src=https://cdn.example/library.js></script>"
FOREIGN = "<link rel=stylesheet href=https://cdn.example/site.css>"


@pytest.mark.parametrize("head", [FOREIGN, "<style>p>img{border:1px solid}</style>"])
def test_where_nothing_may_be_around_an_image_it_shows_a_copy_itself(head: str) -> None:
    shown = offered("<p><img src=b.jpg>", head + UNSEEN)
    assert re.fullmatch(r'<p><img srcset="COPY.webp 1600w" sizes=1600px data-half=\d+ src=b.jpg>', shown)
    apart = offered("<p><img src=b.jpg><img srcset='b.jpg 2x' src=a.jpg>", head + UNSEEN)
    assert "COPY" not in apart.partition("<img srcset='b.jpg 2x'")[2]


def test_a_background_is_the_copy_that_an_image_shows_in_its_place() -> None:
    shown = offered("<p style='background:url(b.jpg)'><img src=b.jpg>", FOREIGN + UNSEEN)
    assert "data-half" in shown
    assert set(re.findall(r"COPY\.\w+", shown)) == {"COPY.webp"}


def test_an_image_that_a_document_in_a_frame_shows_stays() -> None:
    frame = "<iframe srcdoc='<p style=&quot;background:url(./b.jpg)&quot;>'></iframe>"
    for head in ("", FOREIGN + UNSEEN):
        assert "COPY" in offered("<img src=b.jpg>", head)
        assert "COPY" not in offered(f"<img src=b.jpg>{frame}", head)
    background = "<p style='background:url(b.jpg)'>"
    assert "COPY" in offered(background) and "COPY" not in offered(background + frame)


def test_of_an_image_that_is_a_background_there_is_one_size() -> None:
    narrow = seen(ImageSeen("b.jpg", 300, 225), ImageSeen("b.jpg", 300, 225))
    for background, has_sizes in (("b.jpg", False), ("a.jpg", True)):
        body = f"<p style='background:url({background})'><img src=b.jpg>"
        assert ("<source media=" in body_of(picture_site(body, seen=narrow))) == has_sizes


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("<p><img src=b.jpg>", FOREIGN),  # without scripts, a browser without WebP would show nothing
        ("<p><img src=b.jpg>", FOREIGN + UNSEEN + "<style>img[srcset]{float:left}</style>"),
        ("<p style='background:url(b.jpg)'><img src=b.jpg crossorigin>", FOREIGN + UNSEEN),
        ("<p class=g><img src=b.jpg><script>x.querySelector('.g').firstChild.remove()</script>", FOREIGN + UNSEEN),
    ],
)
def test_no_copy_is_in_the_place_of_an_image_that_may_be_told_from_it(body: str, head: str) -> None:
    assert "data-half" not in offered(body, head)


NAMED = "<p><img src=b.jpg class=g>"
READS = "<script>x.querySelector('.g').src=y</script>"
LEFT = ImageSeen("b.jpg", 300, 225)


@pytest.mark.parametrize(
    ("body", "phone", "script", "is_shown"),
    [
        (NAMED, LEFT, READS, True),
        (NAMED, ImageSeen("b.jpg", 300, 225, is_by_script=True), READS, False),
        (NAMED, ImageSeen("b.jpg", 300, 225, is_changed=True), READS, False),
        (NAMED, ImageSeen("a.jpg", 300, 225), READS, False),
        (NAMED.replace("class", "data-src=c.jpg class"), LEFT, READS, False),
        (NAMED, LEFT, READS + "<script>new Image().src=z.src</script>", False),
    ],
    ids=["left alone", "written", "changed", "not seen", "lazy", "loaded apart"],
)
def test_an_image_that_scripts_name_shows_a_copy_itself_where_a_browser_saw_them_leave_it_alone(
    body: str, phone: ImageSeen, script: str, *, is_shown: bool
) -> None:
    pages = picture_site(body, head=script, seen=seen(phone, LEFT))
    assert ("data-half" in body_of(pages)) == is_shown
    assert "data-half" not in offered(body, script)  # no browser looked


@pytest.mark.chromium
@pytest.mark.parametrize("is_known", [True, False])
def test_a_copy_that_cannot_be_shown_gives_way_to_the_file(chromium: str, *, is_known: bool) -> None:
    pages = picture_site("<p><img src=b.jpg>", head=FOREIGN + UNSEEN)
    text = (rewritten(pages).content or b"").decode()
    made = {path: content if is_known else b"no image" for path, content in pages.made.items()}

    async def look(browser: Chromium) -> object:
        async with browser.tab(site({**pages.contents, "index.html": text, **made}), 400, 800) as tab:
            await tab.load(URL)
            image = "document.images[0]"
            return await tab.run(
                f"() => [{image}.currentSrc.slice(-4), {image}.naturalWidth, {image}.getAttribute('src')]"
            )

    assert in_chromium(chromium, look) == ["webp" if is_known else ".jpg", 1600, "b.jpg"]


# ---- rules match as before

NEXT = f"<p>{IMAGE}<b>text</b></p>"


@pytest.mark.parametrize(
    "rule",
    [
        "p > img { border: 1px solid }",
        "p > * { margin: 1px }",
        "img + b { color: red }",
        "img ~ b { color: red }",
        "p > img:hover { opacity: .5 }",
        "img:not(:first-child) { opacity: .5 }",
        "b:first-of-type + i, img:only-child { opacity: .5 }",
        "p:has(> img) { color: red }",
        "@media print { p > img { display: none } }",
        "p { > img { border: 0 } }",
        "p > .active { border: 0 }",
        "p * img { border: 0 }",
        "img { height: inherit }",
        "picture { display: block !important }",
        "p :not(img) { visibility: hidden }",
        "p > img!x { margin: 0 }",
        "img { font: inherit; height: inherit }",
        "img { font-size: inherit } p * { font-size: 12px }",
        "p * { font-size: .8em }",
    ],
)
def test_an_image_stays_where_a_rule_would_match_otherwise(rule: str) -> None:
    body = NEXT.replace("<img ", "<i></i><img ") if ":not(:first" in rule else NEXT
    assert offered(body, f"<style>{rule}</style>") == body
    assert offered(body, "<link rel=stylesheet href=s.css>", s_css=rule) == body


@pytest.mark.parametrize(
    "rule",
    [
        "p img { border: 1px solid }",
        "* { box-sizing: inherit }",
        "p, img { margin: 0; font-size: 100%; font-weight: inherit; font-family: inherit }",
        "img { cursor: inherit; visibility:inherit }",
        "p * { font-size: 100% }",
        "* { cursor: inherit }",
        "b:first-of-type { color: red }",
        "ul > img { margin: 0 }",
    ],
)
def test_other_rules_do_not_matter(rule: str) -> None:
    assert "<picture" in offered(NEXT, f"<style>{rule}</style>")


def test_only_the_images_that_rules_tell_apart_stay() -> None:
    other = "<img src=b.jpg>"
    text = offered(f"<ul><li>{other}</ul><p>{IMAGE}", "<style>li > img { margin: 0 }</style>")
    assert text == f"<ul><li>{other}</ul><p>{PICTURE}"


def test_a_file_that_the_page_loads_in_any_case_is_not_loaded_in_another_format_too() -> None:
    body = f"<ul><li>{IMAGE}</ul><p>{IMAGE}"
    assert offered(body, "<style>li > img { margin: 0 }</style>") == body


# ---- sizes


def widths(text: str) -> list[tuple[str, str]]:
    """Return condition and width of each source for AVIF."""
    return re.findall(r'<source(?: media="\(([^"]*)\)")? type="image/avif" srcset="COPY.avif(?: (\d+)w)?"', text)


def test_copies_have_the_pixels_that_a_browser_saw() -> None:
    evidence = seen(ImageSeen("b.jpg", 300, 225), ImageSeen("b.jpg", 500, 375))
    text = body_of(picture_site("<p><img src=b.jpg>", seen=evidence))
    assert widths(text) == [("max-width:430px", "640"), ("max-width:1280px", "1280"), ("", "")]
    assert text.count('sizes="1600') == 3  # of the larger one no WebP


def test_a_copy_with_nearly_all_pixels_is_none() -> None:
    evidence = seen(ImageSeen("b.jpg", 300, 225), ImageSeen("b.jpg", 1200, 900))
    assert [width for _, width in widths(body_of(picture_site("<p><img src=b.jpg>", seen=evidence)))] == ["640", ""]
    assert widths(body_of(picture_site("<p><img src=b.jpg>", seen=evidence), density=5.0)) == [("", "")]


@pytest.mark.parametrize(
    "image", [ImageSeen("b.jpg", 0, 0), ImageSeen("b.jpg", 300, 225, is_by_script=True), ImageSeen("a.jpg", 9, 9)]
)
def test_a_size_that_was_not_seen_gives_no_copy(image: ImageSeen) -> None:
    assert widths(body_of(picture_site("<p><img src=b.jpg>", seen=seen(image, image)))) == [("", "")]


def test_attributes_fix_the_size_without_a_browser_unless_a_rule_may_change_it() -> None:
    body = "<p><img src=b.jpg width=300 height=225>"
    assert widths(offered(body)) == [("", "640")]
    assert widths(offered(body, "<style>img { max-width: 100% }</style>")) == [("", "")]
    assert widths(offered(f"{body}<script>var a</script>")) == [("", "")]


# Of 3 to 2, rounded: no smaller copy has the same shape
ODD = seen(ImageSeen("c.jpg", 250, 167), ImageSeen("c.jpg", 700, 466))
SHAPE = 'style="aspect-ratio:1280/853"'


def odd(body: str, head: str = "") -> str:
    """Return the body of a page with c.jpg, of 1280 by 853 pixels, of which phones need fewer."""
    pages = picture_site(body, head=head, seen=ODD)
    return body_of(SmallSite({**pages.contents, "c.jpg": photo_file(1280, 853)}, evidence={"index.html": ODD}))


def test_a_copy_of_not_quite_the_same_shape_is_shown_in_that_of_the_file() -> None:
    text = odd("<p><img src=c.jpg>")
    assert [width for _, width in widths(text)][1:] == [""]
    assert f"<img {SHAPE} src=c.jpg>" in text
    assert "aspect-ratio" not in body_of(picture_site("<p><img src=b.jpg width=300 height=225>"))


@pytest.mark.parametrize(
    ("image", "rule", "is_smaller"),
    [
        ("<img src=c.jpg>", "* { box-sizing: border-box } p { padding: 1em }", True),
        ("<img src=c.jpg>", "* { box-sizing: border-box; border: 0 solid red }", True),
        ("<img src=c.jpg>", "* { box-sizing: border-box; border-width: 0; border-style: solid }", True),
        ("<img src=c.jpg>", "* { box-sizing: border-box } .table > :not(caption) > * { padding: 1px }", True),
        ("<img src=c.jpg>", "* { box-sizing: border-box } body :not(b) { padding: 1px }", False),
        ("<img src=c.jpg>", "* { box-sizing: border-box } img { padding: 1px }", False),
        ("<img src=c.jpg border=1>", "* { box-sizing: border-box }", False),
        ("<img src=c.jpg>", "img:hover { aspect-ratio: 1 }", False),
        ("<img src=c.jpg>", "[style] { margin: 0 }", False),
        ("<img src=c.jpg style='width:50%'>", "p { margin: 0 }", False),
    ],
)
def test_where_its_shape_cannot_be_said_an_image_has_no_copy_of_another(
    image: str, rule: str, is_smaller: bool
) -> None:
    text = odd(f"<p>{image}", f"<style>{rule}</style>")
    assert "COPY.avif" in text
    assert (len(widths(text)) == 2, SHAPE in text) == (is_smaller, is_smaller)


TAKES = "<script>var a = document.querySelector('%s'); other.src = 'c.png'</script>"


@pytest.mark.parametrize(
    ("body", "selector", "is_offered"),
    [
        ("<main><img src=a.jpg></main>", "main", True),
        ("<div class=body role=main><p><img src=a.jpg></div>", "div.body", True),
        ("<main><div class=body><img src=a.jpg></div></main>", "div.body", False),
        ("<main><img src=a.jpg></main>", "main img", False),
    ],
)
def test_a_script_that_takes_hold_of_the_main_part_says_nothing_of_its_images(
    body: str, selector: str, is_offered: bool
) -> None:
    assert ("<picture" in offered(body + TAKES % selector)) is is_offered


# ---- CSS


def test_images_of_the_page_s_own_css_are_offered_after_the_original_declaration() -> None:
    text = offered("<p style='background:url(a.jpg) 0 0'>x").replace('"', "").replace("'", "")
    choices = "url(COPY.avif) type(image/avif),url(COPY.webp) type(image/webp),url(a.jpg) type(image/jpeg)"
    assert text == f"<p style=background:url(a.jpg) 0 0;background:image-set({choices}) 0 0>x"
    sheet = rewritten(picture_site("<p>x", head="<style>p{background:url(a.jpg)}</style>")).content or b""
    assert b"<style>p{background:url(a.jpg);background:image-set(url(_adaptc/" in sheet


def test_a_sheet_that_offered_formats_before_it_moved_into_the_page_offers_them_once() -> None:
    style = "background:url(a.jpg);background:image-set(url(a.webp),url(a.jpg))"
    page = rewritten(picture_site("<p>x", head=f"<style>p{{color:red;background:url(a.jpg)}}b{{{style}}}</style>"))
    text = (page.content or b"").decode()
    assert text.count("image-set") == 2
    assert f"b{{{style}}}" in text


def test_a_background_that_the_page_loads_as_an_image_too_stays() -> None:
    background = "<p style='background:url(a.jpg)'>"
    assert "image-set" in offered(f"{background}<img src=b.jpg srcset='b.jpg 2x'>")
    assert "image-set" not in offered(f"{background}<img src=a.jpg srcset='b.jpg 2x'>")


@pytest.mark.parametrize(
    "script",
    [
        "p.style.backgroundImage = 'none'",
        "$(p).css('background-image', 'url(b.jpg)')",
        "$(p).css({backgroundImage: 'none', 'background-image': a})",
        "p.style = {width: 0, 'background-image': 'linear-gradient(red,blue)'}",
        "p.style.setProperty('background-image', x)",
        "p.innerHTML = '<b style=\"background-image:url(' + x + ')\">'",
    ],
)
def test_scripts_that_only_set_backgrounds_do_not_keep_them(script: str) -> None:
    assert "image-set" in offered(f"<p style='background:url(a.jpg)'>x<script>{script}</script>")


@pytest.mark.parametrize(
    "script",
    [
        "x = p.style.backgroundImage.slice(4)",
        "if (p.style.backgroundImage == 'none') f()",
        "$(p).css('background-image')",
        "$(p).css('background-image', function (i, old) { return old })",
        "x = getComputedStyle(p).getPropertyValue('background-image')",
    ],
)
def test_an_image_that_a_script_may_read_as_a_background_is_loaded_once(script: str) -> None:
    text = offered(f"<p style='background:url(a.jpg)'>x<img src=a.jpg><img src=b.jpg><script>{script}</script>")
    assert "image-set" not in text
    assert "<img src=a.jpg><picture" in text


def test_scripts_that_read_backgrounds_keep_them() -> None:
    body = "<p style='background:url(a.jpg)'>x<script>x = p.style.backgroundImage</script>"
    assert offered(body) == body


def test_images_of_sheets_are_offered() -> None:
    pages = picture_site("<p>x", s_css="p{background:url(a.jpg)}b{background:url(gone.jpg)}")
    sheet = Asset("s.css", media.CSS, pages.contents["s.css"])
    outcome = offer_formats(sheet, pages.view(), OPTIONS)
    text = re.sub(r"_adaptc/[0-9a-f]{16}", "COPY", (outcome.content or b"").decode())
    choices = 'url(COPY.avif) type("image/avif"),url(COPY.webp) type("image/webp"),url(a.jpg) type("image/jpeg")'
    assert text == f"p{{background:url(a.jpg);background:image-set({choices})}}b{{background:url(gone.jpg)}}"
    assert [action.subject for action in outcome.actions] == ["a.jpg"]


# ---- in a browser

STYLE = (
    "<style>.row { display: flex; height: 200px } .row img { height: 100%; flex: 1 } p img { max-width: 50% }"
    " .grid { display: grid; grid-template-columns: 1fr 2fr 1fr } .ends { justify-content: space-between; gap: 9px }"
    " .ends img { flex: none } .round { display: inline-flex; align-items: center; height: 80px }"
    " figure img { width: 100% } a:hover img { opacity: .9 }</style>"
)
LAYOUTS = (
    f"{STYLE}<body><div class=row><img src=b.jpg><img src=a.jpg></div><p>text <img src=b.jpg> text</p>"
    "<div class=grid><img src=b.jpg><b>x</b></div><figure><img src=b.jpg></figure><img src=b.jpg width=90>"
    "<div class='row ends'><img src=b.jpg><b>x</b></div><p><a class=round><img src=b.jpg></a> text</p>"
)


# With a text instead of the image: their places are compared to the last fraction of a pixel
ODD_LAYOUTS = "".join(
    f"<div style='{around}'><img src=c.jpg alt=c class={name}></div><style>.{name}{{{rule}}}</style>"
    for name, around, rule in (
        ("fluid", "padding:0 24px", "max-width:100%;height:auto"),
        ("high", "display:flex;height:333px", "max-height:100%"),
        ("float", "overflow:auto", "float:left;width:40%;padding:5px"),
        ("own", "display:grid;grid-template-columns:1fr 1fr", "max-width:90%"),
    )
)


ASKS = "<p id=o><script>onload=()=>{o.textContent=document.images[0].currentSrc}</script>"


@pytest.mark.chromium
def test_a_script_that_asks_what_an_image_shows_gets_the_file_that_the_author_wrote(chromium: str) -> None:
    pages = picture_site(f"<img src=b.jpg>{ASKS}")
    text = (rewritten(pages).content or b"").decode()
    assert "<picture" in text

    async def look(browser: Chromium) -> object:
        async with browser.tab(site({**pages.contents, "index.html": text, **pages.made}), 400, 800) as tab:
            await tab.load(URL)
            names = "[document.images[0].currentSrc, document.querySelector('#o').textContent]"
            return await tab.run(f"() => {names}.map((url) => url.split(/[./]/).pop())")

    assert in_chromium(chromium, look) == ["avif", "jpg"]
    assert "currentSrc" not in offered("<img src=b.jpg><script>var a</script>")


@pytest.mark.chromium
def test_nothing_moves_at_any_width(chromium: str) -> None:
    shown = [(ImageSeen(name, 250, 188), ImageSeen(name, 700, 525)) for name in ("b.jpg", "c.jpg")]
    phone, laptop = zip(*shown, strict=True)
    evidence = PageEvidence((WidthEvidence(412, phone), WidthEvidence(1280, laptop)))
    as_wide = "<meta name=viewport content=width=device-width>"
    pages = picture_site(f"{LAYOUTS}{ODD_LAYOUTS}", head=as_wide, seen=evidence)
    pages = SmallSite({**pages.contents, "c.jpg": photo_file(1280, 853)}, evidence={"index.html": evidence})
    text = (rewritten(pages).content or b"").decode()
    assert text.count("<picture") == 12 and text.count("aspect-ratio") == 4
    boxes = (
        "async () => { await Promise.all([...document.images].map(i => i.decode()));"
        " return [...document.images].map(i => { const b = i.getBoundingClientRect();"
        " return [b.x, b.y, b.width, b.height].map(v => i.alt ? v : Math.round(v * 10) / 10) }) }"
    )
    chosen = "() => [...document.images].map(i => i.currentSrc.split('.').pop())"

    async def look(browser: Chromium) -> list[tuple[object, object]]:
        found = []
        for width in (400, 700, 1400):
            for files in (pages.contents, {**pages.contents, "index.html": text, **pages.made}):
                async with browser.tab(site(files), width, 800) as tab:
                    await tab.open(URL)
                    found.append((await tab.run(boxes), await tab.run(chosen)))
        return found

    views = in_chromium(chromium, look)
    for (before, _), (after, kinds) in zip(views[::2], views[1::2], strict=True):
        assert after == before
        assert kinds == ["avif"] * 12
