"""What a visitor does wakes the held scripts of a page, which then see it as if they had been there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.samples.material import BUNDLE, BUNDLE_PATH, material_page
from tests.samples.material import TABS as SET_OF_TABS
from tests.samples.prerendered import ARTICLE, FILES, page
from tests.sites.shown import URL, site
from tests.sites.small import SmallSite
from tests.waiting import PATIENCE

from adaptc.browser.answers import Answer
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import PageEvidence
from adaptc.browser.tab import Tab
from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.formats.html.document import parse

# The application says what it sees, in order
TELL = "globalThis.told ??= []; const tell = (what) => told.push(what);"
APP = f"""{TELL} tell('deferred ' + globalThis.early)
scrollTo(0, 0)
document.body.firstElementChild.scrollIntoView()
let isHydrated = false
const hydrate = () => {{
  if (!isHydrated) scrollTo(0, 0)
  isHydrated = true
}}
for (const type of ['click', 'touchcancel']) document.addEventListener(type, hydrate, true)
document.addEventListener('DOMContentLoaded', () => tell('ready'))
addEventListener('load', () => tell('load'))
setTimeout(() => {{
  const start = document.querySelector('#start')
  tell(start.disabled ? 'disabled' : 'enabled')
  start.disabled = false
  document.querySelector('input').value = ''
  for (const type of ['pointerdown', 'mousedown', 'mouseup', 'click']) start.addEventListener(type, () => tell(type))
  addEventListener('keydown', ({{key}}) => {{
    tell('key ' + key)
    if (key !== 'k') return
    const field = document.querySelector('input')
    field.value = ''
    setTimeout(() => field.focus(), 50)
  }})
  document.querySelector('input').addEventListener('input', ({{target}}) => tell('typed ' + target.value))
  for (const type of ['focus', 'focusin']) document.querySelector('input').addEventListener(type, () => tell(type))
  document.querySelector('[aria-haspopup]').addEventListener('mouseenter', () => tell('over'))
  document.querySelector('.replaced').outerHTML = '<button class=replaced onclick="told.push(\\'new\\')">R</button>'
  document.querySelector('.moved').outerHTML = '<i></i><button class=moved>V</button>'
  document.querySelector('.moved').addEventListener('click', () => tell('moved'))
  const inner = document.querySelector('x-box').shadowRoot.querySelector('a')
  inner.addEventListener('click', (event) => tell('inner'))
  document.addEventListener('click', () => {{}})
}}, 30)
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
"""
STYLE = (
    "<style>button,a,input,p,span,x-box{position:fixed;left:0;width:90px;height:20px;font:9px Arial}p{margin:0}</style>"
)
PLACES = ("#start", "a[href]", "input", ".menu", ".replaced", "p.words", "x-box", ".moved")
CONTROLS = (
    "<div style='height:5000px'></div>"
    "<button id=start disabled>S</button><a href=#there>L</a><input aria-expanded=false>"
    "<span class=menu aria-haspopup=menu>M</span>"
    "<button class=replaced>R</button><p class=words role=document tabindex=-1>W</p>"
    "<x-box><template shadowrootmode=open><a role=button style='display:block;line-height:20px' href=https://other.example/>I</a></template></x-box>"
    "<button class=moved>V</button>"
)
PAGE = page(
    f"<div id=__docusaurus>{ARTICLE}{CONTROLS}</div><script>globalThis.early = 1</script>",
    STYLE
    + "".join(f"<style>{name}{{top:{20 * number}px}}</style>" for number, name in enumerate(PLACES))
    + "<script type=module>import '/assets/js/runtime~main.662a6ade.js'</script>"
    + "<script src=/_next/static/chunks/polyfills-42372ed130431b0a.js nomodule></script>"
    + "<script src=/assets/js/main.75c38abc.js defer></script>",
)


def built() -> bytes:
    files = {"index.html": PAGE, **FILES, "assets/js/main.75c38abc.js": APP}
    step = Step(BY_NAME["prerendered"], {"hydration": "drop"})
    content = SmallSite(files).rewrite(steps=(step,), promise="words").content
    assert content is not None
    return content


async def act(tab: Tab, place: str, kind: str) -> None:
    mouse = {"x": 30, "y": 20 * PLACES.index(place) + 10, "pointerType": "mouse"}
    await tab.send("Input.dispatchMouseEvent", {"type": "mouseMoved", **mouse})
    if kind == "move":
        return
    if kind == "arrow":
        await tab.run("() => document.querySelector('p.words').focus()")
        await tab.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": "ArrowDown", "code": "ArrowDown"})
        return
    if kind == "shortcut":
        await tab.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": "k", "code": "KeyK", "modifiers": 2})
        for key in "ab":
            await tab.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, "text": key})
        return
    for type_ in ("mousePressed", "mouseReleased"):
        await tab.send("Input.dispatchMouseEvent", {"type": type_, "button": "left", "clickCount": 1, **mouse})
    if kind == "type":
        await tab.send("Input.insertText", {"text": "ab"})


async def told_in(tab: Tab) -> list[str]:
    result = await tab.send("Runtime.evaluate", {"expression": "(globalThis.told ?? []).join()"})
    return [each for each in result["result"]["value"].split(",") if each]


@pytest.mark.chromium
@pytest.mark.parametrize(
    ("place", "kind", "seen"),
    [
        ("#start", "click", "pointerdown mousedown mouseup click"),
        (".replaced", "click", "new"),
        (".moved", "click", "moved"),
        (".menu", "move", "over"),
        ("x-box", "click", "inner"),
        ("input", "type", "typed ab"),
        ("input", "type", "focus"),
        ("input", "type", "focusin"),
        ("a[href]", "shortcut", "key k"),
        ("a[href]", "shortcut", "typed ab"),
        ("p.words", "click", ""),
        ("a[href]", "click", None),
        ("p.words", "move", None),
        ("p.words", "arrow", None),
    ],
)
def test_what_a_visitor_does_is_repeated(chromium: str, place: str, kind: str, seen: str | None) -> None:
    files = {"assets/js/main.75c38abc.js": APP, "assets/js/runtime~main.662a6ade.js": "globalThis.module = 1"}
    server, asked = site({"index.html": built(), **files}), list[str]()

    def answer(url: str) -> Answer | None:
        asked.append(url)
        return server(url.partition("#")[0])

    async def work(browser: Chromium) -> tuple[list[str], list[str], list[Any]]:
        async with browser.tab(answer, 400, 300, is_drawn=True) as tab:
            await tab.open(URL)
            await tab.advance(10)
            before = list(asked)
            await tab.run("() => { scrollTo(0, 700) }")
            await act(tab, place, kind)
            told: list[str] = []
            async with asyncio.timeout(PATIENCE):
                while True:
                    await tab.idle(10)
                    await tab.advance(10)
                    told = await told_in(tab)
                    wanted = [] if seen is None else ["disabled", *(seen.split(" ") if place == "#start" else [seen])]
                    if set(wanted) <= {*told, ""}:
                        break
            state = await tab.run("() => [location.hash, scrollY, document.activeElement.id, String(scrollTo)]")
            return before, told, state

    before, told, (fragment, top, focused, scroll) = in_chromium(chromium, work)
    assert before == [URL]
    if seen is None:
        assert (asked, told) == ([URL], [])
        assert fragment == ("#there" if place == "a[href]" else "")
        return
    assert told[0] == "deferred 1"
    assert (top, "native code" in scroll) == (700, True)
    assert {"ready", "load", "disabled"} <= set(told)
    if place == "#start":
        assert told[-4:] == seen.split(" ")
        assert focused == "start"


# Notes what the page has as the application starts: its own markup, as high as before
FILLING = f"""{TELL} const place = document.querySelector('PLACE'), bodies = document.querySelectorAll('body')
tell([place.children.length, bodies.length, bodies[0].style.opacity || 1, place.style.minHeight != ''])
const sheet = document.head.appendChild(document.createElement('style'))
sheet.textContent = 'p{{color:red}}'
setTimeout(() => {{ place.innerHTML = '<p>Wait' }}, 30)
setTimeout(() => {{ place.innerHTML = WRITTEN }}, 300)
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
{FILES["assets/js/main.75c38abc.js"][::-1].join(["//", ""])}
"""


@pytest.mark.chromium
@pytest.mark.parametrize(
    ("start", "place", "told"), [(ARTICLE, "section", ["0", "1", "1", "true"]), ("", "#root", ["0", "1", "1", "true"])]
)
def test_what_scripts_write_is_shown_until_they_run(chromium: str, start: str, place: str, told: list[str]) -> None:
    items, script = (
        f"<p>Ark<p>Beagle<p>© 2023 Fleet{'' if start else ARTICLE}",
        "<script src=/assets/js/main.75c38abc.js defer></script>",
    )
    body = f"<div id=__docusaurus>{start}<section>%s</section></div>" if start else "<div id=root>%s</div>"
    text, seen = (page(body % each, extra) for each, extra in (("", script), (items, "<style>p{color:red}</style>")))
    code = FILLING.replace("PLACE", place).replace("WRITTEN", repr(items))
    files = {"index.html": text, **FILES, "assets/js/main.75c38abc.js": code}
    evidence = {"index.html": PageEvidence((), "ab12", written="ab12")}
    step = Step(BY_NAME["prerendered"], {"hydration": "drop"})
    small = SmallSite(files, evidence=evidence, documents={"ab12": seen})
    content = small.rewrite(steps=(step,), promise="words").content
    assert content is not None

    async def work(browser: Chromium) -> list[Any]:
        server = site({"index.html": content, "assets/js/main.75c38abc.js": code})
        async with browser.tab(server, 400, 300, is_drawn=True) as tab:
            await tab.open(URL)
            first = await tab.run("() => document.body.innerText.includes('Beagle')")
            shown = await tab.picture()
            await tab.run("() => { dispatchEvent(new Event('adaptc-later')) }")
            async with asyncio.timeout(PATIENCE):
                while not (found := await told_in(tab)) or not await tab.run(
                    "() => document.body.innerText.includes('Beagle') && !document.querySelector('[style*=height]')"
                ):
                    assert await tab.picture() == shown  # neither nothing nor twice, at any time
                    await tab.advance(1)
            assert await tab.picture() == shown
            last = await tab.run("() => document.body.innerText.match(/Beagle|© 2023 Fleet/g).length")
            return [first, found, last, await tab.run("() => document.querySelectorAll('style').length")]

    assert in_chromium(chromium, work) == [True, told, 2, 1]


# A field as React has it: emptied as it hydrates, later than the page listens, and at keys unless it heard of its text
CONTROLLED = f"""{TELL} document.addEventListener('input', () => {{}})
setTimeout(() => {{
  const field = document.querySelector('input')
  let known = field.value = ''
  field.addEventListener('keydown', () => {{ field.value = known }})
  field.addEventListener('input', () => {{ known = field.value }})
  tell('hydrated')
}}, 400)
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
"""


@pytest.mark.chromium
def test_letters_are_kept_that_are_typed_while_a_field_is_hydrated(chromium: str) -> None:
    text = page(
        f"<div id=__docusaurus>{ARTICLE}<input></div>", "<script src=/assets/js/main.75c38abc.js defer></script>"
    )
    files = {"index.html": text, **FILES, "assets/js/main.75c38abc.js": CONTROLLED}
    step = Step(BY_NAME["prerendered"], {"hydration": "drop"})
    content = SmallSite(files).rewrite(steps=(step,), promise="words").content
    assert content is not None

    async def work(browser: Chromium) -> Any:
        server = site({"index.html": content, "assets/js/main.75c38abc.js": CONTROLLED})
        async with browser.tab(server, 400, 300, is_drawn=True) as tab:
            await tab.open(URL)
            await tab.run("() => { document.querySelector('input').focus() }")
            for letter in "abcdefgh":
                await tab.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": letter, "text": letter})
                await tab.idle(10)
                await tab.advance(2)
            async with asyncio.timeout(PATIENCE):
                while not await told_in(tab) or not await tab.run("() => document.querySelector('input').value"):
                    await tab.advance(2)
            return await tab.run("() => document.querySelector('input').value")

    assert in_chromium(chromium, work) == "abcdefgh"


# Nobody listens to one of its buttons
UNSERVED = f"""{TELL} tell('awake')
document.querySelector('#live').addEventListener('click', () => {{
  scrollTo(0, 300)
  tell('live at ' + scrollY)
}})
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
"""


async def press(tab: Tab, y: float, x: float = 30) -> None:
    mouse = {"x": x, "y": y, "button": "left", "clickCount": 1, "pointerType": "mouse"}
    for type_ in ("mousePressed", "mouseReleased"):
        await tab.send("Input.dispatchMouseEvent", {"type": type_, **mouse})


def fixed(content: str, rules: str) -> str:
    """A page with buttons at its top, the one with the id "live" below the others."""
    style = f"<style>button{{position:fixed;left:0;top:0;width:90px;height:20px}}#live{{top:30px}}{rules}</style>"
    script = "<script src=/assets/js/main.75c38abc.js defer></script>"
    return page(f"<div id=__docusaurus>{ARTICLE}{content}</div>", style + script)


def after_waking(chromium: str, text: str, code: str, work: Callable[[Tab], Awaitable[list[str]]]) -> list[str]:
    """Return what ``work`` finds once a press near the top of a page has woken ``code``."""
    files = {"index.html": text, **FILES, "assets/js/main.75c38abc.js": code}
    step = Step(BY_NAME["prerendered"], {"hydration": "drop"})
    content = SmallSite(files).rewrite(steps=(step,), promise="words").content
    assert content is not None

    async def pressed(browser: Chromium) -> list[str]:
        server = site({"index.html": content, "assets/js/main.75c38abc.js": code})
        async with browser.tab(server, 400, 300, is_drawn=True) as tab:
            await tab.open(URL)
            await press(tab, 10)
            async with asyncio.timeout(PATIENCE):
                while not await told_in(tab):
                    await tab.advance(1)
            return await work(tab)

    return in_chromium(chromium, pressed)


@pytest.mark.chromium
def test_a_button_that_nobody_serves_delays_no_other(chromium: str) -> None:
    text = fixed("<button id=dead>D</button><button id=live>L</button><p class=tall>", ".tall{height:3000px}")

    async def work(tab: Tab) -> list[str]:
        await tab.advance(6)
        await press(tab, 40)
        return await told_in(tab)

    assert after_waking(chromium, text, UNSERVED, work) == ["awake", "live at 300"]


# Nobody listens to a heading, but the page does as soon as a button was pressed
OUTSIDE = f"""{TELL} tell('awake')
document.querySelector('#live').addEventListener('click', () => {{
  tell('opened')
  document.addEventListener('click', ({{target}}) => target.matches('h1') && tell('closed'))
}})
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
"""


@pytest.mark.chromium
def test_a_press_on_a_heading_is_not_repeated_after_a_later_one(chromium: str) -> None:
    text = fixed("<button id=live>L</button>", "h1{position:fixed;left:0;top:0;margin:0;width:90px;height:20px}")

    async def work(tab: Tab) -> list[str]:
        await tab.advance(20)
        await press(tab, 40)
        await tab.advance(20)
        return await told_in(tab)

    assert after_waking(chromium, text, OUTSIDE, work) == ["awake", "opened"]


# What scripts find as they start is what they left there
FOUND = f"""{TELL} tell(document.querySelector('#__app').innerHTML)
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
"""


@pytest.mark.chromium
@pytest.mark.parametrize("is_hidden", [False, True])
def test_scripts_find_the_markup_without_what_they_write(chromium: str, is_hidden: bool) -> None:
    style = "<style>.few{display:none}</style>" * is_hidden
    own = f"{ARTICLE}<p class=bar hidden>Bar</p><ul><li>One</li></ul><div class=few><p>Wait</p></div>"
    after = (
        f"{ARTICLE}<p class='bar on' title=B>Bar</p><b>New</b><ul><li>One</li><li>Two</li></ul>"
        "<div class=few><i>Few words</i></div>"
    )
    script = "<script src=/assets/js/main.75c38abc.js defer></script>"
    text, seen = (page(f"<div id=__app>{each}</div>", style + extra) for each, extra in ((own, script), (after, "")))
    files = {"index.html": text.replace("<div id=__app>", "<div id=__app data-server-rendered=true>"), **FILES}
    seen = seen.replace("<div id=__app>", "<div id=__app data-server-rendered=true>")
    small = SmallSite(
        {**files, "assets/js/main.75c38abc.js": FOUND},
        evidence={"index.html": PageEvidence((), "ab12", written="ab12")},
        documents={"ab12": seen},
    )
    step = Step(BY_NAME["prerendered"], {"hydration": "drop"})
    content = small.rewrite(steps=(step,), promise="words").content
    assert content is not None and b"<li data-later-new>Two" in content and b"<b data-later-new>New" in content

    async def work(browser: Chromium) -> tuple[str, list[str], list[str]]:
        server = site({"index.html": content, "assets/js/main.75c38abc.js": FOUND})
        async with browser.tab(server, 400, 300, is_drawn=True) as tab:
            await tab.open(URL)
            first = await tab.run("() => document.querySelector('.bar').className")
            await tab.run("() => { dispatchEvent(new Event('adaptc-later')) }")
            async with asyncio.timeout(PATIENCE):
                while not (found := await told_in(tab)):
                    await tab.advance(1)
            return first, found, await tab.run("() => [...document.querySelectorAll('.few')].map((e) => e.textContent)")

    first, (found,), shown = in_chromium(chromium, work)
    assert shown == ["Wait"] + ["Few words"] * (not is_hidden), "a copy of what was shown lies over it"
    assert first == "bar on" and parse(f"<div>{found}").select_one(".bar").attrs == {"class": ["bar"], "hidden": ""}
    assert [each.text for each in parse(f"<div>{found}").select("li, b, .few > *")] == ["One", "Wait"]


# A router that listens to the window, and then an application that does so, too, for its tabs (VitePress)
TABS = f"""{TELL} tell('awake')
addEventListener('click', () => {{}}, true)
setTimeout(() => {{
  document.querySelector('button').addEventListener('click', () => tell('pressed'))
  addEventListener('click', ({{target}}) => target.matches('[type=radio]') && tell('tab ' + target.id))
}}, 30)
{FILES["assets/js/main.75c38abc.js"].replace("run", "String")}
"""


@pytest.mark.chromium
def test_a_tab_is_shown_as_soon_as_the_application_listens_to_the_window(chromium: str) -> None:
    style = "<style>label,button{position:fixed;left:0;top:0;width:90px;height:20px}button{top:30px}</style>"
    tabs = "<input type=radio name=t id=one checked><input type=radio name=t id=two><label for=two>Two</label>"
    text = page(
        f"<div id=__docusaurus>{ARTICLE}{tabs}<button>B</button></div>",
        style + "<script src=/assets/js/main.75c38abc.js defer></script>",
    )

    async def work(tab: Tab) -> list[str]:
        await tab.advance(20)  # a second, where all is tried again after five
        return await told_in(tab)

    assert after_waking(chromium, text, TABS, work) == ["awake", "tab two"]


COUNTED = (
    ".md-typeset__scrollwrap",
    ".md-code__nav",
    "style[data-later]",
    ".md-option + label:not([hidden])",
    ".md-sidebar__scrollwrap[style]",
    ".tabbed-labels--linked > label > a",
    "a a",
)
STATE = f"""JSON.stringify([document.documentElement.className, globalThis.copied ?? '',
...{list(COUNTED)}.map((selector) => document.querySelectorAll(selector).length)])"""


def material_that_waits() -> bytes:
    """Return a page of Material whose bundle waits."""
    seen = {"index.html": PageEvidence((), is_same_without_scripts=True)}
    small = SmallSite({"index.html": material_page(SET_OF_TABS), BUNDLE_PATH: BUNDLE}, evidence=seen)
    content = small.rewrite(steps=(Step(BY_NAME["prerendered"], {"hydration": "drop"}),), promise="words").content
    assert content is not None
    return content


BAR = """(y) => new Promise((resolve) => {
  scrollTo(0, y)
  const bar = document.querySelector('.md-sidebar__scrollwrap')
  const seen = () => resolve([scrollY, bar.offsetHeight, Math.round(bar.scrollTop)])
  requestAnimationFrame(() => requestAnimationFrame(seen))
})"""


@pytest.mark.chromium
def test_the_side_bar_of_material_is_as_high_as_by_its_bundle_wherever_a_reader_is(chromium: str) -> None:
    async def bars(browser: Chromium, content: bytes | str) -> list[list[int]]:
        async with browser.tab(site({"index.html": content, BUNDLE_PATH: BUNDLE}), 1280, 600, is_drawn=True) as tab:
            await tab.open(URL)
            return [await tab.run(BAR, y) for y in (0, 10, 300, 9000, 0)]

    async def work(browser: Chromium) -> tuple[list[list[int]], list[list[int]]]:
        return await bars(browser, material_page(SET_OF_TABS)), await bars(browser, material_that_waits())

    by_bundle, waiting = in_chromium(chromium, work)
    assert len({tuple(each) for each in by_bundle}) > 3
    assert waiting == by_bundle


CENTRE = """(selector) => {
  const {x, y, width, height} = document.querySelector(selector).getBoundingClientRect()
  return [x + width / 2, y + height / 2]
}"""


async def use(tab: Tab, selector: str, *, touches: bool) -> None:
    """Press an element where the pointer was not before, so that the scripts start with it."""
    x, y = await tab.run(CENTRE, selector)
    if not touches:
        await press(tab, y, x)
        return
    await tab.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    await tab.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


async def evaluated(tab: Tab, expression: str) -> object:
    return (await tab.send("Runtime.evaluate", {"expression": expression}))["result"]["value"]


@pytest.mark.chromium
@pytest.mark.parametrize("touches", [True, False])
def test_a_click_on_a_button_that_stands_in_for_one_of_material_is_repeated_for_it(
    chromium: str, touches: bool
) -> None:
    server, asked = site({"index.html": material_that_waits(), BUNDLE_PATH: BUNDLE}), list[str]()

    def answer(url: str) -> Answer | None:
        asked.append(url)
        return server(url)

    async def work(browser: Chromium) -> tuple[object, list[str], object]:
        async with browser.tab(answer, 1280, 600, is_drawn=True) as tab:
            await tab.open(URL)
            before, first = await evaluated(tab, STATE), [url for url in asked if url.endswith(".js")]
            await use(tab, ".md-code__button", touches=touches)
            async with asyncio.timeout(PATIENCE):
                while "make" not in str(await evaluated(tab, STATE)):
                    await asyncio.sleep(0.02)
            return before, first, await evaluated(tab, STATE)

    before, first, after = in_chromium(chromium, work)
    assert (before, first) == ('["js","",1,1,1,1,0,2,0]', [])
    assert after == '["js","make",1,1,0,1,1,2,0]'


@pytest.mark.chromium
@pytest.mark.parametrize("touches", [True, False])
def test_a_press_on_a_tab_of_material_opens_it(chromium: str, touches: bool) -> None:
    """Its link stands in for that of the bundle, which opens the tab, and does so by itself."""

    async def work(browser: Chromium) -> tuple[object, object]:
        async with browser.tab(
            site({"index.html": material_that_waits(), BUNDLE_PATH: BUNDLE}), 1280, 600, is_drawn=True
        ) as tab:
            await tab.open(URL)
            await use(tab, "label[for=t2]", touches=touches)
            async with asyncio.timeout(PATIENCE):
                while not await evaluated(tab, "document.querySelector('#t2').checked"):
                    await asyncio.sleep(0.02)
            return await evaluated(tab, "location.hash"), await evaluated(tab, STATE)

    assert in_chromium(chromium, work) == ("#t2", '["js","",1,1,1,1,0,2,0]')
