"""unembed: what a page loads besides text and images becomes a link, or is removed."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
STEPS = (Step(BY_NAME["unembed"], {}),)
FILES = dict.fromkeys(("f.html", "v.mp4", "p.svg", "i.ico", "a.png", "s.svg", "m.json", "b.html", "v.png"), "x")


def made(body, head=""):
    site = SmallSite({"index.html": f"{HEAD}{head}<body><p>text{body}", **FILES})
    done = site.rewrite(steps=STEPS, promise="article")
    assert not done.demoted, done.diagnostics
    text = (site.contents["index.html"] if done.content is None else done.content).decode()
    return text.partition("<p>text")[2] if body else text


@pytest.mark.parametrize(
    ("embedded", "link"),
    [
        ("<iframe src=f.html title='Our map'></iframe>", "<a href=f.html>Our map</a>"),
        ("<iframe src=https://x.example/v/1></iframe>", "<a href=https://x.example/v/1>1</a>"),
        ("<video controls poster=v.png src=v.mp4></video>", "<a href=v.mp4>v.mp4</a>"),
        ("<audio><source src=v.mp4 type=audio/mp4></audio>", "<a href=v.mp4>v.mp4</a>"),
        ("<embed src=p.svg title=Plan>", "<a href=p.svg>Plan</a>"),
        ("<object data=p.svg type=image/svg+xml></object>", "<a href=p.svg>p.svg</a>"),
        ("<object data=p.svg><param name=x><b>A plan</b></object>", "<b>A plan</b>"),
        ("<iframe id=m src=f.html></iframe>", "<a href=f.html>f.html</a><span id=m></span>"),
        ("<object data=p.svg><p>A plan</p></object>", "<a href=p.svg>p.svg</a>"),
        ("<a href=b.html><video controls src=v.mp4></video><b>Film</b></a>", "<a href=b.html><b>Film</b></a>"),
        ("<a href=b.html><video controls src=v.mp4></video></a>", "<a href=b.html>v.mp4</a>"),
        ("<object data=x.swf><embed src=x.swf></object>", "<a href=x.swf>x.swf</a>"),
    ],
)
def test_a_link_leads_to_what_was_embedded(embedded, link):
    if "x.swf" in embedded:
        FILES["x.swf"] = "x"
    assert made(embedded) == link


@pytest.mark.parametrize(
    "embedded",
    [
        "<video autoplay muted loop src=v.mp4></video>",
        "<iframe src=https://t.example/p width=0 height=0></iframe>",
        "<iframe src=about:blank></iframe>",
        "<iframe></iframe>",
        "<svg><use href=s.svg#x></use></svg>",
    ],
)
def test_what_has_no_content_is_removed(embedded):
    assert made(embedded) == ""


@pytest.mark.parametrize("kept", ["<img src=a.png>", "<svg><use href=#x></use></svg>"])
def test_images_and_drawings_of_the_page_stay(kept):
    assert made(kept) == kept


def test_a_frame_with_its_own_text_loads_and_runs_nothing():
    inner = (
        "<link rel=stylesheet href=a.css><script src=a.js></script><p style='background:url(a.png)'>text"
        "<img src=a.png alt='A tree'><iframe src=f.html></iframe>"
    )
    assert made(f'<iframe srcdoc="{inner}"></iframe>') == '<iframe sandbox srcdoc="<p>textA tree"></iframe>'


def test_icons_and_hints_go_and_no_icon_is_asked_for():
    head = (
        "<link rel='shortcut icon' href=i.ico><link rel=apple-touch-icon href=a.png><link rel=manifest href=m.json>"
        "<link rel=preconnect href=//x.example><link rel=preload as=image href=a.png>"
    )
    kept = (
        "<link rel=canonical href=index.html><link rel=next href=b.html><link rel='alternate' hreflang=ja href=b.html>"
    )
    text = made("", head + kept)
    assert text.startswith(HEAD + "<link rel=icon href=data:,>" + kept)


def test_a_page_without_an_icon_stays():
    assert made("", "<link rel=next href=b.html>") == f"{HEAD}<link rel=next href=b.html><body><p>text"


def test_actions_are_reported():
    site = SmallSite({"index.html": f"{HEAD}<body><p>text<iframe src=f.html></iframe>", "f.html": ""})
    done = site.rewrite(steps=STEPS, promise="article")
    assert [(action.verb, action.subject) for action in done.actions] == [("linked", "f.html")]
