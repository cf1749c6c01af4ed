"""Links of a mirror: what is converted, and that nothing else is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.servers.crawl import Answer, redirect, serving
from tests.sites.crawl_case import Case, check, crawl

from adaptc.crawl.conversion import Linker, convert_page
from adaptc.crawl.discover.page_links import decode_page
from adaptc.formats.css.references import rewrite_urls

HOST = "http://h"
SAVED = {
    "/": "h/index.html",
    "/a.html": "h/a.html",
    "/d/": "h/d/index.html",
    "/d/b.html": "h/d/b.html",
    "/i.png": "h/i.png",
    "/q?x=1&y=2": "h/q?x=1&y=2",
    "/50%25.html": "h/50%.html",
    "/x%23y.html": "h/x#y.html",
    "/c:d": "h/c:d",
    "/s.css": "h/s.css",
}


def names(url: str) -> str | None:
    return SAVED.get(url.removeprefix(HOST)) if url.startswith(HOST + "/") else None


def converted(source: str | bytes, path: str = "/d/b.html") -> str | bytes:
    decoded = decode_page(source.encode() if isinstance(source, str) else source, None)
    text = convert_page(decoded, Linker(HOST + path, SAVED[path], HOST + path, names))
    if text is None:
        return source
    content = decoded.encoded(text)
    assert content is not None
    return content.decode() if isinstance(source, str) else content


# What a page at /d/b.html says, and what it says afterwards
PAGES = {
    '<frameset><frame src="/a.html">\r\n<noframes>\r\n<p><a href="/a.html">é</a></noframes></frameset>': (
        '<frameset><frame src="../a.html">\r\n<noframes>\r\n<p><a href="../a.html">é</a></noframes></frameset>'
    ),
    "<noembed><a href=/a.html>x</a></noembed><p>": "<noembed><a href=../a.html>x</a></noembed><p>",
    '<iframe src="/a.html"><a href="/d/">x</a></iframe>': '<iframe src="../a.html"><a href="index.html">x</a></iframe>',
    "<iframe>" * 9 + '<a href="/a.html">': "<iframe>" * 9 + '<a href="/a.html">',
    '<a href="/a.html">': '<a href="../a.html">',
    "<a href='/a.html'>": "<a href='../a.html'>",
    "<a href=/a.html>": "<a href=../a.html>",
    "<a href = /a.html class=x>": "<a href = ../a.html class=x>",
    '<A  HREF="/a.html"  >': '<A  HREF="../a.html"  >',
    '<a href="http://h/a.html#top">': '<a href="../a.html#top">',
    '<a href="../a.html">': '<a href="../a.html">',
    '<a href="./">': '<a href="index.html">',
    '<a href="/d/">': '<a href="index.html">',
    '<a href="#top">': '<a href="#top">',
    '<a href="">': '<a href="">',
    '<a href="b.html#x">': '<a href="b.html#x">',
    '<a href="/gone.html">': '<a href="http://h/gone.html">',
    '<a href="gone.html?a=1&amp;b=2#c">': '<a href="http://h/d/gone.html?a=1&amp;b=2#c">',
    '<a href="https://other/x">': '<a href="https://other/x">',
    '<a href="//other/x">': '<a href="http://other/x">',
    '<a href="mailto:a@b">': '<a href="mailto:a@b">',
    '<a href="javascript:x()">': '<a href="javascript:x()">',
    '<a href="http://[">': '<a href="http://[">',
    '<img src="data:image/png,x">': '<img src="data:image/png,x">',
    # names that would be read otherwise in a URL
    '<a href="/q?x=1&amp;y=2">': '<a href="../q%3Fx=1&amp;y=2">',
    '<a href="/50%25.html">': '<a href="../50%25.html">',
    '<a href="/x%23y.html">': '<a href="../x%23y.html">',
    '<a href="/c:d">': '<a href="../c:d">',
    # lists, styles, and what hides in them
    '<img srcset="/i.png 1x, /gone.png 2x">': '<img srcset="../i.png 1x, http://h/gone.png 2x">',
    '<img srcset="/i.png,/i.png 2x">': '<img srcset="/i.png,/i.png 2x">'.replace(
        "/i.png,/i.png", "http://h/i.png,/i.png"
    ),
    '<img srcset="/i.png, /i.png 2x">': '<img srcset="../i.png, ../i.png 2x">',
    "<source srcset=/i.png>": "<source srcset=../i.png>",
    '<link rel=preload imagesrcset="/i.png 2x">': '<link rel=preload imagesrcset="../i.png 2x">',
    '<img data-src="/i.png">': '<img data-src="../i.png">',
    '<p style="color:red;background:url(/i.png)">': '<p style="color:red;background:url(../i.png)">',
    "<p style='background:url(\"/i.png\")'>": "<p style='background:url(../i.png)'>",
    '<p style="background:url(&quot;/i.png&quot;)">': '<p style="background:url(../i.png)">',
    "<style>p { background: url(/i.png) }</style>": "<style>p { background: url(../i.png) }</style>",
    "<style>@import '/s.css';</style>": '<style>@import "../s.css";</style>',
    '<meta http-equiv=refresh content="5; URL=/a.html">': '<meta http-equiv=refresh content="5; URL=../a.html">',
    "<meta http-equiv=refresh content=5>": "<meta http-equiv=refresh content=5>",
    "<iframe srcdoc='&lt;img src=\"/i.png\">'></iframe>": "<iframe srcdoc='<img src=\"../i.png\">'></iframe>",
    "<svg><image xlink:href='/i.png'/></svg>": "<svg><image xlink:href='../i.png'/></svg>",
    '<svg><rect fill="url(#g)"/></svg>': '<svg><rect fill="url(#g)"/></svg>',
    '<base href="/"><a href="a.html">': '<base href=""><a href="../a.html">',
    '<base href="/"><a href="#x">': '<base href=""><a href="../index.html#x">',
    "<base href=/ target=_blank><a href=i.png>": '<base href="" target=_blank><a href=../i.png>',
    # what is none
    "<!-- <a href='/a.html'> --><script>'/a.html'</script>": "<!-- <a href='/a.html'> --><script>'/a.html'</script>",
    "<p>caf\u00e9 <a\r\nhref=\r\n'/a.html'>\r\n\r\n<a href='/i.png'>": (
        "<p>caf\u00e9 <a\r\nhref=\r\n'../a.html'>\r\n\r\n<a href='../i.png'>"
    ),
    "<p>\r\n\r\r\n<a href='/a.html'>\r": "<p>\r\n\r\r\n<a href='../a.html'>\r",
    "<a href='/a.html' href='/i.png'>": "<a href='../a.html' href='/i.png'>",
    "<a b=c href=/a.html/>": "<a b=c href=http://h/a.html/ >".replace("http://h/a.html/ ", '"http://h/a.html/"'),
}


@pytest.mark.parametrize("source", PAGES)
def test_pages(source: str) -> None:
    assert converted(source) == PAGES[source]


BYTES = {
    b"<meta charset=utf-8>\xff\xfe<a href='/a.html'>\xc3": b"<meta charset=utf-8>\xff\xfe<a href='../a.html'>\xc3",
    "<meta charset=latin1>é<a href='/a.html'>".encode("latin-1"): "<meta charset=latin1>é<a href='../a.html'>".encode(
        "latin-1"
    ),
    "\ufeffé<a href='/a.html'>".encode("utf-16"): "\ufeffé<a href='../a.html'>".encode("utf-16"),
    "<meta charset=shift_jis>日<a href='/a.html'>".encode(
        "shift_jis"
    ): "<meta charset=shift_jis>日<a href='../a.html'>".encode("shift_jis"),
    "\ufeff<a href='/a.html'>".encode(): "\ufeff<a href='../a.html'>".encode(),
}


@pytest.mark.parametrize("source", BYTES)
def test_bytes_of_every_encoding_stay(source: bytes) -> None:
    assert converted(source) == BYTES[source]


SHEETS = {
    "p{background:url(/i.png)}": "p{background:url(../i.png)}",
    "p{background:url( '/i.png' )}/* url(/i.png) */": "p{background:url(../i.png)}/* url(/i.png) */",
    "@import '/s.css' screen;": '@import "../s.css" screen;',
    "p{background:url(gone.png)}": "p{background:url(http://h/d/gone.png)}",
    "p{background:url(#x)}": "p{background:url(#x)}",
}


@pytest.mark.parametrize("source", SHEETS)
def test_sheets(source: str) -> None:
    linker = Linker(HOST + "/d/s.css", "h/d/s.css", HOST + "/d/s.css", names)
    assert rewrite_urls(source, lambda found: linker(found.url)) == SHEETS[source]


SITE: Mapping[str, object] = {
    "/": '<a href="/d/">d</a><link rel=stylesheet href=/css/s.css><a href="/old">o</a><a href="{other}/x">x</a>',
    "/d/": '<img src="/i.png"><a href="/">up</a><a href="/gone">g</a>',
    "/css/s.css": "p{background:url(/i.png)}",
    "/i.png": b"png",
    "/old": redirect("/new.html"),
    "/new.html": "<a href=/d/>d</a>",
}
CASES = [
    Case(
        "a whole site",
        SITE,
        "-k",
        "index.html d/index.html css/s.css i.png old",
        exit=8,  # type: ignore[arg-type]
        holds={
            "index.html": (
                '<a href="d/index.html">d</a><link rel=stylesheet href=css/s.css><a href="old">o</a>'
                '<a href="{other}/x">x</a>'
            ),
            "d/index.html": '<img src="../i.png"><a href="../index.html">up</a><a href="{base}/gone">g</a>',
            "css/s.css": "url(../i.png)",
            "old": "<a href=d/index.html>",
        },
    ),
    Case("without -k nothing is touched", SITE, "", exit=8, holds={"index.html": '<a href="/d/">d</a>'}),  # type: ignore[arg-type]
    Case(
        "with backups",
        SITE,
        "-k -K",
        "index.html index.html.orig d/index.html d/index.html.orig css/s.css css/s.css.orig i.png old old.orig",  # type: ignore[arg-type]
        exit=8,
        holds={"index.html.orig": '<a href="/d/">d</a>'},
    ),
    Case(
        "to another host's directory",
        {"/": '<a href="{other}/x.html">x</a>', "/x.html": "x"},
        "-k -H",
        holds={"index.html": '<a href="../localhost:{port}/x.html">'},
    ),
    Case(
        "to a numbered name",
        {"/": '<a href="a">1</a><a href="a/b">2</a>', "/a": "file", "/a/b": "below"},
        "-k",
        holds={"index.html": '<a href="a">1</a><a href="a.1/b">2</a>'},
    ),
    Case(
        "to an adjusted name",
        {"/": '<a href="p?x=1">1</a>', "/p?x=1": "p"},
        "-k -E",
        holds={"index.html": '<a href="p%3Fx=1.html">1</a>'},
    ),
    Case(
        "to one file of two",
        {"/": '<a href="d/">1</a><a href="d/index.html">2</a>', "/d/": "d", "/d/index.html": "d"},
        "-k",
        holds={"index.html": '<a href="d/index.html">1</a><a href="d/index.html">2</a>'},
    ),
    Case(
        "SVG files",
        {
            "/": "<img src=i.svg>",
            "/i.svg": Answer(
                "<svg xmlns='http://www.w3.org/2000/svg'><image href='/x.png'/></svg>", type="image/svg+xml"
            ),
            "/x.png": b"",
        },
        "-k",
        holds={"i.svg": "href='x.png'"},
    ),
    Case(
        "to what is stripped of a session",
        {"/": '<a href="/a?sid=1">1</a>', "/a": "a"},
        "-k --strip-query sid",
        holds={"index.html": '<a href="a">1</a>'},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mirrors(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)


def test_converting_again_begins_with_the_bytes_that_came(tmp_path: Path) -> None:
    site = {
        "/": Answer('<a href="/a.html">a</a>', fields=(("ETag", '"1"'),), decide=None),
        "/a.html": Answer("a", 404, after=(Answer("a"),)),
    }
    with serving(site) as server:
        first = crawl(server, tmp_path / "m", "-k -N")
        assert f'<a href="{server.base}/a.html">' in first.path("index.html").read_text()
        second = crawl(server, tmp_path / "m", "-k -N")
        assert '<a href="a.html">' in second.path("index.html").read_text()
