"""Whether a real server does what a daemon asks for, asked at the start."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite
from tests.waiting import PATIENCE, wait_until

from adaptc.cli.daemon_options import disobedience
from adaptc.daemons.actuator import Canary, Disobedient, murmur2
from adaptc.daemons.mode import ModeSettings
from adaptc.daemons.reporter import Reporter
from adaptc.daemons.run_directory import RunDirectory
from adaptc.report.manifest import last_manifest
from adaptc.serve.state_directory import KNOBS, read_knobs

PAGE = "<!DOCTYPE html>\n<html lang=en><head><title>A page</title></head>\n<body>\n" + "<p>words</p>\n\n" * 99


@pytest.fixture(params=["apache", "nginx"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedSite:
    return ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), request.param, POORER)


@pytest.fixture(autouse=True)
def _busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that answers late since the machine is busy is asked all the same."""
    monkeypatch.setattr("adaptc.daemons.actuator._BUSY", PATIENCE)
    monkeypatch.setattr("adaptc.daemons.actuator._TIMEOUT", PATIENCE)


def canary(served: ServedSite, port: int) -> Canary:
    output = served.site.output
    knobs = read_knobs(output)
    assert knobs is not None
    return Canary(f"http://127.0.0.1:{port}/", knobs, RunDirectory.of(output))


def test_the_hash_of_nginx() -> None:
    assert [murmur2(text) for text in (b"", b"a", b"127.0.0.1")] == [0, 0x92685F5E, murmur2(b"127.0.0.1")]


@pytest.mark.servers
def test_a_server_with_the_emitted_configuration_obeys(served: ServedSite) -> None:
    with served.start(buckets=True, reject=True) as server:
        assert canary(served, server.port).prove(last_manifest(served.site.output)) == ""
        wait_until(lambda: "x-adapt" not in server.get("/index.html").headers)  # nginx tests files once a second
    assert not (served.state / "opt.do").exists()


@pytest.mark.servers
def test_a_server_with_another_configuration_does_not(served: ServedSite) -> None:
    """It was not reloaded: its buckets know no level 0, and a client that should be rejected gets the usual page."""
    with served.start(buckets=True) as server:
        file = served.site.output / KNOBS
        file.write_text(json.dumps({**json.loads(file.read_text()), "reject": True}))
        with pytest.raises(Disobedient, match="asked for level 0, it sent"):
            canary(served, server.port).prove(last_manifest(served.site.output))
    assert not (served.state / "opt.do").exists()


@pytest.mark.servers
def test_a_server_without_the_emitted_configuration_does_not(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        served.emitted(buckets=True)
        with pytest.raises(Disobedient, match="reload the server with the emitted configuration"):
            canary(served, server.port).prove(last_manifest(served.site.output))


@pytest.mark.servers
def test_a_server_that_is_asked_for_more_pages_than_its_rate_proves_nothing(tmp_path: Path) -> None:
    served = ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), "nginx", POORER)
    with served.start(buckets=True, nginx_page_rate=1) as server:
        asked = canary(served, server.port)
        crowd = Canary(asked.url, asked.knobs, asked.run, lambda _: [server.get("/") for _ in range(20)] and None)
        for _ in range(30):
            server.get("/")
        assert "more pages than serve.nginx_page_rate" in crowd.prove(last_manifest(served.site.output))


def test_what_cannot_be_proven_is_said(served: ServedSite) -> None:
    served.emitted(buckets=True, expose=False)
    assert "serve.expose" in canary(served, 1).prove(last_manifest(served.site.output))
    served.emitted(buckets=True)
    assert "does not answer" in canary(served, 1).prove(last_manifest(served.site.output))
    served.emitted(level="poorer")
    assert "would show level poorer to all" in canary(served, 1).prove(last_manifest(served.site.output))


def test_a_server_that_is_busy_is_not_asked(served: ServedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd is there, and everybody would have the full site meanwhile."""
    monkeypatch.setattr("adaptc.daemons.actuator._BUSY", -1.0)  # whatever an answer takes is too long
    served.emitted(buckets=True)
    run = RunDirectory.of(served.site.output)
    run.set_flag(True)
    before = sorted(path.name for path in run.path.rglob("*"))
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = canary(served, server.server_address[1]).prove(last_manifest(served.site.output))
        server.shutdown()
    assert found == "the server is too busy to be asked"
    assert sorted(path.name for path in run.path.rglob("*")) == before


def test_what_was_proven_is_not_asked_again_for_a_day(served: ServedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    served.emitted(buckets=True)
    output, now, asked = served.site.output, 1e9, list[str]()
    monkeypatch.setattr(Canary, "prove", lambda self, _manifest: asked.append(self.url) or "")
    monkeypatch.setattr("adaptc.cli.daemon_options.time.time", lambda: now)
    run, said = RunDirectory.of(output), list[str]()

    def start(**settings: str | bool) -> None:
        assert not disobedience(ModeSettings(**settings), {output: run}, Reporter("switch", [run], said.append), None)

    for _ in range(2):
        start(url="http://one/")
    assert asked == ["http://one/"]
    assert any("the server obeyed 0 s ago" in line for line in said)
    now += 86_500.0
    start(url="http://one/")
    start(url="http://two/")  # another server
    start(url="http://three/", shadow=True)
    assert asked == ["http://one/", "http://one/", "http://two/"]
    served.emitted(buckets=True, reject=True)
    start(url="http://two/")  # another configuration
    assert len(asked) == 4
