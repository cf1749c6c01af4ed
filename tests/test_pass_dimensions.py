"""dimensions: only where the layout is what it would be anyway."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from small_site import SmallSite

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
        "IMG{HEIGHT:auto}",
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
        "a:hover img{width:50px}",
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


def test_a_border_attribute_counts_under_border_box():
    assert sized("<img border=1 src=a.png>") == ADDED
    assert sized("<img border=1 src=a.png>", css="*{box-sizing:border-box}") == []


@pytest.mark.parametrize(
    "link", ["https://cdn.example/x.css", "//cdn.example/x.css", "data:text/css,img{width:1px}", "x.php"]
)
def test_a_sheet_that_cannot_be_read_keeps_all(link):
    assert sized(head=f"{HEAD}<link rel=stylesheet href='{link}'>", files={"x.php": "img{}"}) == []
    assert sized(css=f"@import '{link}';", files={"x.php": "img{}"}) == []


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


def test_a_page_does_not_become_larger():
    text = HEAD + "<p><img src=a.png>"
    done = SmallSite({"index.html": text, "a.png": PNG}, shared=["a.png"]).rewrite()
    assert done.content is None and done.demoted == ["dimensions"]
