"""What Chromium loads of pages: at no level more requests, or more bytes, than at the level above."""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import pytest

from tests.places import NEWSROOM
from tests.samples.drawn import drawing, encoded
from tests.samples.prerendered import FILES, PAGES, prerendered
from tests.sites.built import BuiltSite
from tests.sites.shown import URL, side_by_side

from adaptc.browser.answers import Answer
from adaptc.browser.chromium import Chromium
from adaptc.compile.view import REQUEST_BYTES
from adaptc.core import media

LADDER = ("full", "lossless", "moderate", "unhydrated", "extreme", "text")
TEXT = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(60))
# webpack's runtime asks for a chunk by its name, whether the page has its text or not
RUNTIME = """(()=>{const names={17:"0b1c4e7f",18:"5d20a9e1"};onload=()=>{for(const id in names){
const s=document.createElement("script");s.src="/js/"+id+"."+names[id]+".js";document.head.append(s)}}})()"""
CHUNKS = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Chunks</title><link rel=stylesheet href=/a.css>
<main><h1>Chunks</h1><p>Words of a page that loads two chunks.<img src=/p.jpg alt="A hill"></p></main>
<script src=/js/17.0b1c4e7f.js></script><script src=/js/runtime.js defer></script>
<script>const seed = '{TEXT[:900]}'</script>"""
SHEET = "h1{color:#333}main{max-width:40em;background:url(p.jpg)}.never{background:url(q.jpg)}"

# The element of the sample, as Astro's that loads what its attribute names
LOADING = "connectedCallback(){for(const n of['component-url','renderer-url'])import(this.getAttribute(n))}"
ISLAND = ("extends HTMLElement{}", f"extends HTMLElement{{{LOADING}}}")
LATE = ('client="load"', 'client="visible"')


class File(NamedTuple):
    """A file of a tree, and its bytes as it is sent."""

    content: bytes
    sent: int


class Costs(NamedTuple):
    """What a page costs: requests, and bytes as stored and as sent, with the header fields of requests."""

    requests: int
    stored: int
    sent: int


def chunks(build: BuiltSite) -> BuiltSite:
    pictures = {f"{name}.jpg": encoded(drawing(step).resize((300, 225)), "JPEG") for name, step in (("p", 3), ("q", 9))}
    scripts = {
        "js/runtime.js": RUNTIME,
        "js/17.0b1c4e7f.js": f"var a='{TEXT[500:2500]}'",
        "js/18.5d20a9e1.js": f"var b='{TEXT[:500]}'",
    }
    return build.write({"index.html": CHUNKS, "a.css": SHEET, **scripts, **pictures})


def frameworks(build: BuiltSite) -> BuiltSite:
    pages = [prerendered(name).replace(*ISLAND) for name in PAGES]
    # an island that nobody has seen yet: nothing loads it, as the element does nothing
    pages.append(prerendered("Astro").replace(*LATE))
    return build.write({**FILES, **{f"{number}.html": page for number, page in enumerate(pages)}})


def newsroom(build: BuiltSite) -> BuiltSite:
    shutil.copytree(NEWSROOM, build.docroot)
    return build


def files_of(build: BuiltSite, level: str) -> dict[str, File]:
    """Return the files that the server of a level sends, by path."""
    found = dict[str, File]()
    for tree, root in (("full", build.docroot), (level, build.output / level / "id")):
        for file in (each for each in root.rglob("*") if each.is_file()):
            name, content = file.relative_to(root).as_posix(), file.read_bytes()
            packed = build.output / tree / "br" / name
            found[name] = File(content, min(len(content), packed.stat().st_size if packed.exists() else len(content)))
    return found


async def costs_of(files: dict[str, File], pages: list[str], browser: Chromium) -> list[Costs]:
    def answer(url: str) -> Answer | None:
        file = files.get(path_of(url))
        return file and Answer(file.content, media.by_name(path_of(url)) or media.BINARY)

    found = []
    async with browser.tab(answer, 1000, 800, is_drawn=False) as tab:
        for page in pages:
            await tab.load(URL + quote(page))
            paths = {path_of(load.url) for load in tab.seen.loads}
            await tab.forget()
            loaded = [files[path] for path in paths if path in files]
            headers, stored = REQUEST_BYTES * len(paths), sum(len(file.content) for file in loaded)
            found.append(Costs(len(paths), headers + stored, headers + sum(file.sent for file in loaded)))
    return found


def path_of(url: str) -> str:
    return unquote(urlsplit(url).path).lstrip("/") or "index.html"


@pytest.mark.chromium
@pytest.mark.parametrize("fill", [chunks, frameworks, newsroom], ids=lambda fill: fill.__name__)
def test_no_page_costs_more_than_at_the_level_above(
    fill: Callable[[BuiltSite], BuiltSite], tmp_path: Path, chromium: str
) -> None:
    build = fill(BuiltSite(tmp_path))
    build.build(build__levels=LADDER)
    pages = sorted(path.relative_to(build.docroot).as_posix() for path in build.docroot.rglob("*.html"))
    looks = [partial(costs_of, files_of(build, level), pages) for level in LADDER]
    costs = dict(zip(LADDER, side_by_side(chromium, looks), strict=True))
    dearer = [
        (page, lower, above, below)
        for upper, lower in itertools.pairwise(LADDER)
        for page, above, below in zip(pages, costs[upper], costs[lower], strict=True)
        if any(low > high for low, high in zip(below, above, strict=True))
    ]
    assert dearer == []
    assert any(text.sent < full.sent for text, full in zip(costs["text"], costs["full"], strict=True))
