"""``adaptc preview``: which file answers, what is counted, who may ask; and the page in a browser."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.servers.browser import Browser
from tests.servers.command import run_adaptc
from tests.sites.built import BuiltSite
from tests.waiting import PATIENCE, wait_until

from adaptc.core.diagnostics import UsageError
from adaptc.formats.codings import decode
from adaptc.workflow.preview.panes import Pane, acceptable, is_own_host, is_plain, pane_of
from adaptc.workflow.preview.server import Count, PreviewServer, Request, opens_page

PAGE = "<!DOCTYPE html>\n<html lang=en>\n  <title>A page</title>\n  <link rel=stylesheet href=/site.css>\n"
BODY = "<body>\n  <p>" + "words and words " * 200 + "</p>\n  <a href=/deep/>Deeper</a>\n</body>\n</html>\n"
SHEET = "body  {  color : #112233 ; }\n" * 60


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    made = BuiltSite(tmp_path_factory.mktemp("preview"))
    files = {"index.html": PAGE + BODY, "deep/index.html": PAGE + BODY.replace("words", "deep"), "site.css": SHEET}
    made.write({**files, ".hidden/secret.txt": "no", ".git/config": "no", "readme": "plain"})
    made.build()
    added = made.output / "lossless" / "id" / "_adaptc"
    added.mkdir()
    (added / "0123.txt").write_text("from a tree")
    return made


@pytest.fixture(scope="module")
def server(site: BuiltSite) -> Iterator[PreviewServer]:
    with PreviewServer(site.config(), 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


def ask(
    server: PreviewServer, host: str, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    asked = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    asked.request(method, path, headers={"Host": f"{host}:{server.server_address[1]}", **named})
    answer = asked.getresponse()
    body = answer.read()
    asked.close()
    return answer, body


# ---- panes


def test_a_host_names_a_pane() -> None:
    assert pane_of("left.lossless.br.localhost:8000", ["lossless"]) == Pane("left", "lossless", "br")
    assert pane_of("RIGHT.original.auto.localhost", []) == Pane("right", "original", "auto")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "left.lossless.br.localhost.evil.example",
        "left.gone.br.localhost",
        "left.lossless.xz.localhost",
        "",
    ],
)
def test_other_hosts_are_no_panes(host: str) -> None:
    assert pane_of(host, ["lossless"]) is None
    assert not is_own_host(host)


def test_the_preview_answers_to_its_own_names_only(server: PreviewServer) -> None:
    for host in ("localhost", "127.0.0.1"):
        assert ask(server, host, "/")[0].status == 200
    assert ask(server, "evil.example", "/")[0].status == 421


# ---- files


@pytest.mark.parametrize(("coding", "token"), [("br", "br"), ("zst", "zstd"), ("gz", "gzip")])
def test_a_pane_sends_its_level_in_its_coding(site: BuiltSite, server: PreviewServer, coding: str, token: str) -> None:
    answer, body = ask(server, f"left.lossless.{coding}.localhost", "/", Accept_Encoding="gzip, br, zstd")
    assert answer.headers["Content-Encoding"] == token
    assert answer.headers["Content-Type"] == "text/html"
    assert answer.headers["Cache-Control"] == "no-store"
    assert decode(body, coding, None) == site.read("index.html")  # type: ignore[arg-type]


def test_a_coding_that_the_browser_does_not_take_is_not_sent(site: BuiltSite, server: PreviewServer) -> None:
    answer, body = ask(server, "left.lossless.br.localhost", "/", Accept_Encoding="gzip")
    assert answer.headers["Content-Encoding"] is None
    assert body == site.read("index.html")


def test_the_best_coding_is_chosen_by_itself(server: PreviewServer) -> None:
    answer, _ = ask(server, "left.lossless.auto.localhost", "/", Accept_Encoding="gzip, br;q=0.1")
    assert answer.headers["Content-Encoding"] == "br"


def test_the_original_is_the_docroot(server: PreviewServer) -> None:
    assert ask(server, "left.original.auto.localhost", "/site.css")[1] == SHEET.encode()


def test_what_a_level_lacks_comes_from_the_docroot(site: BuiltSite, server: PreviewServer) -> None:
    site.write({"late.txt": "not built"})
    assert ask(server, "left.lossless.auto.localhost", "/late.txt?query")[1] == b"not built"


def test_files_that_only_a_tree_has_are_reached_from_every_pane(server: PreviewServer) -> None:
    for level in ("original", "full", "lossless"):
        assert ask(server, f"left.{level}.auto.localhost", "/_adaptc/0123.txt")[1] == b"from a tree"


def test_directories_have_their_index_and_a_slash(server: PreviewServer) -> None:
    answer, _ = ask(server, "left.full.auto.localhost", "/deep")
    assert (answer.status, answer.headers["Location"]) == (302, "/deep/")
    assert b"deep and deep" in ask(server, "left.full.auto.localhost", "/deep/")[1]


@pytest.mark.parametrize(
    "path",
    [
        "/gone.html",
        "/.hidden/secret.txt",
        "/.git/config",
        "/../opt/manifest.json",
        "/%2e%2e/opt/manifest.json",
        "/a%00b",
    ],
)
def test_what_is_no_part_of_the_site_is_not_found(server: PreviewServer, path: str) -> None:
    assert ask(server, "left.full.auto.localhost", path)[0].status == 404


def test_head_sends_no_body(server: PreviewServer) -> None:
    answer, body = ask(server, "left.full.id.localhost", "/site.css", method="HEAD")
    assert (answer.headers["Content-Length"], body) == (str(len(SHEET)), b"")


def test_a_file_without_a_name_that_tells_its_type(server: PreviewServer) -> None:
    assert ask(server, "left.full.id.localhost", "/readme")[0].headers["Content-Type"] == "application/octet-stream"


def test_a_site_below_a_prefix(site: BuiltSite) -> None:
    with PreviewServer(site.config(site__base_url="https://example.org/manual/"), 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        assert ask(running, "left.full.id.localhost", "/manual/site.css")[1] == SHEET.encode()
        assert ask(running, "left.full.id.localhost", "/site.css")[0].headers["Location"] == "/manual/"
        running.shutdown()


def test_accept_encoding_follows_rfc_9110() -> None:
    assert acceptable("gzip;q=0, br, *;q=0.5") == {"br", "zst"}
    assert acceptable("GZIP; Q=1") == {"gz"}
    assert acceptable("gzip;q=nonsense") == frozenset()
    assert acceptable("") == frozenset()


def test_paths_that_stay_where_they_begin() -> None:
    assert is_plain("a/b c/ü")
    assert not any(map(is_plain, ["a//b", "/a", "a/../b", "./a", "a\0"]))


# ---- counting


def test_a_page_counts_from_its_opening(server: PreviewServer) -> None:
    host, frame = "right.lossless.br.localhost", {"Sec_Fetch_Dest": "iframe", "Sec_Fetch_Site": "cross-site"}
    ask(server, host, "/", Accept_Encoding="br", **frame)
    ask(server, host, "/site.css", Accept_Encoding="br")
    ask(server, host, "/gone.png")
    count = server.subject.board.counts["right"]
    assert (count.page, count.requests, count.missing) == ("/", 3, 1)
    assert 0 < count.sent < count.decoded
    ask(server, host, "/deep/", **frame)
    assert server.subject.board.counts["right"].requests == 1


def test_a_frame_inside_a_page_is_a_part_of_it() -> None:
    inner = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-origin"}
    assert not opens_page(inner)
    assert opens_page({**inner, "Sec-Fetch-User": "?1"})
    assert opens_page({"Sec-Fetch-Dest": "document"})


def test_all_requests_are_counted_and_the_last_ones_are_listed() -> None:
    count = Count()
    for number in range(300):
        count = count.with_request(Request(f"/{number}", 200, "full", "id", 1, 2))
    assert (count.requests, count.sent, count.decoded, count.rows[-1].path) == (300, 300, 600, "/299")
    assert len(count.rows) == 250


def test_what_the_page_is_told(server: PreviewServer) -> None:
    told = json.loads(ask(server, "localhost", "/site.json")[1])
    assert [level["name"] for level in told["levels"]] == ["full", "lossless"]
    assert told["pages"] == ["/deep/index.html", "/index.html"]


# ---- the command


def run(*arguments: str) -> CompletedProcess[str]:
    return run_adaptc("preview", *arguments)


def test_an_output_without_a_build(tmp_path: Path) -> None:
    ended = run(os.fspath(tmp_path), "-o", os.fspath(tmp_path / "opt"))
    assert ended.returncode == 2
    assert "there is no build in" in ended.stderr


def test_a_port_that_is_taken(site: BuiltSite, server: PreviewServer) -> None:
    ended = run(os.fspath(site.docroot), "-o", os.fspath(site.output), "--port", str(server.server_address[1]))
    assert ended.returncode == 2
    assert "choose another with --port" in ended.stderr


def test_a_docroot_is_needed(site: BuiltSite) -> None:
    with pytest.raises(UsageError, match="no docroot"):
        PreviewServer(site.config(docroot=None), 0)
    with pytest.raises(UsageError, match="is not a directory"):
        PreviewServer(site.config(docroot=site.root / "gone"), 0)


def test_the_command_says_where_and_ends_with_ctrl_c(site: BuiltSite) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "adaptc",
        "preview",
        os.fspath(site.docroot),
        "-o",
        os.fspath(site.output),
    ]
    running = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline().startswith("http://localhost:")
    running.send_signal(signal.SIGINT)
    assert running.wait(PATIENCE) == 0
    running.stdout.close()


# ---- the page


@pytest.mark.chromium
def test_the_page_shows_two_levels_and_counts(browser: Browser, server: PreviewServer) -> None:
    seen = browser.view(server.url)
    assert (seen.errors, seen.failed) == ([], [])
    counts = "[...document.querySelectorAll('.requests')].map(e => e.textContent).join()"
    await_value(browser, counts, "2,1")
    assert "left=full.auto&right=lossless.auto" in browser.evaluate("location.hash")
    assert "of the pane" in browser.evaluate("document.body.innerText")
    assert browser.evaluate("document.querySelector('[data-side=right] .against dd').textContent").startswith("−")
    browser.evaluate(
        "const s = document.querySelector('.level'); s.value = 'original'; s.dispatchEvent(new Event('change'))"
    )
    assert "left=original.auto" in browser.evaluate("location.hash")
    # what is opened on one side is opened on the other
    ask(
        server, "left.original.auto.localhost", "/deep/",
        Sec_Fetch_Dest="iframe", Sec_Fetch_Site="same-origin", Sec_Fetch_User="?1",
    )  # fmt: skip
    followed = "document.querySelectorAll('iframe')[1].src.endsWith('localhost:' + location.port + '/deep/')"
    await_value(browser, followed, True)


def await_value(browser: Browser, expression: str, wanted: object) -> None:
    """Wait until an expression has a value: counts and clicks take a moment."""
    wait_until(lambda: browser.evaluate(expression) == wanted, lambda: browser.evaluate(expression))
