"""Which links are followed: cases against a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.crawl import Answer, redirect
from tests.sites.crawl_case import Case, check

DEEP = {
    "/": '<a href="1.html">x</a><img src="0.png">',
    "/1.html": '<a href="2.html">x</a><img src="1.png"><link rel=stylesheet href="1.css">',
    "/2.html": '<a href="3.html">x</a><img src="2.png"><iframe src="frame.html"></iframe>',
    "/3.html": "deep",
    "/frame.html": '<img src="framed.png"><a href="beyond.html">x</a>',
    "/beyond.html": "beyond",
    "/1.css": '@import "a.css";',
    "/a.css": '@import "b.css";',
    "/b.css": "body{background:url(b.png)}",
    **dict.fromkeys(("/0.png", "/1.png", "/2.png", "/b.png", "/framed.png"), b"png"),
}
# the short way to x.html is one click long, the long one three
DETOUR = {
    "/": '<a href="a.html">a</a><a href="late.html">x</a>',
    "/a.html": '<a href="b.html">b</a>',
    "/b.html": '<a href="late.html">x</a>',
    "/late.html": Answer('<a href="end.html">e</a>', delay=0.05),
    "/end.html": "end",
}
TREE = {
    "/top.html": "top",
    "/a/": '<a href="b/">b</a><a href="/top.html">t</a><a href="/c/x.html">c</a><img src="/img/i.png">',
    "/a/b/": '<a href="../b/y.html">y</a><a href="../">up</a>',
    "/a/b/y.html": "y",
    "/c/x.html": "x",
    "/img/i.png": b"png",
}
HOSTS = {
    "/": '<a href="{other}/away.html">o</a><a href="here.html">h</a><img src="{other}/i.png">',
    "/here.html": "here",
    "/away.html": '<a href="further.html">f</a>',
    "/further.html": "further",
    "/i.png": b"png",
}
DIRECTORIES = {
    "/": "".join(f'<a href="{path}">x</a>' for path in ("/a/1.html", "/a/b/2.html", "/ab/3.html", "/c/4.html")),
    **dict.fromkeys(("/a/1.html", "/a/b/2.html", "/ab/3.html", "/c/4.html"), "x"),
}
NAMES = {
    "/": '<a href="p.html">p</a><a href="x.zip">z</a><a href="y.PDF">y</a><a href="dir/">d</a><img src="i.png">',
    "/p.html": '<a href="q.zip">q</a><a href="note.txt">n</a>',
    "/dir/": '<a href="r.zip">r</a>',
    **dict.fromkeys(
        ("/x.zip", "/y.PDF", "/q.zip", "/dir/r.zip", "/i.png", "/note.txt"), Answer(b"zip", type="application/zip")
    ),
}
QUERIES = {
    "/": '<a href="a?id=1">1</a><a href="a?id=2">2</a><a href="b?id=1">3</a>',
    "/a?id=1": "1",
    "/a?id=2": "2",
    "/b?id=1": "3",
}
TAGS = {
    "/": '<a href="a.html">a</a><img src="i.png"><link rel=stylesheet href="s.css"><area href="area.html">',
    **dict.fromkeys(("/a.html", "/i.png", "/s.css", "/area.html"), "x"),
}
SIZES = {
    "/": '<a href="big.zip">b</a><a href="small.zip">s</a><a href="page.html">p</a>',
    "/big.zip": b"x" * 5000,
    "/small.zip": b"x" * 100,
    "/page.html": "p",
}
ALL_OF_DEEP = (
    "index.html 0.png 1.html 1.png 1.css a.css b.css b.png 2.html 2.png frame.html framed.png beyond.html 3.html"
)

CASES = [
    # ---- depth
    Case("without a bound everything is fetched", DEEP, "", ALL_OF_DEEP),
    Case("level 0 is no bound", DEEP, "-l 0", ALL_OF_DEEP),
    Case("level inf is no bound", DEEP, "-l inf", ALL_OF_DEEP),
    Case("level 1: what the start leads to", DEEP, "-l 1", "index.html 0.png 1.html"),
    Case("level 2", DEEP, "-l 2", "index.html 0.png 1.html 1.png 1.css 2.html"),
    Case("-r is accepted: we always recurse", DEEP, "-r -l 1", "index.html 0.png 1.html"),
    Case("not recursive: the page alone", DEEP, "--no-recursive", "index.html"),
    Case("not recursive with requisites", DEEP, "--no-recursive -p", "index.html 0.png"),
    Case(
        "requisites of the last level, through imports of any length",
        DEEP,
        "-l 1 -p",
        "index.html 0.png 1.html 1.png 1.css a.css b.css b.png",
    ),
    Case(
        "a frame is a requisite, and so is what it needs, but not its links",
        DEEP,
        "-l 2 -p",
        "index.html 0.png 1.html 1.png 1.css a.css b.css b.png 2.html 2.png frame.html framed.png",
    ),
    Case("depth is that of the shortest path", DETOUR, "-l 2", "index.html a.html late.html b.html end.html"),
    Case("a start page on its own level", DEEP, "-l 1", "2.html 2.png 3.html frame.html", start="/2.html"),
    Case("several starts", DEEP, "--no-recursive", "index.html 3.html", start="/ /3.html"),
    Case("each URL is asked for once", DETOUR, "", asked="/ /a.html /b.html /late.html /end.html"),
    # ---- parents
    Case(
        "parents are followed by default",
        TREE,
        "",
        "a/index.html a/b/index.html a/b/y.html top.html c/x.html img/i.png",
        start="/a/",
    ),
    Case("no parent", TREE, "-np", "a/index.html a/b/index.html a/b/y.html", start="/a/"),
    Case("no parent, long name", TREE, "--no-parent", "a/b/index.html a/b/y.html", start="/a/b/"),
    Case(
        "no parent with requisites from above",
        TREE,
        "-np -p",
        "a/index.html a/b/index.html a/b/y.html img/i.png",
        start="/a/",
    ),
    Case(
        "no parent of a start without a slash is the directory it is in", TREE, "-np", "a/b/y.html", start="/a/b/y.html"
    ),
    # ---- hosts
    Case("other hosts are not followed", HOSTS, "", "index.html here.html"),
    Case("other hosts are not followed for requisites either", HOSTS, "-p", "index.html here.html"),
    Case(
        "span hosts",
        HOSTS,
        "-H",
        "index.html here.html ~localhost:{port}/away.html ~localhost:{port}/further.html ~localhost:{port}/i.png",
    ),
    Case("span hosts, but one", HOSTS, "-H --exclude-domains localhost", "index.html here.html"),
    Case("only domains", HOSTS, "-H -D 127.0.0.1", "index.html here.html"),
    Case(
        "domains of several",
        HOSTS,
        "-H -D 127.0.0.1,localhost",
        "index.html here.html ~localhost:{port}/away.html ~localhost:{port}/further.html ~localhost:{port}/i.png",
    ),
    Case("domains alone do not span hosts", HOSTS, "-D localhost,127.0.0.1", "index.html here.html"),
    Case("a domain is a whole name", HOSTS, "-H -D 27.0.0.1", "index.html"),
    Case("only https", HOSTS, "--https-only", "index.html"),
    # ---- directories
    Case("include directories", DIRECTORIES, "-I /a", "index.html a/1.html a/b/2.html"),
    Case("include directories without a slash", DIRECTORIES, "-I a/b,c", "index.html a/b/2.html c/4.html"),
    Case("exclude directories", DIRECTORIES, "-X /a", "index.html ab/3.html c/4.html"),
    Case("exclude directories by pattern", DIRECTORIES, "-X /a*", "index.html c/4.html"),
    Case("exclude within include", DIRECTORIES, "-I /a -X /a/b", "index.html a/1.html"),
    # ---- names
    Case(
        "accept suffixes; pages are read for their links and not kept",
        NAMES,
        "-A zip",
        "x.zip q.zip dir/r.zip",
    ),
    Case("accept patterns", NAMES, "-A *.zip,i*.*", "index.html x.zip q.zip dir/r.zip dir/index.html i.png"),
    Case("letter case counts", NAMES, "-A pdf", ""),
    Case("letter case does not count", NAMES, "-A pdf --ignore-case", "y.PDF"),
    Case("reject suffixes", NAMES, "-R zip,png", "index.html p.html y.PDF dir/index.html note.txt"),
    Case("reject wins", NAMES, "-A zip,txt -R q*", "x.zip dir/r.zip note.txt"),
    Case(
        "a rejected page of the last level is not asked for",
        NAMES,
        "-R html -l 1",
        asked="/ /x.zip /y.PDF /dir/ /i.png",
    ),
    # ---- regular expressions
    Case("accept regex sees the query", QUERIES, "--accept-regex id=1", "index.html a?id=1 b?id=1"),
    Case("reject regex", QUERIES, "--reject-regex a\\?", "index.html b?id=1"),
    Case("both", QUERIES, "--accept-regex id=1 --reject-regex /b", "index.html a?id=1"),
    Case("a name is matched without its query", QUERIES, "-R 1", "index.html a?id=1 a?id=2 b?id=1"),
    # ---- HTTrack's filters
    Case("a filter rejects", NAMES, "--filter -*.zip", "index.html p.html y.PDF dir/index.html i.png note.txt"),
    Case(
        "the last filter wins",
        NAMES,
        "--filter -*.zip --filter +*q.zip",
        "index.html p.html y.PDF dir/index.html i.png note.txt q.zip",
    ),
    Case(
        "a filter takes in another host",
        HOSTS,
        "--filter +localhost*.png",
        "index.html here.html ~localhost:{port}/i.png",
    ),
    Case("filters stand among the URLs", HOSTS, "+*/i.png", "index.html here.html ~localhost:{port}/i.png"),
    Case("rejecting filters, too", NAMES, "-* +*.png", "index.html i.png"),
    Case(
        "among URLs the last filter wins",
        NAMES,
        "+*.png -*.png -*.zip --filter +*q.zip -mime:application/pdf",
        "index.html p.html y.PDF dir/index.html note.txt q.zip",
    ),
    Case("what stands behind an option is its value", NAMES, "-R +x -A *.png", "i.png", start="/"),
    Case("nothing but", NAMES, "--filter -* --filter +*.png", "index.html i.png"),
    Case("filters on sizes", SIZES, "--filter -*.zip*[>2]", "index.html small.zip page.html"),
    Case("filters on types", SIZES, "--filter -mime:application/zip", "index.html page.html"),
    Case("everything but a type", SIZES, "--filter -* --filter +mime:text/html", "index.html page.html"),
    # ---- tags
    Case("follow tags", TAGS, "--follow-tags a,link", "index.html a.html s.css"),
    Case("ignore tags", TAGS, "--ignore-tags img,area", "index.html a.html s.css"),
    Case("-G", TAGS, "-G a", "index.html i.png s.css area.html"),
    Case(
        "only relative",
        {"/": '<a href="r.html">r</a><a href="{base}/a.html">a</a>', "/r.html": "r", "/a.html": "a"},
        "-L",
        "index.html r.html",
    ),
    # ---- amounts
    Case("largest file", SIZES, "--max-filesize 1k", "index.html small.zip page.html"),
    Case(
        "quota",
        {"/": '<a href="1.html">1</a>', "/1.html": "x" * 600 + '<a href="2.html">2</a>', "/2.html": "x"},
        "-Q 500",
        "index.html 1.html",
    ),
    Case("so many pages", DETOUR, "--max-pages 2 --connections 1", "index.html a.html"),
    # ---- traps
    Case(
        "repeated directories",
        {
            "/": '<a href="x/">t</a>',
            **{"/" + "x/" * n: '<a href="x/">t</a><a href=y>y</a>' for n in range(1, 9)},
            **{"/" + "x/" * n + "y": "y" for n in range(1, 9)},
        },
        "",
        "index.html x/index.html x/y x/x/index.html x/x/y x/x/x/index.html x/x/x/y x/x/x/x/index.html x/x/x/x/y",
        said="warning: 1 link not followed: their paths repeat, and more so at each step, as in {base}/x/x/x/x/x/. ",
    ),
    Case(
        "repeated pairs",
        {"/": '<a href="a/b/">t</a>', **{"/" + "a/b/" * n: '<a href="a/b/">t</a>' for n in range(1, 9)}},
        "--max-repeats 2",
        "index.html a/b/index.html a/b/a/b/index.html",
    ),
    Case(
        "directories that repeat, and do not grow",
        {
            "/": '<a href="/1/1/1/1/1/a">a</a><a href="/d/d/d/d/d/d/">d</a>',
            "/1/1/1/1/1/a": '<a href="b">b</a>',
            "/1/1/1/1/1/b": "b",
            "/d/d/d/d/d/d/": '<a href="d/">d</a>',
        },
        "",
        "index.html 1/1/1/1/1/a 1/1/1/1/1/b d/d/d/d/d/d/index.html",
    ),
    Case("long URLs", {"/": f'<a href="/{"x" * 90}">t</a>'}, "--max-url-length 80", "index.html"),
    Case(
        "parameters of sessions are taken out",
        {
            "/": '<a href="a?sid=1&p=2">1</a><a href="a?p=2&sid=3">2</a><a href="b?sid=4">3</a>',
            "/a?p=2": "a",
            "/b": "b",
        },
        "--strip-query sid",
        "index.html a?p=2 b",
    ),
    # ---- redirects
    Case(
        "a redirect out of scope is not followed",
        {"/": '<a href="out">o</a>', "/out": redirect("{other}/away.html"), "/away.html": "a"},
        "",
        "index.html",
    ),
    Case(
        "unless asked",
        {"/": '<a href="out">o</a>', "/out": redirect("{other}/away.html"), "/away.html": "a"},
        "-H",
        "index.html out",
    ),
    Case(
        "a redirect above the parent",
        {"/a/": '<a href="r">r</a>', "/a/r": redirect("/up.html"), "/up.html": "u"},
        "-np",
        "a/index.html",
        start="/a/",
    ),
    Case(
        "the host that the start redirects to is in scope",
        {"/go": redirect("{other}/home/"), "/home/": '<a href="x.html">x</a>', "/home/x.html": "x"},
        "",
        "go ~localhost:{port}/home/x.html",
        start="/go",
    ),
    # ---- spider
    Case(
        "a spider keeps nothing",
        DEEP,
        "--spider",
        "",
        asked="/ /0.png /1.html /1.png /1.css /a.css /b.css /b.png /2.html /2.png "
        "/frame.html /framed.png /beyond.html /3.html",
    ),
    Case(
        "a spider tells broken links with their place",
        {"/": '<p>\n<a href="gone.html">g</a>'},
        "--spider",
        "",
        exit=8,
        said="{base}/:2: warning: a href leads to {base}/gone.html, which is answered with 404",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scope(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)
