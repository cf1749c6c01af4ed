"""Responses read in a second process: the outcomes are those of the crawl's own, whatever becomes of the second one."""

from __future__ import annotations

import errno
import gzip
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.crawl import Answer, Resource, Server, serving
from tests.sites.crawl_case import crawl
from tests.waiting import wait_until

from adaptc.crawl import engine
from adaptc.crawl.body_job import BodyError, BodyResult, Job, JobRunner, Outcome
from adaptc.crawl.crawl import crawl as crawl_site
from adaptc.crawl.http import Head, Request, Response
from adaptc.crawl.mirror import Mirror
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.reader import InlineReader, ReaderProcess, _packed, reader_for
from adaptc.crawl.scope import ScopeOptions

PAGE = b'<title>t</title><a href="a.html#x">a</a><a href=a.html rel=nofollow>a</a><img src="i%C3%A9.png">'
HTML = (("content-type", "text/html; charset=utf-8"),)


def job(number: int = 1, body: bytes = PAGE, name: str | None = "h/index.html", **values: Any) -> Job:
    standard = Job(number, "http://h/", "", 200, HTML, body, None, len(body), name, 1735689600.0, False)
    return standard._replace(**values)


JOBS = {
    "page": job(),
    "page that is not kept": job(name=None),
    "image": job(fields=(("content-type", "image/png"), ("link", "<s.css>; rel=stylesheet"))),
    "coded": job(body=gzip.compress(PAGE), fields=(*HTML, ("content-encoding", "gzip"))),
    "cut off": job(body=gzip.compress(PAGE)[:-9], fields=(*HTML, ("content-encoding", "gzip"))),
    "range nobody asked for": job(status=206),
    "name that cannot be": job(name="h/" + "n" * 300),
    "surrogates in the name": job(name="h/\udc80.html", fields=(*HTML, ("x", "\udcff"))),
}


@pytest.fixture
def runner(tmp_path: Path) -> JobRunner:
    return JobRunner(Mirror(tmp_path / "m"), ScopeOptions(), is_raw=False)


@pytest.fixture
def second_process(runner: JobRunner) -> Iterator[ReaderProcess]:
    reader = ReaderProcess(runner)
    yield reader
    reader.close()


def outcomes(reader: ReaderProcess) -> list[tuple[Any, Outcome]]:
    found = []
    while reader.pending:
        found += reader.ended(waits=True)
    return found


def comparable(outcome: Outcome | None) -> Any:
    return outcome if isinstance(outcome, BodyResult) else (type(outcome), str(outcome))


def test_outcomes_are_those_of_the_own_process_in_order(second_process: ReaderProcess, tmp_path: Path) -> None:
    here = InlineReader(JobRunner(Mirror(tmp_path / "n"), ScopeOptions(), is_raw=False))
    expected = {key: here.begin(key, one) for key, one in JOBS.items()}
    for key, one in JOBS.items():
        assert second_process.begin(key, one) is None
    found = outcomes(second_process)
    assert [key for key, _ in found] == list(JOBS)
    assert {key: comparable(one) for key, one in found} == {key: comparable(one) for key, one in expected.items()}
    unkept = [key for key, one in expected.items() if isinstance(one, BodyError)]
    assert unkept == ["cut off", "range nobody asked for", "name that cannot be"]
    assert (tmp_path / "m/h/index.html").read_bytes() == (tmp_path / "n/h/index.html").read_bytes()


def test_what_a_page_leads_to_comes_over(second_process: ReaderProcess) -> None:
    second_process.begin("p", job())
    [(_, outcome)] = outcomes(second_process)
    assert isinstance(outcome, BodyResult)
    assert outcome.file_links is not None
    assert [(link.url, link.requisite, link.nofollow) for link in outcome.file_links.links] == [
        ("http://h/a.html", False, False),
        ("http://h/i%C3%A9.png", True, False),
    ]


def test_more_than_the_sockets_hold(runner: JobRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job and each outcome is many times what the sockets hold, so that both sides wait amid a message."""
    pair = small_socketpair()
    monkeypatch.setattr(socket, "socketpair", lambda: pair)
    reader = ReaderProcess(runner)
    large = b"".join(b"<p><a href=%d.html>words to read</a>" % number for number in range(5000))
    for number in range(8):
        reader.begin(number, job(number, large, f"h/{number}.html"))
    assert reader.ended() == []
    assert len(reader._unsent) > 6 * len(large)  # all but the first, and what the sockets hold of the second
    found = outcomes(reader)
    reader.close()
    assert [key for key, _ in found] == list(range(8))
    for _, one in found:
        assert isinstance(one, BodyResult)
        assert one.disk == len(large)
        assert len(one.file_links.links) == 5000  # type: ignore[union-attr]
        assert min(len(large), len(marshal.dumps(_packed(one)))) > 4 * HELD


HELD = 2 * 16_384  # bytes that a socket may hold at most: what it sends, and what the other one received


def small_socketpair() -> tuple[socket.socket, socket.socket]:
    """Return connected sockets with small buffers."""
    pair = socket.socketpair()
    for end in pair:
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, buffer, 4096)
        held = [end.getsockopt(socket.SOL_SOCKET, buffer) for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        assert sum(held) <= HELD
    return pair


def test_what_a_killed_process_left_is_done_here(second_process: ReaderProcess, tmp_path: Path) -> None:
    second_process.begin(0, job(0, name="h/0.html"))
    assert [key for key, _ in outcomes(second_process)] == [0]
    os.kill(second_process._child, signal.SIGKILL)
    for number in range(1, 40):
        second_process.begin(number, job(number, name=f"h/{number}.html"))
    assert [key for key, _ in outcomes(second_process)] == list(range(1, 40))
    assert isinstance(second_process.begin(40, job(40, name="h/40.html")), BodyResult)
    assert len(list((tmp_path / "m/h").iterdir())) == 41


def test_a_full_disk_and_a_fault_are_told(runner: JobRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(name: str, _content: bytes, _modified: float | None) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", name) if name == "full" else ZeroDivisionError("fault")

    monkeypatch.setattr(runner.mirror, "write", write)
    reader = ReaderProcess(runner)
    reader.begin("full", job(name="full"))
    [(_, full)] = outcomes(reader)
    assert isinstance(full, OSError)
    assert (full.errno, full.strerror, full.filename) == (errno.ENOSPC, "No space left on device", "full")
    reader.begin("fault", job(name="fault"))
    with pytest.raises(ZeroDivisionError, match="fault"):  # it ended; the job is done, and fails, here
        outcomes(reader)
    reader.close()


def test_who_reads(runner: JobRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(*, cpus: int = 2, threads: int = 1, platform: str = "linux", alone: bool = False) -> type:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
        monkeypatch.setattr(threading, "active_count", lambda: threads)
        monkeypatch.setattr(sys, "platform", platform)
        reader = reader_for(runner, alone=alone)
        reader.close()
        return type(reader)

    assert chosen() is ReaderProcess
    others = [chosen(cpus=1), chosen(threads=2), chosen(platform="darwin"), chosen(alone=True)]
    assert set(others) == {InlineReader}


# ---- a whole crawl


CODED = (("Content-Encoding", "gzip"),)
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def site(pages: int) -> dict[str, Resource]:
    links = "".join(f"<a href={n}.html>{n}</a><img src={n}.png>" for n in range(pages))
    found: dict[str, Resource] = {"/": links, "/old": Answer(status=301, fields=(("Location", "/0.html"),))}
    for n in range(pages):
        body = f"<a href=/>up</a><a href={(n * 7) % pages}.html>on</a><a href=/missing{n}>x</a>"
        found[f"/{n}.html"] = Answer(
            gzip.compress(body.encode()), fields=(("Content-Encoding", "gzip"),), type="text/html"
        )
        found[f"/{n}.png"] = "p" * n
    return found


def command(server: Server, output: Path, *options: str) -> list[str]:
    start = [sys.executable, "-P", "-m", "adaptc", "crawl", server.base + "/", "-o", str(output), "--no-netrc"]
    return [*start, "--waitretry", "0", *options]


def tree(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and ".adaptc" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.mark.parametrize("options", ["", "-k --warc-file {out}.w", "-l 1 -p -A .html", "--spider"])
def test_a_crawl_that_reads_beside_gives_the_same_files(options: str, tmp_path: Path) -> None:
    with serving(site(40)) as server:
        one = [word.format(out=tmp_path / "one") for word in options.split()]
        by = subprocess.run(command(server, tmp_path / "m", *one), check=False, capture_output=True)
        asked = sorted(server.paths())
        server.asked.clear()
        here = crawl(server, tmp_path / "n", options.format(out=tmp_path / "two"))
    assert asked == sorted(server.paths())
    assert by.returncode == here.code
    assert tree(tmp_path / "m") == tree(tmp_path / "n")


def test_a_killed_crawl_goes_on_and_asks_again_for_what_was_under_way_only(tmp_path: Path) -> None:
    with serving(site(150)) as server:
        for count in (60, 200):
            process = subprocess.Popen(
                command(server, tmp_path / "m"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            wait_until(lambda count=count: len(server.asked) >= count)
            process.kill()
            process.wait()
        outcome = crawl(server, tmp_path / "m")
        again = [path for path in set(server.paths()) if server.paths().count(path) > 1 and "missing" not in path]
        clean = crawl(server, tmp_path / "n")
    assert tree(tmp_path / "m") == tree(tmp_path / "n")
    assert len(again) <= 2 * (8 + 16 + 16)  # twice: on the wire, waiting to be settled, being read
    assert outcome.code == clean.code == 8


class Instant:
    """Answers every request at once, and notes how many answers wait for the crawl to write them down."""

    def __init__(self, root: Path) -> None:
        self.root, self.asked, self.waiting, self.most = root, 0, list[Request](), 0

    @property
    def active(self) -> int:
        return len(self.waiting)

    def start(self, request: Request) -> None:
        self.asked += 1
        self.waiting.append(request)

    def poll(self, _timeout: float) -> list[Response]:
        written = sum(1 for path in self.root.glob("h/*") if not path.name.startswith("."))
        self.most = max(self.most, self.asked - written)
        found = [Response(one, Head(200, HTML), LINKS, size=len(LINKS)) for one in self.waiting]
        self.waiting.clear()
        return found

    def close(self) -> None:
        """Nothing is open."""


LINKS = "".join(f"<a href={n}.html>{n}</a>" for n in range(200)).encode()


def test_responses_do_not_pile_up_where_reading_is_slower_than_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_TURN", -1.0)  # one response is settled in each turn
    fetcher = Instant(tmp_path / "m")
    result = crawl_site(CrawlOptions(("http://h/",), tmp_path / "m", robots=False), fetcher=fetcher)
    assert result.stored == 201
    assert fetcher.most <= 16 + 2 * 8 + 1
