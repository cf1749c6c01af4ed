"""What leads where: cases against a server."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.servers.crawl import SVG, Answer
from tests.sites.crawl_case import Case, check

X = "/x.png"


def from_page(markup: str, head: str = "") -> dict[str, object]:
    return {"/": f"<!doctype html><head>{head}</head><body>{markup}", X: b"png", "/sub/x.png": b"png", "/x.html": "x"}


def from_sheet(css: str) -> dict[str, object]:
    return {
        "/": '<link rel=stylesheet href="css/s.css">',
        "/css/s.css": css,
        X: b"png",
        "/css/t.css": "",
        "/css/x.png": b"png",
    }


def from_answer(**fields: str) -> dict[str, object]:
    pairs = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return {"/": Answer("page", fields=pairs), X: b"png", "/x.html": "x", "/s.css": ""}


def from_file(path: str, answer: str | bytes | Answer, place: str = "<a href={}>x</a>") -> dict[str, object]:
    return {"/": place.format(path), path: answer, X: b"png", "/x.html": "x", "/y.html": "y"}


def from_script(text: str, type: str = "module", **files: str) -> dict[str, object]:
    """A page below /docs/ that runs /docs/js/app.js, and files of its own by their names below /docs/."""
    named = {f"/docs/{name.replace('_', '/')}.js": content for name, content in files.items()}
    missing = {f"/docs/{name}": b"" for name in ("x.png", "y.png", "i.png", "data.json", "js/x.png", "js/core.wasm")}
    return {
        "/docs/": f"<script type={type} src=js/app.js></script>",
        "/docs/js/app.js": text,
        **missing,
        **named,
    }


APP = "/docs/ /docs/js/app.js"
MODULES = {
    "/": '<script type=importmap>{"imports": {"app": "./js/app.js", "lib/": "/lib/"}, '
    '"scopes": {"/js/": {"other": "./lib/z.js", "app": "./lib/a.js"}}}</script>'
    '<script type=module>import "lib/x.js"</script>',
    "/js/app.js": "import y from 'lib/y.js'; import z from 'other'; import unknown from 'nowhere'",
    "/lib/x.js": "",
    "/lib/y.js": "",
    "/lib/z.js": "",
    "/lib/a.js": "",
}
PAGE, SHEET = f"/ {X}", f"/ /css/s.css {X}"
RSS = (
    '<rss version="2.0"><channel><link>{base}/</link><item><link>{base}/x.html</link><enclosure url="/x.png"/></item>'
    "</channel></rss>"
)
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="{base}/sub/"><entry><link href="../x.html"/></entry></feed>'
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{base}/x.html</loc></url></urlset>'
INDEX = "<sitemapindex><sitemap><loc>{base}/two.xml</loc></sitemap></sitemapindex>"
MANIFEST = '{"start_url": "/x.html", "icons": [{"src": "/x.png"}], "shortcuts": [{"url": "/y.html"}]}'

CASES = [
    Case(
        "links in noframes, noembed and iframe",
        {
            "/": "<frameset><frame src=f><noframes><a href=a>a</a></noframes></frameset>",
            "/f": "<noembed><img src=b.png></noembed>\n<iframe src=c>\n<a href=d>d</a></iframe>",
        },
        exit=8,
        asked="/ /f /a /b.png /c /d",
        said="{base}/f:3: warning: a href leads to {base}/d, which",
    ),
    # ---- markup
    Case("img", from_page("<img src=/x.png>"), asked=PAGE),
    Case("srcset", from_page('<img srcset="/x.png 1x, /sub/x.png 2x">'), asked=f"{PAGE} /sub/x.png"),
    Case(
        "srcset with commas in URLs",
        {"/": '<img srcset="/a,b.png 1x,/c.png 2x">', "/a,b.png": b"", "/c.png": b""},
        asked="/ /a,b.png /c.png",
    ),
    Case("picture", from_page("<picture><source srcset=/x.png></picture>"), asked=PAGE),
    Case("imagesrcset", from_page("", "<link rel=preload as=image imagesrcset='/x.png 1x'>"), asked=PAGE),
    Case("video poster", from_page("<video poster=/x.png></video>"), asked=PAGE),
    Case("object", from_page("<object data=/x.png></object>"), asked=PAGE),
    Case("embed", from_page("<embed src=/x.png>"), asked=PAGE),
    Case("input", from_page("<input type=image src=/x.png>"), asked=PAGE),
    Case("background", from_page("<table background=/x.png></table>"), asked=PAGE),
    Case("icon", from_page("", "<link rel='shortcut icon' href=/x.png>"), asked=PAGE),
    Case("area", from_page("<map><area href=/x.html></map>"), asked="/ /x.html"),
    Case("lazy", from_page("<img data-src=/x.png>"), asked=PAGE),
    Case("lazy srcset", from_page("<img data-srcset='/x.png 1x'>"), asked=PAGE),
    Case("style attribute", from_page("<p style='background:url(/x.png)'>"), asked=PAGE),
    Case("style element", from_page("<style>p{background:url(/x.png)}</style>"), asked=PAGE),
    Case("srcdoc", from_page("<iframe srcdoc='&lt;img src=/x.png&gt;'></iframe>"), asked=PAGE),
    Case("template", from_page("<template><img src=/x.png></template>"), asked=PAGE),
    Case("noscript", from_page("<noscript><img src=/x.png></noscript>"), asked=PAGE),
    Case("og:image", from_page("", "<meta property=og:image content=/x.png>"), asked=PAGE),
    Case("meta refresh", from_page("", "<meta http-equiv=refresh content='5; URL=/x.html'>"), asked="/ /x.html"),
    Case(
        "meta refresh in quotes",
        from_page("", "<meta http-equiv=refresh content=\"0;url='/x.html'\">"),
        asked="/ /x.html",
    ),
    Case("rel=next", from_page("", "<link rel=next href=/x.html>"), asked="/ /x.html"),
    Case("base", from_page("<img src=x.png>", "<base href=/sub/>"), asked="/ /sub/x.png"),
    Case(
        "the first base only",
        from_page("<img src=x.png>", "<base href=/sub/><base href=/other/>"),
        asked="/ /sub/x.png",
    ),
    Case("character references", {"/": '<a href="/a?b=1&amp;c=2">x</a>', "/a?b=1&c=2": "x"}, asked="/ /a?b=1&c=2"),
    Case("spaces around", from_page("<img src=' /x.png\n'>"), asked=PAGE),
    Case("dots and double slashes", {"/": '<a href="/a/../b/./c//d">x</a>', "/b/c//d": "x"}, asked="/ /b/c//d"),
    Case(
        "a fragment is no other page",
        from_page("<a href='#a'>a</a><a href='/#b'>b</a><a href='/x.html#c'>c</a>"),
        asked="/ /x.html",
    ),
    Case("an SVG in the page", from_page("<svg><image xlink:href=/x.png /></svg>"), asked=PAGE),
    Case("a sprite", from_page("<svg><use href='/x.png#i'/></svg>"), asked=PAGE),
    # ---- what is no link
    Case("comments", from_page("<!-- <img src=/x.png> -->"), asked="/"),
    Case("text of scripts", from_page("<script>var a = '<img src=/x.png>'</script>"), asked="/"),
    # ---- scripts
    Case(
        "imports",
        from_script(
            "import './a.js'; export * from '../b.js'; const c = () => import('/docs/c.js'); import(n); o.import('d')",
            js_a="import('./deep.js')",
            js_deep="export {default} from './a.js'",
            b="",
            c="",
        ),
        start="/docs/",
        asked=f"{APP} /docs/js/a.js /docs/js/deep.js /docs/b.js /docs/c.js",
    ),
    Case("an import that fails is broken", from_script("import './gone.js'"), start="/docs/", exit=8),
    Case("import maps", MODULES, asked="/ /js/app.js /lib/x.js /lib/y.js /lib/z.js /lib/a.js"),
    Case(
        "what a worker keeps in its cache, and sounds",
        from_script(
            "navigator.serviceWorker.register('/docs/sw.js'); new Audio('data.json'); new Audio('a.mp3' + query)",
            "text/javascript",
            sw="caches.open('1').then((cache) => cache.addAll(['./', 'x.png', `js/x.png`])); cache.addAll(names)",
        ),
        start="/docs/",
        asked=f"{APP} /docs/sw.js /docs/data.json /docs/x.png /docs/js/x.png",
    ),
    Case(
        "workers belong to the page, what they load to themselves",
        from_script(
            "new Worker('js/w.js'); new SharedWorker(`js/s.js`); new Worker('js/' + name); "
            "navigator.serviceWorker.register('/docs/sw.js'); audio.audioWorklet.addModule('js/p.js')",
            "text/javascript",
            js_w="importScripts('one.js', '../two.js'); fetch('three.json')",
            js_s="",
            js_p="",
            sw="",
            js_one="",
            two="",
        ),
        start="/docs/",
        asked=f"{APP} /docs/js/w.js /docs/js/s.js /docs/sw.js /docs/js/p.js "
        "/docs/js/one.js /docs/two.js /docs/js/three.json",
    ),
    Case(
        "files next to a module, and of the page",
        from_script(
            "new URL('x.png', import.meta.url); new URL(`core.wasm`, import.meta.url); new URL('no.png', base); "
            "fetch('data.json'); fetch('save.json', {method: 'POST'}); fetch('/api/items'); fetch('a-' + n + '.json'); "
            "import.meta.resolve('./r.js'); other.resolve('./no.js'); new Image().src = 'i.png'; i.src = 'a-' + n; "
            "i.src = '/pixel'",
            "module",
            js_r="",
        ),
        start="/docs/",
        asked=f"{APP} /docs/js/x.png /docs/js/core.wasm /docs/js/r.js /docs/data.json /docs/i.png",
    ),
    Case(
        "markup in templates",
        from_script(
            "box.innerHTML = `<img src='${thumb}' srcset='x.png 1x, ${large} 2x'><a href='page.html'>more</a>"
            "${more ? `<source srcset='y.png'>` : ''}`; other = '<img src=/no.png>'",
        ),
        start="/docs/",
        asked=f"{APP} /docs/x.png /docs/y.png",
    ),
    Case(
        "templates in script elements",
        from_page("<script type=text/x-handlebars-template><img src=/x.png><img src='/{{name}}.png'></script>"),
        asked=PAGE,
    ),
    Case(
        "chunks of a bundle below its directory",
        {
            "/": "<script type=module src=/app/assets/index-1a.js></script>",
            "/app/assets/index-1a.js": "const d = ['assets/About-2b.js', 'assets/About-2b.css', 'css/none.css']",
            "/app/assets/About-2b.js": "",
            "/app/assets/About-2b.css": "",
        },
        asked="/ /app/assets/index-1a.js /app/assets/About-2b.js /app/assets/About-2b.css",
    ),
    Case(
        "what only code names and nobody has is no broken link",
        from_page("<script>if (debug) fetch('debug.json')</script>"),
        asked="/ /debug.json",
    ),
    Case("scripts in the page", from_page("<script>import('/x.html')</script>"), asked="/ /x.html"),
    Case("text areas", from_page("<textarea><img src=/x.png></textarea>"), asked="/"),
    Case("forms", from_page("<form action=/x.html><button formaction=/x.html></form>"), asked="/"),
    Case(
        "schemes that are not of the web",
        from_page(
            "<a href='mailto:a@b'>m</a><a href='javascript:x()'>j</a><img src='data:image/png,x'><a href='ftp://127.0.0.1/'>f</a>"
        ),
        asked="/",
    ),
    Case("what is no URL", from_page("<a href='http://[/'>x</a><a href='http://:80'>y</a>"), asked="/"),
    # ---- style sheets
    Case("url()", from_sheet("p{background:url(/x.png)}"), asked=SHEET),
    Case("url() in quotes", from_sheet("p{background:url( '/x.png' )}"), asked=SHEET),
    Case("url() relative to the sheet", from_sheet("p{background:url(x.png)}"), asked="/ /css/s.css /css/x.png"),
    Case("escapes", from_sheet(r"p{background:u\72l(\2f x.png)}"), asked=SHEET),
    Case("@import with a string", from_sheet("@import 't.css';"), asked="/ /css/s.css /css/t.css"),
    Case("@import with url() and media", from_sheet("@import url(t.css) screen;"), asked="/ /css/s.css /css/t.css"),
    Case("@import in capitals", from_sheet('@IMPORT "t.css";'), asked="/ /css/s.css /css/t.css"),
    Case("@import behind a rule is none", from_sheet("p{} @import 't.css';"), asked="/ /css/s.css"),
    Case("comments of CSS", from_sheet("/* url(/x.png) @import 't.css'; */"), asked="/ /css/s.css"),
    Case("strings of CSS", from_sheet("p::before{content:'url(/x.png)'}"), asked="/ /css/s.css"),
    Case("image-set()", from_sheet("p{background:image-set('/x.png' 1x)}"), asked=SHEET),
    Case("fonts", from_sheet("@font-face{src:url(/x.png) format('woff2')}"), asked=SHEET),
    Case(
        "a sheet by its type",
        {**from_sheet(""), "/": "<a href=/s>x</a>", "/s": Answer("p{background:url(/x.png)}", type="text/css")},
        asked=f"/ /s {X}",
    ),
    Case(
        "a sheet without a type",
        {**from_sheet(""), "/": "<link rel=stylesheet href=/s>", "/s": Answer("p{background:url(/x.png)}", type="")},
        asked=f"/ /s {X}",
    ),
    # ---- other files
    Case(
        "SVG files",
        from_file(
            "/i.svg",
            Answer(
                '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
                '<image xlink:href="x.png"/></svg>',
                type=SVG,
            ),
        ),
        asked=f"/ /i.svg {X}",
    ),
    Case(
        "style sheets of SVG",
        from_file(
            "/i.svg",
            Answer(
                '<?xml-stylesheet href="x.png"?><svg xmlns="http://www.w3.org/2000/svg"><style>p{fill:url(y.html)}</style></svg>',
                type=SVG,
            ),
        ),
        asked=f"/ /i.svg {X} /y.html",
    ),
    Case("RSS", from_file("/f.xml", Answer(RSS, type="application/rss+xml")), asked=f"/ /f.xml {X} /x.html"),
    Case(
        "Atom with xml:base", from_file("/f.xml", Answer(ATOM, type="application/atom+xml")), asked="/ /f.xml /x.html"
    ),
    Case("a feed as plain XML", from_file("/f.xml", RSS), asked=f"/ /f.xml {X} /x.html"),
    Case(
        "a web app manifest",
        from_file("/m.webmanifest", MANIFEST, "<link rel=manifest href={}>"),
        asked=f"/ /m.webmanifest {X} /x.html /y.html",
    ),
    Case(
        "a manifest that is no JSON",
        from_file("/m.webmanifest", "{", "<link rel=manifest href={}>"),
        asked="/ /m.webmanifest",
    ),
    Case("text is no page", from_file("/t.txt", "<a href=/x.html>x</a>"), asked="/ /t.txt"),
    Case(
        "a page without a type",
        from_file("/p", Answer("<!doctype html><a href=/x.html>x</a>", type="")),
        asked="/ /p /x.html",
    ),
    Case(
        "a page of a type that says nothing",
        from_file("/p", Answer("<html><a href=/x.html>x</a>", type="application/octet-stream")),
        asked="/ /p /x.html",
    ),
    Case(
        "XHTML",
        from_file(
            "/p",
            Answer(
                "<html xmlns='http://www.w3.org/1999/xhtml'><a href='/x.html'/></html>", type="application/xhtml+xml"
            ),
        ),
        asked="/ /p /x.html",
    ),
    Case(
        "pages of errors are not read",
        {"/": "<a href=/e>e</a>", "/e": Answer("<a href=/x.html>x</a>", 500), "/x.html": "x"},
        asked="/ /e",
        exit=8,
    ),
    # ---- sitemaps
    Case(
        "a sitemap of robots.txt",
        {"/": "x", "/robots.txt": "Sitemap: {base}/one.xml", "/one.xml": URLSET, "/x.html": "x"},
        asked="/ /one.xml /x.html",
    ),
    Case(
        "an index of sitemaps",
        {"/": "x", "/robots.txt": "Sitemap: {base}/one.xml", "/one.xml": INDEX, "/two.xml": URLSET, "/x.html": "x"},
        asked="/ /one.xml /two.xml /x.html",
    ),
    Case(
        "a sitemap in gzip",
        {
            "/": "x",
            "/robots.txt": "Sitemap: {base}/s.xml.gz",
            "/s.xml.gz": gzip.compress(b"<urlset><url><loc>/x.html</loc></url></urlset>"),
            "/x.html": "x",
        },
        asked="/ /s.xml.gz /x.html",
    ),
    Case(
        "a sitemap of text",
        {"/": "x", "/robots.txt": "Sitemap: {base}/s.txt", "/s.txt": "{base}/x.html\n", "/x.html": "x"},
        asked="/ /s.txt /x.html",
    ),
    Case(
        "sitemaps switched off",
        {"/": "x", "/robots.txt": "Sitemap: {base}/one.xml", "/one.xml": URLSET},
        "--no-follow-sitemaps",
        asked="/",
    ),
    Case(
        "sitemaps do not widen the scope",
        {"/a/": "x", "/robots.txt": "Sitemap: {base}/one.xml", "/one.xml": URLSET},
        "-np",
        asked="/a/ /one.xml",
        start="/a/",
    ),
    Case(
        "a sitemap of another host",
        {"/": "x", "/robots.txt": "Sitemap: {other}/one.xml", "/one.xml": URLSET},
        asked="/",
    ),
    # ---- fields
    Case("Link field of a style sheet", from_answer(Link="</s.css>; rel=stylesheet"), asked="/ /s.css"),
    Case(
        "several in a Link field",
        from_answer(Link='</s.css>; rel="preload"; as=style, </x.html>; rel=next'),
        asked="/ /s.css /x.html",
    ),
    Case("Link field that only connects", from_answer(Link="</x.html>; rel=preconnect"), asked="/"),
    Case("Refresh field", from_answer(Refresh="5; url=/x.html"), asked="/ /x.html"),
    Case("Location of a 201 is none", {"/": Answer("x", 201, (("Location", "/x.html"),)), "/x.html": "x"}, asked="/"),
    # ---- encodings
    Case(
        "UTF-16 by its mark",
        from_file("/u.html", Answer("\ufeff<a href=/x.html>".encode("utf-16"), type="text/html")),
        asked="/ /u.html /x.html",
    ),
    Case(
        "UTF-16 by its field",
        from_file("/u.html", Answer("<a href=/x.html>".encode("utf-16-le"), type="text/html; charset=utf-16le")),
        asked="/ /u.html /x.html",
    ),
    Case(
        "names in Latin-1 are sent in UTF-8",
        {"/": Answer("<a href=/é.html>x</a>".encode("latin-1"), type="text/html; charset=latin1"), "/%C3%A9.html": "x"},
        asked="/ /%C3%A9.html",
    ),
    Case(
        "queries are sent in the page's encoding",
        {"/": Answer("<a href='/q?é'>x</a>".encode("latin-1"), type="text/html; charset=latin1"), "/q?%E9": "x"},
        asked="/ /q?%E9",
    ),
    Case(
        "encoding of a meta",
        {"/": "<meta charset=shift_jis><a href=/日.html>x</a>".encode("shift_jis"), "/%E6%97%A5.html": "x"},
        asked="/ /%E6%97%A5.html",
    ),
    Case(
        "broken UTF-8", {"/": b"<meta charset=utf-8>\xff<a href=/x.html>x</a>\xfe", "/x.html": "x"}, asked="/ /x.html"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_discovery(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)
