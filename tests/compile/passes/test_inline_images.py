"""inline-images: data URIs within a budget, where no script, selector or fragment can tell."""

from __future__ import annotations

import base64
import re

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
GIF = base64.b64decode("R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path fill="#f00" d="M0 0h9v9z"/></svg>'


def page(images="<img alt='' src=a.gif>", *, head=HEAD, **site):
    files = {"index.html": f"{head}{images}<p>text", "a.gif": GIF, "b.gif": GIF, **site.pop("files", {})}
    return SmallSite(files, **site)


def inlined(*args, **kwargs):
    return page(*args, **kwargs).page("index.html", "inline-images")


def test_a_small_image_becomes_a_data_uri():
    (uri,) = re.findall(r"data:image/gif;base64,([\w+/=]+)", inlined())
    assert base64.b64decode(uri) == GIF


def test_the_page_embeds_it_no_more():
    assert page("<img src=a.gif><img src=b.gif width=1>", shared=["b.gif"]).rewrite().embeds == ("b.gif",)


def test_an_svg_is_text_in_its_uri():
    text = inlined("<img src=x.svg>", files={"x.svg": SVG})
    assert ("data:image/svg+xml,<svg" in text and "%23f00" in text) or "red" in text
    assert "base64" not in text


def test_a_fragment_chooses_a_part_of_an_svg():
    assert "data:" not in inlined("<img src=x.svg#view>", files={"x.svg": SVG})


@pytest.mark.parametrize(
    "images",
    [
        "<img src=a.gif><img src=a.gif>",
        "<img src=a.gif><img src=./a.gif?v=2>",
        "<img src=a.gif srcset='b.gif 2x'>",
        "<picture><source srcset=b.gif><img src=a.gif></picture>",
        "<img src=a.gif id=logo>",
        "<img src=a.gif name=logo>",
        "<a href=x><img ismap src=a.gif></a>",
        "<img src=a.gif crossorigin>",
        "<p><noscript><img src=a.gif></noscript>",
        "<noscript><img src=a.gif></noscript>",
        "<template><img src=a.gif></template>",
        "<img src=none.gif>",
        "<img src=''>",
        "<input type=image src=a.gif>",
        "<iframe srcdoc='<img src=a.gif>'></iframe>",
    ],
)
def test_other_images_stay(images):
    assert "data:" not in inlined(images)


def test_the_smallest_come_first_until_the_budget_is_spent():
    settings = Settings(data_uri_budget=100)
    site = page("<img src=big.gif><img src=a.gif>", files={"big.gif": GIF + b"\0"}, settings=settings)
    text = site.page("index.html", "inline-images")
    assert "src=big.gif" in text and text.count("data:") == 1
    assert "budget" in site.reasons("index.html", "inline-images")["big.gif"]


def test_an_image_above_the_limit_stays():
    assert "data:" not in inlined(settings=Settings(data_uri_max=20))


@pytest.mark.parametrize("script", ["document.images[0].src='x'", "$('img').attr('src')", "i.getAttribute('src')"])
def test_images_that_a_script_may_touch_stay(script):
    assert "data:" not in inlined(head=f"{HEAD}<script>{script}</script>")
    assert "data:" not in inlined(f'<img src=a.gif onclick="{script}">')
    assert "data:" not in inlined(head=HEAD + "<script src=s.js></script>", files={"s.js": script})


def test_a_script_of_another_site_may_touch_them():
    assert "data:" not in inlined(head=HEAD + "<script async src=https://lazy.example/load.js></script>")


def test_a_script_that_touches_nothing_is_no_hindrance():
    assert "data:" in inlined(head=HEAD + "<script>var a=1</script>")


@pytest.mark.parametrize("sheet", ["img[src$='.gif']{border:1px}", "img[ src ]{border:1px}"])
def test_images_that_a_selector_knows_by_source_stay(sheet):
    assert "data:" not in inlined(head=f"{HEAD}<style>{sheet}</style>")
    files = {"c.css": "@import 'd.css';", "d.css": sheet}
    assert "data:" not in inlined(head=HEAD + "<link rel=stylesheet href=c.css>", files=files)


def test_a_sheet_of_another_site_may_know_them():
    assert "data:" not in inlined(head=HEAD + "<link rel=stylesheet href=https://cdn.example/x.css>")


def test_a_policy_leaves_everything():
    assert "data:" not in inlined(settings=Settings(csp="img-src 'self'"))


def test_images_of_many_pages_stay():
    assert "data:" not in inlined(shared=["a.gif"])
