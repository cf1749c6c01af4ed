"""The markup of a page as it is without scripts: streamed parts, noscript, lazy images, years and numbers."""

from __future__ import annotations

import re

import pytest

from adaptc.compile.passes.prerendered import load_lazy_images
from adaptc.formats.html.document import show_noscript
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.static_text import static_text

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"


def made(body: str, *, head: str = "") -> str:
    """Return the page without scripts, with its lazy images."""
    editor = Editor(show_noscript(static_text(f"{HEAD}{head}</head><body>{body}<script>run()</script></body>")))
    load_lazy_images(editor)
    return editor.apply().text


STREAMED = (
    '<main><h1>A</h1><!--$?--><template id="B:0"></template><p>Loading</p><!--/$--></main><footer>f</footer>'
    '<div hidden id="S:0"><p>late</p><!--$?--><template id="B:1"></template><i>wait</i><!--/$--></div>'
    '<script>$RC=function(a,b){};$RC("B:0","S:0")</script>'
    '<div hidden id="S:1"><b>later</b></div><script>$RC("B:1","S:1")</script>'
)


def test_streamed_parts_are_in_their_places() -> None:
    text = made(STREAMED)
    assert re.search(r"</h1><!--\$\?--><p>late</p><!--\$\?--><b>later</b><i hidden>wait</i>", text)
    assert "<p hidden>Loading</p><!--/$--></main><footer>f</footer>" in text
    assert "<div hidden" not in text


def test_noscript_is_opened() -> None:
    assert "<body><p>no scripts</p><p>text" in made("<noscript><p>no scripts</p></noscript><p>text")


def test_a_request_to_enable_scripts_is_left_out() -> None:
    notice = "<noscript>You need to enable JavaScript.</noscript>"
    assert "<body><p>text" in made(f"{notice}<p>text")
    assert "enable" in made(notice.replace("J", "<a href=b.html>J") + "<p>text")


def test_noscript_in_the_head_brings_its_styles_and_no_redirection() -> None:
    head = "<noscript><style>.a{color:red}</style><meta http-equiv=refresh content='0;url=x.html'></noscript>"
    text = made("<p class=a>t", head=head)
    assert "<style>.a{color:red}</style>" in text
    assert "refresh" not in text


@pytest.mark.parametrize(
    "pixel",
    [
        "<img src=//t.example/p.gif width=1 height=1>",
        "<div><img src=//t.example/p.gif style='display:none'></div>",
        "<iframe src=//t.example/ns.html height=0 width=0></iframe>",
    ],
)
@pytest.mark.parametrize("place", ["head", "body"])
def test_pixels_of_trackers_are_not_shown(pixel: str, place: str) -> None:
    inside = {"head": "", "body": "<p>t", place: f"<noscript>{pixel}</noscript>"}
    text = made(inside["body"] + "<p>text", head=inside["head"] + "<meta name=last content=1>" * (place == "head"))
    assert "t.example" not in text
    assert text.index("<p>text") > text.index("<body>")


# ---- images


def test_lazy_images_get_their_source() -> None:
    text = made('<img class=lazy src="data:image/gif;base64,R0" data-src=a.png alt=x>')
    assert re.search(r'<img [^>]*src="?a\.png', text)


def test_an_image_that_shows_something_keeps_it() -> None:
    assert "src=small.png" in made("<img src=small.png data-src=a.png>")


def test_a_lazy_image_without_source_has_its_candidates() -> None:
    text = made('<img data-srcset="a.png 1x, b.png 2x" sizes=auto>')
    assert '<img srcset="a.png 1x, b.png 2x" ' in text


def test_two_lazy_pictures_are_both_shown() -> None:
    text = made("<p><img data-src=a.png><img data-src=b.png>")
    assert text.count("<img") == 2


def test_no_punctuation_is_left_around_a_year_that_a_script_writes() -> None:
    year = "<script>document.write(new Date().getFullYear())</script>"
    text = made(f"<p>&copy; {year}, made by us<p>(c) 2015-{year} We<p>Since {year} here")
    assert "&copy; made by us" in text and "(c) 2015 We" in text and "Since here" in text
    added = year.replace("document.write", "document.currentScript.before")
    assert "&copy; made by us" in made(f"<p>&copy; {added}, made by us")
    assert ", 5" in made("<p>made on <script>document.write(day())</script>, 5")
    assert year in made(f"<p>t<textarea>{year}, </textarea>")


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<b><span id=a countTo=70>0</span>+</b>", ">70</span>+"),
        (
            "<span data-purecounter-start=0 data-purecounter-end='1463' data-purecounter-duration=1> 0 </span>",
            "> 1463 <",
        ),
        ("<h2 data-count=2.5>0.0</h2>", ">2.5</h2>"),
        ("<p data-to=9 data-count=9>0</p>", ">9</p>"),
        ("<p data-to=9 data-count=8>0</p>", ">0</p>"),  # which of them is unknown
        ("<p data-target=#menu>0</p>", ">0</p>"),
        ("<p data-count=3>10</p>", ">10</p>"),
        ("<button data-count=3>0</button>", ">0</button>"),  # that of a reader's clicks
    ],
)
def test_a_number_up_to_which_a_script_counts_is_shown(markup: str, shown: str) -> None:
    assert shown in made(f"<p>Words{markup}")


def test_without_scripts_nothing_counts() -> None:
    assert static_text("<p data-count=3>0</p>") == "<p data-count=3>0</p>"
