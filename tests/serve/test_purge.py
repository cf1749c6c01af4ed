"""``adaptc purge`` and what purges by itself: real caches, and stand-ins for the interfaces of CDNs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.servers import web
from tests.servers.command import run_adaptc
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite, serving
from tests.waiting import wait_until

from adaptc.core.diagnostics import UsageError
from adaptc.serve.emitter import emit
from adaptc.serve.policy import page_label
from adaptc.serve.purge import Cloudflare, Fastly, Purge, Purges, cache_of, purge, purge_within, urls_of

PAGE = "<!DOCTYPE html>\n<html lang=en>\n<title>A page</title>\n" + "<p>words</p>\n\n" * 99
NAMES = ["index.html", "a.b (c)'+.html", "aXb (c)'+.html"]
SITE = "https://example.org"


@pytest.fixture
def served(tmp_path: Path) -> ServedSite:
    return ServedSite(BuiltSite(tmp_path).write(dict.fromkeys(NAMES, PAGE)), "nginx", POORER)


def replace_copies(served: ServedSite) -> None:
    """Change what the origin server sends, unseen by a cache."""
    for name in NAMES:
        copy = served.site.output / "poorer" / "id" / name
        content = copy.read_bytes()
        copy.unlink()
        copy.write_bytes(content + b"new")


def purges(served: ServedSite, server: web.Server, named: str) -> None:
    """Purge by URL, by label and all, and look at what the cache forgets."""
    urls = urls_of("", [NAMES[1]], ["index.html"])
    paths = ["/", *urls, *urls_of("", [NAMES[2]], [])]

    def are_new() -> list[bool]:
        return [server.get(path).body.endswith(b"new") for path in paths]

    assert are_new() == [False, False, False]
    replace_copies(served)
    assert are_new() == [False, False, False]
    assert purge(named, Purge("", urls=urls)) == ""
    assert are_new() == [False, True, False]
    assert purge(named, Purge("", labels=("ad_other-poorer",))) == ""
    assert are_new() == [False, True, False]
    assert purge(named, Purge("", labels=("ad_site/index.html",))) == ""
    assert are_new() == [True, True, False]
    assert purge(named, Purge("", labels=("ad_site-poorer",))) == ""
    assert are_new() == [True, True, True]
    replace_copies(served)
    assert purge(named, Purge("/other")) == ""
    assert not any(server.get(path).body.endswith(b"newnew") for path in paths)
    assert purge(named, Purge("")) == ""
    assert all(server.get(path).body.endswith(b"newnew") for path in paths)


@pytest.mark.servers
def test_varnish_forgets(served: ServedSite) -> None:
    with serving(served, "varnish", flag=False, level="poorer", name="site") as server:
        purges(served, server, f"varnish:-n {served.site.root}/front/work")
        assert not [name for name in server.get("/").headers if name.startswith("x-adaptc")]


@pytest.mark.servers
def test_the_cache_of_nginx_forgets(served: ServedSite) -> None:
    with served.start(flag=False, level="poorer", name="site", shared_seconds=3600) as origin:
        root = served.site.root / "cache"
        zone = f'proxy_cache_path "{root}/kept" keys_zone=kept:1m levels=1:2;'
        forward = f"proxy_pass http://127.0.0.1:{origin.port}; proxy_cache kept;"
        with web.nginx(root, served.site.docroot, zone, f"location / {{ {forward} }}") as proxy:
            purges(served, proxy, f"nginx:{root}/kept")


class StandIn(ThreadingHTTPServer):
    """Answers with the ``statuses`` in turn, 200 afterwards, and keeps the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.content = b'{"success": true, "status": "ok"}'

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, fields, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.end_headers()
        self.wfile.write(self.server.content)

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_what_fastly_is_asked(stand_in: StandIn) -> None:
    fastly = Fastly("SERVICE", "secret", stand_in.url)
    fastly.purge(Purge(SITE, labels=("ad_site-web", "ad_site-poorer")))
    fastly.purge(Purge(SITE, urls=(f"{SITE}/a%20b.html",)))
    fastly.purge(Purge(SITE))
    asked = [(method, path, fields.get("surrogate-key")) for method, path, fields, _ in stand_in.requests]
    assert asked == [
        ("POST", "/service/SERVICE/purge", "ad_site-web ad_site-poorer"),
        ("POST", "/purge/example.org/a%20b.html", None),
        ("POST", "/service/SERVICE/purge_all", None),
    ]
    assert all(fields["fastly-key"] == "secret" for _, _, fields, _ in stand_in.requests)
    assert "secret" not in repr(fastly)


def test_what_cloudflare_is_asked(stand_in: StandIn) -> None:
    cloudflare = Cloudflare("ZONE", "secret", stand_in.url)
    cloudflare.purge(Purge(SITE, labels=("ad_site-web",)))
    cloudflare.purge(Purge(SITE, urls=tuple(f"{SITE}/{number}" for number in range(31))))
    cloudflare.purge(Purge(SITE))
    bodies = [json.loads(body) for _, _, _, body in stand_in.requests]
    assert [len(next(iter(body.values()))) for body in bodies[:3]] == [1, 30, 1]
    assert [next(iter(body)) for body in bodies] == ["tags", "files", "files", "purge_everything"]
    assert {(method, path, fields["authorization"]) for method, path, fields, _ in stand_in.requests} == {
        ("POST", "/zones/ZONE/purge_cache", "Bearer secret")
    }
    stand_in.content = b'{"success": false, "errors": [{"message": "no such zone"}]}'
    with pytest.raises(Exception, match="no such zone"):
        cloudflare.purge(Purge(SITE))


def test_labels_of_pages_hold_what_all_caches_take() -> None:
    assert page_label("ad_site", "/docs/") == "ad_site/docs/"
    for path in ("/a b", "/a,b", "/\r\n", "/é", f"/{'a' * 201}"):
        assert page_label("ad_site", path) == "ad_site~other"


def test_a_failure_is_tried_again_and_told(stand_in: StandIn) -> None:
    pauses: list[float] = []
    stand_in.statuses = [503, 500]
    named = f"nginx:{stand_in.url}/purge"
    assert purge(named, Purge("", urls=("/a",)), pauses.append) == ""
    assert [path for _, path, _, _ in stand_in.requests] == ["/purge/a"] * 3
    stand_in.statuses = [503] * 3
    assert "answered 503" in purge(named, Purge("", urls=("/a",)), pauses.append)
    assert pauses == [0.0, 1.0, 5.0] * 2
    stand_in.statuses = [404]
    assert purge(named, Purge("", urls=("/a",)), pauses.append) == ""  # it had nothing


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("squid", "names no cache"),
        ("fastly:", "names no cache"),
        ("fastly:SERVICE", "FASTLY_API_TOKEN"),
        ("cloudflare:ZONE", "CLOUDFLARE_API_TOKEN"),
    ],
)
def test_what_is_not_a_cache(text: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FASTLY_API_TOKEN", raising=False)
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN", raising=False)
    with pytest.raises(UsageError, match=problem):
        cache_of(text)
    assert problem in purge_within([text], Purge(SITE), 60)[0]


def command(tmp_path: Path) -> str:
    """A command that notes its arguments."""
    program = tmp_path / "note"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/noted"\n')
    program.chmod(0o755)
    return f"command:{program} cdn"


def test_a_build_purges_what_it_changed(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": PAGE, "news/index.html": PAGE, "a.html": PAGE})
    settings = {"serve__purge": [command(tmp_path)], "site__base_url": "https://example.org/docs/"}
    site.build(**settings)
    (tmp_path / "noted").unlink()
    site.build(**settings)
    assert not (tmp_path / "noted").exists()
    site.write({"news/index.html": PAGE.replace("words", "news")}).build(**settings)
    assert (tmp_path / "noted").read_text() == (
        "cdn url https://example.org/docs/news/ https://example.org/docs/news/index.html\n"
    )
    (tmp_path / "noted").unlink()
    settings |= {"serve__shared_seconds": 60, "serve__name": "site"}
    emit(site.config(**settings), ["nginx"])
    site.write({"a.html": PAGE.replace("words", "others")}).build(**settings)
    assert (tmp_path / "noted").read_text() == (
        "cdn label ad_site/docs/a.html\ncdn url https://example.org/docs/a.html\n"
    )
    (tmp_path / "noted").unlink()
    site.remove("a.html")
    site.build(**settings)
    assert (tmp_path / "noted").read_text() == "cdn all https://example.org/docs\n"
    result = site.write({"a.html": PAGE}).build(serve__purge=["nginx:/dev/null/none", "command:false"])
    assert [each.id for each in result.diagnostics if each.id.startswith("purge")] == ["purge-failed"]
    for wrong in ("nginx:relative", "squid", "fastly:"):  # before any work
        with pytest.raises(UsageError, match=r"serve\.purge must be a list of caches: varnish"):
            site.config(serve__purge=[wrong])


def test_daemons_purge_levels_that_differ(tmp_path: Path) -> None:
    problems = Purges((command(tmp_path), "squid"), SITE, ("ad_one", "ad_two"), ("poorer", "text"))
    problems.forget(["full", "poorer"])
    wait_until(lambda: (tmp_path / "noted").exists() and bool(problems.problems))
    assert (tmp_path / "noted").read_text() == "cdn label ad_one-poorer ad_two-poorer\n"
    assert "squid names no cache" in problems.problems[0]


def test_the_command(tmp_path: Path) -> None:
    served = ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), "nginx", POORER)
    served.emitted(name="site")
    (tmp_path / "adaptc.toml").write_text(
        f'output = "opt"\n[site]\nbase_url = "https://example.org/docs/"\n[serve]\npurge = ["{command(tmp_path)}"]\n'
        '[levels.poorer]\nextends = "lossless"\nnumber = 2\npromise = "words"\n'
    )
    for arguments in (["--level", "poorer"], ["/docs/a.html", "https://example.org/b"], ["--all"]):
        done = run_adaptc("purge", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "noted").read_text().splitlines() == [
        "cdn label ad_site-poorer",
        "cdn url https://example.org/docs/a.html https://example.org/b",
        "cdn all https://example.org/docs",
    ]
    assert run_adaptc("purge", "/a", "--all", cwd=tmp_path).returncode == 2
    settings = (tmp_path / "adaptc.toml").read_text()
    (tmp_path / "adaptc.toml").write_text(settings.replace("purge = [", 'purge = ["squid", '))
    done = run_adaptc("purge", "--all", cwd=tmp_path)
    assert (done.returncode, "must be a list of caches" in done.stderr) == (2, True)
    assert len((tmp_path / "noted").read_text().splitlines()) == 3
    (tmp_path / "adaptc.toml").write_text(settings)
    done = run_adaptc("purge", "--level", "porer", cwd=tmp_path)
    assert (done.returncode, "there is no level porer in what was emitted, did you mean poorer?" in done.stderr) == (
        2,
        True,
    )
