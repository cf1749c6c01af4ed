"""What is emitted, in front of real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import servers
from built_site import BuiltSite
from servers import Server

from adaptc.emit.serve.emitter import emit

pytestmark = pytest.mark.servers

PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n<head><title>A page</title></head>\n<body>\n"
    + "<p>words</p>\n\n" * 99
    + "</body></html>"
)
FILES = {
    "index.html": PAGE,
    "news/index.html": PAGE.replace("words", "news"),
    "a b%41${IFS}\"'\\.html": PAGE.replace("words", "names"),
    "plain.bin": b"\x00\x01",
    "404.html": PAGE.replace("words", "missing"),
}

Start = Callable[..., AbstractContextManager[Server]]


@pytest.fixture(params=["apache", "nginx"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Start:
    """A function that builds, emits and starts a server; settings are those of [serve]."""

    def run(site: BuiltSite, **settings: object) -> AbstractContextManager[Server]:
        site.build()
        emit(site.config(**{f"serve__{key}": value for key, value in settings.items()}), [request.param])
        conf = site.output / "serve"
        if request.param == "apache":
            return servers.apache(tmp_path / "server", site.docroot, f'Include "{conf}/apache.conf"')
        http, server = (f'include "{conf}/nginx-{part}.conf";' for part in ("http", "server"))
        return servers.nginx(tmp_path / "server", site.docroot, http, server)

    return run


@pytest.fixture
def site(tmp_path: Path) -> Iterator[BuiltSite]:
    yield BuiltSite(tmp_path / "home").write(FILES)


def switch_on(site: BuiltSite) -> None:
    (site.output / "run" / "opt.do").touch()


def test_the_flag_switches_without_a_reload(site: BuiltSite, start: Start) -> None:
    with start(site) as server:
        assert server.get("/index.html").body == PAGE.encode()
        switch_on(site)
        assert server.get("/index.html").body == site.read("index.html")
        assert server.get("/index.html").headers["x-adapt"] == "lossless/id"
        (site.output / "run" / "opt.do").unlink()
        assert server.get("/index.html").body == PAGE.encode()


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("br, gzip", "br"),
        ("gzip", "gz"),
        ("zstd", "zst"),
        ("x-gzip", "gz"),
        ("br;q=0, gzip;q=0.5", "gz"),
        ("brr", "id"),
    ],
)
def test_the_coding_is_one_that_the_client_takes(site: BuiltSite, start: Start, accepted: str, coding: str) -> None:
    with start(site) as server:
        switch_on(site)
        reply = server.get("/", accept_encoding=accepted)
        assert reply.headers["x-adapt"] == f"lossless/{coding}"
        assert reply.headers.get("content-encoding") == {"gz": "gzip", "zst": "zstd", "br": "br"}.get(coding)
        assert reply.headers["vary"] == "Accept-Encoding"
        assert reply.body == site.read("index.html", coding=coding)


# ---- levels and classes

LADDER = (
    'levels = ["full", "lossless", "poorer"]\n[levels.poorer]\nextends = "lossless"\nnumber = 2\npromise = "words"\n'
)
