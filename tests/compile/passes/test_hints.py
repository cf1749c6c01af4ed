"""hints: what a hint names is either loaded by the page as well, or left to a script that may load it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.rewrite import PageResult
from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
SHEET = "b{margin:0 1px 2px 3px}i{padding:4px 5px 6px 7px}@font-face{font-family:F;src:url(f.woff2)}"
FILES = {"a.css": SHEET, "a.js": "var first = 1", "m.js": "export const m = 1", "f.woff2": "font", "next.html": "x"}


def result_of(
    body: str, readers: str, names: Iterable[str] = ("inline-styles", "inline-scripts", "hints")
) -> PageResult:
    site = SmallSite({"index.html": HEAD + body, **FILES}, settings=Settings(crowd_limit=5000))
    return site.rewrite(steps=tuple(Step(BY_NAME[name], {"readers": readers}) for name in names), promise="words")


def rewritten(body: str, readers: str = "crowd") -> str:
    content = result_of(body, readers).content
    return HEAD + body if content is None else content.decode()


@pytest.mark.parametrize("readers", ["visitors", "crowd"])
@pytest.mark.parametrize(
    ("hint", "element"),
    [
        ("<link rel=preload as=style href=a.css>", "<link rel=stylesheet href=a.css>"),
        ("<link rel=preload as=script href=a.js>", "<script src=a.js></script>"),
        ("<link rel=prefetch href=a.css>", "<link rel=stylesheet href=a.css>"),
    ],
)
def test_the_preload_of_what_is_in_the_page_goes(readers: str, hint: str, element: str) -> None:
    assert "<link" not in rewritten(hint + element, readers)
    assert hint in rewritten(hint, readers) or readers == "crowd"


@pytest.mark.parametrize(
    "body",
    [
        "<link rel=preload as=font href=f.woff2 crossorigin><link rel=stylesheet href=a.css>",
        "<link rel=modulepreload href=m.js><script type=module>import './m.js'</script>",
        "<link rel=preload as=script href=a.js><script>load('a.' + 'js')</script>",
        "<link rel=preload as=fetch href=next.html>",
    ],
)
def test_the_preload_of_what_is_still_loaded_or_may_be_stays(body: str) -> None:
    assert body.partition(">")[0] in rewritten(body)


def test_a_hint_for_the_next_page_stays_for_visitors() -> None:
    hint = "<link rel=prefetch href=next.html>"
    assert hint not in rewritten(hint)
    assert hint in rewritten(hint, "visitors")


def test_a_connection_is_opened_for_what_is_loaded() -> None:
    hint = "<link rel=preconnect href=https://fonts.gstatic.com>"
    fonts = "<link rel=stylesheet href='https://fonts.googleapis.com/css?family=A'>"
    unseen = "<script src=https://elsewhere.example/x.js></script>"
    other = "<link rel=dns-prefetch href=//cdn.example>"
    assert "preconnect" not in rewritten(hint) + rewritten(hint + unseen)
    assert "preconnect" in rewritten(hint + fonts)
    assert "preconnect" in rewritten(hint, "visitors")
    assert "dns-prefetch" not in rewritten(other)
    assert "dns-prefetch" in rewritten(other + unseen)
    assert "dns-prefetch" in rewritten(other + "<img src=//cdn.example/a.png>")


def test_hints_count_as_what_a_page_loads() -> None:
    done = result_of("<link rel=modulepreload href=m.js><link rel=stylesheet href=a.css>", "crowd")
    assert done.embeds == ("m.js", "f.woff2")
