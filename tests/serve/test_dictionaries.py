"""Dictionaries in front of real servers and a real browser: only who holds the right one gets what it encodes."""

from __future__ import annotations

import base64
import hashlib
import random
import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.places import NEWSROOM
from tests.servers import web
from tests.servers.browser import Browser
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite
from tests.waiting import wait_until

from adaptc.compile.engine.reporting import Silent
from adaptc.formats.codings import CodingError
from adaptc.formats.dictionary import DictionaryCodec, name_of
from adaptc.serve.servers import server_named
from adaptc.serve.verify.cases import WITH
from adaptc.serve.verify.verification import Extent, Tally, verify_started

pytestmark = pytest.mark.servers

SERVERS = ("apache", "nginx")
# visits of five pages, since one of the few pages is short: of three, too many would take more bytes
ON: dict[str, Any] = {
    "codings__dictionaries": True,
    "build__levels": ("lossless",),
    "cost__pages_per_visit": 5.0,
}
WORDS = [f"{chr(97 + number % 26)}{number * number % 9973:x}" for number in range(4000)]


def text(seed: int, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


SHARED = "".join(f"<li>{text(number, 6)}</li>\n" for number in range(60))


def page(number: int) -> str:
    return f"<!DOCTYPE html><title>Page {number}</title><ul>{SHARED}</ul><p>{text(1000 + number, 80)}</p>"


@dataclass(frozen=True)
class Held:
    """The dictionary of a level: its bytes, its name, and the header fields of a browser that holds it."""

    dictionary: bytes

    @property
    def name(self) -> str:
        return name_of(self.dictionary)

    @property
    def fields(self) -> dict[str, str]:
        return {"accept_encoding": WITH, "available_dictionary": field_of(self.dictionary)}

    @property
    def url(self) -> str:
        return f"/_adaptc/{self.name}.dict"


def field_of(dictionary: bytes) -> str:
    return f":{base64.b64encode(hashlib.sha256(dictionary).digest()).decode()}:"


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedSite:
    files = {f"p{number}.html": page(number) for number in range(6)} | {"index.html": page(9), "plain.bin": b"\0\1"}
    return ServedSite(BuiltSite(tmp_path).write(files), request.param, ON)


def held_by(served: ServedSite) -> Held:
    (file,) = served.site.output.glob("lossless/id/_adaptc/*.dict")
    return Held(file.read_bytes())


# ---- what servers send


def test_only_who_holds_the_dictionary_and_takes_the_coding_gets_it(served: ServedSite) -> None:
    with served.start() as server:
        served.switch()
        held = held_by(served)
        coded = server.get("/p1.html", **held.fields)
        assert coded.headers["content-encoding"] == "dcz"
        assert coded.headers["x-adapt"] == "lossless/dcz"
        assert {"accept-encoding", "available-dictionary"} <= {
            name.strip() for name in coded.headers["vary"].lower().split(",")
        }
        assert DictionaryCodec(held.dictionary, "fast").decode(coded.body, 10**6) == served.site.read("p1.html")
        assert "link" not in coded.headers
        assert server.get("/", **held.fields).headers["x-adapt"] == "lossless/dcz"
        for fields in (
            {"accept_encoding": "br", "available_dictionary": held.fields["available_dictionary"]},
            {"accept_encoding": WITH},
            {"accept_encoding": WITH, "available_dictionary": field_of(b"another")},
            {"accept_encoding": WITH, "available_dictionary": f"{field_of(held.dictionary)}, {field_of(b'another')}"},
        ):
            usual = server.get("/p1.html", **fields)
            assert usual.headers["content-encoding"] == "br", fields
            assert usual.body == served.site.read("p1.html", coding="br")
            assert usual.headers["etag"] != coded.headers["etag"]


def test_a_page_names_the_dictionary_which_says_what_it_is_for(served: ServedSite) -> None:
    with served.start() as server:
        held_before = server.get("/p1.html", accept_encoding="br")
        assert "link" not in held_before.headers  # the switch is off
        served.switch()
        held = held_by(served)
        link = server.get("/p1.html", accept_encoding="br").headers["link"]
        assert link == f'<{held.url}>; rel="compression-dictionary"'
        assert "link" not in server.get("/plain.bin").headers
        for accept in ("br", "identity"):
            answer = server.get(held.url, accept_encoding=accept)
            assert answer.headers["use-as-dictionary"] == 'match="/*", match-dest=("document" "")'
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.body == held.dictionary


def test_pages_that_the_dictionary_does_not_encode_do_not_name_it(served: ServedSite) -> None:
    """A page that leads to another one at once would begin the download of the dictionary in vain."""
    refresh = '<!DOCTYPE html><title>To p1</title><meta http-equiv="refresh" content="0;url=/p1.html">'
    served.site.write({"short.html": refresh})
    with served.start() as server:
        served.switch()
        links = {path: server.get(path).headers.get("link") for path in ("/short.html", "/p1.html", "/")}
        link = f'<{held_by(served).url}>; rel="compression-dictionary"'
        assert links == {"/short.html": None, "/p1.html": link, "/": link}


def test_a_missing_dictionary_is_not_offered_and_a_damaged_one_is_never_used(served: ServedSite) -> None:
    with served.start() as server:
        served.switch()
        held = held_by(served)
        (file,) = served.site.output.glob("lossless/id/_adaptc/*.dict")
        damaged = bytes(len(held.dictionary))
        file.unlink()
        assert "link" not in server.get("/p1.html", accept_encoding="br").headers
        file.write_bytes(damaged)
        received = server.get(held.url, accept_encoding="identity").body
        answer = server.get("/p1.html", accept_encoding=WITH, available_dictionary=field_of(received))
        assert received == damaged
        assert answer.headers["content-encoding"] == "br"
        with pytest.raises(CodingError):
            DictionaryCodec(damaged, "fast").decode(server.get("/p1.html", **held.fields).body, 10**6)


def test_below_a_prefix(served: ServedSite) -> None:
    (served.site.root / "www").mkdir()
    (served.site.root / "www" / "docs").symlink_to(served.site.docroot)
    alias = f'Alias /docs "{served.site.docroot}"' if served.kind == "apache" else ""
    root = served.site.docroot if served.kind == "apache" else served.site.root / "www"
    with served.start(before=alias, root=root, prefix="/docs") as server:
        served.switch()
        held = held_by(served)
        assert server.get("/docs/p1.html", **held.fields).headers["content-encoding"] == "dcz"
        link = server.get("/docs/p1.html", accept_encoding="br").headers["link"]
        assert link == f'</docs{held.url}>; rel="compression-dictionary"'
        use = server.get(f"/docs{held.url}").headers["use-as-dictionary"]
        assert use == 'match="/docs/*", match-dest=("document" "")'


def test_caddy_offers_the_dictionary_of_its_level(tmp_path: Path) -> None:
    files = {f"p{number}.html": page(number) for number in range(6)} | {"index.html": page(9), "plain.bin": b"\0\1"}
    files["short.html"] = "<!DOCTYPE html><title>Short</title>"
    served = ServedSite(BuiltSite(tmp_path).write(files), "caddy", ON)
    served.emitted()
    snippet = f"import {served.site.output}/serve/Caddyfile"
    with web.caddy(tmp_path / "server", served.site.docroot, snippet) as server:
        held = held_by(served)
        assert "link" not in server.get("/p1.html", accept_encoding="br").headers  # the switch is off
        served.switch()
        for target in ("/p1.html", "/"):
            coded = server.get(target, **held.fields)
            assert (coded.headers["content-encoding"], coded.headers["x-adapt"]) == ("dcz", "lossless/dcz")
            assert coded.headers["vary"] == "Accept-Encoding, Available-Dictionary"
            assert "link" not in coded.headers
        assert DictionaryCodec(held.dictionary, "fast").decode(coded.body, 10**6) == served.site.read("index.html")
        plain = server.get("/p1.html", accept_encoding=WITH)
        assert plain.headers["content-encoding"] == "br"
        assert plain.headers["link"] == f'<{held.url}>; rel="compression-dictionary"'
        assert plain.headers["etag"] != server.get("/p1.html", **held.fields).headers["etag"]
        other = server.get("/p1.html", accept_encoding=WITH, available_dictionary=field_of(b"another"))
        assert other.headers["content-encoding"] == "br"
        assert server.get("/p1.html", **{**held.fields, "accept_encoding": "br"}).headers["content-encoding"] == "br"
        assert "link" not in server.get("/plain.bin").headers
        assert "link" not in server.get("/short.html").headers
        dictionary = server.get(held.url, accept_encoding="br")
        assert dictionary.headers["use-as-dictionary"] == 'match="/*", match-dest=("document" "")'
        (served.site.output / "lossless/id" / held.url[1:]).unlink()
        assert "link" not in server.get("/p1.html", accept_encoding="br").headers


# ---- verify-server


@pytest.fixture
def public(common: Path) -> BuiltSite:
    pages = {f"p{number}.html": page(number) for number in range(6)} | {"index.html": page(9)}
    site = BuiltSite(common).write(pages | {"short.html": "<!DOCTYPE html><title>Short</title>"})
    site.build(**ON)
    return site


def verify(site: BuiltSite, server: str, **settings: Any) -> Tally:
    config = site.config(**ON, **settings)
    return verify_started(config, server_named(server), Extent(race=100), Silent())


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("settings", [{}, {"serve__prefix": "/a+b", "serve__classes": True, "serve__buckets": True}])
def test_what_is_emitted_passes(public: BuiltSite, server: str, settings: dict[str, Any]) -> None:
    tally = verify(public, server, **settings)
    assert [str(diagnostic) for diagnostic in tally.diagnostics] == []
    assert tally.requests["lossless", "dictionary"] > 200


# By what is wrong: the template, the part of it that is replaced, and what replaces it
MISTAKES = {
    "any dictionary": ("nginx-http.conf", "{{ directory | arg }}", '"dcz-{{ p.dictionaries["lossless"] }}"'),
    "no coding": ("nginx-http.conf", '{{ ("~" ~ accepts["dcz"]) | arg }}', '"~."'),
    "no use": ("nginx-fields.conf", "add_header Use-As-Dictionary", "#"),
    "no link": ("nginx-fields.conf", "add_header Link", "#"),
    "a link from every page": ("apache.conf", "$1'\") | path }}", "/p1.html'\") | path }}"),
    "always a link": ("nginx-http.conf", '{{ ("~" ~ offered_is_held) | arg }} "";', ""),
    "no Vary": ("apache.conf", "Header merge Vary Available-Dictionary", "#"),
    "no condition": ("apache.conf", 'RewriteCond %{HTTP:Accept-Encoding} {{ accepts["dcz"] | regex }} [NV]', "#"),
    "another token": ("apache.conf", '"/dcz", "dcz")', '"/dcz", "zstd")'),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(public: BuiltSite, mistake: str, tmp_path: Path) -> None:
    file, correct, wrong = MISTAKES[mistake]
    shipped = resources.files("adaptc.templates").joinpath(f"{file}.j2").read_text()
    assert correct in shipped
    (tmp_path / f"{file}.j2").write_text(shipped.replace(correct, wrong))
    tally = verify(public, file.partition("-")[0].partition(".")[0], serve__templates=tmp_path)
    assert tally.ids.keys() & {"server-header", "server-body", "server-etag"}


# ---- a browser

VISIT = ("index.html", "features/lighthouse-keeper.html", "korea/busan.html", "gallery/index.html", "contact.html")


def await_line(log: Path, words: str) -> None:
    """Wait until the server has answered a request; browsers get dictionaries when they have nothing else to do."""
    wait_until(lambda: words in log.read_text(), log.read_text)


def served_as(log: Path) -> dict[str, str]:
    """Return how each page was served last."""
    lines = [line for line in log.read_text().splitlines() if '"GET /' in line]
    return {line.split('"GET /')[1].split(" ")[0]: line.split(" served=")[1].split(" ")[0] for line in lines}


def documents(browser: Browser, base: str, log: Path) -> list[str]:
    """View the pages of a visit, and return their documents; after the first one wait for the dictionary, if any."""
    shown = []
    for path in VISIT:
        assert not browser.view(base + path).errors
        shown.append(browser.evaluate("document.documentElement.outerHTML").replace(base, "/"))  # each has its port
        if path == VISIT[0] and log.exists():
            await_line(log, ".dict")
    return shown


WORKER = """
self.addEventListener("install", () => self.skipWaiting())
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()))
self.addEventListener("fetch", event => event.respondWith(fetch(event.request)))
"""
REGISTER = "<script>navigator.serviceWorker.register('/worker.js')</script>"


@pytest.mark.chromium
def test_pages_that_a_service_worker_asks_for_are_encoded(browser: Browser, common: Path) -> None:
    files = {f"p{number}.html": page(number) + REGISTER for number in range(6)} | {"worker.js": WORKER}
    served = ServedSite(BuiltSite(common).write(files), "nginx", ON)
    log, name = common / "access.log", served.emitted().policy.name
    browser.renew()
    browser.call("Network.setCacheDisabled", cacheDisabled=False)
    with served.start(after=f"access_log {log} {name};") as server:
        served.switch()
        base = f"http://127.0.0.1:{server.port}"
        browser.view(f"{base}/p0.html")
        await_line(log, "/worker.js")
        await_line(log, ".dict")
        browser.view(f"{base}/p1.html")
        assert browser.evaluate("navigator.serviceWorker.controller !== null")
        assert browser.evaluate("document.title") == "Page 1"
    assert served_as(log)["p1.html"] == "lossless/dcz"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example is built once for all servers."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.chromium
@pytest.mark.parametrize("kind", SERVERS)
def test_chromium_reads_the_example_with_its_dictionary(kind: str, browser: Browser, common: Path, cache: Path) -> None:
    # No dictionary is for photographs, and they take half of the time of the build
    shutil.copytree(NEWSROOM, common / "site", ignore=shutil.ignore_patterns("*.jpg"))
    served = ServedSite(
        BuiltSite(common), kind, {**ON, "build__levels": ("lossless", "moderate"), "build__cache": cache}
    )
    log, name = common / "access.log", served.emitted(level="moderate").policy.name
    directive = f'CustomLog "{log}" {name}' if kind == "apache" else f"access_log {log} {name};"
    browser.renew()
    with served.start(level="moderate") as server:
        served.switch()
        plain = documents(browser, f"http://127.0.0.1:{server.port}/", log)
    browser.call("Network.setCacheDisabled", cacheDisabled=False)
    with served.start(after=directive, level="moderate") as server:
        assert documents(browser, f"http://127.0.0.1:{server.port}/", log) == plain
    assert {served_as(log)[path] for path in VISIT[1:]} == {"moderate/dcz"}
    assert served_as(log)[VISIT[0]] == "moderate/br"


def test_a_page_beyond_the_rate_offers_no_dictionary_of_the_level_that_it_has_not(tmp_path: Path) -> None:
    files = {f"p{number}.html": page(number) for number in range(6)} | {"index.html": page(9)}
    build = {**ON, "build__levels": ("lossless", "text"), "serve__ladder": ("lossless", "text")}
    served = ServedSite(BuiltSite(tmp_path).write(files), "nginx", build)
    with served.start(flag=False, level="lossless", nginx_page_rate=1) as server:
        first = server.get("/p1.html", accept_encoding=WITH)
        assert (first.headers["x-adapt"], "link" in first.headers) == ("lossless/br", True)
        for _ in range(300):
            reply = server.get("/p1.html", accept_encoding=WITH)
            if reply.headers["x-adapt"].startswith("text/"):
                break
        assert reply.headers["x-adapt"].startswith("text/")
        assert "link" not in reply.headers
