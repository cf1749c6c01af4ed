"""Responses are read as they come: what one of them leaves, and what a crawl that is killed asks for again."""

from __future__ import annotations

import errno
import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.crawl import Answer, Resource, Server, serving
from tests.sites.crawl_case import crawl
from tests.waiting import wait_until

from adaptc.crawl import engine
from adaptc.crawl.body_job import BodyError, BodyResult, Job, JobRunner
from adaptc.crawl.crawl import crawl as crawl_site
from adaptc.crawl.http import Head, Request, Response
from adaptc.crawl.mirror import Mirror
from adaptc.crawl.options import CrawlOptions
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


def outcome(runner: JobRunner, one: Job) -> str | BodyResult:
    """The result of a job, or the class of failure of what it raises."""
    try:
        return runner.run(one)
    except BodyError as error:
        return error.kind


def test_a_body_that_cannot_be_kept_fails_alone(runner: JobRunner, tmp_path: Path) -> None:
    found = {key: outcome(runner, one) for key, one in JOBS.items()}
    failures = {key: kind for key, kind in found.items() if isinstance(kind, str)}
    assert failures == {"cut off": "protocol", "range nobody asked for": "protocol", "name that cannot be": "file"}
    assert (tmp_path / "m/h/index.html").read_bytes() == PAGE


def test_a_result_has_what_a_page_leads_to(runner: JobRunner) -> None:
    result = runner.run(job())
    assert result.file_links is not None
    assert [(link.url, link.requisite, link.nofollow) for link in result.file_links.links] == [
        ("http://h/a.html", False, False),
        ("http://h/i%C3%A9.png", True, False),
    ]


def test_a_full_disk_is_told_and_the_body_stays(
    runner: JobRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(name: str, *_rest: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", name)

    monkeypatch.setattr(runner.mirror, "take", take)
    spool = tmp_path / "spool"
    spool.write_bytes(b"PNG")
    with pytest.raises(OSError, match="No space left") as caught:
        runner.run(job(body=b"", name="full", file=str(spool), size=3, fields=(("content-type", "image/png"),)))
    assert caught.value.filename == "full"
    assert spool.exists()


# ---- a whole crawl


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
    assert len(again) <= 2 * (8 + 16)  # twice: on the wire, waiting to be settled
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
