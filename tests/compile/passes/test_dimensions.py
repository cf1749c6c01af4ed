"""dimensions: only where the layout is what it would be anyway."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.sites.small import SmallSite

from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
COMMENT = "<!-- a comment that goes, which pays for what comes -->"


def picture(kind="PNG", size=(40, 30), **options):
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, kind, **options)
    return out.getvalue()


def oriented(orientation, **tags):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for tag, value in tags.items():
        exif[int(tag[1:], 16)] = value
    return picture("JPEG", exif=exif.tobytes())


PNG = picture()


def page(images="<p><img src=a.png></p>", *, css="", head=HEAD, **site):
    files = {"index.html": f"{head}<style>{css}</style>{images}{COMMENT}", "a.png": PNG, **site.pop("files", {})}
    return SmallSite(files, settings=Settings(), **site)


def sized(*args, **kwargs):
    """Return the (path, size) pairs that the pass adds."""
    done = page(*args, **kwargs).rewrite()
    return [(each.subject, each.reason.rpartition(" ")[2]) for each in done.actions if each.pass_name == "dimensions"]


ADDED = [("a.png", "40x30")]


def test_an_image_gets_its_own_size():
    assert sized() == ADDED
    text = page().page("index.html", "dimensions", "markup")
    assert "width=40" in text and "height=30" in text


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_header_gives_the_size(kind):
    name = f"x.{kind.lower()}"
    assert sized(f"<img src={name}>", files={name: picture(kind, (7, 5))}) == [(name, "7x5")]


@pytest.mark.parametrize(("orientation", "size"), [(1, "40x30"), (3, "40x30"), (6, "30x40"), (8, "30x40")])
def test_an_orientation_turns_the_size(orientation, size):
    assert sized("<img src=x.jpg>", files={"x.jpg": oriented(orientation)}) == [("x.jpg", size)]


def test_what_cannot_be_read_gets_no_size():
    assert sized("<img src=x.png>", files={"x.png": b"no image"}) == []


@pytest.mark.parametrize(
    "images",
    [
        "<img src=a.png width=40>",
        "<img src=a.png height=30>",
        "<img src=a.png style='color:red'>",
        "<img src=a.png srcset='a.png 2x'>",
        "<img src=a.png sizes=9px>",
        "<picture><img src=a.png></picture>",
        "<template><img src=a.png></template>",
        "<p><noscript><img src=a.png></noscript>",
        "<noscript><img src=a.png></noscript>",
        "<img src=none.png>",
        "<img src=x.svg>",
        "<img src=https://elsewhere.example/a.png>",
        "<div style='display:flex'><img src=a.png></div>",
        "<div style='display: grid'><img src=a.png></div>",
        "<div style='display:flex'><p style='display:contents'><img src=a.png></div>",
        "<div style='image-orientation:none'><p><img src=a.png></div>",
        "<img src=a.png onload=f()>",
    ],
)
def test_other_images_get_none(images):
    assert sized(images, files={"x.svg": "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"}) == []


@pytest.mark.parametrize(
    "css",
    [
        "img{width:10px}",
        "IMG{HEIGHT:1em}",
        "*{max-width:100%}",
        "p img{min-height:1em}",
        "p > *{inline-size:1px}",
        "img{max-block-size:9px}",
        "img{aspect-ratio:1}",
        "img{object-fit:cover}",
        "img{all:unset}",
        "img{zoom:2}",
        "img{contain:size}",
        "img{content:url(b.png)}",
        "img:hover{width:50px}",
        "p:hover img{width:50px}",
        "img:not(.x){width:50px}",
        ":root img{width:9px}",
        "img:unknown-state{width:9px}",
        "@media print{img{width:10px}}",
        "@media (max-width:9px){@supports (x:y){img{width:10px}}}",
        "p{color:red;& img{width:10px}}",
        "p{@media print{& > img{width:10px}}}",
        "img[width]{color:red}",
        "img:not([height]){border:1px solid}",
        "p{display:flex}",
        "p{display:inline-grid}",
        "body p{display:-webkit-box}",
        "p{display:var(--d)}",
        "p{all:inherit}",
        "div{display:contents}",
        "body{image-orientation:none}",
        "*{box-sizing:border-box}p img{border:1px solid}",
        "*{box-sizing:border-box}img{padding-left:2px}",
        "img{animation:grow 1s}",
        "img{-webkit-box-sizing:border-box;width:calc(1px)}",
    ],
)
def test_a_rule_that_may_size_the_image_keeps_it(css):
    assert sized(css=css) == []
    assert sized(head=HEAD + "<link rel=stylesheet media=print href=x.css>", files={"x.css": css}) == []
    files = {"x.css": "@import url(y.css) print;", "y.css": css}
    assert sized(head=HEAD + "<link rel='alternate stylesheet' title=x href=x.css>", files=files) == []


@pytest.mark.parametrize(
    "css",
    [
        "a{width:10px}",
        "a:hover img{width:50px}",
        "p::before{width:9px;content:''}",
        ".clearfix:after{height:0;display:block}",
        "img.other{width:10px}",
        "#x img{width:10px}",
        "div img{width:10px}",
        "img{border:0;margin:1em;float:left;vertical-align:middle}",
        "a:hover{height:3px}",
        "div{display:flex}",
        "p{display:inline-block;width:90%}",
        "*{box-sizing:border-box}",
        "img{padding:2px;border:1px solid;border-radius:3px}",
        "@keyframes x{from{width:1px}}@font-face{font-family:x}@page{size:a4}",
        "img{line-height:1;border-width:2px}",
    ],
)
def test_other_rules_do_not_matter(css):
    assert sized(css=css) == ADDED


@pytest.mark.parametrize(
    "css",
    [
        "img{max-width:100%;height:auto}",
        "IMG , video { WIDTH: 50% ; Height: AUTO !important }",
        "p > img{height:auto}@media (max-width:9px){img{width:100%;min-width:2em}}",
        "img{height:auto}img:hover{max-width:none}",
        "*{box-sizing:border-box}img{border-style:none;padding:0;max-width:50%;height:auto}",
    ],
)
def test_an_image_whose_height_always_follows_its_width_gets_its_size(css):
    assert sized(css=css) == ADDED
    assert sized(head=HEAD + "<link rel=stylesheet href=x.css>", files={"x.css": css}) == ADDED
    assert sized(head=HEAD + "<link rel=stylesheet type=text/css media=all href=x.css>", files={"x.css": css}) == ADDED


@pytest.mark.parametrize(
    "css",
    [
        "@media screen{img{width:50%;height:auto}}",
        "img:hover{width:50%;height:auto}",
        "img,:unknown{width:50%;height:auto}",
        "img,{width:50%;height:auto}",
        "img >{width:50%;height:auto}",
        "img.other{height:auto}img{width:50%}",
        "img{width:50%;height:auto;height:1em}",
        "img{width:50%;height:auto}@media print{img{height:1em}}",
        "img{width:50%;height:auto;max-height:9px}",
        "img{max-width:50%;height:auto}p{display:flex}",
        "*{box-sizing:border-box}img{max-width:50%;height:auto;padding:1px}",
        "*{box-sizing:border-box}img{border:0}img{max-width:50%;height:auto;border:solid}",
    ],
)
def test_an_image_whose_height_may_not_follow_gets_none(css):
    assert sized(css=css) == []


@pytest.mark.parametrize(
    "attributes", ["media=print", "title=other", "disabled", "rel='alternate stylesheet'", "onload='media=1'"]
)
def test_a_sheet_that_may_not_apply_frees_no_height(attributes):
    css = {"x.css": "img{width:50%;height:auto}"}
    assert sized(head=f"{HEAD}<link {attributes} rel=stylesheet href=x.css>", files=css) == []
    assert sized(head=f"{HEAD}<style>@import 'x.css' print;</style>", files=css) == []


def test_a_border_attribute_counts_under_border_box():
    assert sized("<img border=1 src=a.png>") == ADDED
    assert sized("<img border=1 src=a.png>", css="*{box-sizing:border-box}") == []


@pytest.mark.parametrize(
    "link", ["https://cdn.example/x.css", "//cdn.example/x.css", "data:text/css,img{width:1px}", "x.php"]
)
def test_a_sheet_that_cannot_be_read_keeps_all(link):
    assert sized(head=f"{HEAD}<link rel=stylesheet href='{link}'>", files={"x.php": "img{}"}) == []
    assert sized(css=f"@import '{link}';", files={"x.php": "img{}"}) == []


def test_a_sheet_of_a_font_service_has_no_rules_for_images():
    assert sized(head=HEAD + "<link rel=stylesheet href='https://fonts.googleapis.com/css?family=Lato'>") == ADDED


def test_a_sheet_that_is_not_there_says_nothing():
    assert sized(head=HEAD + "<link rel=stylesheet href=none.css>") == ADDED


@pytest.mark.parametrize(
    "script",
    [
        "<script src=https://x.example/a.js></script>",
        "<script>document.images[0].width = 9</script>",
        "<script>document.body.classList.add('wide')</script>",
        "<script>document.querySelector('p')[name]()</script>",
        "<script>document.body.dataset.theme = 'dark'</script>",
        "<script>import('./a.js')</script>",
        "<script>document.body.append(document.querySelector('p'))</script>",
    ],
)
def test_a_page_with_scripts_that_may_size_images_is_left_alone(script):
    assert sized(head=HEAD + script) == []


@pytest.mark.parametrize(
    "script",
    [
        '<script type="application/ld+json">{"@type": "Article", "width": 9}</script>',
        "<script>document.cookie = 'seen=1'; addEventListener('click', () => history.back())</script>",
    ],
)
def test_other_scripts_do_not_matter(script):
    assert sized(head=HEAD + script) != []


LIBRARY = "<script>var $ = function (s) { s.style.width = s.css; s.className = '' }</script>"


def sized_after_a_look(images="<p><img src=a.png></p>", *, script="", names=(), others=(), **options):
    seen = ImageSeen("a.png", 40, 30, **options)
    widths = (WidthEvidence(412, (seen, *others), frozenset(names)), WidthEvidence(1280, (seen, *others)))
    evidence = {"index.html": PageEvidence(widths)}
    css = "img{max-width:100%;height:auto}.wide img{width:100%}.tall > img{height:9px}[data-on] img{height:1px}"
    return sized(f"{images}{LIBRARY}<script>{script}</script>", css=css, evidence=evidence)


def test_a_browser_tells_which_images_a_library_leaves_alone():
    assert sized_after_a_look() == ADDED
    assert sized_after_a_look(script="$('.menu').hide()", names=["menu-open"]) == ADDED
    assert sized_after_a_look("<a href=x><img src=a.png></a>", script="$('[href=\"#top\"]').hide()") == ADDED
    assert sized_after_a_look(is_changed=True) == []
    assert sized_after_a_look(is_by_script=True) == []
    assert sized_after_a_look("<p><img src=a.png><img src=b.png></p>", others=[ImageSeen("b.png", 0, 0)]) == ADDED


@pytest.mark.parametrize(
    ("images", "script"),
    [
        ("<p><img src=a.png></p>", "$('img')"),
        ("<p><img src=a.png></p>", "list.find('p > img')"),
        ("<p><img src=a.png></p>", "list.on('click', 'p img', f)"),
        ("<p class=x><img src=a.png></p>", "$('.x')"),
        ("<p id=x><i><img src=a.png></i></p>", "$('#x')"),
        ("<p data-x><img src=a.png></p>", "$('[data-x]')"),
        ("<p onclick='f(this)'><img src=a.png></p>", ""),
        ("<p><img src=a.png onclick='f(this)'></p>", ""),
        ("<p><img src=a.png></p>", "document.styleSheets[0].disabled = true"),
    ],
)
def test_an_image_that_a_script_names_gets_no_size(images, script):
    assert sized_after_a_look(images, script=script) == []


def test_a_rule_counts_that_a_script_may_make_apply():
    assert sized_after_a_look(script="$(document.body).addClass('tall')") == []
    assert sized_after_a_look(script="$(document.body).addClass('wide')") == ADDED
    assert sized_after_a_look(names=["tall"]) == []
    assert sized_after_a_look(script="document.querySelector('[data-on]')") == []


def test_a_library_of_another_site_counts_as_one_that_sizes_images():
    assert sized_after_a_look("<script src=https://x.example/a.js></script><p><img src=a.png>") == []


def test_a_page_does_not_become_larger():
    text = HEAD + "<p><img src=a.png>"
    done = SmallSite({"index.html": text, "a.png": PNG}, shared=["a.png"]).rewrite()
    assert done.content is None and done.demoted == ["dimensions"]


@pytest.mark.parametrize(
    "sheet",
    [
        "@media print { img { width: 50% } ",  # browsers close it
        "@-moz-document url-prefix() { .b, img { width: 50% } }",
        "@supports (a:b) { @-moz-document url-prefix() { img { width: 50% } } }",
        "@-x-a { @-x-b { img { width: 50% } } }",
        "img { \\77idth/* */: 50% !important }",
        ".a { & img { width: 50% } }",
    ],
)
def test_a_rule_that_may_size_the_image_keeps_it_without(sheet):
    assert sized(css=sheet) == []


@pytest.mark.parametrize(
    "sheet",
    ["img { /* width: 50% */ }", "@font-face { width: 50% }", "@-moz-document url-prefix() { .b { width: 50% } }"],
)
def test_others_do_not(sheet):
    assert sized(css=sheet) == ADDED
