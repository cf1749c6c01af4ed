"""Caches of the server's answers: Varnish, which chooses the level, and others, which keep what anybody gets."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers import web
from tests.servers.web import Reply, Server
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite, decoded, started
from tests.waiting import wait_until

from adaptc.core.diagnostics import UsageError
from adaptc.serve import state_directory
from adaptc.serve.emitter import emit

PAGE = "<!DOCTYPE html>\n<html lang=en>\n<title>A page</title>\n" + "<p>words</p>\n\n" * 99
HOUR = {"shared_seconds": 3600}


@pytest.fixture(params=["nginx", "apache"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedSite:
    files = {"index.html": PAGE, "news/index.html": PAGE.replace("words", "news")}
    return ServedSite(BuiltSite(tmp_path).write(files), request.param, POORER)


@contextmanager
def proxied(served: ServedSite, **settings: Any) -> Iterator[Server]:
    settings = {"reverse_proxy": "varnish", **HOUR, **settings}
    with served.start(**settings) as origin:
        config = served.site.config(**served.build, **{f"serve__{key}": value for key, value in settings.items()})
        emit(config, ["varnish"])
        with web.varnish(
            served.site.root / "proxy", origin.port, served.site.output / "serve" / "varnish.vcl"
        ) as proxy:
            yield proxy


@pytest.mark.servers
def test_the_flag_switches_what_is_kept_at_once(served: ServedSite) -> None:
    with proxied(served, level="poorer") as proxy:
        for on in (False, True, False, True):
            served.switch(on)
            for _ in range(2):
                reply = proxy.get("/", accept_encoding="br, gzip")
                assert reply.headers.get("x-adapt") == ("poorer/br" if on else None)
                assert decoded(reply) == (served.site.read("index.html", level="poorer") if on else PAGE.encode())
        assert reply.headers["cache-control"] == "private, no-cache"
        assert int(reply.headers["age"]) >= 0
        assert len(reply.headers["x-varnish"].split()) == 2  # from the cache
        level, page = reply.headers["surrogate-key"].split()
        assert level == page.replace("/index.html", "-poorer")
        assert proxy.get("/nothing").status == 404


@pytest.mark.servers
def test_classes_buckets_and_rejection(served: ServedSite) -> None:
    settings = {
        "classes": True,
        "buckets": True,
        "reject": True,
        "poor_level": "poorer",
        "trusted_proxies": ["127.0.0.1"],
    }
    with proxied(served, flag=False, retry_after=7, **settings) as proxy:
        levels = {
            word: proxy.get("/", x_server_actions=word).headers.get("x-adapt") for word in (".full", ".poor", "none")
        }
        assert levels == {".full": "full/id", ".poor": "poorer/id", "none": None}
        assert proxy.get("/", save_data="on").headers["x-adapt"] == "poorer/id"
        assert proxy.get("/", save_data="on").headers["x-class"] == "poor"
        (served.state / "c" / "poor").mkdir(parents=True, exist_ok=True)
        (served.state / "c" / "poor" / "10.9").touch()
        assert proxy.get("/", x_forwarded_for="192.0.2.1, 10.9.8.7").headers["x-class"] == "poor"
        assert proxy.get("/", x_forwarded_for="10.9.8.7, 192.0.2.1").headers["x-class"] == "normal"
        half = {bucket: "full" if int(bucket, 16) < 128 else "poorer" for bucket in state_directory.BUCKETS}
        state_directory.write_buckets(served.state, half, "full")
        got = [proxy.get("/", x_forwarded_for=f"10.0.{number}.7").headers["x-adapt"] for number in range(200)]
        assert 60 < got.count("poorer/id") < 140
        assert got.count("poorer/id") + got.count("lossless/id") == 200
        assert got == [proxy.get("/", x_forwarded_for=f"10.0.{number}.7").headers["x-adapt"] for number in range(200)]
        state_directory.write_buckets(served.state, dict.fromkeys(state_directory.BUCKETS, "0"), "full")
        busy = proxy.get("/", x_server_actions="none")
        assert (busy.status, busy.headers["retry-after"], busy.headers["cache-control"]) == (503, "7", "no-store")


@pytest.mark.servers
def test_nobody_gets_anothers_answer(served: ServedSite) -> None:
    """A thousand requests for any level and coding, nearly all answered from the cache."""
    draw = random.Random(40)
    with proxied(served, flag=False, classes=True, buckets=True) as proxy:
        kept = 0
        for _ in range(1000):
            level, accepted = (
                draw.choice(["full", "lossless", "poorer"]),
                draw.choice(["br", "gzip", "zstd", "br, gzip", ""]),
            )
            path = draw.choice(["index.html", "news/index.html"])
            reply = proxy.get(f"/{path}", x_server_actions=f".{level}", accept_encoding=accepted)
            coding = {"br": "br", "gzip": "gz", "zstd": "zst", "br, gzip": "br", "": "id"}[accepted]
            assert (reply.status, reply.headers["x-adapt"]) == (200, f"{level}/{coding}")
            assert reply.body == served.site.read(path, level=level, coding=coding)
            kept += len(reply.headers["x-varnish"].split()) == 2
    assert kept > 900


# What each cache adds to an answer that it kept
MOD_CACHE = """
CacheRoot "{root}/kept"
CacheEnable disk "/"
CacheLock on
CacheLockPath "{root}/lock"
CacheHeader on
ProxyPass "/" "http://127.0.0.1:{origin}/"
"""
NGINX = """
proxy_cache kept; proxy_cache_background_update on; add_header X-Cache $upstream_cache_status;
location / {{ proxy_pass http://127.0.0.1:{origin}; }}
"""


@contextmanager
def cached(kind: str, root: Path, docroot: Path, origin: int) -> Iterator[Server]:
    """Run a cache that knows nothing of levels."""
    (root / "kept").mkdir(parents=True)
    if kind == "nginx":
        zone = f'proxy_cache_path "{root}/kept" keys_zone=kept:1m;'
        with web.nginx(root, docroot, zone, NGINX.format(origin=origin)) as server:
            yield server
    elif kind == "apache":
        modules = "".join(
            f"LoadModule {name}_module {web.APACHE_MODULES}/mod_{name}.so\n"
            for name in ("proxy", "proxy_http", "cache", "cache_disk")
        )
        for name in ("kept", "lock"):
            (root / name).mkdir(exist_ok=True)
            (root / name).chmod(0o777)
        with web.apache(root, docroot, MOD_CACHE.format(root=root, origin=origin), modules) as server:
            yield server
    else:
        (root / "nothing.vcl").write_text("")
        with web.varnish(root, origin, root / "nothing.vcl") as server:
            yield server


def is_kept(reply: Reply) -> bool:
    said = reply.headers.get("x-cache", "")
    return said.startswith("HIT") or len(reply.headers.get("x-varnish", "").split()) == 2


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["nginx", "apache", "varnish"])
def test_other_caches_keep_what_anybody_gets(served: ServedSite, kind: str) -> None:
    """After the switch nobody waits longer than serve.shared_seconds for the original; codings are kept apart."""
    settings = {"classes": True, "poor_level": "poorer", "normal_level": "poorer", "rich_level": "full"}
    with (
        served.start(shared_seconds=2, **settings) as origin,
        cached(kind, served.site.root / "cache", served.site.docroot, origin.port) as proxy,
    ):
        served.switch()
        wait_until(lambda: proxy.get("/").headers.get("x-adapt") == "poorer/id")
        wait_until(lambda: is_kept(proxy.get("/")))
        for accepted, coding in (("br", "br"), ("", "id"), ("gzip", "gz"), ("br", "br")):
            reply = proxy.get("/", accept_encoding=accepted)
            assert reply.body == served.site.read("index.html", level="poorer", coding=coding)
        for _ in range(2):  # what a client asks for is nobody else's
            own = proxy.get("/news/", x_server_actions=".poorer")
            assert (own.headers["x-adapt"], is_kept(own)) == ("poorer/id", False)
        served.switch(on=False)
        wait_until(lambda: "x-adapt" not in proxy.get("/").headers)


@pytest.mark.servers
def test_what_breaks_caches_does_not_break_this_one(served: ServedSite) -> None:
    """Classes of faults that users of caches report: each with the emitted configuration."""
    served.site.write({"a b.html": PAGE.replace("words", "spaced")})
    with proxied(served, flag=False, level="poorer", classes=True, normal_level="poorer") as proxy:
        # many spellings of one Accept-Encoding are few answers (an explosion of Vary)
        spelt = [f"gzip{space}, br{weight}" for space in ("", " ") for weight in ("", ";q=1", ";q=0.9", " ; q=0.5")]
        asked = [proxy.get("/", accept_encoding=text) for text in spelt]
        assert {reply.headers["x-adapt"] for reply in asked} == {"poorer/br"}
        assert [is_kept(reply) for reply in asked].count(False) == 1
        # who authorizes, or has a cookie, is asked for alone, and leaves nothing behind
        for fields in ({"authorization": "Basic eDp5"}, {"cookie": "session=1"}):
            private = proxy.get("/news/index.html", accept_encoding="br", **fields)
            assert (private.status, is_kept(private)) == (200, False)
        assert not is_kept(proxy.get("/news/index.html", accept_encoding="br"))
        # a client cannot tell the cache what level it is
        forged = {f"x_adaptc_{name}": "full" for name in ("level", "class", "asked", "bucket")}
        assert proxy.get("/", accept_encoding="br", **forged).headers["x-adapt"] == "poorer/br"
        # HEAD, ranges and conditions of what is kept
        whole = proxy.get("/", accept_encoding="br")
        head = proxy.get("/", "HEAD", accept_encoding="br")
        assert (head.status, head.body, head.headers["etag"]) == (200, b"", whole.headers["etag"])
        part = proxy.get("/", accept_encoding="br", range="bytes=0-9")
        assert (part.status, part.body, part.headers["content-encoding"]) == (206, whole.body[:10], "br")
        other = proxy.get("/", accept_encoding="br", x_server_actions=".full").headers["etag"]
        assert proxy.get("/", accept_encoding="br", if_none_match=other).body == whole.body
        assert proxy.get("/", accept_encoding="br", if_none_match=whole.headers["etag"]).status == 304
        # queries and coded paths
        for target in ("/?a=1", "/?a=2", "/a%20b.html", "/a%20b.html?x=%20"):
            name = "a b.html" if "b.html" in target else "index.html"
            assert proxy.get(target, accept_encoding="br").body == served.site.read(name, level="poorer", coding="br")


SETS_COOKIE = {
    "nginx": 'add_header Set-Cookie "s=1";',
    "apache": 'Header set Set-Cookie "s=1"',
    "caddy": 'header Set-Cookie "s=1"',
    "lighttpd": 'server.modules += ("mod_setenv")\nsetenv.add-response-header = ("Set-Cookie" => "s=1")',
}


@pytest.mark.servers
@pytest.mark.parametrize("kind", SETS_COOKIE)
def test_what_sets_a_cookie_is_private(kind: str, tmp_path: Path) -> None:
    served = ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), kind, POORER)
    with started(served, SETS_COOKIE[kind], flag=False, level="poorer", shared_seconds=60) as server:
        fields = server.get("/").headers
        assert (fields["x-adapt"], fields["set-cookie"]) == ("poorer/id", "s=1")
        assert fields["cache-control"] == "private, no-cache"
        assert not {"cdn-cache-control", "surrogate-control"} & fields.keys()


@pytest.mark.servers
def test_what_is_kept_grows_old(served: ServedSite) -> None:
    with proxied(served, flag=False, level="poorer", shared_seconds=2) as proxy:
        before = proxy.get("/").body
        copy = served.site.output / "poorer" / "id" / "index.html"
        copy.unlink()
        copy.write_bytes(before + b"new")
        wait_until(lambda: proxy.get("/").body.endswith(b"new"))


PROBED = """
backend probed {{
    .host = "127.0.0.1"; .port = "{port}"; .probe = {{ .interval = 0.2s; .window = 1; .threshold = 1; }}
}}
sub vcl_recv {{ set req.backend_hint = probed; }}"""


@pytest.mark.servers
def test_varnish_goes_on_while_the_server_fails_its_probe(served: ServedSite) -> None:
    settings = {"reverse_proxy": "varnish", "flag": False, "level": "poorer", "shared_seconds": 2}
    with served.start(**settings) as origin:
        emit(
            served.site.config(**served.build, **{f"serve__{key}": value for key, value in settings.items()}),
            ["varnish"],
        )
        file, probed = served.site.output / "serve" / "varnish.vcl", PROBED.format(port=origin.port)
        with web.varnish(served.site.root / "proxy", origin.port, file, probed) as proxy:
            wait_until(lambda: is_kept(proxy.get("/")))
            os.kill(origin.pid, signal.SIGTERM)
            wait_until(lambda: int(proxy.get("/").headers.get("age", "0")) > 4)  # nobody renews it, and it is sent
            assert proxy.get("/").headers["x-adapt"] == "poorer/id"
            assert proxy.get("/news/").status == 503


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"shared_seconds": 60}, "serve.reverse_proxy"), ({"reverse_proxy": "varnish"}, "serve.shared_seconds")],
)
def test_it_says_which_setting_it_needs(tmp_path: Path, settings: dict[str, object], named: str) -> None:
    served = ServedSite(BuiltSite(tmp_path).write({"index.html": PAGE}), "varnish", POORER)
    with pytest.raises(UsageError, match=named):
        served.emitted(**settings)
