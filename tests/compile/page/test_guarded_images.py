"""Images that show a copy, a placeholder or a data URI until a script gives them an address, in Chromium."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from tests.samples.drawn import photo_file
from tests.samples.seeds import seeds
from tests.sites.half import HalfSite
from tests.sites.shown import URL, side_by_side, site

from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.tab import Tab
from adaptc.compile.page.context import page_context
from adaptc.compile.page.guarded_images import GUARD, MARK, GuardedImages, defer_images
from adaptc.compile.page.placeholders import placeholder
from adaptc.formats.html.document import read_page
from adaptc.formats.html.edit import Editor

# Waits until an image has what it shows, and its events
# Pages have the answer to "what is shown" only where a script asks
SCRIPT = """<script>
window.asks = "currentSrc"
window.later = () => new Promise(done => setTimeout(done, 30))
window.shown = async i => { do await later(); while (!i.complete); await i.decode().catch(() => 0); await later() }
</script>"""
BODY = "<!doctype html><meta charset=utf-8><body>{script}<p class=album><img id=main name=main src=a.jpg></p>"
FILES = {"index.html": BODY.format(script=SCRIPT), "a.jpg": photo_file(), "b.jpg": photo_file(800, 600)}
FILES |= {"c.jpg": photo_file(500, 333)}
SVG = "xmlns='http://www.w3.org/2000/svg'"
SWAPPED = "await shown(i); return [i.naturalWidth, i.naturalHeight, i.width, i.getAttribute('src'), i.currentSrc]"
# What scripts do to an image ``i``, and what they then see
ACTS = {
    "looks": "return [i.naturalWidth, i.naturalHeight, i.width, i.src, i.currentSrc, i.complete]",
    "finds": "return ['[name=main]', '.album > img', 'img[src$=\".jpg\"]'].map(s => document.querySelector(s).id)",
    "sets": f"i.src = 'b.jpg'; {SWAPPED}",
    "sets the attribute": f"i.setAttribute('src', 'b.jpg'); {SWAPPED}",
    "sets it by a computed name": f"i['s' + 'rc'] = 'b.jpg'; {SWAPPED}",
    "sets it by its own name": f"document['main'].src = 'b.jpg'; {SWAPPED}",
    "takes it apart": f"i.src = i.src.replace('a.', 'b.'); {SWAPPED}",
    "takes apart what is shown": f"i.src = i.currentSrc.replace('a.', 'b.'); {SWAPPED}",
    "swaps and returns": f"i.src = 'b.jpg'; await shown(i); i.src = 'a.jpg'; {SWAPPED}",
    "swaps twice": f"i.src = 'b.jpg'; await shown(i); i.src = 'c.jpg'; {SWAPPED}",
    "has spaces": f"i.src = `data:image/svg+xml,<svg {SVG} width='70' height='50'/>`; {SWAPPED}",
    "removes": f"i.removeAttribute('src'); {SWAPPED}",
    "chooses": f"i.srcset = 'b.jpg 2x'; i.src = 'c.jpg'; {SWAPPED}",
    "offers": f"i.removeAttribute('sizes'); i.srcset = 'b.jpg 1x'; {SWAPPED}",
    "writes markup": (
        f"const p = i.parentNode; p.innerHTML = p.innerHTML.replace(/a.jpg/g, 'b.jpg'); i = p.firstChild; {SWAPPED}"
    ),
    "copies": f"const c = i.cloneNode(); c.src = 'b.jpg'; document.body.append(c); i = c; {SWAPPED}",
    "copies what is around": (
        "const c = i.parentNode.cloneNode(true); c.firstChild.src = 'b.jpg'; document.body.append(c);"
        f"i = c.firstChild; {SWAPPED}"
    ),
    "counts loads": "let n = 0; i.onload = () => n++; i.src = 'b.jpg'; await shown(i); return n",
    "learns of errors": "let n = 0; i.onerror = () => n++; i.src = 'none.jpg'; await shown(i); return [n, i.src]",
    "preloads": f"const o = new Image(); o.src = 'b.jpg'; await shown(o); i.src = o.src; {SWAPPED}",
}
# What an image has instead of its file
INSTEAD = ("copy", "data", "placeholder")


def guarded(instead: str) -> dict[str, str | bytes]:
    """Return the files of the page with other images."""
    pages = HalfSite(FILES)
    budget = {"budget": 60_000, "largest": 60_000} if instead == "data" else {}
    if instead != "placeholder":
        text = pages.page_text(**budget)
        return {**pages.contents, "index.html": text, **pages.made}
    page, view = read_page(pages.contents["index.html"]), pages.view()
    editor = Editor(page.text)
    images = GuardedImages(editor, page_context("index.html", page, editor.tree, view))
    images.show(next(editor.tree.iter_elements("img")), placeholder(400, 300).replace(" ", "%20"))
    images.finish()
    return {**pages.contents, "index.html": editor.apply().text}


async def in_page(tab: Tab, code: str) -> object:
    """Run code as a script of the page would."""
    options = {"expression": f"(async () => {{ {code} }})()", "awaitPromise": True, "returnByValue": True}
    reply = await tab.send("Runtime.evaluate", options)
    assert "exceptionDetails" not in reply, reply
    return reply["result"].get("value")


@pytest.mark.chromium
def test_scripts_see_and_do_what_they_did(chromium: str) -> None:
    versions = {"": FILES, **{each: guarded(each) for each in INSTEAD}}
    assert all(f"{MARK}=" in str(files["index.html"]) for files in list(versions.values())[1:])

    async def several(browser: Chromium, files: dict[str, str | bytes], names: Sequence[str]) -> dict[str, object]:
        """Each act begins with the page as it is loaded, without a cache."""
        found = {}
        async with browser.tab(site(files), 900, 600) as tab:
            for name in names:
                await tab.open(URL)
                begin = "let i = document.getElementById('main'); await shown(i);"
                found[name] = await in_page(tab, f"{begin} {ACTS[name]}")
        return found

    # the original, a copy, and one of the other two in turn; with ADAPTC_FUZZ both
    others = [[INSTEAD[1 + seed] for seed in seeds(number % 2) if seed < 2] for number in range(len(ACTS))]
    cases = [(name, version) for name, more in zip(ACTS, others, strict=True) for version in ("", "copy", *more)]
    by_version = {version: [name for name, other in cases if other == version] for version in versions}
    parts = [(version, names[at : at + 5]) for version, names in by_version.items() for at in range(0, len(names), 5)]
    looks = (partial(several, files=versions[version], names=names) for version, names in parts)
    seen = {
        (name, version): value
        for (version, _), values in zip(parts, side_by_side(chromium, looks), strict=True)
        for name, value in values.items()
    }
    found = {name: [seen[case] for case in cases if case[0] == name] for name in ACTS}
    assert {name: seen for name, seen in found.items() if any(each != seen[0] for each in seen)} == {}


# What a script of another site may ask of an image that was not loaded, and when it is loaded
ASKS = {
    "is it loaded": ("i.complete", False),
    "how wide is it": ("i.naturalWidth", 400),
    "how high is it": ("i.naturalHeight", 300),
    "have it decoded": ("(i.decode(), 1)", 1),
}


@pytest.mark.chromium
def test_a_lazy_image_is_loaded_when_a_script_asks_for_it(chromium: str) -> None:
    head = (
        "<!doctype html><meta charset=utf-8><head><title>t</title><script src=https://x.example/x.js></script></head>"
    )
    body = f"{head}<body><div style='height:20000px'></div><img src=a.jpg width=40 height=30><img src=b.jpg>"
    pages = HalfSite({**FILES, "index.html": body})
    page, view = read_page(pages.contents["index.html"]), pages.view()
    editor = Editor(page.text)
    images = dict.fromkeys(editor.tree.iter_elements("img"), (400, 300))
    defer_images(editor, images, page_context("index.html", page, editor.tree, view))
    text = editor.apply().text
    files = {**pages.contents, "index.html": text}

    async def ask(browser: Chromium, question: str) -> tuple[object, list[str]]:
        async with browser.tab(site(files), 900, 600) as tab:
            await tab.open(URL)
            code = (
                f"let i = document.images[0], a = {question}; if (a !== 0) await shown(i); return [a, i.naturalWidth]"
            )
            waits = "let shown = async i => { while (!i.complete) await new Promise(done => setTimeout(done, 30)) };"
            seen = await in_page(tab, waits + code)
            return seen, [load.url.removeprefix(URL) for load in tab.seen.loads if load.kind == "image"]

    async def load(browser: Chromium) -> list[str]:
        async with browser.tab(site(files), 900, 600) as tab:
            await tab.open(URL)
            return [load.url for load in tab.seen.loads if load.kind == "image"]

    assert in_chromium(chromium, load) == []
    looks = [partial(ask, question=question) for question, _ in ASKS.values()]
    for (_, answer), seen in zip(ASKS.values(), side_by_side(chromium, looks), strict=True):
        assert seen == ([answer, 400], ["a.jpg"])


@pytest.mark.chromium
def test_the_original_is_not_fetched_until_it_is_asked_for(chromium: str) -> None:
    files = guarded("copy")

    async def look(browser: Chromium) -> list[str]:
        async with browser.tab(site(files), 900, 600) as tab:
            await tab.open(URL)
            await in_page(tab, "let i = document.images[0]; i.src = 'b.jpg'; await shown(i)")
            return [load.url.removeprefix(URL) for load in tab.seen.loads[1:]]

    [copy] = (name for name in files if name not in FILES)
    assert in_chromium(chromium, look) == [copy, "b.jpg"]


def test_the_guard_is_there_once() -> None:
    text = str(guarded("copy")["index.html"])
    again = HalfSite({**FILES, "index.html": text})
    assert again.page_text().count(GUARD) == 1


@pytest.mark.parametrize("head", ["<title>t</title>", "<head><title>t</title></head>", "<script>1</script>"])
def test_the_guard_is_no_element_of_the_body(head: str) -> None:
    body = BODY.format(script=SCRIPT).partition("<body>")[2]
    pages = HalfSite({**FILES, "index.html": f"<!doctype html><meta charset=utf-8>{head}<body>{body}"})
    text = pages.page_text()
    assert -1 < text.find(GUARD) < text.find("<body>")
