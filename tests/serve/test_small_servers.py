"""Caddy and lighttpd with what is emitted for them: flag, level, codings, fallback; and what they refuse."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.places import DOCS
from tests.servers import web
from tests.servers.web import Server
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite, serving
from tests.waiting import PATIENCE, wait_until

from adaptc.cli.main import run
from adaptc.core.diagnostics import UsageError
from adaptc.formats.accesslog.parser import compile_format
from adaptc.serve import state_directory
from adaptc.serve.emitter import emit, lua_string
from adaptc.serve.server import Instance
from adaptc.serve.servers import server_named

LINES = "<p>words</p>\n\n" * 99
PAGE = f"<!DOCTYPE html>\n<html lang=en>\n<head><title>A page</title></head>\n<body>\n{LINES}</body></html>"
HOSTILE = ("a b.html", "a%41.html", "{path}$1${IFS}.html", "'`\\[x]*.html", "what?#.html", "grüße.html")
PATTERN = re.compile(r"[*?\[\\]")  # names that Caddy would take for patterns
SERVERS = ("caddy", "lighttpd")
SNIPPETS = {"caddy": "import {}/Caddyfile", "lighttpd": 'include "{}/lighttpd.conf"'}


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedSite:
    files = {"index.html": PAGE, "news/index.html": PAGE.replace("words", "news"), "plain.bin": b"\0\1"}
    return ServedSite(BuiltSite(tmp_path).write(files), request.param, POORER)


@contextmanager
def running(served: ServedSite, **settings: object) -> Iterator[Server]:
    served.emitted(**settings)
    start = {"caddy": web.caddy, "lighttpd": web.lighttpd}[served.kind]
    snippet = SNIPPETS[served.kind].format(served.site.output / "serve")
    with start(served.site.root / "server", served.site.docroot, snippet) as server:
        yield server


def settle(served: ServedSite) -> None:
    """Wait until lighttpd has forgotten its tests of files."""
    if served.kind == "lighttpd":
        time.sleep(2.1)


@pytest.mark.servers
def test_the_flag_switches_without_a_reload(served: ServedSite) -> None:
    with running(served, level="lossless") as server:
        assert server.get("/index.html" if served.kind == "lighttpd" else "/").body == PAGE.encode()
        served.switch()
        settle(served)
        for target, path in (("/", "index.html"), ("/news/", "news/index.html")):
            reply = server.get(target, accept_encoding="gzip, br")
            assert (reply.status, reply.headers.get("x-adapt")) == (200, "lossless/br")
            assert reply.body == served.site.read(path, coding="br")
            assert (reply.headers["content-encoding"], reply.headers["vary"]) == ("br", "Accept-Encoding")
            assert reply.headers["content-type"].startswith("text/html")
        served.switch(on=False)
        settle(served)
        reply = server.get("/", accept_encoding="br")
        assert (reply.body, reply.headers["vary"]) == (PAGE.encode(), "Accept-Encoding")


@pytest.mark.servers
def test_directories_with_other_index_pages(served: ServedSite) -> None:
    served.write_other_index_pages(PAGE)
    with running(served, flag=False) as server:
        served.assert_index_pages_adapt(server)


@pytest.mark.servers
@pytest.mark.parametrize("kind", SERVERS)
def test_the_coding_is_one_that_the_client_takes(kind: str, tmp_path: Path) -> None:
    served = ServedSite(BuiltSite(tmp_path).write({"page.html": PAGE}), kind, {})
    accepted = {
        "br, gzip": "br",
        "gzip": "gz",
        "zstd": "zst",
        "x-gzip": "gz",
        "GZIP": "gz",
        "br;q=0, gzip;q=0.5": "gz",
        "gzip, br; q=0.000": "gz",
        "br;q=0.001": "br",
        "brr, x-br": "id",
        "identity": "id",
        "": "id",
    }
    with running(served, flag=False) as server:
        for said, coding in accepted.items():
            reply = server.get("/page.html", accept_encoding=said)
            assert reply.headers["x-adapt"] == f"lossless/{coding}", said
            assert reply.body == served.site.read("page.html", coding=coding)


@pytest.mark.servers
def test_what_is_not_there_falls_back(served: ServedSite) -> None:
    with running(served, flag=False) as server:
        assert server.get("/plain.bin", accept_encoding="br").body == b"\0\1"
        for coding, then in (("br", "lossless/id"), ("id", None)):
            (served.site.output / "lossless" / coding / "index.html").unlink()
            settle(served)
            reply = server.get("/", accept_encoding="br")
            assert (reply.status, reply.headers.get("x-adapt")) == (200, then)
        assert reply.body == PAGE.encode()
        assert server.get("/nothing.html").status == 404
        assert server.get("/news").status in (301, 308)


@pytest.mark.servers
def test_hostile_names(served: ServedSite) -> None:
    served.site.write({name: PAGE.replace("words", f"number {at}") for at, name in enumerate(HOSTILE)})
    with running(served, flag=False) as server:
        for name in HOSTILE:
            reply = server.get("/" + quote(name), accept_encoding="br")
            is_left = served.kind == "caddy" and PATTERN.search(name)
            body = (served.site.docroot / name).read_bytes() if is_left else served.site.read(name, coding="br")
            assert (reply.status, reply.body) == (200, body), name


@pytest.mark.servers
def test_conditions_ranges_and_other_methods(served: ServedSite) -> None:
    with running(served, flag=False) as server:
        full = server.get("/", accept_encoding="br")
        assert "last-modified" not in full.headers  # a cache would answer a client that has the original by its date
        tag = full.headers["etag"]
        assert server.get("/", accept_encoding="br", if_none_match=tag).status == 304
        assert server.get("/", if_none_match=tag).status == 200
        assert server.get("/", if_modified_since="Sun, 01 Jan 2090 00:00:00 GMT").status == 200
        part = server.get("/", accept_encoding="br", range="bytes=0-9", if_range=tag)
        if served.kind == "caddy":  # parts are those of the identity, which has another tag
            assert (part.status, part.body) == (200, served.site.read("index.html"))
            part = server.get("/", accept_encoding="br", range="bytes=0-9")
            assert (part.status, part.body) == (206, served.site.read("index.html")[:10])
            assert "content-encoding" not in part.headers
        else:  # lighttpd knows no ranges of encoded files
            assert (part.status, part.body) == (200, full.body)
        beyond = server.get("/", accept_encoding="br", range="bytes=999999-")
        assert (beyond.status, "content-encoding" in beyond.headers) in ((416, False), (200, True))
        head = server.get("/", method="HEAD", accept_encoding="br")
        assert (head.status, head.headers["x-adapt"], head.body) == (200, "lossless/br", b"")
        assert "x-adapt" not in server.get("/", method="POST", content_length="0").headers


@pytest.mark.servers
def test_nobody_gets_out_of_the_tree(served: ServedSite) -> None:
    with running(served, flag=False) as server:
        for target in (
            "/../run/opt.do",
            "/..%2f..%2frun/buckets.txt",
            "/id/index.html",
            "/%2e%2e/%2e%2e/manifest.json",
        ):
            assert server.get(target).status in (400, 403, 404)


@pytest.mark.servers
def test_own_files_excluded_paths_and_degraded_levels(served: ServedSite) -> None:
    with running(served, level="poorer", exclude=["/news"]) as server:
        own = served.site.output / "poorer" / "id" / "_adaptc" / "0a1b.css"
        own.parent.mkdir(parents=True)
        own.write_text("p{}")
        for on in (False, True):
            served.switch(on)
            settle(served)
            reply = server.get("/_adaptc/0a1b.css", accept_encoding="br")
            assert (reply.status, reply.body) == (200, b"p{}")
            assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert server.get("/").headers["cache-control"] == "private, no-cache"
        assert "x-adapt" not in server.get("/news/").headers


@pytest.mark.servers
def test_shared_caches_may_hold_a_degraded_answer(served: ServedSite) -> None:
    with running(served, level="poorer", flag=False, shared_seconds=60) as server:
        fields = server.get("/").headers
        assert (fields["x-adapt"], fields["cache-control"]) == (
            "poorer/id",
            "max-age=0, s-maxage=30, stale-while-revalidate=24, must-revalidate",
        )
        assert fields["cdn-cache-control"] == "max-age=30, stale-while-revalidate=24, stale-if-error=86400"
        level, page = fields["surrogate-key"].split()
        assert fields["cache-tag"] == f"{level},{page}"
        assert level == page.replace("/", "-poorer")
        other = page.replace("/", "~other")
        for path in ("/a%20b", f"/{'a' * 201}"):
            assert server.get(path).headers.get("surrogate-key") in (
                None,
                other,
            )  # lighttpd says it of what is missing, too
        assert "x-adaptc-none" not in fields
        own = served.site.output / "poorer" / "id" / "_adaptc" / "0a1b.css"
        own.parent.mkdir(parents=True)
        own.write_text("p{}")
        assert "cache-tag" not in server.get("/_adaptc/0a1b.css").headers


@pytest.mark.servers
def test_lighttpd_serves_below_a_prefix(tmp_path: Path) -> None:
    served = ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), "lighttpd", {})
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "docs").symlink_to(served.site.docroot)
    served.emitted(flag=False, prefix="/docs")
    snippet = SNIPPETS["lighttpd"].format(served.site.output / "serve")
    with web.lighttpd(tmp_path / "server", tmp_path / "www", snippet) as server:
        assert server.get("/docs/", accept_encoding="br").body == served.site.read("index.html", coding="br")


@pytest.mark.servers
@pytest.mark.parametrize("kind", SERVERS)
def test_an_export_is_served_with_its_encodings(kind: str, tmp_path: Path) -> None:
    """What docs/serving.md says of exports: Caddy finds encodings beside files; lighttpd sends the files."""
    site = BuiltSite(tmp_path).write({"page.html": PAGE})
    site.build()
    command = ["export", "lossless", str(tmp_path / "public"), str(site.docroot), "-o", str(site.output)]
    assert run(command) == 0
    if kind == "caddy":
        snippet = "\thandle {\n\t\tfile_server {\n\t\t\tprecompressed br zstd gzip\n\t\t}\n\t}"
        running = web.caddy(tmp_path / "server", tmp_path / "public", snippet)
    else:
        running = web.lighttpd(tmp_path / "server", tmp_path / "public", "")
    with running as server:
        reply = server.get("/page.html", accept_encoding="br")
    assert reply.body == site.read("page.html", coding="br" if kind == "caddy" else "id")
    assert reply.headers.get("content-encoding") == ("br" if kind == "caddy" else None)


# ---- what they cannot express


def test_settings_that_caddy_does_not_take(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": PAGE})
    site.build()
    with pytest.raises(UsageError, match=r"serve\.freshness: Caddy does not support"):
        emit(site.config(serve__freshness="strict"), ["caddy"])


@pytest.fixture
def lighttpd(tmp_path: Path) -> ServedSite:
    return ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), "lighttpd", POORER)


@pytest.mark.servers
def test_lighttpd_knows_classes(lighttpd: ServedSite) -> None:
    settings = {"classes": True, "poor_level": "poorer", "trusted_proxies": ["127.0.0.1"], "shared_seconds": 60}
    with running(lighttpd, flag=False, **settings) as server:
        asked = {
            ".poorer": "poorer/id",
            ".gz, .full": "full/id",
            ".full .poorer": "full/id",
            ".poor": "poorer/id",
            ".nope .full": "full/id",
            "none": None,
            ".full/../..": None,
        }
        served_to = {word: server.get("/", x_server_actions=word).headers.get("x-adapt") for word in asked}
        assert served_to == asked
        hints = [{"save_data": "on"}, {"ect": "slow-2g"}, {"downlink": "0.3"}, {"rtt": "1400"}, {"sec_ch_ect": '"2g"'}]
        for fields in hints:
            poor = server.get("/", **fields).headers
            assert (poor["x-adapt"], poor["x-class"], poor["cache-control"]) == (
                "poorer/id",
                "poor",
                "private, no-cache",
            )
        assert server.get("/", ect="4g", downlink="10", rtt="350", save_data="off").headers["x-class"] == "normal"
        for key in ("10.9", "2001:db8:1:"):
            (lighttpd.state / "c" / "poor").mkdir(parents=True, exist_ok=True)
            (lighttpd.state / "c" / "poor" / key).touch()
        (lighttpd.state / "c" / "rich").mkdir(exist_ok=True)
        (lighttpd.state / "c" / "rich" / "10.9.8.7").touch()
        settle(lighttpd)
        addresses = {"10.9.1.1": "poor", "10.9.8.7": "rich", "192.0.2.1": "normal", "2001:db8:1:2::3": "poor"}
        got = {address: server.get("/", x_forwarded_for=address).headers["x-class"] for address in addresses}
        assert got == addresses


@pytest.mark.servers
def test_lighttpd_knows_buckets_and_rejects(lighttpd: ServedSite) -> None:
    settings = {
        "buckets": True,
        "reject": True,
        "retry_after": 7,
        "trusted_proxies": ["127.0.0.1"],
        "level": "lossless",
    }
    with running(lighttpd, flag=False, **settings) as server:
        assert server.get("/").headers["x-adapt"] == "lossless/id"
        half = {bucket: "full" if int(bucket, 16) < 128 else "poorer" for bucket in state_directory.BUCKETS}
        state_directory.write_buckets(lighttpd.state, half, "lossless")
        settle(lighttpd)
        levels = [server.get("/", x_forwarded_for=f"10.0.{number}.7").headers["x-adapt"] for number in range(200)]
        assert 60 < levels.count("full/id") < 140
        assert levels.count("full/id") + levels.count("poorer/id") == 200
        state_directory.write_buckets(lighttpd.state, dict.fromkeys(state_directory.BUCKETS, "0"), "lossless")
        settle(lighttpd)
        busy = server.get("/")
        assert (busy.status, busy.headers["retry-after"], busy.headers["cache-control"]) == (503, "7", "no-store")
        assert busy.headers["x-adapt"] == "0/-"


def test_caddy_takes_no_prefix(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": PAGE})
    site.build()
    with pytest.raises(UsageError, match=r"serve\.prefix: the configuration for Caddy works only"):
        emit(site.config(serve__prefix="/docs"), ["caddy"])


@pytest.mark.parametrize("place", ["o{p}t", "o*t", 'o"t', "o\nt"])
def test_paths_that_have_no_escape_are_refused(place: str, tmp_path: Path) -> None:
    site = BuiltSite(tmp_path / place).write({"index.html": PAGE})
    site.build()
    with pytest.raises(UsageError, match="Caddyfile cannot be written: something in it holds"):
        emit(site.config(), ["caddy"])
    if place in ('o"t', "o\nt"):
        with pytest.raises(UsageError, match=r"lighttpd\.conf cannot be written: something in it holds"):
            emit(site.config(), ["lighttpd"])


def test_strings_of_lua() -> None:
    assert lua_string('a"b\\c\nd') == '"a\\034b\\092c\\010d"'


@pytest.mark.servers
def test_awkward_places_pass_the_servers_own_tests(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path / "o p't$x[1]").write({"index.html": PAGE})
    site.build()
    emit(site.config(serve__name="a 'b'"), ["lighttpd"])
    file = tmp_path / "lighttpd.conf"
    file.write_text(web.lighttpd_text(1, tmp_path, SNIPPETS["lighttpd"].format(site.output / "serve")))
    subprocess.run(["/usr/sbin/lighttpd", "-tt", "-f", file], check=True, capture_output=True)
    other = BuiltSite(tmp_path / "o p't$x").write({"index.html": PAGE})
    other.build()
    emit(other.config(), ["caddy"])
    file.write_text(web.caddy_text(1, tmp_path, f'import "{other.output}/serve/Caddyfile"'))
    subprocess.run(["caddy", "validate", "--adapter", "caddyfile", "--config", file], check=True, capture_output=True)


@pytest.mark.servers
def test_logs_say_the_level_the_class_and_the_bucket(lighttpd: ServedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formats of docs/serving.md for lighttpd, Varnish and HAProxy are read as those of Apache and nginx are."""
    text = (DOCS / "serving.md").read_text()
    (ours,) = re.findall(r"^accesslog\.format = .*$", text, re.MULTILINE)
    (format_of_varnish,) = re.findall(r"^varnishncsa -F '(.*)'$", text, re.MULTILINE)
    settings = {"classes": True, "buckets": True, "poor_level": "poorer", "flag": False, "name": "example"}
    lighttpd.emitted(**settings)
    log, conf = lighttpd.site.root / "access.log", lighttpd.site.output / "serve"
    snippet = f'{SNIPPETS["lighttpd"].format(conf)}\nserver.modules += ( "mod_accesslog" )\n'
    snippet += f'accesslog.filename = "{log}"\n{ours}'
    with web.lighttpd(lighttpd.site.root / "server", lighttpd.site.docroot, snippet) as server:
        server.get("/", save_data="on")
    assert_tells(log.read_text())
    behind = ServedSite(lighttpd.site, "nginx", POORER)
    with serving(behind, "varnish", **settings) as proxy:
        proxy.get("/", save_data="on")
        command = ["varnishncsa", "-n", behind.site.root / "front/work", "-d", "-F", format_of_varnish]
        wait_until(lambda: " HTTP/1.1" in subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert_tells(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(PATIENCE)
        lines = re.findall(r"^(?:capture request header|log-format) .*$", text, re.MULTILINE)
        lines.append(f"log 127.0.0.1:{listener.getsockname()[1]} len 4096 format raw local0")
        haproxy = server_named("haproxy")
        assert haproxy.launcher is not None
        written = haproxy.launcher.configuration

        def configuration(instance: Instance, port: int) -> str:
            return written(instance, port).replace("frontend site\n", "\n".join(["frontend site", *lines, ""]))

        logging = replace(haproxy, launcher=replace(haproxy.launcher, configuration=configuration))
        monkeypatch.setattr("tests.sites.served.server_named", lambda _name: logging)
        with serving(ServedSite(lighttpd.site, "apache", POORER), "haproxy", **settings) as proxy:
            proxy.get("/", save_data="on")
            received = [listener.recv(4096).decode()]
            while "served=poorer" not in received[-1]:  # the first ones are those that wait for it to start
                received.append(listener.recv(4096).decode())
        assert_tells(received[-1])


def assert_tells(log: str) -> None:
    (line,) = log.splitlines()
    entry = compile_format().parse(line)
    assert entry is not None
    assert (entry.path, entry.status, entry.method) == ("/", 200, "GET")
    told = re.search(r"(?: at=(\d+)\S*)? took=(\d+)(?:us)? served=(\S+) class=(\S+) bucket=[0-9a-f]{2}$", line)
    assert told is not None, line
    assert (told[3], told[4]) == ("poorer/id", "poor")
    assert abs(float(told[1] or entry.time or 0) - time.time()) < PATIENCE
