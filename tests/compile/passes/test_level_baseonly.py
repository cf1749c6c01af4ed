"""Level baseonly: the page alone, with nothing in it that a browser would load."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import KNOWN_PASSES, plan_level
from adaptc.config.rulebook import load_levels
from adaptc.core import media
from adaptc.formats.css.fonts import drop_fetched_fonts
from adaptc.formats.html.document import parse
from adaptc.formats.html.references import embedded_references

STEPS = plan_level(load_levels(known_passes=KNOWN_PASSES)["baseonly"]).steps_for(media.HTML)
FILES = {
    "a.css": "p{color:red}", "a.js": "more()", "a.png": b"\x89PNG" + bytes(3000), "f.html": "<p>f", "b.html": "<p>b",
    "v.mp4": b"v", "o.pdf": b"%PDF",
}  # fmt: skip
HEAD = "<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title>"


def made(body, head="", start=HEAD):
    page = f"{start}{head}</head><body>{body}</body></html>"
    return SmallSite({"index.html": page, **FILES}).rewrite(steps=STEPS, promise="words")


def body(markup, head=""):
    """Return what becomes of a body; the page has an image more, which is worth going for."""
    done = made(f"{markup}<img src=a.png>", head)
    assert done.embeds == () and done.demoted == [], done.diagnostics
    loaded = [reference.url for reference in embedded_references(parse(done.content.decode()))]
    assert [url for url in loaded if not url.startswith(("data:", "#"))] == []
    return done.content.decode().partition("<body>")[2].removesuffix("</body></html>")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # images leave their words
        ("<p>a <img src=a.png alt='A cat' width=9> b", "<p>a [A cat] b"),
        ("<img src=a.png id=i class=c width=9>", "<span id=i class=c></span>"),
        ("<a href=b.html><img src=a.png></a>", "<a href=b.html>b</a>"),
        ("<a href=b.html><img src=a.png><img src=a.png alt='To b'></a>", "<a href=b.html>To b</a>"),
        ("<a href=b.html><img src=a.png> b</a>", "<a href=b.html> b</a>"),
        ("<picture><source srcset=a.png><img src=a.png srcset='a.png 2x' alt=x></picture>",
         "<picture><source>[x]</picture>"),
        ("<img src=a.png usemap=#m><map name=m><area href=b.html alt=East></map>",
         "<map name=m><area href=b.html alt=East></map> <a href=b.html>East</a>"),
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=x>",
         "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=x>"),
        ("<form><input type=image src=a.png alt=Go name=g></form>", "<form><input type=image alt=Go name=g></form>"),
        ("<table background=a.png><tr><td>x</table>", "<table><tr><td>x</table>"),
        ("<svg><image href=a.png /><use href=#u /></svg>", "<svg><image /><use href=#u /></svg>"),
        # scripts go, what they are for stays
        ("<script src=a.js></script><script>x()</script><p onclick=x()>a", "<p>a"),
        ("<script type=application/ld+json>{}</script>a", "<script type=application/ld+json>{}</script>a"),
        ("<script type=speculationrules>{}</script>a", "a"),
        ("<noscript><p>Read <a href=b.html>b</a></noscript>", "<p>Read <a href=b.html>b</a>"),
        ("<a href=javascript:x()>x</a>", "<a href=javascript:x()>x</a>"),
        # links to what played or showed
        ("<iframe src=f.html title=Map id=i></iframe>", "<a id=i href=f.html>Map</a>"),
        ("<iframe id=i></iframe>", "<span id=i></span>"),
        ("<video src=v.mp4 poster=a.png>No <img src=a.png alt=film></video>",
         '<a href=v.mp4>v.mp4</a>No [film]'),
        ("<audio><source src=v.mp4></audio>", "<a href=v.mp4>v.mp4</a>"),
        ("<object data=o.pdf type=application/pdf></object>", "<object><a href=o.pdf>o.pdf</a></object>"),
        ("<object data=o.pdf>Get <a href=o.pdf>it</a></object>", "<object>Get <a href=o.pdf>it</a></object>"),
        # the page's own styles stay
        ("<p style='background:url(a.png);color:red'>x", "<p style=background:url(data:,);color:red>x"),
    ],
)  # fmt: skip
def test_nothing_is_left_to_load(before, after):
    assert body(before) == after


def test_the_head_keeps_what_loads_nothing():
    head = (
        "<link rel=stylesheet href=a.css><link rel='shortcut icon' href=a.png><link rel=preload href=a.js as=script>"
        "<link rel=canonical href=b.html><style>@import 'a.css';@font-face{font-family:x;src:url(x.woff)}"
        "p{background:url(#a) url(a.png)}</style>"
    )
    done = made("<p>x", head)
    assert done.content.decode() == (
        f'{HEAD}<link rel=canonical href=b.html><style>@import "data:text/css,";'
        "p{background:url(#a) url(data:,)}</style><link rel=icon href=data:,></head><body><p>x</body></html>"
    )
    assert ("removed", "a.css") in {(action.verb, action.subject) for action in done.actions}


def test_a_page_that_embeds_nothing_stays():
    assert made("<p>x").content is None


def test_a_page_of_frames_stays_with_a_note():
    page = f"{HEAD}</head><frameset cols=20,*><frame src=f.html><frame src=b.html></frameset>"
    done = SmallSite({"index.html": page, **FILES}).rewrite(steps=STEPS, promise="words")
    assert done.content is None
    assert [diagnostic.message for diagnostic in done.diagnostics] == [
        "pass base-only leaves this page as it is: its content is in frames"
    ]


def test_fonts_that_are_in_the_sheet_stay():
    unchanged = "@font-face{font-family:y;src:url(data:font/woff2;base64,AAAA)}"
    assert drop_fetched_fonts(f"{unchanged}@font-face{{font-family:x;src:url(x.woff)}}p{{}}") == f"{unchanged}p{{}}"
