"""A page that servers send for addresses of any depth loads the same from each of them, at every level."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.samples.drawn import drawing, encoded, photo
from tests.sites.built import BuiltSite

from adaptc.browser.answers import docroot_server
from adaptc.compile.engine.proof.prover import address_to_prove
from adaptc.core.model import EMBEDDED
from adaptc.formats.css.references import css_references
from adaptc.formats.html.document import parse
from adaptc.formats.html.references import references
from adaptc.site.docroot import load_site
from adaptc.site.header_rules import PageHeaders
from adaptc.site.host_files import host_rules

LEVELS = ("full", "lossless", "moderate", "web", "deferred", "unhydrated", "extreme", "text", "halfres", "bundle")
SHEET = """@import "more.css"; body { font-family: F } .bg { background: url(../img/b.jpg?v=1) }"""
MORE = "@font-face { font-family: F; src: url(f.ttf) } .more { background: url(/img/b.jpg) }"
PAGE = """<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Not found</title>
<link rel=stylesheet href={0}css/s.css><link rel=icon href={0}img/i.png>
<style>@import "{0}css/t.css"; h1 {{ background: url({0}img/b.jpg) }}</style></head>
<body><main><h1>Not found</h1><img src={0}img/b.jpg alt=b width=720 height=480>
<p style="background: url({0}img/b.jpg)" class=bg>Words enough to be the content of this page. <a href={0}>Home</a></p>
<p class=more>More words, so that the page is worth a level of its own.</p></main>
<script src={0}js/a.js></script></body></html>"""


def files(root: str) -> dict[str, str | bytes]:
    return {
        "404.html": PAGE.format(root),
        "index.html": PAGE.format(root),
        "css/s.css": SHEET,
        "css/more.css": MORE.replace("url(/", f"url({root}"),
        "css/t.css": "h1 { border-image: url(../img/i.png) 2 }",
        "css/f.ttf": b"no font",
        "img/b.jpg": encoded(photo(720, 480), "JPEG", quality=95),
        "img/i.png": encoded(drawing(16)),
        "js/a.js": "document.title += '!'\n",
    }


def loaded(markup: str, address: str) -> set[str]:
    """Return the URLs that a page loads which was sent for an address."""
    tree = parse(markup)
    urls = {each.url for each in references(tree) if each.role in EMBEDDED}
    for style in tree.iter_elements("style"):
        urls |= {each.url for each in css_references(style.text)}
    return {urljoin(address, url) for url in urls if not url.startswith(("data:", "#"))}


@pytest.mark.parametrize(("root", "base"), [("/", None), ("/repo/", "https://example.org/repo/")])
def test_what_led_from_the_root_still_does(tmp_path: Path, root: str, base: str | None) -> None:
    site = BuiltSite(tmp_path).write(files(root))
    site.build(build__levels=LEVELS, site__base_url=base)
    seen = set[str]()
    for level in LEVELS:
        for name in ("404.html", "index.html"):
            markup = (site.output / level / "id" / name).read_text()
            deep = loaded(markup, f"https://example.org{root}a/b/c/nope")
            seen |= deep
            assert deep == loaded(markup, f"https://example.org{root}{name}"), level
            for url in deep:
                path = urlsplit(url).path.removeprefix(root)
                tree = site.output / level / "id" / path
                assert tree.is_file() or (site.docroot / path).is_file(), (level, url)
    assert any(url.startswith(f"https://example.org{root}_adaptc/") for url in seen)


def test_what_was_relative_stays_relative(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(files(""))
    site.build(build__levels=("full", "moderate"))
    urls = loaded((site.output / "moderate/id/index.html").read_text(), "x:")
    assert urls and not any(url.startswith("/") for url in urls)


@pytest.mark.parametrize(
    ("root", "redirects", "deep"),
    [("/", "/* /app.html 200\n", {"404.html", "app.html"}), ("/", "", {"404.html"}), ("", "/* /app.html 200\n", set())],
)
def test_such_pages_are_proven_at_some_depth(tmp_path: Path, root: str, redirects: str, deep: set[str]) -> None:
    site = BuiltSite(tmp_path).write({**files(root), "app.html": PAGE.format(root), "_redirects": redirects})
    site.build(build__levels=("full", "lossless"))
    config = site.config()
    _, loaded_site = load_site(config)
    hosts = host_rules(config, site.docroot, loaded_site.sources)
    server = docroot_server(site.docroot, loaded_site, PageHeaders(None, hosts))
    for page in ("404.html", "index.html", "app.html"):
        url = address_to_prove(page, loaded_site, server, hosts)
        own = "/" if page == "index.html" else f"/{page}"
        assert urlsplit(url).path == (f"/-/any/depth/{page}" if page in deep else own)
        answer = server(url)
        assert answer is not None and answer.body == (site.docroot / page).read_bytes()
    assert server("http://site.invalid/-/any/depth/css/s.css") is None
