"""A build that looks at pages with a browser: which pages, when again, and what happens when it cannot."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.samples.material import BUNDLE, BUNDLE_PATH, LINKS, TABS, material_page
from tests.sites.built import BuiltSite

import adaptc
from adaptc.browser.answers import Server, docroot_server
from adaptc.browser.evidence import PageEvidence
from adaptc.browser.tab import Tab
from adaptc.cli.build import DEFAULT_PAGES, build
from adaptc.compile.analyse.decisions import evidence_of
from adaptc.compile.engine.cache.derived import PageEvidenceStore
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.state.state import State
from adaptc.core.values import replace
from adaptc.workflow.check.check import check

PAGE = "<!DOCTYPE html><title>t</title><link rel=stylesheet href=s.css><body class=plain><h1>A</h1>{}"
DOT = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00"
    b"\x01\x00\x00\x02\x02D\x01\x00;"
)
SCRIPT = "<script>document.body.insertAdjacentHTML('beforeend', '<p id=late>' + '<img src=late.gif width=30>')</script>"


def site_of(root: Path, pages: dict[str, str]) -> BuiltSite:
    files: dict[str, str | bytes] = {name: PAGE.format(body) for name, body in pages.items()}
    return BuiltSite(root).write({**files, "s.css": ".plain{color:red} .never{color:blue}", "a.gif": DOT})


def look(site: BuiltSite, **overrides: object) -> list[str]:
    """Build with a browser; return the ids of diagnostics."""
    result = site.build(**{"browser__pages": "all", **overrides})
    return [said.id for said in result.diagnostics if said.id != "missing-target"]


def evidence(site: BuiltSite) -> dict[str, PageEvidence]:
    """Return what the last build knows of pages."""
    store = PageEvidenceStore(Store(site.output / ".adaptc/cache"))
    state = State(site.output / ".adaptc/state.sqlite", read_only=True)
    keys = evidence_of(state.decisions())
    state.close()
    return {path: store.read(key.key) for path, key in keys.items() if not key.like}


# ---- what is seen


@pytest.mark.chromium
def test_pages_are_seen_at_both_widths(chromium: str, tmp_path: Path) -> None:
    body = "<img src=a.gif width=40 height=20><div style='height:3000px'></div><img src=a.gif?2 width=50 height=60>"
    site = site_of(tmp_path, {"index.html": body, "b.html": SCRIPT})
    assert look(site) == []
    seen = evidence(site)
    assert list(seen) == ["b.html", "index.html"]
    phone, laptop = seen["index.html"].widths
    assert (phone.width, laptop.width) == (412, 1280)
    (image,) = laptop.images
    assert (image.path, image.width, image.height, image.is_first, image.is_by_script) == ("a.gif", 50, 60, True, False)
    assert laptop.names >= {"img", "class", "plain", "style", "src"}
    assert seen["index.html"].document is None
    document = Store(site.output / ".adaptc/cache").content(seen["b.html"].document or "")
    assert document is not None
    assert b'<p id="late"><img src="late.gif" width="30">' in document


MENU = """<style>#menu, .sub, li ul { display: none } .open #menu { display: block } li:hover > ul { display: block }
</style>
<button onclick="document.body.classList.add('open')">Menu</button>
<div id=menu><img class=item src=a.gif width=7 height=9></div>
<ul><li>Hover<ul><li><img src=b.gif width=8 height=4></ul></ul>
<details><summary>More</summary><img src=c.gif width=5 height=5></details>
<img src=d.gif hidden>
<div style="overflow:hidden;width:10px;height:10px"><img src=e.gif width=4 style="margin-left:50px"></div>
<form action=away.html><button>Send</button></form><a href="away.html">Away</a>
<script>document.querySelector('form').onsubmit = () => document.body.classList.add('sent')
document.body.setAttribute('expando' + Date.now(), '')
document.querySelector('input, summary').onmouseenter = (e) => e.target.classList.add('hovered')</script>"""


@pytest.mark.chromium
def test_menus_are_opened_and_nothing_is_submitted(chromium: str, tmp_path: Path) -> None:
    dots = {f"{name}.gif": DOT for name in "bcde"}
    site = site_of(tmp_path, {"index.html": MENU, "away.html": "x"}).write(dots)
    assert look(site, browser__pages="all") == []
    laptop = evidence(site)["index.html"].widths[1]
    sizes = {image.path: (image.width, image.height) for image in laptop.images}
    assert sizes == {"a.gif": (7, 9), "b.gif": (8, 4), "c.gif": (5, 5), "d.gif": (0, 0), "e.gif": (0, 0)}
    assert not any(image.is_first for image in laptop.images)
    assert laptop.names >= {"open", "hovered", "details", "img"}
    assert "sent" not in laptop.names
    assert not any("17000" in name for name in laptop.names)


STORED = """<button onclick="document.cookie = name = localStorage.a = sessionStorage.a = 'known'">Known</button>
<a href="javascript:;" target=_blank onclick="document.body.className = 'clicked'">Window</a><script>
const known = [document.cookie, name, localStorage.a, sessionStorage.a].filter(Boolean).length
document.body.id = 'known' + known + '-' + history.length
if (known) document.body.append('again')
onpagehide = () => localStorage.a = 'left'
</script>"""


@pytest.mark.chromium
def test_each_width_is_seen_as_if_for_the_first_time(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows: list[object] = []

    async def closed(other: Any, page: Any) -> None:
        windows.append(other)
        await other.close()

    monkeypatch.setattr("adaptc.browser.tab._closed", closed)
    site = site_of(tmp_path, {"index.html": STORED})
    assert look(site) == []
    phone, laptop = evidence(site)["index.html"].widths
    assert phone.names == laptop.names >= {"clicked", "known0-2"}
    assert not windows


MEASURING = """<img src=a.gif id=dot><script src=wait.js></script>
<script>document.body.className = 'high' + document.getElementById('dot').height</script>"""


@pytest.mark.chromium
@pytest.mark.parametrize("late", ["a.gif", "wait.js"])
def test_what_scripts_measure_does_not_depend_on_how_fast_images_come(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    def slow(*given: Any) -> Server:
        answer = docroot_server(*given)

        def answer_late(url: str) -> Any:
            if url.endswith(late):
                time.sleep(0.3)
            return answer(url)

        return answer_late

    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.docroot_server", slow)
    site = site_of(tmp_path, {"index.html": MEASURING}).write({"wait.js": ""})
    assert look(site) == []
    assert all("high0" in width.names for width in evidence(site)["index.html"].widths)


LATE = """<button onclick="box.innerHTML = '<img src=late.gif>'">A</button>
<button class=b onclick="begin()">B</button><div id=box></div><script>
const turn = () => { box.classList.toggle('turn'); requestAnimationFrame(turn) }
const begin = () => {
  let n = 0
  box.textContent = ''
  requestAnimationFrame(turn)
  setTimeout(() => box.className = 'after', 900)
  setInterval(() => box.setAttribute('step' + ++n, ''), 300)
}</script>"""


@pytest.mark.chromium
def test_what_follows_a_click_does_not_depend_on_the_time_that_things_take(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = iter([0.0, 0.4, 0.0, 0.7])

    def slow(*given: Any) -> Server:
        answer = docroot_server(*given)
        return lambda url: (time.sleep(next(waits, 0.0) if "late" in url else 0.0), answer(url))[1]

    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.docroot_server", slow)
    seen = []
    for name in "ab":
        site = site_of(tmp_path / name, {"index.html": LATE}).write({"late.gif": DOT})
        look(site)
        seen.append(evidence(site)["index.html"].widths)
    assert seen[0] == seen[1]
    for width in seen[0]:
        assert {image.path: (image.width, image.height) for image in width.images} == {"late.gif": (1, 1)}
        assert width.names >= {"after", "turn", "step1"}


@pytest.mark.chromium
def test_pages_that_are_the_same_without_scripts(chromium: str, tmp_path: Path) -> None:
    text = "<h2 id=x>Words</h2><a href=a.html>Link</a>"
    pages = {
        "same.html": text + "<script>x.textContent = 'Words'</script>",
        "words.html": text + "<script>x.textContent = 'More'</script>",
        "links.html": text + "<script>document.links[0].href = 'b.html'</script>",
        "absolute.html": text + "<script>document.links[0].href = document.links[0].href</script>",
        "boxes.html": text + "<script>x.style.margin = '99px'</script>",
        "noscript.html": text + "<noscript>No script</noscript><script>0</script>",
        "key.html": text + "<kbd id=key hidden>K</kbd> After<script>key.hidden = false</script>",
        "label.html": text + "<button id=key style=width:9em>Light</button><script>key.textContent = 'System'</script>",
        "menu.html": text + "<a id=key href=/x role=button aria-expanded=true>Menu</a><script>key.href = '#'</script>",
        "leads.html": text + "<a id=key href=/x>Menu</a><script>key.href = '#'</script>",
        "unlabelled.html": text + "<button id=key style=width:9em></button><script>key.textContent = 'System'</script>",
        "speck.html": text + "<script>document.body.append(document.createElement('canvas'))</script>"
        "<style>canvas {position: absolute; width: 1px; height: 1px}</style>",
        "keys.html": f"<main>{text}<kbd id=key hidden>K</kbd></main><script>key.hidden = false</script>",
        "none.html": text,
    }
    site = site_of(tmp_path, pages)
    look(site)
    plain = evidence(site)
    assert not any(seen.is_same_without_scripts for seen in plain.values())  # no pass of lossless asks for it
    look(site, build__levels=["unhydrated"])
    same = {path for path, seen in evidence(site).items() if seen.is_same_without_scripts}
    bare = {path: replace(seen, written=None) for path, seen in evidence(site).items()}
    assert {path: replace(seen, is_same_without_scripts=path in same) for path, seen in plain.items()} == bare
    assert same == {"same.html", "absolute.html", "noscript.html", "key.html", "label.html", "speck.html", "menu.html"}


@pytest.mark.chromium
def test_pages_that_are_the_same_with_what_scripts_write(chromium: str, tmp_path: Path) -> None:
    text = "<h2 id=x>Words</h2><p>And more words.</p>"

    def written_by(code: str) -> str:
        return f"{text}<script>{code}</script>"

    add = "const p = document.createElement('p'); p.textContent = '{}'; x.after(p)"
    pages = {
        "words.html": written_by("x.textContent = 'More'"),
        "parts.html": written_by("x.append(' and ', '12', ' days'); x.prepend('All ')"),
        "added.html": written_by(add.format("New")),
        "classes.html": "<style>.on {margin: 50px}</style>" + written_by("x.className = 'on'; x.title = 'T'"),
        "varying.html": written_by(f"x.style.width = innerWidth + 'px'; {add.format('New')}"),
        "widths.html": written_by(f"if (innerWidth < 500) {{{add.format('Narrow')}}}"),
        "texts.html": written_by("x.textContent = innerWidth"),
        "drawn.html": written_by("document.body.append(document.createElement('canvas'))"),
        "frame.html": written_by("x.innerHTML = '<iframe src=words.html></iframe>'"),
        "day.html": written_by("x.textContent = 'Today is the 14th of November 2023'"),
        "year.html": written_by("x.textContent = '(c) ' + new Date().getFullYear()"),
        "asked.html": written_by(f"fetch('/api').catch(() => 0); {add.format('New')}"),
        "fetched.html": written_by(f"fetch('a.json'); {add.format('New')}"),
        "of-others.html": "<script src=//other.invalid/a.js async></script>" + written_by(add.format("New")),
    }
    site = site_of(tmp_path, pages).write({"a.json": "{}"})
    look(site, build__levels=["unhydrated"])
    found = {path for path, seen in evidence(site).items() if seen.written is not None}
    same = {"words", "parts", "added", "classes", "varying", "year", "fetched", "of-others"}
    assert found == {f"{name}.html" for name in same}


@pytest.mark.chromium
def test_pages_of_material_are_the_same_with_what_stands_in_for_their_bundle(chromium: str, tmp_path: Path) -> None:
    pages = {
        "index.html": material_page(),
        "more.html": material_page("<p id=more></p>"),
        "tabs.html": material_page(TABS),
    }
    pages["more.html"] = pages["more.html"].replace("</body>", "<script>more.textContent = 'More'</script></body>")
    few = "<p>".join(
        ("<div style='margin-bottom:-40px'>", *LINKS.split("<p>")[51:63], "</div>")
    )  # lower than its content
    pages["few.html"] = material_page().replace(LINKS, few)
    site = site_of(tmp_path, pages).write({BUNDLE_PATH: BUNDLE})
    look(site, build__levels=["unhydrated"])
    assert {path: seen.is_same_without_scripts for path, seen in evidence(site).items()} == {
        "few.html": True,
        "index.html": True,
        "more.html": False,
        "tabs.html": True,
    }


LOADING = """<script type=module>addEventListener("load", () => setTimeout(async () => {
  const { name } = await import("./late.js"); await fetch(name) }));
document.querySelector("h1").onmouseenter = () => import("./hovered.js")</script>"""


@pytest.mark.chromium
def test_what_scripts_load_by_themselves_counts_with_the_page(chromium: str, tmp_path: Path) -> None:
    """A module and data, but not what a visitor has to ask for; a level that is written anew has no scripts."""
    site = site_of(tmp_path, {"index.html": LOADING, "plain.html": ""})
    site.write({"late.js": 'export const name = "data.json"', "data.json": "[1, 2]", "hovered.js": "f()"})
    site.write({"plain.html": PAGE.format("<p>Words of a page without scripts.")})
    look(site, build__levels=("full", "lossless", "text"))
    assert evidence(site)["index.html"].loaded == ("data.json", "late.js")
    rows = {row["path"]: row for row in json.loads((site.output / "manifest.json").read_bytes())["resources"]}
    full, lossless, text = (rows["index.html"]["levels"][name]["page"] for name in ("full", "lossless", "text"))
    plain = rows["plain.html"]["levels"]["full"]["page"]
    assert (plain["requests"], full["requests"], text["requests"]) == (2, 4, 1)
    assert lossless["requests"] == 3  # its sheet is in the page
    own = len((site.docroot / "index.html").read_bytes()) - len((site.docroot / "plain.html").read_bytes())
    late = sum((site.docroot / name).stat().st_size for name in ("late.js", "data.json"))
    assert full["bytes"] == plain["bytes"] + own + late
    look(site, build__levels=("full", "lossless", "text"), browser__pages=0)
    rows = {row["path"]: row for row in json.loads((site.output / "manifest.json").read_bytes())["resources"]}
    assert rows["index.html"]["levels"]["full"]["page"]["requests"] == 2


@pytest.mark.chromium
def test_a_page_that_is_not_built_again_counts_with_what_its_scripts_load_now(chromium: str, tmp_path: Path) -> None:
    site = site_of(tmp_path, {"index.html": LOADING}).write({"late.js": 'export const name = "a.gif"'})
    for script, wanted in (("", 4), ("; await fetch('more.json')", 5)):
        site.write({"late.js": f'export const name = "a.gif"{script}', "more.json": "[]"})
        look(site, build__levels=("full",))
        rows = {row["path"]: row for row in json.loads((site.output / "manifest.json").read_bytes())["resources"]}
        assert rows["index.html"]["levels"]["full"]["page"]["requests"] == wanted


@pytest.mark.chromium
def test_images_that_scripts_change_or_move(chromium: str, tmp_path: Path) -> None:
    body = """<img src=a.gif><img src=b.gif><p><img src=c.gif></p><p id=moved><img src=d.gif></p><p><img src=e.gif></p>
    <script>const images = document.images; images[1].style.width = '5px'; images[2].className = 'x'
    document.body.append(moved); document.querySelector('p').title = 'x'</script>"""
    site = site_of(tmp_path, {"index.html": body}).write({f"{name}.gif": DOT for name in "bcde"})
    look(site)
    for width in evidence(site)["index.html"].widths:
        assert {image.path for image in width.images if image.is_changed} == {"b.gif", "c.gif", "d.gif"}


@pytest.mark.chromium
@pytest.mark.parametrize("script", ["", "<script>1</script>"])
def test_images_whose_boxes_do_not_depend_on_their_being_loaded(chromium: str, tmp_path: Path, script: str) -> None:
    body = """<style>.c { width: 50%; height: 9px } .d div { float: left } .d img, .f img { width: 100% }</style>
    <img src=a.gif style="width:40%"><img src=b.gif><img src=c.gif class=c><div class=d><div><img src=d.gif></div></div>
    <img src=e.gif width=30 height=20><p style="width:70px;height:60px" class=f><img src=f.gif></p>
    <picture><source srcset=g.gif media="(min-width:9999px)"><img src=g.gif width=4 height=5></picture>"""
    site = site_of(tmp_path, {"index.html": body + script}).write({f"{name}.gif": DOT for name in "bcdefg"})
    look(site)
    for width in evidence(site)["index.html"].widths:
        assert {image.path for image in width.images if image.is_held} == {"a.gif", "c.gif", "e.gif", "f.gif"}
        assert not any(image.is_changed for image in width.images)


@pytest.mark.chromium
def test_images_of_style_sheets_and_of_scripts(chromium: str, tmp_path: Path) -> None:
    body = """<style>:root { --dot: url(a.gif) } .bg { background: var(--dot); width: 20px; height: 30px }
    .mark::before { content: url(b.gif) } li { list-style-image: url(c.gif) }</style>
    <div class=bg></div><p class=mark>x</p><ul><li>y</ul><p id=late>z</p>
    <img data-src=e.gif width=3 height=3><script>late.style.backgroundImage = 'url(d.gif)'
    for (const img of document.images) img.src = img.dataset.src</script>"""
    site = site_of(tmp_path, {"index.html": body}).write({f"{name}.gif": DOT for name in "bcde"})
    look(site)
    images = {image.path: image for image in evidence(site)["index.html"].widths[0].images}
    assert {path for path, image in images.items() if image.is_background} == {"a.gif", "b.gif", "c.gif", "d.gif"}
    assert {path for path, image in images.items() if image.is_by_script} == {"d.gif", "e.gif"}
    assert (images["a.gif"].width, images["a.gif"].height) == (20, 30)
    assert all(image.is_first for image in images.values())


NARROW = """<style>.bg { width: 30px; height: 20px } summary:hover + p { color: red }
@media (max-width: 600px) { .bg { background: url(b.gif) } }
@media (min-width: 601px) { .bg { background: url(c.gif) } }</style>
<img src=a.gif width=50%><div class=bg></div>
<details><summary>More</summary><img src=d.gif width=9 height=8></details>"""


@pytest.mark.chromium
@pytest.mark.parametrize(
    ("more", "level", "answers"),
    [
        ("", "unhydrated", 1),
        ("<p hidden><img srcset='e.gif 1x'>", "unhydrated", 2),
        ("<script>0</script>", "unhydrated", 3 + 2),
        ("<script>0</script>", "lossless", 2 + 2),
    ],
)
def test_a_page_is_loaded_as_often_as_its_widths_and_levels_need(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, level: str, answers: int
) -> None:
    """Once for both widths without scripts, and without its scripts only where a level asks what it shows then."""
    asked = []

    def noting(*given: Any) -> Server:
        answer = docroot_server(*given)
        return lambda url: asked.append(url) or answer(url)

    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.docroot_server", noting)
    head = "<meta name=viewport content='width=device-width'>"
    site = site_of(tmp_path, {"index.html": head + NARROW + more}).write({f"{name}.gif": DOT for name in "bcde"})
    look(site, build__levels=[level])
    phone, laptop = evidence(site)["index.html"].widths
    sizes = [{image.path: (image.width, image.height) for image in width.images} for width in (phone, laptop)]
    for width in sizes:
        width.pop("e.gif", None)
        assert width.pop("d.gif") == (9, 8)
    assert {path for path, _ in sizes[0].items()} == {"a.gif", "b.gif"}
    assert {path for path, _ in sizes[1].items()} == {"a.gif", "c.gif"}
    assert sizes[0]["a.gif"][0] < 210 and sizes[1]["a.gif"][0] > 600
    assert sum(url.endswith("/") for url in asked) == answers


# ---- when a page is looked at again


def test_outdated_files_are_removed_before_pages_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may take seconds, and nobody may get the old one meanwhile."""
    site = site_of(tmp_path, {"index.html": "", "b.html": "b"})
    site.build()
    page = site.output / "lossless/id/index.html"
    existed = []

    def look_at_nothing(*_: object) -> None:
        existed.append((page.exists(), (site.output / "lossless/id/b.html").exists()))

    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.find_chromium", lambda _: "chromium")
    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.major_version", lambda _: "99")
    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.in_chromium", look_at_nothing)
    site.write({"index.html": PAGE.format("other")})
    look(site)
    assert existed == [(False, True)]
    assert page.exists()


@pytest.mark.chromium
def test_a_page_is_looked_at_again_when_something_that_it_loads_changes(chromium: str, tmp_path: Path) -> None:
    site = site_of(tmp_path, {"index.html": "<img src=a.gif>", "b.html": SCRIPT})
    look(site)
    first = evidence(site)
    assert look(site) == []
    assert evidence(site) == first
    before = sorted((tmp_path / "opt/.adaptc/cache/records").rglob("*"))
    site.write({"unrelated.txt": "x"})
    look(site)
    after = sorted((tmp_path / "opt/.adaptc/cache/records").rglob("*"))
    assert evidence(site) == first
    assert [path for path in after if path not in before and path.is_file()] == []
    site.write({"late.gif": DOT})  # missing until now, and in no markup
    reasons = site.built(browser__pages="all")
    assert reasons["lossless/b.html"] == "EvidenceChanged"
    assert "lossless/index.html" not in reasons
    (late,) = evidence(site)["b.html"].widths[1].images
    assert (late.path, late.width, late.is_by_script) == ("late.gif", 30, True)


@pytest.mark.chromium
def test_a_build_without_it_uses_no_evidence(chromium: str, tmp_path: Path) -> None:
    site = site_of(tmp_path, {"index.html": ""})
    look(site)
    assert not check(site.config(browser__pages="all"), every_file=True).findings
    site.build()
    assert evidence(site) == {}


@pytest.mark.chromium
def test_some_pages_of_each_template(chromium: str, tmp_path: Path) -> None:
    pages = {f"p{number}.html": f"<p>{number}" for number in range(5)}
    site = site_of(tmp_path, pages).write({"other.html": "<!DOCTYPE html><title>t</title><p>words"})
    look(site, browser__pages=2)
    seen = evidence(site)
    assert len(seen) == 3
    assert "other.html" in seen
    site.write({"p9.html": PAGE.format("<p>9")})
    look(site, browser__pages=2)
    assert len(evidence(site).keys() & seen.keys()) >= 2


# ---- the address at which a page is looked at

ROUTER = """<!DOCTYPE html><html lang=en><title>t</title><nav>{}</nav><main id=app></main><script>
const known = {{'/': 'Words that welcome visitors of this home', '{}': 'Words that tell about the old society'}}
const words = known[location.pathname] ?? 'Sorry, there is nothing under this address'
document.getElementById('app').innerHTML = `<p>${{words}}</p>`
</script>"""


def document_of(site: BuiltSite, page: str) -> bytes:
    """Return the markup of a page after its scripts."""
    return Store(site.output / ".adaptc/cache").content(evidence(site)[page].document or "") or b""


@pytest.mark.chromium
@pytest.mark.parametrize(
    ("page", "link", "address"),
    [
        ("about/index.html", "about/", "/about/"),
        ("about/index.html", "", "/about/"),
        ("about/index.html", "about/index.html", "/about/index.html"),
        ("about.html", "about", "/about"),
        ("about.html", "about.html", "/about.html"),
        ("about.html", "", "/about.html"),
    ],
)
def test_a_page_is_looked_at_where_its_readers_open_it(
    chromium: str, tmp_path: Path, page: str, link: str, address: str
) -> None:
    shown = ROUTER.format(f"<a href='/{link}'>About</a>" if link else "", address)
    site = BuiltSite(tmp_path).write({"index.html": shown, page: shown})
    assert look(site) == []
    assert b"the old society" in document_of(site, page)
    assert b"welcome" in document_of(site, "index.html")


@pytest.mark.chromium
@pytest.mark.parametrize("own", ["", "<p>Founded long ago, the society meets every second Thursday evening"])
def test_what_a_router_shows_at_an_unknown_address_is_no_evidence(chromium: str, tmp_path: Path, own: str) -> None:
    shown = ROUTER.format("", "/repository/about/").replace("<main id=app>", f"<main id=app>{own}")
    site = BuiltSite(tmp_path).write({"index.html": shown, "about/index.html": shown})
    assert look(site) == ["page-not-seen"]
    assert list(evidence(site)) == ["index.html"]
    assert look(site, site__base_url="https://example.org/repository") == ["page-not-seen"] * bool(own)
    assert b"the old society" in document_of(site, "about/index.html")


@pytest.mark.chromium
def test_a_page_without_a_router_shows_the_same_everywhere(chromium: str, tmp_path: Path) -> None:
    shown = PAGE.format("<script>document.body.append('The words that scripts of every page write')</script>")
    site = BuiltSite(tmp_path).write({"index.html": shown, "about/index.html": shown, "s.css": ""})
    assert look(site) == []
    assert b"every page" in document_of(site, "about/index.html")


# ---- what goes wrong


def test_without_a_browser_the_build_goes_on_and_the_next_one_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(tmp_path, {"index.html": ""})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look(site) == ["browser-missing"]
    assert (site.output / "lossless/id/index.html").exists()
    assert look(site) == ["browser-missing"]
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo Chromium 99.0.1 || exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    result = site.build(browser__pages="all", browser__program=str(program))
    assert [str(said) for said in result.diagnostics] == [
        f"warning: {program} failed (it ended); pages are built without what it would see [browser-failed]"
    ]
    assert look(site, browser__pages=0) == []


@pytest.mark.chromium
def test_a_page_that_leaves_or_hangs_costs_itself_its_evidence(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Tab.open

    async def briefly_patient(tab: Tab, url: str) -> None:
        """The page that hangs takes a whole processor as long as it is waited for: two seconds at a time."""
        tab.pace = 0.1 if url.endswith("loop.html") else tab.pace
        await opened(tab, url)

    monkeypatch.setattr(Tab, "open", briefly_patient)
    monkeypatch.setattr("adaptc.browser.tab._LOAD", 4.0)  # a page that leaves while it loads is never loaded
    site = site_of(
        tmp_path,
        {
            "index.html": "<p>words",
            "away.html": "<script>location = 'index.html'</script>",
            "loop.html": "<script>for (;;);</script>",
            "ask.html": "<script>alert(1); window.open('index.html')</script>",
        },
    )
    result = site.build(browser__pages="all")
    said = {diagnostic.location.path: diagnostic.message for diagnostic in result.diagnostics if diagnostic.location}
    assert list(evidence(site)) == ["ask.html", "index.html"]
    assert "it goes to http://site.invalid/index.html" in said["away.html"]
    assert list(said) == ["away.html", "loop.html"]
    assert (site.output / "lossless/id/loop.html").exists()
    again = site.build(browser__pages="all")
    assert not again.built
    assert again.diagnostics == result.diagnostics


@pytest.mark.chromium
def test_a_page_that_crashes_costs_itself_its_evidence(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(tab: Tab, *, has_scripts: bool) -> None:
        if await tab.run("() => document.body.id") == "crash":
            sent = asyncio.ensure_future(tab.send("Page.crash"))
            while not tab.seen.is_crashed:
                await asyncio.sleep(0.01)
            sent.cancel()
        await tab.idle(5)

    monkeypatch.setattr("adaptc.browser.look.interact", crash)
    site = site_of(tmp_path, {"a.html": "words", "b.html": "<body id=crash>words", "c.html": SCRIPT})
    result = site.build(browser__pages="all")
    said = {each.location.path: each.message for each in result.diagnostics if each.id == "page-not-seen"}
    assert list(said) == ["b.html"]
    assert "crash" in said["b.html"]
    assert list(evidence(site)) == ["a.html", "c.html"]


# ---- the command line


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [(["--browser", "x"], DEFAULT_PAGES), (["--browser=all", "x"], "all"), (["x", "--browser=7"], 7), (["x"], None)],
)
def test_the_number_of_pages_may_be_left_out(arguments: list[str], wanted: int | str | None) -> None:
    assert build.make_context("build", arguments).params["browser"] == wanted


def test_a_number_of_pages_is_a_number(tmp_path: Path) -> None:
    with pytest.raises(adaptc.UsageError, match=r'browser\.pages must be a whole number of at least 0, or "all"'):
        adaptc.load_config(overrides={"browser.pages": "some"})
