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


def built(folder: Path) -> Path:
    """The level extreme of a page with whatever lies over one."""
    docroot, output = folder / "site", folder / "opt"
    docroot.mkdir()
    (docroot / "index.html").write_text(PAGE)
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
