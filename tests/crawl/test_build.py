"""``adaptc build`` of what is not a docroot: a URL, a mirror, a WARC file; and what header fields had told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.servers.crawl import Answer, Resource, Server, redirect, serving
from tests.sites.crawl_case import crawl

from adaptc.cli.main import run
from adaptc.crawl.conversion import ServedLinker, declared_page, declared_sheet
from adaptc.crawl.discover.page_links import decode_page, decode_sheet
from adaptc.site.crawled import find_mirror, types_of

PAGE = "<!doctype html><html lang=en><head><title>t</title></head><body><p>Hello</p>{}</body></html>"
SITE: dict[str, Resource] = {
    "/": PAGE.format('<a href="about">a</a><a href="list?page=2">2</a><a href="/old">o</a><img src="i.svg" alt="">'),
    "/about": PAGE.format('<a href="/">home</a>'),
    "/list?page=2": PAGE.format('<a href="{base}/about">a</a>'),
    "/old": redirect("/new/"),
    "/new/": PAGE.format("new"),
    "/i.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
}


def build(source: str, output: Path, *options: str) -> int:
    return int(run(["build", source, "-o", str(output), "--level", "full", "-j", "1", *options]))


def tree(output: Path) -> dict[str, str]:
    root = output / "full/id"
    return {one.relative_to(root).as_posix(): one.read_text() for one in root.rglob("*") if one.is_file()}


def mirror_of(output: Path) -> Path:
    (mirror,) = (output / ".adaptc/mirrors").iterdir()
    return mirror


# ---- a URL


def test_a_url_is_crawled_and_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE) as server:
        assert build(f"{server.base}/", tmp_path / "opt") == 0
        found = tree(tmp_path / "opt")
        assert set(found) == {"index.html", "about", "list?page=2", "new/index.html", "i.svg"}
        assert found["index.html"] == PAGE.format(
            '<a href="about">a</a><a href="/list%3Fpage=2">2</a><a href="/new/">o</a><img src="i.svg" alt="">'
        )
        assert found["list?page=2"] == server.fill(str(SITE["/list?page=2"]))
        manifest = json.loads((tmp_path / "opt/manifest.json").read_text())
    said = capsys.readouterr().out
    assert said.startswith("5 files, ")
    assert "built 5, removed 0" in said
    assert server.base in json.dumps(manifest)


def test_a_second_build_loads_and_builds_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = (("ETag", '"1"'),)
    site = {
        "/": Answer(PAGE.format("<a href=a.html>a</a>"), decide=None, fields=fields, after=(Answer("", 304, fields),)),
        "/a.html": Answer(PAGE.format("old"), after=(Answer(PAGE.format("new")),)),
    }
    with serving(site) as server:
        build(f"{server.base}/", tmp_path / "opt")
        capsys.readouterr()
        build(f"{server.base}/", tmp_path / "opt", "--explain")
    said = capsys.readouterr().out
    assert "1 file, " in said
    assert "1 kept as they were" in said
    assert "built 1, removed 0" in said
    assert "full/a.html:" in said


def test_what_is_gone_leaves_the_trees(tmp_path: Path) -> None:
    first = Answer(PAGE.format("<a href=a.html>a</a>"), after=(Answer(PAGE.format("nothing")),))
    with serving({"/": first, "/a.html": PAGE.format("a")}) as server:
        build(f"{server.base}/", tmp_path / "opt")
        assert set(tree(tmp_path / "opt")) == {"index.html", "a.html"}
        build(f"{server.base}/", tmp_path / "opt")
        assert set(tree(tmp_path / "opt")) == {"index.html"}


def test_a_robots_txt_that_fails_removes_no_page(tmp_path: Path) -> None:
    site = {
        "/": PAGE.format("<a href=a.php>a</a>"),
        "/a.php": Answer(PAGE.format("a"), type="text/html"),
        "/robots.txt": Answer("", 404, after=(Answer("", 403),)),
    }
    with serving(site) as server:
        assert build(f"{server.base}/", tmp_path / "opt") == 0
        before = tree(tmp_path / "opt")
        table = json.loads((mirror_of(tmp_path / "opt") / ".adaptc/mirror.json").read_text())
        server.resources["/robots.txt"] = Answer(raw=b"")
        assert build(f"{server.base}/", tmp_path / "opt") == 1
    assert tree(tmp_path / "opt") == before
    assert json.loads((mirror_of(tmp_path / "opt") / ".adaptc/mirror.json").read_text()) == table


def test_a_maintenance_page_removes_no_other_page(tmp_path: Path) -> None:
    first = Answer(PAGE.format("<a href=a.html>a</a><a href=b.html>b</a>"), after=(Answer(PAGE.format("soon")),))
    with serving({"/": first, "/a.html": PAGE.format("a"), "/b.html": PAGE.format("b")}) as server:
        build(f"{server.base}/", tmp_path / "opt")
        assert build(f"{server.base}/", tmp_path / "opt") == 1
        assert set(tree(tmp_path / "opt")) == {"index.html", "a.html", "b.html"}
        assert build(f"{server.base}/", tmp_path / "opt", "--purge-most", "2") == 0
        assert set(tree(tmp_path / "opt")) == {"index.html"}


def test_only_what_is_below_the_url_is_crawled(tmp_path: Path) -> None:
    site = {"/a/": PAGE.format('<a href="/b/">b</a><img src="/i.svg" alt="">'), "/b/": "b", "/i.svg": SITE["/i.svg"]}
    with serving(site) as server:
        build(f"{server.base}/a/", tmp_path / "opt")
    assert set(tree(tmp_path / "opt")) == {"a/index.html", "i.svg"}


def test_a_site_that_does_not_answer_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({}) as server:
        assert build(f"{server.base}/", tmp_path / "opt") == 8
    assert "/ is answered with 404 [crawl-failed]" in capsys.readouterr().err
    assert not (tmp_path / "opt/full").exists()


def test_a_page_that_fails_is_told_and_the_rest_is_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/": PAGE.format("<a href=gone.html>g</a>")}) as server:
        assert build(f"{server.base}/", tmp_path / "opt") == 0
    assert "[broken-link]" in capsys.readouterr().err
    assert set(tree(tmp_path / "opt")) == {"index.html"}


def test_the_document_for_programs_tells_of_the_crawl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE) as server:
        build(f"{server.base}/", tmp_path / "opt", "--format", "json")
    record = json.loads(capsys.readouterr().out)
    assert record["crawl"]["files"] == 5
    assert Path(record["crawl"]["output"]) == mirror_of(tmp_path / "opt")


@pytest.mark.parametrize("source", ["http://127.0.0.1:1/", "{tmp}/none.warc.gz"])
def test_a_dry_run_fetches_nothing(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build(source.replace("{tmp}", str(tmp_path)), tmp_path / "opt", "--dry-run") == 2
    assert "--dry-run writes nothing" in capsys.readouterr().err
    assert not (tmp_path / "opt").exists()


def test_a_directory_of_somebody_is_not_crawled_into(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/dear.txt").write_text("dear")
    assert build("http://127.0.0.1:1/", tmp_path / "opt") == 2
    assert "is not empty and was not made by adaptc" in capsys.readouterr().err
    assert [one.name for one in (tmp_path / "opt").iterdir()] == ["dear.txt"]


# ---- a mirror


def mirror(tmp_path: Path, site: Mapping[str, Resource], options: str = "") -> tuple[Path, Server]:
    with serving(site) as server:
        crawl(server, tmp_path / "m", options)
    return tmp_path / "m", server


def test_a_mirror_of_one_host_is_its_docroot(tmp_path: Path) -> None:
    made, _ = mirror(tmp_path, {"/": PAGE.format(""), "/robots.txt": "User-agent: *\nDisallow:"})
    assert build(str(made), tmp_path / "opt") == 0
    assert set(tree(tmp_path / "opt")) == {"index.html", "robots.txt"}


def test_a_mirror_of_several_hosts_is_ambiguous(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, server = mirror(tmp_path, {"/": '<a href="{other}/a.html">a</a>', "/a.html": "a"}, "-H")
    assert build(str(made), tmp_path / "opt") == 2
    assert f"{made} is a mirror of 2 hosts: name one of them" in capsys.readouterr().err
    assert build(str(made / f"localhost:{server.port}"), tmp_path / "opt") == 0
    assert set(tree(tmp_path / "opt")) == {"a.html"}


@pytest.mark.parametrize("options", ["", "-nH", "--protocol-directories"])
def test_the_media_types_of_a_mirror_are_those_of_the_server(options: str, tmp_path: Path) -> None:
    site = {
        "/": '<link rel=stylesheet href="s.php"><script src="j"></script><a href="p.cgi">p</a>',
        "/s.php": Answer("a{}", type="text/css"),
        "/j": Answer("x", type="application/javascript"),
        "/p.cgi": Answer("<p>no doctype", type="text/html"),
    }
    made, _ = mirror(tmp_path, site, options)
    found = find_mirror(made)
    assert found is not None
    wanted = {"s.php": "text/css", "j": "text/javascript", "p.cgi": "text/html"}
    assert found.types == wanted
    assert types_of(found.docroot) == wanted


def test_address_and_policy_of_a_mirror(tmp_path: Path) -> None:
    page = Answer(PAGE.format(""), fields=(("Content-Security-Policy", "default-src 'self'"),))
    made, server = mirror(tmp_path, {"/": page})
    found = find_mirror(made)
    assert found is not None
    assert (found.base_url, found.csp) == (f"{server.base}/", "default-src 'self'")


@pytest.mark.parametrize("options", ["-nd", "--cut-dirs 1"])
def test_names_that_are_not_those_of_the_urls_have_no_address(options: str, tmp_path: Path) -> None:
    found = find_mirror(mirror(tmp_path, {"/": "x"}, options)[0])
    assert found is not None
    assert found.base_url is None


def test_a_policy_of_the_server_keeps_code_out_of_pages(tmp_path: Path) -> None:
    css, fields = "p{color:red}" * 3, (("Content-Security-Policy", "default-src 'self'"),)
    page = PAGE.format("").replace("<title>", "<link rel=stylesheet href=s.css><title>")
    for name, answer in {"free": Answer(page), "bound": Answer(page, fields=fields)}.items():
        with serving({"/": answer, "/s.css": css}) as server:
            assert run(["build", f"{server.base}/", "-o", str(tmp_path / name), "--level", "lossless", "-j", "1"]) == 0
    assert "<style>" in (tmp_path / "free/lossless/id/index.html").read_text()
    assert "<style>" not in (tmp_path / "bound/lossless/id/index.html").read_text()


@pytest.mark.parametrize(("content", "said"), [("{", "cannot be read"), ('{"schema": 99}', "of another version")])
def test_a_table_that_is_none(content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m/.adaptc").mkdir(parents=True)
    (tmp_path / "m/.adaptc/mirror.json").write_text(content)
    assert build(str(tmp_path / "m"), tmp_path / "opt") == 2
    assert said in capsys.readouterr().err


# ---- a WARC file


@pytest.mark.parametrize("options", ["", "--no-warc-compression"])
def test_a_warc_file_is_built_without_the_network(options: str, tmp_path: Path) -> None:
    coded = Answer(SITE["/i.svg"], chunked=True)  # type: ignore[arg-type]
    with serving({**SITE, "/i.svg": coded, "/gone.html": Answer("", 404)}) as server:
        crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/w {options}")
    name = "w.warc" if options else "w.warc.gz"
    assert build(str(tmp_path / name), tmp_path / "opt") == 0
    found = tree(tmp_path / "opt")
    assert set(found) == {"index.html", "about", "list?page=2", "new/index.html", "i.svg"}
    assert '<a href="/list%3Fpage=2">2</a><a href="/new/">o</a>' in found["index.html"]


def test_other_hosts_of_a_warc_file_are_not_built(tmp_path: Path) -> None:
    with serving({"/": PAGE.format('<a href="{other}/a.html">a</a>'), "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m", f"-H --warc-file {tmp_path}/w")
    build(str(tmp_path / "w.warc.gz"), tmp_path / "opt")
    assert set(tree(tmp_path / "opt")) == {"index.html"}


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), (b"no archive at all", "is no WARC file"), (b"", "holds no response")]
)
def test_what_is_no_warc_file(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "x.warc").write_bytes(content)
    assert build(str(tmp_path / "x.warc"), tmp_path / "opt") == 2
    assert said in capsys.readouterr().err


# ---- links of a docroot

HELD = {
    "http://h/": "index.html",
    "http://h/a": "a",
    "http://h/b/": "b/index.html",
    "http://h/b": "b/index.html",
    "http://h/c?d=1": "c?d=1",
    "http://h/taken": "taken.1",
    "http://h/50%25.html": "50%.html",
}


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("a", None),
        ("/a#x", None),
        ("http://h/a", None),
        ("http://other/a", None),
        ("gone.html", None),
        ("#top", None),
        ("", None),
        ("mailto:x@y", None),
        ("b/", None),
        ("./", None),
        ("50%25.html", None),
        ("b", "/b/"),
        ("b#x", "/b/#x"),
        ("c?d=1", "/c%3Fd=1"),
        ("c?d=1#x", "/c%3Fd=1#x"),
        ("taken", "/taken.1"),
    ],
)
def test_links_of_a_docroot_change_where_they_would_find_nothing(written: str, becomes: str | None) -> None:
    assert ServedLinker("http://h/", "index.html", "http://h/", HELD.get)(written) == becomes


def test_a_base_of_another_host_does_not_lead_astray() -> None:
    linker = ServedLinker("http://h/", "index.html", "http://cdn/", HELD.get)
    assert linker("http://h/taken") == "http://h/taken.1"


# ---- encodings that only a header field told


@pytest.mark.parametrize(
    ("content", "charset", "wanted"),
    [
        ("<p>caf\u00e9".encode(), None, None),
        ("<p>caf\u00e9".encode(), "utf-8", '<meta charset="utf-8"><p>caf\u00e9'.encode()),
        ("<!doctype html><p>\u00e9".encode(), "utf-8", '<!doctype html><meta charset="utf-8"><p>\u00e9'.encode()),
        ("<html><head><p>\u00e9".encode(), "utf-8", '<html><head><meta charset="utf-8"><p>\u00e9'.encode()),
        (b"<html>\r\n<p>\xe9", "iso-8859-2", b'<html><meta charset="iso-8859-2">\r\n<p>\xe9'),
        (
            b"<html><meta charset=utf-8><p>\xe9",
            "latin1",
            b'<html><meta charset="windows-1252"><meta charset=utf-8><p>\xe9',
        ),
        ("<meta charset=utf-8><p>\u00e9".encode(), "utf-8", None),
        (b"<p>ascii", "utf-8", None),
        (b"\xef\xbb\xbf<p>\xc3\xa9", "latin1", None),
        ("<p>\u00e9".encode("utf-16le"), "utf-16le", b"\xff\xfe" + "<p>\u00e9".encode("utf-16le")),
    ],
)
def test_a_page_says_the_encoding_that_the_server_said(
    content: bytes, charset: str | None, wanted: bytes | None
) -> None:
    made = declared_page(decode_page(content, charset), content)
    assert made.encoded(made.text) == (content if wanted is None else wanted)


@pytest.mark.parametrize(
    ("content", "charset", "wanted"),
    [
        ("/* \u00e9 */".encode(), "utf-8", None),
        (b"/* \xe9 */", "latin1", b'@charset "windows-1252";/* \xe9 */'),
        (b"a{}", "latin1", None),
        (b'@charset "latin1";/* \xe9 */', "latin1", None),
    ],
)
def test_a_sheet_says_the_encoding_that_the_server_said(content: bytes, charset: str, wanted: bytes | None) -> None:
    made = declared_sheet(decode_sheet(content, charset, "utf-8"), content)
    assert made.encoded(made.text) == (content if wanted is None else wanted)
