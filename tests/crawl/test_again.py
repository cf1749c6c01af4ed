"""Crawling again: conditional requests, interrupted crawls, files that are cut off, files that are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.crawl import Answer, Asked, Server, redirect, serving
from tests.servers.web import free_port
from tests.sites.crawl_case import Outcome, crawl
from tests.waiting import PATIENCE, wait_until

from adaptc.crawl.frontier import Frontier
from adaptc.crawl.report import RobotsFailure, robots_failures

DATE = "Wed, 01 Jan 2025 00:00:00 GMT"
SECONDS = 1735689600
LINKS = '<a href="a.html">a</a>'


def validated(body: str, **fields: str) -> Answer:
    """A resource that answers conditional requests as it should."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in fields.items())

    def decide(asked: Asked) -> Answer:
        is_fresh = asked.fields.get("if-none-match", "-") == fields.get("ETag")
        if "if-none-match" not in asked.fields:
            is_fresh = asked.fields.get("if-modified-since", "-") == fields.get("Last_Modified")
        return Answer("", 304, pairs) if is_fresh else Answer(body, fields=pairs, type="text/html")

    return Answer(decide=decide)


def asked_last(server: Server, path: str) -> Asked:
    return [one for one in server.asked if one.path == path][-1]


# ---- conditional requests


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"ETag": '"1"'}, {"if-none-match": '"1"'}),
        ({"Last_Modified": DATE}, {"if-modified-since": DATE}),
        ({"ETag": 'W/"1"', "Last_Modified": DATE}, {"if-none-match": 'W/"1"', "if-modified-since": DATE}),
    ],
)
def test_what_is_unchanged_is_kept_and_its_links_are_followed(
    fields: dict[str, str], sent: dict[str, str], tmp_path: Path
) -> None:
    with serving({"/": validated(LINKS, **fields), "/a.html": Answer("a", after=(Answer("new"),))}) as server:
        crawl(server, tmp_path / "m", "-N")
        again = crawl(server, tmp_path / "m", "-N")
        last = asked_last(server, "/").fields
    assert {name: last.get(name) for name in sent} == sent
    assert again.files() == {"index.html", "a.html"}
    assert again.path("index.html").read_text() == LINKS
    assert again.path("a.html").read_text() == "new"


def test_without_timestamping_everything_is_asked_for_anew(tmp_path: Path) -> None:
    with serving({"/": validated("x", ETag='"1"')}) as server:
        crawl(server, tmp_path / "m")
        crawl(server, tmp_path / "m")
        assert "if-none-match" not in asked_last(server, "/").fields


def test_files_of_wget_are_asked_for_by_their_time(tmp_path: Path) -> None:
    with serving({"/": validated(LINKS, Last_Modified=DATE), "/a.html": "a"}) as server:
        file = tmp_path / "m" / f"127.0.0.1:{server.port}" / "index.html"
        file.parent.mkdir(parents=True)
        file.write_text(LINKS)
        os.utime(file, (SECONDS, SECONDS))
        outcome = crawl(server, tmp_path / "m", "-N")
        assert asked_last(server, "/").fields["if-modified-since"] == DATE
        assert outcome.files() == {"index.html", "a.html"}


def test_a_file_that_was_cut_short_is_asked_for_whole(tmp_path: Path) -> None:
    with serving({"/": validated("whole", ETag='"1"')}) as server:
        crawl(server, tmp_path / "m", "-N").path("index.html").write_text("wh")
        assert crawl(server, tmp_path / "m", "-N").path("index.html").read_text() == "whole"


def test_files_have_the_time_of_the_server(tmp_path: Path) -> None:
    with serving({"/": validated("x", Last_Modified=DATE)}) as server:
        assert crawl(server, tmp_path / "m").path("index.html").stat().st_mtime == SECONDS
        assert crawl(server, tmp_path / "n", "--no-use-server-timestamps").path("index.html").stat().st_mtime > SECONDS


def test_converted_files_are_unchanged_too(tmp_path: Path) -> None:
    with serving({"/": validated('<a href="/a.html">', ETag='"1"'), "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m", "-N -k")
        again = crawl(server, tmp_path / "m", "-N -k")
        assert asked_last(server, "/").fields["if-none-match"] == '"1"'
        assert again.path("index.html").read_text() == '<a href="a.html">'


# ---- what fails, and what is gone


@pytest.mark.parametrize("failure", [Answer("", 500), Answer("x" * 50, cut=5), Answer(raw=b"")])
def test_a_failed_crawl_keeps_the_old_copy(failure: Answer, tmp_path: Path) -> None:
    with serving({"/": LINKS, "/a.html": Answer("good", after=(failure,))}) as server:
        crawl(server, tmp_path / "m", "-t 1")
        again = crawl(server, tmp_path / "m", "-t 1")
    assert again.code in (4, 8)
    assert again.path("a.html").read_text() == "good"


GONE = {"/": Answer(LINKS, after=(Answer("nothing"),)), "/a.html": "a"}


def test_files_that_are_gone_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(GONE) as server:
        crawl(server, tmp_path / "m")
        assert crawl(server, tmp_path / "m").files() == {"index.html", "a.html"}
    assert "a.html stays from a former crawl" in capsys.readouterr().err


def test_files_that_are_gone_are_purged(tmp_path: Path) -> None:
    with serving(GONE) as server:
        crawl(server, tmp_path / "m")
        assert crawl(server, tmp_path / "m", "--purge").files() == {"index.html"}


def test_what_is_answered_404_is_purged(tmp_path: Path) -> None:
    with serving({"/": LINKS, "/a.html": Answer("a", after=(Answer("", 404),))}) as server:
        crawl(server, tmp_path / "m")
        outcome = crawl(server, tmp_path / "m", "--purge")
    assert outcome.files() == {"index.html"}
    assert outcome.code == 8  # a link still leads there


@pytest.mark.parametrize("failure", [Answer("", 500), Answer("", 404), Answer(raw=b"")])
def test_nothing_is_purged_behind_a_start_that_fails(failure: Answer, tmp_path: Path) -> None:
    with serving({"/": Answer(LINKS, after=(failure,)), "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m")
        assert "a.html" in crawl(server, tmp_path / "m", "--purge -t 1").files()


def test_nothing_is_purged_behind_a_page_that_fails(tmp_path: Path) -> None:
    first = Answer('<a href="b.html">b</a>', after=(Answer("", 503),))
    with serving({"/": LINKS, "/a.html": first, "/b.html": "b"}) as server:
        crawl(server, tmp_path / "m")
        assert crawl(server, tmp_path / "m", "--purge -t 1").files() == {"index.html", "a.html", "b.html"}


def test_what_could_not_be_had_is_not_purged(tmp_path: Path) -> None:
    with serving({"/": LINKS, "/a.html": Answer("a", after=(Answer("", 500),))}) as server:
        crawl(server, tmp_path / "m")
        assert crawl(server, tmp_path / "m", "--purge").files() == {"index.html", "a.html"}


MANY = {"/": "".join(f"<a href={n}.html>x</a>" for n in range(21)), **{f"/{n}.html": "x" for n in range(21)}}
FAILURES = [Answer("", 503), Answer(raw=b"")]


@pytest.mark.parametrize("failure", FAILURES, ids=["5xx", "dropped"])
def test_nothing_is_purged_when_robots_txt_fails(failure: Answer, tmp_path: Path) -> None:
    rules = Answer("User-agent: *", after=(failure,))
    with serving({**MANY, "/": Answer(MANY["/"], after=(Answer("less"),)), "/robots.txt": rules}) as server:
        before = crawl(server, tmp_path / "m").files()
        again = crawl(server, tmp_path / "m", "-N --purge --purge-most 100% -t 1")
    assert again.files() == before
    assert again.code in (4, 8)


def test_links_lead_to_the_files_that_a_failed_robots_txt_left(tmp_path: Path) -> None:
    site = {"/": LINKS, "/a.html": "a", "/robots.txt": Answer("", after=(Answer("", 500),))}
    with serving(site) as server:
        crawl(server, tmp_path / "m", "-k")
        assert crawl(server, tmp_path / "m", "-k -t 1").path("index.html").read_text() == LINKS


def test_a_resumed_crawl_asks_again_for_a_robots_txt_that_failed(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path / "crawl.sqlite")
    frontier.remember_robots("http://h", 503, b"")
    assert list(robots_failures(frontier)) == [("http://h", RobotsFailure("server", "is answered with 503"))]
    frontier.close()
    with serving({**LARGE, "/robots.txt": Answer("", 404)}) as server:
        process = started(server, tmp_path / "m")
        wait_for(server, 10)
        process.kill()
        process.communicate()
        state = Frontier(tmp_path / "m/.adaptc/crawl.sqlite")
        state.remember_robots(server.base, 503, b"")
        state.close()
        assert crawl(server, tmp_path / "m").files() == WHOLE


MAINTENANCE = {**MANY, "/": Answer(MANY["/"], after=(Answer("back soon"),))}


def test_a_maintenance_page_purges_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(MAINTENANCE) as server:
        before = crawl(server, tmp_path / "m").files()
        again = crawl(server, tmp_path / "m", "-N --purge")
    assert again.files() == before
    assert again.code == 1
    assert "21 of 22 files would be removed, more than --purge-most 10%" in capsys.readouterr().err


@pytest.mark.parametrize("bound", ["100%", "21"])
def test_a_larger_bound_confirms_a_purge(bound: str, tmp_path: Path) -> None:
    with serving(MAINTENANCE) as server:
        crawl(server, tmp_path / "m")
        crawl(server, tmp_path / "m", "--purge")
        outcome = crawl(server, tmp_path / "m", f"--purge --purge-most {bound}")
    assert outcome.files() == {"index.html"}
    assert outcome.code == 0


def test_a_server_that_answers_404_for_everything_purges_nothing(tmp_path: Path) -> None:
    pages = {path: Answer("x", after=(Answer("", 404),)) for path in MANY}
    with serving({**pages, "/": MANY["/"]}) as server:
        before = crawl(server, tmp_path / "m").files()
        assert crawl(server, tmp_path / "m", "--purge").files() == before


@pytest.mark.parametrize("bound", ["x", "10%%", "-1", "1.5"])
def test_a_bound_that_is_none(bound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({}) as server:
        assert crawl(server, tmp_path / "m", f"--purge --purge-most={bound}").code == 2
    assert "is neither a number of files nor a share of them" in capsys.readouterr().err


def test_a_host_that_never_answered_does_not_keep_files_from_being_purged(tmp_path: Path) -> None:
    down = f'<a href="http://127.0.0.1:{free_port()}/x">x</a>'
    with serving({"/": Answer(LINKS + down, after=(Answer(down),)), "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m", "-H")
        assert crawl(server, tmp_path / "m", "-H --purge").files() == {"index.html"}


@pytest.mark.parametrize("options", ["", "--spider"])
def test_links_to_hosts_that_cannot_be_reached_are_broken(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    with serving({"/": f'<p>\n<a href="http://127.0.0.1:{port}/x">x</a>'}) as server:
        assert crawl(server, tmp_path / "m", f"-H {options}").code == 4
        assert f"{server.base}/:2: warning: a href leads to http://127.0.0.1:{port}/x, which could not be fetched" in (
            capsys.readouterr().err
        )


def test_names_stay_when_a_site_is_crawled_again(tmp_path: Path) -> None:
    first = '<img src="a/x.png"><img src="b/x.png">'
    site = {
        "/": Answer(first, after=(Answer('<img src="b/x.png"><img src="a/x.png">'),)),
        "/a/x.png": b"a",
        "/b/x.png": b"b",
    }
    with serving(site) as server:
        crawl(server, tmp_path / "m", "-nd")
        again = crawl(server, tmp_path / "m", "-nd")
    assert again.path("~x.png").read_bytes() == b"a"
    assert again.path("~x.png.1").read_bytes() == b"b"


def test_no_clobber_keeps_what_is_there_and_follows_its_links(tmp_path: Path) -> None:
    with serving({"/": "new", "/a.html": "a"}) as server:
        file = tmp_path / "m" / f"127.0.0.1:{server.port}" / "index.html"
        file.parent.mkdir(parents=True)
        file.write_text(LINKS)
        outcome = crawl(server, tmp_path / "m", "-nc")
        assert server.paths() == ["/a.html"]
    assert outcome.path("index.html").read_text() == LINKS


def test_no_clobber_takes_the_links_that_converted_files_had(tmp_path: Path) -> None:
    site = {
        "/": '<a href="a?x=1">a</a><a href="/b">b</a>',
        "/a?x=1": '<a href="/">up</a>',
        "/b": redirect("/c/"),
        "/c/": "c",
    }
    with serving(site) as server:
        before = crawl(server, tmp_path / "m", "-k").files()
        server.asked.clear()
        again = crawl(server, tmp_path / "m", "-nc -k")
        assert set(server.paths()) == {"/b"}
    assert again.files() == before
    assert again.code == 0


def test_a_page_that_forbids_following_does_so_after_a_304(tmp_path: Path) -> None:
    page = f"<meta name=robots content=nofollow>{LINKS}"
    with serving({"/": validated(page, ETag='"1"'), "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m")
        assert crawl(server, tmp_path / "m", "-N").files() == {"index.html"}


def test_delete_after_keeps_nothing(tmp_path: Path) -> None:
    with serving({"/": LINKS, "/a.html": "a"}) as server:
        assert crawl(server, tmp_path / "m", "--delete-after").files() == set()
        assert server.paths() == ["/", "/a.html"]


# ---- files that are cut off

BIG = bytes(range(256)) * 12000  # 3 MB


def ranged(content: bytes, etag: str, first_cut: int) -> Answer:
    """A large file that is cut off the first time, and knows ranges."""
    tries = []

    def decide(asked: Asked) -> Answer:
        tries.append(asked)
        fields = (("ETag", etag),)
        wanted = asked.fields.get("range", "")
        if wanted and asked.fields.get("if-range", etag) == etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            span = (("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"),)
            return Answer(content[start:], 206, fields + span, type="application/zip")
        return Answer(content, 200, fields, type="application/zip", cut=first_cut if len(tries) == 1 else None)

    return Answer(decide=decide)


def test_the_rest_of_a_large_file_is_asked_for(tmp_path: Path) -> None:
    with serving({"/big.zip": ranged(BIG, '"1"', 2_000_000)}) as server:
        outcome = crawl(server, tmp_path / "m", start="/big.zip")
        assert asked_last(server, "/big.zip").fields["range"] == "bytes=2000000-"
        assert asked_last(server, "/big.zip").fields["if-range"] == '"1"'
    assert outcome.path("big.zip").read_bytes() == BIG
    assert list((tmp_path / "m/.adaptc/partial").iterdir()) == []


def test_a_rest_without_a_validator_is_not_asked_for(tmp_path: Path) -> None:
    with serving({"/big.zip": ranged(BIG, 'W/"1"', 2_000_000)}) as server:
        outcome = crawl(server, tmp_path / "m", start="/big.zip")
        assert "range" not in asked_last(server, "/big.zip").fields
    assert outcome.path("big.zip").read_bytes() == BIG


def test_a_file_that_changed_meanwhile_is_had_whole(tmp_path: Path) -> None:
    first = Answer(b"old" * 900_000, fields=(("ETag", '"0"'),), cut=1_500_000, type="application/zip")
    new = ranged(BIG, '"1"', 0)
    assert new.decide is not None
    new.decide(Asked("GET", "/", {}, 0.0, 0))
    tries: list[Asked] = []

    def decide(asked: Asked) -> Answer:
        tries.append(asked)
        assert new.decide is not None
        return first if len(tries) == 1 else new.decide(asked)

    with serving({"/big.zip": Answer(decide=decide)}) as server:
        outcome = crawl(server, tmp_path / "m", start="/big.zip")
    assert outcome.path("big.zip").read_bytes() == BIG


def test_continue_goes_on_with_what_another_program_left(tmp_path: Path) -> None:
    with serving({"/big.zip": ranged(BIG, '"1"', 0)}) as server:
        file = tmp_path / "m" / f"127.0.0.1:{server.port}" / "big.zip"
        file.parent.mkdir(parents=True)
        file.write_bytes(BIG[:1000])
        outcome = crawl(server, tmp_path / "m", "-c", start="/big.zip")
        assert asked_last(server, "/big.zip").fields["range"] == "bytes=1000-"
    assert outcome.path("big.zip").read_bytes() == BIG


def leave(server: Server, tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / "m" / f"127.0.0.1:{server.port}" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def unsatisfied(content: str) -> Answer:
    """A page for which a range that begins at its end, or beyond, is answered with 416."""

    def decide(asked: Asked) -> Answer:
        start = int(asked.fields.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if start >= len(content):
            return Answer("no", 416, (("Content-Range", f"bytes */{len(content)}"),))
        return (
            Answer(content)
            if not start
            else Answer(content[start:], 206, (("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"),))
        )

    return Answer(decide=decide, type="text/html")


def test_continue_goes_on_with_the_links_of_a_complete_file(tmp_path: Path) -> None:
    with serving({"/": unsatisfied(LINKS), "/a.html": unsatisfied("a")}) as server:
        leave(server, tmp_path, "index.html", LINKS.encode())
        leave(server, tmp_path, "a.html", b"a")
        outcome = crawl(server, tmp_path / "m", "-c -k")
        assert server.paths() == ["/", "/a.html"]
    assert outcome.code == 0
    assert outcome.path("index.html").read_text() == LINKS
    assert list((tmp_path / "m/.adaptc/partial").iterdir()) == []


def test_continue_fetches_a_file_whole_that_is_longer_than_the_servers(tmp_path: Path) -> None:
    with serving({"/": unsatisfied(LINKS), "/a.html": "a"}) as server:
        leave(server, tmp_path, "index.html", LINKS.encode() + b"more")
        outcome = crawl(server, tmp_path / "m", "-c -t 1")
    assert outcome.code == 0
    assert outcome.path("index.html").read_text() == LINKS
    assert list((tmp_path / "m/.adaptc/partial").iterdir()) == []


def test_continue_leaves_no_copy_where_the_server_knows_no_ranges(tmp_path: Path) -> None:
    with serving({"/": LINKS, "/a.html": "a"}) as server:
        leave(server, tmp_path, "index.html", b"<a")
        assert crawl(server, tmp_path / "m", "-c").path("index.html").read_text() == LINKS
    assert list((tmp_path / "m/.adaptc/partial").iterdir()) == []


def test_a_part_that_is_complete_already_is_fetched_whole(tmp_path: Path) -> None:
    whole = ranged(BIG, '"1"', 2_000_000)

    def decide(asked: Asked) -> Answer:
        assert whole.decide is not None
        return Answer("", 416) if "range" in asked.fields else whole.decide(asked)

    with serving({"/big.zip": Answer(decide=decide)}) as server:
        outcome = crawl(server, tmp_path / "m", start="/big.zip")
    assert outcome.path("big.zip").read_bytes() == BIG


# ---- interrupted crawls

LARGE = {"/": "".join(f"<a href=/{n}/>x</a>" for n in range(30))}
for _n in range(30):
    LARGE[f"/{_n}/"] = "".join(f"<a href={m}.html>x</a>" for m in range(10))
    LARGE |= {f"/{_n}/{m}.html": f"{_n} {m}" for m in range(10)}
WHOLE = {
    "index.html",
    *(f"{n}/index.html" for n in range(30)),
    *(f"{n}/{m}.html" for n in range(30) for m in range(10)),
}


def started(server: Server, output: Path, wait: str = "0.002") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "adaptc", "crawl", server.base + "/", "-o", str(output), "--wait", wait]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)


def wait_for(server: Server, count: int) -> None:
    wait_until(lambda: len(server.asked) >= count)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["SIGKILL", "SIGINT"])
def test_an_interrupted_crawl_goes_on_with_nothing_fetched_twice(how: signal.Signals, tmp_path: Path) -> None:
    with serving(LARGE) as server:
        for count in (40, 150):
            process = started(server, tmp_path / "m")
            wait_for(server, count)
            process.send_signal(how)
            _, said = process.communicate(timeout=PATIENCE)
            if how is signal.SIGINT:
                assert process.returncode == 130
                assert said.strip() == b"adaptc: interrupted"
        outcome = crawl(server, tmp_path / "m")
        twice = [path for path in server.paths() if server.paths().count(path) > 1]
    assert outcome.files() == WHOLE
    assert len(set(twice)) <= 2  # what was under way at each of the two signals, one request at a time


def test_another_crawl_of_the_output_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(LARGE) as server:
        process = started(server, tmp_path / "m", wait="10")
        wait_for(server, 1)
        outcome = crawl(server, tmp_path / "m")
        process.kill()
        process.communicate()
    assert outcome.code == 4
    assert f"another crawl is writing to {tmp_path / 'm'}" in capsys.readouterr().err


def test_other_urls_begin_a_new_crawl(tmp_path: Path) -> None:
    with serving(LARGE) as server:
        process = started(server, tmp_path / "m")
        wait_for(server, 40)
        process.kill()
        process.communicate()
        server.asked.clear()
        outcome: Outcome = crawl(server, tmp_path / "m", "--no-recursive", start="/0/0.html")
        assert server.paths() == ["/0/0.html"]
        assert outcome.code == 0
