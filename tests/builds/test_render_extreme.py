"""In a browser nothing that level extreme shows lies over the content, on a telephone and on a desktop."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.servers.browser import Browser, serving

import adaptc

TEXT = "The harbour master counts the ships that leave with the tide and writes down their names. " * 4
LINKS = {name: f"<li><a href={name}.html>{name}</a></li>" for name in ("news", "shop", "team", "jobs", "press", "help")}
CSS = """
body{margin:0;font:16px sans-serif}header{position:sticky;top:0;background:#eee;z-index:9;height:56px;display:flex}
.menu{display:none}.menu li{padding:8px}.content{padding:20px}
@media(min-width:800px){.menu{display:flex}.sub{position:absolute;display:none;background:#fff;width:500px;height:600px}}
.search{position:absolute;inset:0;height:100vh;background:#fff;opacity:0;visibility:hidden}
.side{position:fixed;top:0;bottom:0;width:260px;transform:translateX(-100%);background:#123}
.modal{display:none;position:fixed;inset:0}.backdrop{position:absolute;inset:0;background:#000}
.consent{position:fixed;bottom:0;left:0;right:0;height:300px;background:#fe0}
"""
PAGE = f"""<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">
<title>T</title><style>{CSS}</style><body>
<header><a href=news.html>Name</a><button class=menu-toggle data-target=#m>Menu</button>
<ul class=menu id=m>{LINKS["news"]}{LINKS["shop"]}<li><a href=team.html data-target=#s>More</a>
<ul class=sub id=s>{LINKS["team"]}{LINKS["jobs"]}</ul></li></ul>
<div class=search><form action=help.html><input name=q></form></div></header>
<nav class=side id=side>{LINKS["jobs"]}{LINKS["press"]}{LINKS["help"]}</nav><main class=content><h1>Ships</h1>
<p>{TEXT}</p><p>{TEXT}</p><p>{TEXT}</p><a data-target=#d>Open</a><a href=#e data-toggle=modal>Terms</a><p>{TEXT}</p>
</main>
<div class=consent id=cookie-bar><p>We use cookies.</p><button>Accept</button></div>
<div class=modal id=d><div class=backdrop></div><p>Words of a dialogue</p></div>
<div class=modal id=e><div class=backdrop></div><p>Words of the terms</p></div>
<script>/*{"".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(60))}*/</script>"""
# The texts of the content that something else lies over, each scrolled to the middle of the window
COVERED = """[...document.querySelectorAll("main p, main h1")].filter(each => {
    each.scrollIntoView({block: "center"})
    const box = each.getClientRects()[0]
    return document.elementFromPoint(box.x + 20, box.y + 10) !== each
}).map(each => each.textContent.slice(0, 20))"""


# A list of functions as generators of documentation write it: long names without a space
API = "".join(f"<tr><td><a href=#{n}>library.module.get_{n}_of_all</a><td>—<td>{TEXT[:60]}</tr>" for n in LINKS)
FIGURES = "".join(f"<tr>{''.join(f'<td>{n}{m},250,000' for m in range(8))}</tr>" for n in range(3))
TABLES = f"""<!doctype html><html lang=en><meta charset=utf-8><title>T</title><main><h1>Functions</h1><p>{TEXT}</p>
<table>{API}</table><table>{FIGURES}</table>{"".join(f"<h2 id={n}>{n}</h2><p>{TEXT}</p>" for n in LINKS)}</main>
<script>/*{"".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(99))}*/</script>"""


def built(folder: Path) -> Path:
    """The level extreme of a page with whatever lies over one, and of one with tables."""
    docroot, output = folder / "site", folder / "opt"
    docroot.mkdir()
    (docroot / "index.html").write_text(PAGE)
    (docroot / "tables.html").write_text(TABLES)
    for name in LINKS:
        (docroot / f"{name}.html").write_text(f"<!doctype html><title>{name}</title><p>{name}")
    options = {"docroot": docroot, "output": output, "build.effort": "fast", "build.levels": ["extreme"]}
    adaptc.build(adaptc.load_config(None, options))
    return output / "extreme" / "id"


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("composed"))


WIDER = "document.documentElement.scrollWidth > innerWidth"
SEEN = "document.body.innerText"


@pytest.mark.chromium
def test_nothing_lies_over_a_composed_page(browser: Browser, composed: Path) -> None:
    with serving(composed) as base:
        for width in (412, 1280):
            browser.view(f"{base}index.html", width, 900)
            assert browser.evaluate(COVERED) == [] and browser.evaluate(WIDER) is False, width
            browser.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            links = browser.evaluate("[...document.links].filter(a => a.checkVisibility()).map(a => a.pathname)")
            assert {f"/{name}.html" for name in LINKS} <= set(links), width
            assert "We use cookies" not in browser.evaluate(SEEN)
            assert "Words of the terms" in browser.evaluate(SEEN)  # a link opens them
            assert browser.evaluate("document.querySelector('[action=\"help.html\"] input').checkVisibility()") is True


@pytest.mark.chromium
def test_long_names_in_a_table_move_no_text_out_of_the_window_and_numbers_stay_whole(
    browser: Browser, composed: Path
) -> None:
    assert b"library.module" in (composed / "tables.html").read_bytes()
    assert b"<script" not in (composed / "tables.html").read_bytes()
    with serving(composed) as base:
        browser.view(f"{base}tables.html", 412, 900)
        wide = "[...document.querySelectorAll('table')].map(each => each.scrollWidth > each.clientWidth)"
        assert browser.evaluate(wide) == [False, True]  # a table of figures is scrolled
        assert browser.evaluate("Math.max(...[...document.querySelectorAll('table')[1].querySelectorAll('td')]"
                                ".map(each => each.clientHeight))") < 50  # fmt: skip
        assert browser.evaluate(WIDER) is False
