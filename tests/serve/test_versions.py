"""Style sheets and scripts that browsers hold an earlier version of, on real servers and with a real browser."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.samples.sheet_versions import sheet
from tests.servers import web
from tests.servers.browser import Browser
from tests.servers.web import Server
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite

from adaptc.compile.engine.reporting import Silent
from adaptc.formats.dictionary import DictionaryCodec, name_of
from adaptc.serve.servers import server_named
from adaptc.serve.verify.cases import WITH
from adaptc.serve.verify.verification import Extent, Tally, verify_running, verify_started

pytestmark = pytest.mark.servers

SERVERS = ("apache", "nginx", "caddy")
ON: dict[str, Any] = {"codings__dictionaries": True, "build__levels": ("full", "moderate"), "build__effort": "fast"}
PAGE = "<!DOCTYPE html><title>Page</title><link rel=stylesheet href=/app.css><script src={}></script><p>Words</p>"
OLD_SCRIPT, NEW_SCRIPT = "/js/index-a1b2c3d4.js", "/js/index-e5f6a7b8.js"


def with_slashes(number: int, slashes: int) -> str:
    """Return a version of the sheet whose digest has so many slashes, and a plus sign."""
    texts = (f"{sheet(number)}/* {place} */" for place in range(10**6))
    return next(text for text in texts if (name := name_of(text.encode())).count("/") == slashes and "+" in name)


def two_builds(site: BuiltSite, slashes: int = 1) -> bytes:
    """Publish a site twice; return the sheet of the first time."""
    old = with_slashes(1, slashes)
    site.write({"app.css": old, OLD_SCRIPT[1:]: f"`{sheet(1)}`", "index.html": PAGE.format(OLD_SCRIPT)})
    site.build(**ON)
    site.remove(OLD_SCRIPT[1:])
    site.write({"app.css": sheet(2), NEW_SCRIPT[1:]: f"`{sheet(2)}`", "index.html": PAGE.format(NEW_SCRIPT)})
    site.build(**ON)
    return old.encode()


@contextlib.contextmanager
def started(site: BuiltSite, kind: str) -> Iterator[Server]:
    """Start a server that sends level ``full``, and switch adaptation on."""
    served = ServedSite(site, kind, ON)
    if kind != "caddy":
        with served.start(level="full") as server:
            served.switch()
            yield server
        return
    served.emitted(level="full")
    snippet = f"import {site.output}/serve/Caddyfile"
    with web.caddy(site.root / "server", site.docroot, snippet) as server:
        served.switch()
        yield server


def field_of(content: bytes) -> str:
    return f":{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("slashes", [0, 1, 3])
def test_who_holds_the_earlier_version_gets_what_changed(kind: str, slashes: int, tmp_path: Path) -> None:
    site = BuiltSite(tmp_path)
    old = two_builds(site, slashes)
    with started(site, kind) as server:
        coded = server.get("/app.css", accept_encoding=WITH, available_dictionary=field_of(old))
        assert coded.headers["content-encoding"] == "dcz"
        assert coded.headers["x-adapt"] == "full/dcz"
        assert "available-dictionary" in coded.headers["vary"].lower()
        assert DictionaryCodec(old, "fast").decode(coded.body, 10**6) == sheet(2).encode()
        hold = field_of(f"`{sheet(1)}`".encode())
        assert server.get(NEW_SCRIPT, accept_encoding=WITH, available_dictionary=hold).headers["x-adapt"] == "full/dcz"
        for accept, field in (("br", field_of(old)), (WITH, field_of(b"another")), (WITH, field_of(old)[:-2] + ":")):
            usual = server.get("/app.css", accept_encoding=accept, available_dictionary=field)
            assert usual.headers["content-encoding"] == "br"
            assert usual.headers["etag"] != coded.headers["etag"]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_version_says_which_urls_it_is_for(kind: str, tmp_path: Path) -> None:
    site = BuiltSite(tmp_path)
    two_builds(site)
    with started(site, kind) as server:
        uses = {path: server.get(path).headers.get("use-as-dictionary") for path in ("/app.css", NEW_SCRIPT, "/")}
        assert uses == {
            "/app.css": 'match="/app.css", match-dest=("style" "script" "")',
            NEW_SCRIPT: 'match="/js/index-*.js", match-dest=("style" "script" "")',
            "/": None,
        }
        ServedSite(site, kind, ON).switch(on=False)
        assert "use-as-dictionary" not in server.get("/app.css").headers


def verified(site: BuiltSite, kind: str, **settings: Any) -> Tally:
    config = site.config(**ON, serve__level="full", **settings)  # pages at level moderate have the sheet in them
    if kind != "caddy":
        return verify_started(config, server_named(kind), Extent(race=100), Silent())
    with started(site, kind) as server:
        return verify_running(config, f"http://127.0.0.1:{server.port}", Extent(), Silent())


@pytest.fixture
def built(common: Path) -> BuiltSite:
    site = BuiltSite(common)
    two_builds(site)
    return site


@pytest.mark.parametrize("kind", SERVERS)
def test_what_is_emitted_passes(built: BuiltSite, kind: str) -> None:
    tally = verified(built, kind)
    faults = [str(diagnostic) for diagnostic in tally.diagnostics]
    if kind == "caddy":  # its answers to ranges and conditions, and their lengths, are its own (docs/serving.md)
        faults = [text for text in faults if not re.search(r"Range|If-|Content-Length|server-leak|server-status", text)]
    assert faults == []
    assert sum(count for (_, group), count in tally.requests.items() if group == "dictionary") > 50


MISTAKES = {
    "no use": ("nginx-fields.conf", "add_header Use-As-Dictionary", "#"),
    "one use for all": ("nginx-http.conf", "p.version_use(versions)", 'p.version_use("/*")'),
    "no slashes": ("nginx-http.conf", "directory in held_directories %}", "directory in held_directories[:1] %}"),
    "no use, Apache": ("apache.conf", "Header set Use-As-Dictionary {{ p.version_use", "# {{ p.version_use"),
    "no slashes, Apache": ("apache.conf", "_held:%1_%2]", "_held:%1-%2]"),
    "no pattern, Apache": ("apache.conf", "_versions:$1*$2]", "_versions:$1]"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(built: BuiltSite, mistake: str, tmp_path: Path) -> None:
    file, correct, wrong = MISTAKES[mistake]
    shipped = resources.files("adaptc.templates").joinpath(f"{file}.j2").read_text()
    assert correct in shipped
    (tmp_path / f"{file}.j2").write_text(shipped.replace(correct, wrong))
    tally = verified(built, file.partition("-")[0].partition(".")[0], serve__templates=tmp_path)
    assert tally.ids.keys() & {"server-header", "server-body"}


# ---- a browser


@pytest.mark.chromium
@pytest.mark.parametrize("kind", ["apache", "nginx"])
def test_chromium_reads_a_script_with_another_hash_by_what_it_holds(
    kind: str, browser: Browser, tmp_path: Path
) -> None:
    """The site says how long caches keep its scripts: so long they are dictionaries."""
    site = BuiltSite(tmp_path)
    scripts = {OLD_SCRIPT: f"window.version = 1; `{sheet(1)}`", NEW_SCRIPT: f"window.version = 2; `{sheet(2)}`"}
    served = ServedSite(site, kind, ON)
    log, name = tmp_path / "access.log", "ad_site"
    if kind == "apache":
        after = f'Header set Cache-Control max-age=31536000 "expr=%{{REQUEST_URI}} =~ m#js$#"\nCustomLog "{log}" '
        http = ""
    else:
        after, http = f"access_log {log} ", 'map $uri $kept { default ""; ~js$ max-age=31536000; }'
    (tmp_path / "headers.conf").write_text("add_header Cache-Control $kept;")
    settings: dict[str, Any] = {"level": "full"} | (
        {"nginx_headers": tmp_path / "headers.conf"} if kind == "nginx" else {}
    )
    browser.renew()
    browser.call("Network.setCacheDisabled", cacheDisabled=False)
    site.write({OLD_SCRIPT[1:]: scripts[OLD_SCRIPT], "one.html": PAGE.format(OLD_SCRIPT)})
    name = served.emitted(**settings).policy.name
    end = name if kind == "apache" else f"{name};"
    with served.start(after=after + end, http=http, **settings) as server:
        served.switch()
        base = f"http://127.0.0.1:{server.port}"
        browser.view(f"{base}/one.html")
        assert browser.evaluate("window.version") == 1
        site.remove(OLD_SCRIPT[1:])
        site.write({NEW_SCRIPT[1:]: scripts[NEW_SCRIPT], "one.html": PAGE.format(NEW_SCRIPT)})
        site.build(**ON)
        browser.view(f"{base}/one.html")
        assert browser.evaluate("window.version") == 2
    lines = {line.split('"')[1]: line for line in log.read_text().splitlines()}
    assert "served=full/br" in lines[f"GET {OLD_SCRIPT} HTTP/1.1"]
    assert "served=full/dcz" in lines[f"GET {NEW_SCRIPT} HTTP/1.1"]
