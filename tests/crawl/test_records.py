"""What a crawl writes down: WARC files and their index, the log, the reason of each decision."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.servers.crawl import Answer, redirect, serving
from tests.sites.crawl_case import crawl

from adaptc.cli.main import run

PAGE = "<a href=a.html>a</a><a href=old>o</a><a href=gone>g</a><a href='{other}/'>x</a>"
SITE = {
    "/": Answer(PAGE, chunked=True, fields=(("X-Odd", "  kept  "),)),
    "/a.html": Answer(gzip.compress(b"hello"), fields=(("Content-Encoding", "gzip"),)),
    "/old": redirect("/a.html"),
}


def records(path: Path) -> list[dict[str, object]]:
    with open(path, "rb") as file:
        return [
            {
                "type": one.rec_type,
                "url": one.rec_headers.get_header("WARC-Target-URI"),
                "version": one.rec_headers.protocol,
                "headers": one.rec_headers,
                "status": one.http_headers.get_statuscode() if one.rec_type == "response" else None,
                "raw": one.raw_stream.read() if one.rec_type == "warcinfo" else None,
                "content": one.content_stream().read() if one.rec_type == "response" else None,
            }
            for one in ArchiveIterator(file)
        ]


def test_a_warc_holds_every_exchange(tmp_path: Path) -> None:
    with serving(SITE) as server:
        outcome = crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/w --warc-header operator:me")
        found = records(tmp_path / "w.warc.gz")
        assert outcome.path("index.html").read_text() == server.fill(PAGE)
        assert outcome.path("a.html").read_text() == "hello"
        responses = {str(one["url"]): one for one in found if one["type"] == "response"}
        requests = [one for one in found if one["type"] == "request"]
        assert set(responses) == {server.base + path for path in ("/", "/a.html", "/old", "/gone", "/robots.txt")}
        assert len(requests) == len(responses)
        assert responses[server.base + "/"]["content"] == server.fill(PAGE).encode()
        assert responses[server.base + "/a.html"]["content"] == b"hello"
        assert responses[server.base + "/old"]["status"] == "302"
    assert {one["version"] for one in found} == {"WARC/1.1"}
    assert b"operator: me" in bytes(found[0]["raw"])  # type: ignore[call-overload]


def test_a_warc_holds_the_bytes_of_the_wire(tmp_path: Path) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/w --no-warc-compression")
    content = (tmp_path / "w.warc").read_bytes()
    assert b"X-Odd:   kept  \r\n" in content
    assert b"3\r\n<a \r\n" in content  # the first chunk, with its size


def test_digests_are_those_of_the_records(tmp_path: Path) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/w")
    with open(tmp_path / "w.warc.gz", "rb") as file:
        for one in ArchiveIterator(file, no_record_parse=True):
            if one.rec_type in ("request", "response"):
                block = one.raw_stream.read()
                digest = base64.b32encode(hashlib.sha1(block, usedforsecurity=False).digest()).decode()
                assert one.rec_headers.get_header("WARC-Block-Digest") == f"sha1:{digest}"


def test_the_index_leads_to_the_records(tmp_path: Path) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/w --warc-cdx")
    lines = (tmp_path / "w.cdx").read_text().splitlines()
    assert lines[0] == " CDX N b a m s k r M S V g"
    assert lines[1:] == sorted(lines[1:])
    archive = (tmp_path / "w.warc.gz").read_bytes()
    for line in lines[1:]:
        _, _, url, _, status, _, _, _, size, offset, name = line.split(" ")
        record = next(iter(ArchiveIterator(io.BytesIO(archive[int(offset) : int(offset) + int(size)]))))
        assert (record.rec_headers.get_header("WARC-Target-URI"), record.http_headers.get_statuscode()) == (url, status)
        assert name == "w.warc.gz"


def test_a_warc_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/": "x"}) as server:
        assert crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/none/w").code == 2
    assert "--warc-file" in capsys.readouterr().err


def test_the_log_tells_every_decision(tmp_path: Path) -> None:
    with serving(SITE) as server:
        log = crawl(server, tmp_path / "m").log()
        said = {str(line["url"]).replace(server.base, ""): line for line in log}
        assert said["/"]["decision"] == "stored"
        assert said["/a.html"]["referrer"] == server.base + "/"
        assert {"status", "type", "bytes", "seconds", "file"} <= set(said["/a.html"])
        assert (said["/old"]["decision"], said["/old"]["location"]) == ("redirected", server.base + "/a.html")
        assert (said["/gone"]["decision"], said["/gone"]["status"]) == ("failed", 404)
        assert said[server.other + "/"]["rule"] == "span-hosts"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("{base}/", "{base}/ was fetched (200, text/html) and is 127.0.0.1:{port}/index.html; it was named as a start"),
        (
            "{base}/a.html#top",
            "{base}/a.html was fetched (200, text/html) and is 127.0.0.1:{port}/a.html; "
            "met first in {base}/, line 1 (a href), depth 1",
        ),
        (
            "{base}/old",
            "{base}/old was fetched and redirects (302) to {base}/a.html; "
            "met first in {base}/, line 1 (a href), depth 1",
        ),
        (
            "{base}/gone",
            "{base}/gone was asked for and is answered with 404; met first in {base}/, line 1 (a href), depth 1",
        ),
        (
            "{other}/",
            "{other}/ was not fetched (span-hosts): leads to another host, localhost; "
            "met first in {base}/, line 1 (a href), depth 1",
        ),
        ("{base}/never", "{base}/never was never met: no page, sitemap or redirect of the crawl leads to it"),
    ],
)
def test_explain(path: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m")
        capsys.readouterr()
        assert run(["crawl", "--explain", server.fill(path), "-o", str(tmp_path / "m")]) == 0
        assert capsys.readouterr().out == server.fill(said) + "\n"


def test_explain_without_a_crawl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crawl", "--explain", "http://h/", "-o", str(tmp_path)]) == 2
    assert "holds no crawl" in capsys.readouterr().err


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m", "--format json")
        record = json.loads(capsys.readouterr().out)
        assert {key: record[key] for key in ("files", "stored", "failed", "refused", "resumed", "failures")} == {
            "files": 2, "stored": 2, "failed": 1, "refused": 1, "resumed": False, "failures": ["server"],
        }  # fmt: skip
        assert record["diagnostics"][0]["id"] == "broken-link"
        assert (record["diagnostics"][0]["path"], record["diagnostics"][0]["line"]) == (server.base + "/", 1)


def test_a_spider_leaves_a_mirror_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE | {"/robots.txt": "User-agent: *"}) as server:
        before = crawl(server, tmp_path / "m").files()
        table = (tmp_path / "m/.adaptc/mirror.json").read_text()
        for option in ("--spider", "--delete-after", "--spider --purge"):
            capsys.readouterr()
            assert crawl(server, tmp_path / "m", option).files() == before
            assert "former crawl" not in capsys.readouterr().err
            assert (tmp_path / "m/.adaptc/mirror.json").read_text() == table


def test_the_summary_tells_why_a_crawl_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m", "--quota 10")
        assert "; --quota 10 is used up. See " in capsys.readouterr().out
        crawl(server, tmp_path / "n", "--max-pages 1 --format json")
        assert json.loads(capsys.readouterr().out)["stopped"] == "--max-pages 1 is reached"


def test_the_summary_tells_what_stayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(SITE) as server:
        crawl(server, tmp_path / "m")
        capsys.readouterr()
        crawl(server, tmp_path / "m", "-nc")
    assert capsys.readouterr().out.startswith("0 files, ")


def test_urls_of_a_file(tmp_path: Path) -> None:
    with serving({"/a": "a", "/b": "b"}) as server:
        (tmp_path / "urls").write_text(f"# two\n{server.base}/a\n\n  {server.base}/b\n")
        outcome = crawl(server, tmp_path / "m", f"-i {tmp_path}/urls", start="")
    assert outcome.files() == {"a", "b"}


def test_a_line_that_is_no_url_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "urls").write_text("# two\n\nftp://h/\n")
    assert run(["crawl", "-i", f"{tmp_path}/urls", "-o", str(tmp_path / "m")]) == 2
    assert f"{tmp_path}/urls:3: 'ftp://h/' is not a URL of the web" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--warc-cdx", "--warc-cdx needs --warc-file"),
        ("--warc-header a:b", "--warc-header needs --warc-file"),
        ("--warc-file {folder}/w --warc-header a", "--warc-header 'a' is not a field: Name: value"),
        ("--password x", "--password needs --user"),
        ("--proxy-password x", "--proxy-password needs --proxy-user"),
        ("--save-cookies {folder}/none/c", "--save-cookies {folder}/none/c cannot be written"),
        ("--certificate {folder}/none", "'{folder}/none' does not exist"),
        ("--private-key {folder}/none", "'{folder}/none' does not exist"),
        ("--ca-certificate {folder}/none", "'{folder}/none' does not exist"),
    ],
)
def test_what_cannot_work_is_said_before_work_starts(
    options: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = options.format(folder=tmp_path).split()
    assert run(["crawl", "http://h.invalid/", "-o", str(tmp_path / "m"), *words]) == 2
    assert said.format(folder=tmp_path) in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_an_output_that_cannot_be_made_is_a_mistake_of_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    assert run(["crawl", "http://h.invalid/", "-o", str(tmp_path / "file/m")]) == 2
    assert f"output {tmp_path}/file/m cannot be made: Not a directory" in capsys.readouterr().err


def test_a_damaged_state_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "m/.adaptc/crawl.sqlite"
    state.parent.mkdir(parents=True)
    state.write_text("no database" * 100)
    for words in (["http://h.invalid/"], ["--explain", "http://h.invalid/"]):
        assert run(["crawl", *words, "-o", str(tmp_path / "m")]) == 2
        assert f"{state} is no state of a crawl (file is not a database): remove it" in capsys.readouterr().err


ERRORS = {
    "/": '<a href="a.html">a</a><a href="b">b</a>',
    "/a.html": Answer("<p>not here", 404),
    "/b": Answer(gzip.compress(b"broken"), 500, (("Content-Encoding", "gzip"),)),
}


def test_bodies_of_errors_are_kept(tmp_path: Path) -> None:
    with serving(ERRORS) as server:
        for options in ("", "-N --purge", "-nc"):
            outcome = crawl(server, tmp_path / "m", f"--content-on-error -k {options}")
            assert outcome.code == 8
            assert outcome.path("a.html").read_text() == "<p>not here"
            assert outcome.path("b").read_text() == "broken"
            assert outcome.path("index.html").read_text() == ERRORS["/"]
        assert crawl(server, tmp_path / "n").files() == {"index.html"}


def test_the_body_of_an_error_does_not_replace_a_good_copy(tmp_path: Path) -> None:
    site = {"/": '<a href="a.html">a</a>', "/a.html": Answer("good", after=(Answer("bad", 500), Answer("better")))}
    with serving(site) as server:
        crawl(server, tmp_path / "m")
        assert crawl(server, tmp_path / "m", "--content-on-error").path("a.html").read_text() == "good"
        assert crawl(server, tmp_path / "m", "--content-on-error").path("a.html").read_text() == "better"


def test_a_good_copy_replaces_the_body_of_an_error(tmp_path: Path) -> None:
    with serving({"/": Answer("bad", 500, after=(Answer("worse", 500), Answer("good")))}) as server:
        texts = [crawl(server, tmp_path / "m", "--content-on-error").path("index.html").read_text() for _ in range(3)]
    assert texts == ["bad", "worse", "good"]


def test_the_progress_is_a_line_now_and_then_off_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adaptc.cli.crawl_run._LINE_INTERVAL", 0.0)
    monkeypatch.setattr("adaptc.crawl.crawl._PROGRESS_INTERVAL", 0.0)
    with serving(SITE) as server:
        crawl(server, tmp_path / "m")
        lines = capsys.readouterr().err.splitlines()
        assert re.fullmatch(r"crawling, 0 s: \d files, .* a second; \d+ URLs wait", lines[0])
        crawl(server, tmp_path / "m", "--quiet")
        crawl(server, tmp_path / "m", "--format json")
        assert "crawling" not in capsys.readouterr().err


def test_the_summary_counts_links_that_were_not_followed_by_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = '<a href="{other}/1">1</a><a href="{other}/2">2</a><a href="/no">3</a>'
    with serving({"/": page, "/robots.txt": "User-agent: *\nDisallow: /no"}) as server:
        crawl(server, tmp_path / "m")
        assert "3 links not followed (span-hosts 2, robots 1)" in capsys.readouterr().out
        crawl(server, tmp_path / "n", "--format json")
        assert json.loads(capsys.readouterr().out)["refused_by"] == {"span-hosts": 2, "robots": 1}


def test_a_failure_of_the_network_reads_as_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / "m")
    assert run(["crawl", "http://127.0.0.1:1/", "-o", output]) == 4
    assert "error: http://127.0.0.1:1/ could not be fetched: Failed to connect" in capsys.readouterr().err
    run(["crawl", "--explain", "http://127.0.0.1:1/", "-o", output])
    assert "was asked for and could not be fetched: Failed to connect" in capsys.readouterr().out
