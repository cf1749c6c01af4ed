"""Bounds on what a crawl receives, reads and asks for: sizes of files, the quota, pages, tries."""

from __future__ import annotations

import gzip
import time
import zlib
from pathlib import Path

import pytest

from tests.servers.crawl import Answer, Resource, serving
from tests.sites.crawl_case import Case, check, crawl
from tests.waiting import PATIENCE

from adaptc.cli.crawl_run import _line
from adaptc.crawl.crawl import CrawlProgress
from adaptc.crawl.robots import robots_of
from adaptc.crawl.scope import ScopeOptions

LARGE = b"x" * 5000
LINK = '<a href="/a.html">a</a>'


def large(answer: Answer) -> dict[str, Resource]:
    return {"/": '<a href="/f.bin">f</a><a href="/b">b</a>', "/f.bin": answer, "/b": "b"}


def coded(coding: str, body: bytes) -> dict[str, Resource]:
    return large(Answer(body, fields=(("Content-Encoding", coding),), type="application/octet-stream"))


BOUND = "--max-filesize 4k"
CASES = [
    Case("announced", large(Answer(LARGE)), BOUND, "index.html b"),
    Case("chunked", large(Answer(LARGE, chunked=True)), BOUND, "index.html b"),
    Case("without a length", large(Answer(raw=b"HTTP/1.1 200 OK\r\n\r\n" + LARGE)), BOUND, "index.html b"),
    Case("gzip", coded("gzip", gzip.compress(LARGE)), BOUND, "index.html b"),
    Case("deflate", coded("deflate", zlib.compress(LARGE)), BOUND, "index.html b"),
    Case("no larger", coded("gzip", gzip.compress(LARGE[:4096])), BOUND, "index.html b f.bin"),
    Case(
        "why",
        large(Answer(LARGE, chunked=True)),
        BOUND,
        said="1 links not followed (max-filesize 1)",
    ),
    Case(
        "a start",
        {"/": Answer(LARGE, chunked=True)},
        BOUND,
        "",
        exit=1,
        said="error: {base}/ is larger than --max-filesize 4096 [crawl-failed]",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_files_that_are_too_large(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)
    assert list((tmp_path / "m/.adaptc/partial").iterdir()) == []


@pytest.mark.parametrize("again", ["", "-N", "-nc"])
def test_a_page_above_the_bound_is_stored_and_not_read(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adaptc.crawl.discover.content._MOST_PARSED", 1000)
    fields = (("ETag", '"1"'),)
    page = LINK + " " * 1000
    site = {
        "/": Answer(
            page, fields=fields, after=(Answer(page if again != "-N" else "", 304 if again == "-N" else 200, fields),)
        )
    }
    with serving({**site, "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m", "-k")
        outcome = crawl(server, tmp_path / "m", f"-k {again}")
        assert "/a.html" not in server.paths()
    assert outcome.path("index.html").read_text() == page
    assert outcome.code == 0
    said = capsys.readouterr().err
    assert said.count("index.html: warning: has 1.0 kB: its links are neither followed nor converted") == 2


def test_a_long_robots_txt_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.crawl.robots._MOST_RECEIVED", 1000)
    rules = "User-agent: *\nDisallow: /a\n" + "#" * 100_000
    with serving({"/": LINK, "/a.html": "a", "/robots.txt": rules}) as server:
        assert crawl(server, tmp_path / "m").code == 0
        assert server.paths() == ["/"]


# ---- quota and pages

MANY: dict[str, Resource] = {
    "/": "".join(f"<a href={n}.html>x</a>" for n in range(40)),
    **{f"/{n}.html": Answer(b"y" * 1000, delay=0.01) for n in range(40)},
}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_quota_starts_nothing_beyond_and_keeps_what_came(chunked: bool, tmp_path: Path) -> None:
    pages = {path: Answer(b"y" * 1000, delay=0.01, chunked=chunked) for path in MANY if path != "/"}
    with serving({**pages, "/": MANY["/"]}) as server:
        outcome = crawl(server, tmp_path / "m", "-Q 6000")
        assert len(outcome.files()) == len(server.paths())
    assert 6 <= len(outcome.files()) <= 8


def test_a_quota_counts_a_file_that_is_tried_again_once(tmp_path: Path) -> None:
    cut = Answer(b"z" * 900, cut=10, after=(Answer(b"z" * 900),))
    with serving({"/": '<a href="f">f</a>', "/f": cut}) as server:
        assert crawl(server, tmp_path / "m", "-Q 500").files() == {"index.html", "f"}


def test_so_many_pages_are_asked_for_with_any_number_of_connections(tmp_path: Path) -> None:
    with serving(MANY) as server:
        outcome = crawl(server, tmp_path / "m", "--max-pages 5")
        assert len(server.paths()) == 5
    assert len(outcome.files()) == 5


def test_a_crawl_that_nobody_bounded_ends_after_so_many_decoded_bytes(tmp_path: Path) -> None:
    assert (ScopeOptions().max_total, ScopeOptions().max_time) == (10 * 10**9, 24 * 3600)
    with serving(MANY) as server:
        outcome = crawl(server, tmp_path / "m", "--max-total 6000 --connections 1")
        assert len(server.paths()) < 12
    assert 6 <= len(outcome.files()) < 12


def test_a_crawl_ends_in_time_even_while_a_server_goes_on_sending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = Answer(b"y" * 1000, delay=PATIENCE)
    with serving({"/": "<a href=a>a</a><a href=b>b</a>", "/a": "a", "/b": slow}) as server:
        begun = time.monotonic()
        outcome = crawl(server, tmp_path / "m", "--max-time 4")
        assert time.monotonic() - begun < slow.delay
    assert outcome.files() == {"index.html", "a"}
    assert "; --max-time 4 is over. See " in capsys.readouterr().out


@pytest.mark.parametrize(("asked", "delay"), [("5", 5.0), ("1000000", 60.0), ("-3", 0.0)])
def test_the_delay_that_robots_txt_asks_for_is_bounded(asked: str, delay: float) -> None:
    assert robots_of(200, f"User-agent: *\nCrawl-delay: {asked}\n".encode()).delay == delay


def test_who_asks_for_a_delay_is_said() -> None:
    assert _line(CrawlProgress(1, 10, 2, 1.0)) == "1 files, 10 B, 1 a second; 2 URLs wait"
    progress = CrawlProgress(1, 10, 2, 1.0, {"a.test": 2.0, "b.test": 60.0})
    assert _line(progress).endswith("; 2 URLs wait; the robots.txt of b.test asks for 60 s between requests")


def test_what_a_crawl_records_is_read_by_its_owner_only(tmp_path: Path) -> None:
    """Also what an older version left."""
    (tmp_path / "m/.adaptc").mkdir(parents=True)
    for name in ("m/.adaptc/crawl.jsonl", "w.warc.gz", "w.cdx"):
        (tmp_path / name).touch(0o644)
    with serving({"/": "page"}) as server:
        crawl(server, tmp_path / "m", f"--warc-file {tmp_path}/w --warc-cdx --save-cookies {tmp_path}/c")
    names = ("m/.adaptc", "m/.adaptc/crawl.jsonl", "m/.adaptc/crawl.sqlite", "w.warc.gz", "w.cdx", "c")
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in names}
    assert modes == dict.fromkeys(names, 0o600) | {"m/.adaptc": 0o700}
    assert next((tmp_path / "m").rglob("index.html")).stat().st_mode & 0o044


# ---- tries


@pytest.mark.parametrize("tries", [1, 3])
@pytest.mark.parametrize("connections", [1, 8])
def test_tries_bound_requests_on_connections_that_are_dropped(tries: int, connections: int, tmp_path: Path) -> None:
    pages = [f"/{n}.html" for n in range(4)]
    with serving({"/": MANY["/"], **{path: Answer(raw=b"") for path in pages}}) as server:
        crawl(server, tmp_path / "m", f"-t {tries} --connections {connections}")
        assert [server.paths().count(path) for path in pages] == [tries] * len(pages)
