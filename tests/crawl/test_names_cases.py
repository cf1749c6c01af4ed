"""How files are called: cases against a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.crawl import Answer, redirect, serving
from tests.sites.crawl_case import Case, check, crawl

PLAIN = {"/": '<a href="a/b.html?x=1&amp;y=/z">q</a><a href="a/">d</a>', "/a/b.html?x=1&y=/z": "q", "/a/": "d"}
TYPES = {
    "/": (
        '<a href="a">a</a><a href="b.php?c=1">b</a><link rel=stylesheet href="s"><a href="x.htm">x</a><a href="i">i</a>'
    ),
    "/a": "a",
    "/b.php?c=1": "b",
    "/s": Answer("s{}", type="text/css"),
    "/x.htm": "x",
    "/i": Answer(b"png", type="image/png"),
}
SLASH = {"/": '<a href="a">1</a><a href="a/b">2</a>', "/a": "file", "/a/b": "below"}
FLAT = {"/": '<img src="a/x.png"><img src="b/x.png">', "/a/x.png": b"one", "/b/x.png": b"two"}


def disposition(value: str) -> dict[str, object]:
    return {
        "/": '<a href="d/load?id=1">l</a>',
        "/d/load?id=1": Answer(b"zip", fields=(("Content-Disposition", value),), type="application/zip"),
    }


def pages(*paths: str) -> dict[str, object]:
    return {"/": "".join(f'<a href="{path}">x</a>' for path in paths), **{path: path for path in paths}}


CASES = [
    Case(
        "one URL in two spellings",
        {"/": '<a href="/~u/">1</a><a href="/%7Eu/">2</a><a href="/%7eu/">3</a>', "/~u/": "u"},
        "-k",
        "index.html ~u/index.html",
        asked="/ /~u/",
        holds={"index.html": '<a href="~u/index.html">1</a><a href="~u/index.html">2</a><a href="~u/index.html">3</a>'},
    ),
    Case(
        "names without queries",
        {
            "/": '<a href="a?x=1">1</a><a href="a?x=2">2</a><a href="s.css?v=3">3</a>',
            "/a?x=1": "1",
            "/a?x=2": "2",
            "/s.css?v=3": "s{}",
        },
        "--cut-file-get-vars -k",
        "index.html a a.1 s.css",
        holds={"index.html": '<a href="a">1</a><a href="a.1">2</a><a href="s.css">3</a>'},
    ),
    Case("host, directories, index, query in the name", PLAIN, "", "index.html a/index.html a/b.html?x=1&y=%2Fz"),
    Case("no host directories", PLAIN, "-nH", "~index.html ~a/index.html ~a/b.html?x=1&y=%2Fz"),
    Case("no host directories, long", PLAIN, "--no-host-directories", "~index.html ~a/index.html ~a/b.html?x=1&y=%2Fz"),
    Case(
        "without recursion, the start is kept whatever is accepted",
        PLAIN,
        "-A none --no-recursive",
        "a/index.html",
        start="/a/",
    ),
    Case("protocol directory", PLAIN, "--protocol-directories --no-recursive", "~http/127.0.0.1:{port}/index.html"),
    Case("force directories is how it is", PLAIN, "-x --no-recursive", "index.html"),
    Case("cut directories", pages("/a/b/c.html", "/a/d.html"), "--cut-dirs 1", "index.html b/c.html d.html"),
    Case("cut more than there are", pages("/a/b/c.html"), "--cut-dirs 5", "index.html c.html"),
    Case("cut directories and host", pages("/a/b/c.html"), "-nH --cut-dirs 2", "~index.html ~c.html"),
    Case("no directories", FLAT, "-nd", "~index.html ~x.png ~x.png.1", holds={"~x.png": "one", "~x.png.1": "two"}),
    Case("default page", PLAIN, "--default-page home.htm", "home.htm a/home.htm a/b.html?x=1&y=%2Fz"),
    # ---- types
    Case("adjust extension", TYPES, "-E", "index.html a.html b.php?c=1.html s.css x.htm i"),
    Case("adjust extension, long", TYPES, "--adjust-extension", "index.html a.html b.php?c=1.html s.css x.htm i"),
    Case(
        "adjusted into the name of another",
        pages("/a", "/a.html"),
        "-E",
        "index.html a.html.1 a.html",
        holds={"a.html": "/a.html", "a.html.1": "/a"},
    ),
    # ---- escapes
    Case("escapes are undone", pages("/%C3%A9t%C3%A9/a%20b.html"), "", None, holds={"été/a b.html": "/%C3%A9"}),
    Case("an escaped slash stays", pages("/a%2Fb.html"), "", "index.html a%2Fb.html"),
    Case("an escaped backslash stays", pages("/a%5Cb.html"), "", "index.html a%5Cb.html"),
    Case("control characters stay escaped", pages("/a%0Ab.html"), "", "index.html a%0Ab.html"),
    Case(
        "control characters, if asked",
        pages("/a%7Fb.html"),
        "--restrict-file-names nocontrol",
        "index.html a\x7fb.html",
    ),
    Case("bytes that are no UTF-8 stay escaped", pages("/a%FFb.html"), "", "index.html a%FFb.html"),
    Case(
        "nothing leaves the directory",
        pages("/..%2F..%2Fx.html", "/a/%2E%2E%2F%2E%2E/y.html"),
        "",
        "index.html ..%2F..%2Fx.html a/..%2F../y.html",
    ),
    Case("dots of a query are a name", {"/": '<a href="?..">q</a>', "/?..": "q"}, "", "index.html index.html?.."),
    Case(
        "our own directory is not for URLs",
        pages("/.adaptc/crawl.sqlite"),
        "-nH",
        "~index.html ~%2Eadaptc/crawl.sqlite",
    ),
    Case(
        "names that servers and tools take for more than content",
        pages(
            "/.htaccess",
            "/.user.ini",
            "/.env",
            "/.git/config",
            "/adaptc.toml",
            "/Web.Config",
            "/php.ini",
            "/a.html~",
            "/a.bak",
            "/x.pl",
            "/x.py",
            "/x.pht",
            "/x.php.de",
            "/cgi-bin/run",
            "/CGI-BIN/x.html",
            "/.well-known/a",
        ),
        "-nH",
        "~index.html ~%2Ehtaccess ~%2Euser%2Eini ~%2Eenv ~%2Egit/config ~adaptc%2Etoml ~Web%2EConfig ~php%2Eini"
        " ~a%2Ehtml%7E ~a%2Ebak ~x%2Epl ~x%2Epy ~x%2Epht ~x%2Ephp%2Ede ~%63gi-bin/run ~%43GI-BIN/x.html ~.well-known/a",
    ),
    Case("hosts and directories have no extension", pages("/x.py/a.html"), "", "index.html x.py/a.html"),
    # ---- other systems
    Case(
        "for Windows",
        PLAIN,
        "--restrict-file-names windows",
        "~127.0.0.1+{port}/index.html ~127.0.0.1+{port}/a/index.html ~127.0.0.1+{port}/a/b.html@x=1&y=%2Fz",
    ),
    Case(
        "names that Windows keeps for itself",
        pages("/con.html", "/x/aux", "/a."),
        "-nH --restrict-file-names windows",
        "~index.html ~%63on.html ~x/%61ux ~a%2E",
    ),
    Case(
        "letter case on Windows",
        pages("/A.html", "/a.html"),
        "-nH --restrict-file-names windows",
        "~index.html ~A.html ~a.html.1",
    ),
    Case("letter case elsewhere", pages("/A.html", "/a.html"), "-nH", "~index.html ~A.html ~a.html"),
    Case(
        "lower case",
        pages("/A.html", "/B/C.html"),
        "-nH --restrict-file-names lowercase",
        "~index.html ~a.html ~b/c.html",
    ),
    Case("upper case", pages("/a.html"), "-nH --restrict-file-names uppercase", "~INDEX.HTML ~A.HTML"),
    Case("ASCII", pages("/%C3%A9.html"), "-nH --restrict-file-names ascii", "~index.html ~%C3%A9.html"),
    Case("an unknown mode", {}, "--restrict-file-names vms", exit=2, said="--restrict-file-names: vms is none of"),
    # ---- collisions
    Case(
        "a file beside a directory of its name", SLASH, "", "index.html a a.1/b", holds={"a": "file", "a.1/b": "below"}
    ),
    Case(
        "a directory beside a file of its name",
        {"/": '<a href="a/b">2</a><a href="a">1</a>', "/a": "file", "/a/b": "below"},
        "",
        "index.html a.1 a/b",
        holds={"a.1": "file", "a/b": "below"},
    ),
    Case(
        "a directory and its page are one file where they are the same",
        {"/": '<a href="d/">1</a><a href="d/index.html">2</a>', "/d/": "d", "/d/index.html": "d"},
        "",
        "index.html d/index.html",
    ),
    Case(
        "and two where they are not",
        {"/": '<a href="d/">1</a><a href="d/index.html">2</a>', "/d/": "one", "/d/index.html": "two"},
        "",
        "index.html d/index.html d/index.html.1",
        holds={"d/index.html": "one", "d/index.html.1": "two"},
    ),
    Case(
        "names do not depend on which answer comes first",
        {"/": '<a href="slow/x">1</a><a href="fast/x">2</a>', "/slow/x": Answer("slow", delay=0.1), "/fast/x": "fast"},
        "-nd",
        holds={"~x": "slow", "~x.1": "fast"},
    ),
    # ---- redirects
    Case(
        "what was redirected keeps the name that was asked for",
        {"/": '<a href="old.html">o</a>', "/old.html": redirect("new.html"), "/new.html": "new"},
        "",
        "index.html old.html",
    ),
    Case(
        "or gets the name of where it came from",
        {"/": '<a href="old.html">o</a>', "/old.html": redirect("new.html"), "/new.html": "new"},
        "--trust-server-names",
        "index.html new.html",
    ),
    Case(
        "a slash that was added makes a directory",
        {"/": '<a href="d">o</a>', "/d": redirect("d/", 301), "/d/": '<a href="x.html">x</a>', "/d/x.html": "x"},
        "",
        "index.html d/index.html d/x.html",
    ),
    Case(
        "a name that a redirect gives back is that of the directory",
        {
            "/": "<a href=docs>d</a><a href=docs/a/x.html>x</a><img src=docs/y.png>",
            "/docs": redirect("docs/", 301),
            "/docs/": "<a href=z.html>z</a>",
            "/docs/a/x.html": "x",
            "/docs/y.png": b"y",
            "/docs/z.html": "z",
        },
        "-k",
        "index.html docs/index.html docs/a/x.html docs/y.png docs/z.html",
        holds={"index.html": "<a href=docs/index.html>d</a><a href=docs/a/x.html>x</a><img src=docs/y.png>"},
    ),
    Case(
        "a name that no file got is given back",
        {"/": "<a href=docs>d</a><a href=docs/x.html>x</a><a href=a.b>a</a>", "/docs/x.html": "x", "/a.b": "a"},
        "",
        "index.html docs/x.html a.b",
        exit=8,
    ),
    Case(
        "a name that many asked for goes to the first that has a file",
        {
            "/": "<a href=q?1>1</a><a href=q?2>2</a><a href=q?3>3</a>",
            "/q?2": "2",
            "/q?3": "3",
            "/q?1": redirect("/q?3"),
        },
        "--cut-file-get-vars",
        "index.html q q.1",
        holds={"q": "2", "q.1": "3"},
    ),
    Case(
        "a name that stays taken",
        {"/": "<a href=docs>d</a><a href=docs/x.html>x</a>", "/docs": "d", "/docs/x.html": "x"},
        "",
        "index.html docs docs.1/x.html",
    ),
    Case(
        "a redirect to what is there already",
        {
            "/": '<a href="new.html">n</a><a href="old.html">o</a>',
            "/old.html": redirect("new.html"),
            "/new.html": "new",
        },
        "",
        "index.html new.html",
    ),
    Case(
        "several redirects",
        {"/": '<a href="a">a</a>', "/a": redirect("/b"), "/b": redirect("/c"), "/c": "c"},
        "",
        "index.html a",
        asked="/ /a /b /c",
    ),
    # ---- Content-Disposition
    Case(
        "a given name does not count by default",
        disposition('attachment; filename="x.zip"'),
        "",
        "index.html d/load?id=1",
    ),
    Case("a given name", disposition('attachment; filename="x.zip"'), "--content-disposition", "index.html d/x.zip"),
    Case(
        "a given name without quotes",
        disposition("attachment; filename=x.zip"),
        "--content-disposition",
        "index.html d/x.zip",
    ),
    Case(
        "a given name in UTF-8",
        disposition("attachment; filename=x; filename*=UTF-8''%C3%A9.zip"),
        "--content-disposition",
        "index.html d/é.zip",
    ),
    Case(
        "a given path is a name only",
        disposition('attachment; filename="../../../etc/passwd"'),
        "--content-disposition",
        "index.html d/passwd",
    ),
    Case(
        "a given path of Windows, too",
        disposition('attachment; filename="C:\\\\x\\\\y.zip"'),
        "--content-disposition",
        "index.html d/y.zip",
    ),
    Case(
        "a given name that is no name",
        disposition('attachment; filename=".."'),
        "--content-disposition",
        "index.html d/load?id=1",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_names(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)


def test_over_long_names_stay_distinct(tmp_path: Path) -> None:
    one, two = ("/" + "x" * 300 + end + ".html" for end in "12")
    from tests.servers.crawl import serving
    from tests.sites.crawl_case import crawl

    with serving(pages(one, two)) as server:  # type: ignore[arg-type]
        outcome = crawl(server, tmp_path / "m")
    names = outcome.files() - {"index.html"}
    assert len(names) == 2
    assert all(len(name.encode()) == 255 and name.endswith(".html") for name in names)
    assert {outcome.path(name).read_text() for name in names} == {one, two}


@pytest.mark.parametrize("path", ["/a/x.html", "/a/b/c/x.html"])
@pytest.mark.parametrize("exists", [True, False], ids=["", "dangling"])
def test_a_directory_that_leads_elsewhere_is_refused(path: str, exists: bool, tmp_path: Path) -> None:
    outside, mirror = tmp_path / "outside", tmp_path / "m"
    if exists:
        outside.mkdir()
    with serving(pages(path)) as server:  # type: ignore[arg-type]
        (mirror / f"127.0.0.1:{server.port}").mkdir(parents=True)
        (mirror / f"127.0.0.1:{server.port}" / "a").symlink_to(outside)
        outcome = crawl(server, mirror)
    assert outcome.code == 3
    assert list(outside.rglob("*")) == []
    assert outside.exists() == exists


def test_files_behind_a_link_that_leads_elsewhere_are_neither_read_nor_removed(tmp_path: Path) -> None:
    site = {"/": Answer("<a href=a/x.html>x</a>", after=(Answer("nothing"),)), "/a/x.html": "x"}
    outside = tmp_path / "outside"
    with serving(site) as server:
        directory = crawl(server, tmp_path / "m").path("a")
        directory.rename(outside)
        directory.symlink_to(outside)
        crawl(server, tmp_path / "m", "-N --purge")
    assert [file.name for file in outside.iterdir()] == ["x.html"]


def test_a_robots_txt_behind_such_a_link_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside, mirror = tmp_path / "outside", tmp_path / "m"
    outside.mkdir()
    with serving({"/": "x", "/robots.txt": "User-agent: *"}) as server:
        mirror.mkdir()
        (mirror / f"127.0.0.1:{server.port}").symlink_to(outside)
        assert crawl(server, mirror).code == 3
    assert list(outside.iterdir()) == []
    assert "/robots.txt cannot be written: " in capsys.readouterr().err
