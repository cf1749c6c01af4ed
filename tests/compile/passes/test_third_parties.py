"""third-parties: scripts of other sites wait for a visitor, and players until they are touched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tests.sites.shown import URL
from tests.sites.small import SmallSite
from tests.waiting import PATIENCE

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.tab import Tab
from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.rewrite import PageResult

T = TypeVar("T")
HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
OPTIONS = {"hosts": ["stats.example", "chat.example"], "frames": ["video.example/embed/", "youtube.com/embed/"]}


def rewritten(body: str, **files: str) -> PageResult:
    site = SmallSite({"index.html": HEAD + body, **{name.replace("_", "."): text for name, text in files.items()}})
    return site.rewrite(steps=(Step(BY_NAME["third-parties"], OPTIONS),), promise="words")


def said(result: PageResult) -> list[tuple[str, str]]:
    return [(action.verb, action.subject) for action in result.actions]


def in_tab(program: str, server: Server, act: Callable[[Tab], Awaitable[T]]) -> T:
    """Open the page, which a visitor does nothing with yet, and return what ``act`` sees."""

    async def work(browser: Chromium) -> T:
        async with browser.tab(server, 400, 300, is_drawn=True) as tab:
            await tab.open(URL)
            await tab.advance(10)
            return await act(tab)

    return in_chromium(program, work)


# ---- scripts


def test_a_script_that_comes_when_it_likes_is_held() -> None:
    result = rewritten("<script async src=https://www.stats.example/s.js data-site=7></script><p>x")
    assert said(result) == [("held", "www.stats.example")]
    text = (result.content or b"").decode()
    held = "<script type=adaptc-held data-held=https://www.stats.example/s.js async data-site=7></script>"
    assert text.index("mousemove") < text.index(held)


STUB = (
    "<script>window.plausible = window.plausible || function () { (plausible.q = plausible.q || []).push(arguments) }"
)


@pytest.mark.parametrize(
    ("body", "is_held"),
    [
        ("<script defer src=https://plausible.io/js/script.js></script><p>x", True),
        (f"<script defer src=https://plausible.io/js/script.js></script>{STUB}; plausible('x')</script>", True),
        ("<script defer src=https://plausible.io/js/script.js></script><a onclick=\"plausible('x')\">x</a>", False),
        ("<script defer src=https://plausible.io/js/script.js></script><script src=own.js></script>", False),
        ("<script src=https://static.zdassets.com/ekr/snippet.js?key=a></script><p>x", True),
        ("<script src=https://static.zdassets.com/ekr/snippet.js></script><script>zE('hide')</script>", False),
        ("<script src=https://static.zdassets.com/ekr/snippet.js></script><script>onclick = window.zE</script>", False),
    ],
)
def test_a_script_waits_if_the_page_does_not_use_what_it_is_known_to_define(body: str, is_held: bool) -> None:
    site = SmallSite({"index.html": HEAD + body, "own.js": "onclick = () => window.plausible('x')"})
    options = {"hosts": ["plausible.io", "zdassets.com"], "frames": []}
    result = site.rewrite(steps=(Step(BY_NAME["third-parties"], options),), promise="words")
    assert [action.verb for action in result.actions] == ["held" if is_held else "kept"]


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("<script src=https://stats.example/s.js></script><script>track()</script>", ["stats.example"]),
        ("<script defer src=https://stats.example/s.js></script><script>track()</script>", ["stats.example"]),
        ("<script async src=https://other.example/s.js></script>", []),
        ("<script async src=https://notstats.example/s.js></script>", []),
        ("<script async src=own.js></script>", []),
        ("<noscript><script async src=https://stats.example/s.js></script></noscript>", []),
    ],
)
def test_what_the_page_may_rely_on_runs_at_once(body: str, kept: list[str]) -> None:
    result = rewritten(body, own_js="1")
    assert result.content is None
    assert said(result) == [("kept", host) for host in kept]


def test_a_policy_keeps_the_page_as_it_is() -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'self' stats.example\">"
    result = rewritten(policy + "<script async src=https://stats.example/s.js></script>")
    assert result.content is None
    assert said(result) == [("kept", "page")]


# What the other site's scripts do: they say when they ran, and what they saw
WAYS = [
    "head.append(s)",
    "head.prepend('text', s)",
    "scripts[0].before(s)",
    "scripts[0].after(s)",
    "head.appendChild(s)",
]


@pytest.mark.chromium
@pytest.mark.parametrize("way", WAYS)
def test_what_a_script_inserts_waits_in_whatever_way(chromium: str, way: str) -> None:
    body = f"""<p>x<script>const s = document.createElement('script'), bad = s.cloneNode()
    s.src = 'https://chat.example/c.js'; bad.src = 'https://'; document.head.append(bad); document.{way}</script>"""
    content, asked = rewritten(body).content or b"", list[str]()

    def server(url: str) -> Answer | None:
        asked.append(url)
        return Answer(content, "text/html") if url == URL else Answer(b"told = 1", "text/javascript")

    async def act(tab: Tab) -> tuple[bool, object]:
        before = "https://chat.example/c.js" in asked
        await tab.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 20, "y": 20})
        await tab.idle(10)
        await tab.advance(10)
        told = await tab.send("Runtime.evaluate", {"expression": "globalThis.told"})
        return before, told["result"].get("value")

    assert in_tab(chromium, server, act) == (False, 1)


TOLD = """(globalThis.told ??= []).push('{name}:' + (document.currentScript.dataset.site ?? ''))
for (const [target, type] of [[document, 'DOMContentLoaded'], [window, 'load'], [document, 'click']])
  target.addEventListener(type, (event) => told.push('{name} ' + event.type))
"""
PAGE = """<button>B</button><script>
var s = document.createElement('script'), first = document.scripts[0]
s.src = 'https://chat.example/c.js'
first.parentNode.insertBefore(s, first)
document.addEventListener('DOMContentLoaded', () => document.body.append('ready'))
document.addEventListener('click', () => document.body.append('clicked'))
</script><script async src=https://stats.example/s.js data-site=7></script>"""


@pytest.mark.chromium
@pytest.mark.parametrize("sign", ["click", "scroll", "key", "move", "none"])
def test_it_runs_once_a_visitor_does_something(chromium: str, sign: str) -> None:
    content = rewritten(PAGE).content
    asked: list[str] = []

    def server(url: str) -> Answer | None:
        asked.append(url)
        if url == URL:
            return Answer(content or b"", "text/html")
        name = url.removeprefix("https://").partition(".")[0]
        return Answer(TOLD.replace("{name}", name).encode(), "text/javascript") if url.endswith(".js") else None

    async def act(tab: Tab) -> tuple[list[str], list[str], str]:
        before = list(asked)
        mouse = {"x": 20, "y": 20, "button": "left", "clickCount": 1}
        if sign == "click":
            for kind in ("mousePressed", "mouseReleased"):
                await tab.send("Input.dispatchMouseEvent", {"type": kind, **mouse})
        elif sign == "scroll":
            await tab.run("() => window.dispatchEvent(new Event('scroll'))")
        elif sign == "key":
            await tab.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Tab", "code": "Tab"})
        elif sign == "move":
            await tab.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 20, "y": 20})
        await tab.idle(10)
        await tab.advance(10)
        told = (await tab.send("Runtime.evaluate", {"expression": "(globalThis.told ?? []).join()"}))["result"]["value"]
        return before, told.split(",") if told else [], await tab.run("() => document.body.innerText")

    before, told, text = in_tab(chromium, server, act)
    assert not any(url.endswith(".js") for url in before)
    assert "ready" in text
    if sign == "none":
        assert told == []
        return
    assert {"stats:7", "chat:", "stats DOMContentLoaded", "stats load", "chat load"} <= set(told)
    assert told.count("stats load") == told.count("stats:7") == 1
    assert ("stats click" in told, "clicked" in text) == (sign == "click", sign == "click")
    assert text.count("ready") == 1  # the page's own listeners hear nothing twice
    assert text.count("clicked") <= 1


# ---- frames


def test_a_player_shows_its_title_until_it_is_touched() -> None:
    result = rewritten('<iframe src="https://www.youtube.com/embed/x?rel=0" title="A &lt;film>" width=560></iframe>')
    assert said(result) == [("held", "www.youtube.com")]
    text = (result.content or b"").decode()
    assert "srcdoc=" in text
    assert "https://www.youtube.com/embed/x?rel=0&amp;autoplay=1" in text
    assert "A &amp;lt;film>" in text


@pytest.mark.parametrize(
    "body",
    [
        "<iframe src=https://www.youtube.com/embed/x?enablejsapi=1></iframe>",
        "<iframe src=https://www.youtube.com/embed/x?autoplay=1&amp;mute=1></iframe>",
        "<iframe src=https://www.youtube.com/embed/x sandbox=allow-scripts></iframe>",
        "<iframe src=https://www.youtube.com/watch srcdoc=x></iframe>",
        "<iframe src=https://other.example/embed/x></iframe>",
        "<iframe id=film src=https://video.example/embed/x></iframe><script>play(document.getElementById('film'))</script>",
        "<iframe src=https://video.example/embed/x></iframe><script>connect('https://video.example/')</script>",
    ],
)
def test_other_frames_load_at_once(body: str) -> None:
    assert rewritten(body).content is None


@pytest.mark.chromium
def test_a_touched_player_loads_in_its_frame(chromium: str) -> None:
    content = rewritten("<iframe src=https://video.example/embed/x width=300 height=150 title=Film></iframe>").content
    asked: list[str] = []

    def server(url: str) -> Answer | None:
        asked.append(url)
        return Answer(content or b"", "text/html") if url == URL else Answer(b"<p>playing", "text/html")

    async def act(tab: Tab) -> tuple[list[str], int]:
        before, width = list(asked), await tab.run("() => document.querySelector('iframe').offsetWidth")
        mouse = {"x": 100, "y": 60, "button": "left", "clickCount": 1}
        async with asyncio.timeout(PATIENCE):
            while not any(url.startswith("https://video.example/") for url in asked):
                for kind in ("mousePressed", "mouseReleased"):
                    await tab.send("Input.dispatchMouseEvent", {"type": kind, **mouse})
                await asyncio.sleep(0.1)
        return before, width

    before, width = in_tab(chromium, server, act)
    assert before == [URL]
    assert width == 304
    assert "https://video.example/embed/x" in asked
