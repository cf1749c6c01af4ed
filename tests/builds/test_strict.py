"""Strict freshness: servers compare times, and send the original where a source is not what was built."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.servers import web
from tests.servers.web import UNPRIVILEGED, Server
from tests.sites.built import BuiltSite, files_below
from tests.sites.served import ServedSite, decoded

from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.session import Session
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.trees.gate import Gate
from adaptc.compile.engine.trees.output import SourceTimes
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import Resource
from adaptc.serve.emitter import emit
from adaptc.workflow.api import bring_up_to_date, engine_of

LINES = "<p>words</p>\n\n" * 99
PAGE = f"<!DOCTYPE html>\n<html lang=en>\n<head><title>A page</title></head>\n<body>\n{LINES}</body></html>"
NAMES = ("index.html", "news/index.html", "a b%41'\"\\.html", "${IFS}$1.html", os.fsdecode(b"latin\xe4.html"))
STRICT = {"freshness": "strict"}


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write({name: PAGE.replace("words", repr(name)) for name in NAMES})


@pytest.fixture(params=["apache", "nginx"])
def served(request: pytest.FixtureRequest, site: BuiltSite) -> ServedSite:
    return ServedSite(site, request.param, {"serve__freshness": "strict"})


def url(name: str) -> str:
    return "/" + quote(os.fsencode(name))


def level_of(server: Server, name: str) -> str | None:
    """Return what X-Adapt says; the body must be that of the docroot or of the tree."""
    reply = server.get(url(name), accept_encoding="br")
    assert reply.status == 200, name
    return reply.headers.get("x-adapt")


# ---- the servers


@pytest.mark.servers
def test_what_is_as_it_was_built_is_adapted(served: ServedSite) -> None:
    with served.start(**STRICT) as server:
        assert level_of(server, "index.html") is None
        served.switch()
        assert {level_of(server, name) for name in NAMES} == {"lossless/br"}
        assert server.get("/news/", accept_encoding="br").headers["x-adapt"] == "lossless/br"
        assert server.get("/news").status == 301
        assert server.get("/nothing.html").status == 404


@pytest.mark.servers
@pytest.mark.parametrize("moved", [3600, -3600, 0.001])
def test_a_source_with_another_time_is_sent_itself(served: ServedSite, moved: float) -> None:
    with served.start(flag=False, **STRICT) as server:
        for name in NAMES:
            source = served.site.docroot / name
            source.write_text("new")
            then = os.stat(served.site.output / "times" / name).st_mtime + moved
            os.utime(source, (then, then))
            reply = server.get(url(name), accept_encoding="br")
            assert (reply.status, reply.body, reply.headers.get("x-adapt")) == (200, b"new", None)
            assert reply.headers["vary"] == "Accept-Encoding"


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["apache", "nginx"])
def test_a_source_that_the_server_cannot_read_is_not_served(kind: str, common: Path) -> None:
    served = ServedSite(BuiltSite(common).write(dict.fromkeys(NAMES, PAGE)), kind, {"serve__freshness": "strict"})
    with served.start(user=UNPRIVILEGED, **STRICT) as server:
        served.switch()
        assert level_of(server, "index.html") == "lossless/br"
        (served.site.docroot / "index.html").chmod(0)
        assert server.get("/index.html").status == 403
        assert level_of(server, "news/index.html") == "lossless/br"


@pytest.mark.servers
def test_a_source_that_is_gone_is_gone(served: ServedSite) -> None:
    with served.start(flag=False, **STRICT) as server:
        served.site.remove("news/index.html")
        assert server.get("/news/index.html", accept_encoding="br").status == 404
        assert level_of(server, "index.html") == "lossless/br"


@pytest.mark.servers
def test_after_a_build_it_is_adapted_again(served: ServedSite) -> None:
    with served.start(flag=False, **STRICT) as server:
        served.site.write({"index.html": PAGE.replace("words", "more words"), "other.html": PAGE})
        served.site.write({"news/index.html": PAGE.replace("words", repr("news/index.html"))})  # touched, and the same
        assert [level_of(server, name) for name in ("index.html", "other.html", "news/index.html")] == [None] * 3
        served.site.build(serve__freshness="strict")
        found = {level_of(server, name) for name in ("index.html", "other.html", "news/index.html")}
        assert found == {"lossless/br"}


@pytest.mark.servers
def test_below_a_prefix_and_with_levels_and_classes(served: ServedSite) -> None:
    outside = served.site.root / "www"
    outside.mkdir()
    (outside / "docs").symlink_to(served.site.docroot)
    own = f'<Directory "{served.site.root}">\nRequire all granted\n</Directory>' if served.kind == "apache" else ""
    settings = {"flag": False, "prefix": "/docs", "buckets": True, "classes": True, "reject": True}
    with served.start(before=own, root=outside, **settings, **STRICT) as server:
        assert server.get("/docs/", x_server_actions=".lossless").headers["x-adapt"] == "lossless/id"
        os.utime(served.site.docroot / "index.html")
        assert "x-adapt" not in server.get("/docs/", x_server_actions=".lossless").headers


@contextmanager
def vanishing(file: Path, keep: Path) -> Iterator[None]:
    """Take a file away and put it back all the time."""
    os.link(file, keep)
    ended = threading.Event()

    def fly() -> None:
        while not ended.is_set():
            file.unlink()
            time.sleep(0)
            os.link(keep, file)

    flier = threading.Thread(target=fly)
    flier.start()
    try:
        yield
    finally:
        ended.set()
        flier.join()


@pytest.mark.servers
@pytest.mark.parametrize(("kind", "freshness"), [("nginx", "watched"), ("nginx", "strict"), ("apache", "strict")])
def test_what_goes_between_the_test_and_its_opening_is_no_error(site: BuiltSite, kind: str, freshness: str) -> None:
    """Of 4,000 requests 40 to 250 met a file that was gone, and were answered with 403 or 404."""
    served = ServedSite(site, kind, {})
    with served.start(flag=False, freshness=freshness) as server:
        known = {PAGE.replace("words", repr(NAMES[2])).encode(), site.read(NAMES[2])}
        with vanishing(site.output / "lossless" / "br" / NAMES[2], site.root / "kept"):
            replies = [server.get(url(NAMES[2]), accept_encoding="br") for _ in range(1000)]
    assert {reply.status for reply in replies} == {200}
    assert {decoded(reply) for reply in replies} <= known
    assert {reply.headers.get("content-encoding") for reply in replies if "x-adapt" not in reply.headers} <= {None}


# ---- the times


def noted(site: BuiltSite) -> dict[str, int]:
    """Return the noted times by path."""
    root = site.output / "times"
    return {path: os.stat(root / path).st_mtime_ns for path in files_below(root)}


def sources(site: BuiltSite) -> dict[str, int]:
    return {path: os.stat(site.docroot / path).st_mtime_ns for path in files_below(site.docroot)}


def test_a_build_notes_the_times_of_sources(site: BuiltSite) -> None:
    site.build(serve__freshness="strict")
    assert noted(site) == sources(site)
    site.write({"index.html": "<p>new", "news/other.html": "<p>new"})
    site.remove("news/index.html")
    assert noted(site) != sources(site)
    site.build(serve__freshness="strict")
    assert noted(site) == sources(site)


def test_what_is_emitted_first_notes_all_times(site: BuiltSite) -> None:
    site.build()
    assert not (site.output / "times").exists()
    emit(site.config(serve__freshness="strict"), ["nginx"])
    assert noted(site) == sources(site)
    (site.output / "times" / "stranger").touch()
    emit(site.config(serve__freshness="strict"), ["nginx"])
    assert noted(site) == sources(site)


def test_a_watcher_notes_times_as_it_goes(site: BuiltSite) -> None:
    builder = engine_of(site.config(serve__freshness="strict"), Silent())
    with builder.lock():
        state = State(builder.spec.state_path)
        builder.gate = Gate(builder.trees.publisher, builder.spec.state_path)
        session = Session(builder, state, bring_up_to_date(builder, state)[0])
        site.write({"index.html": "<p>new", "other.html": "<p>new"})
        site.remove("news/index.html")
        builder.gate.invalidate(["index.html", "other.html", "news/index.html"])
        session.update(builder.gate.drain())
        builder.gate.close()
        state.close()
    assert noted(site) == sources(site)


def test_a_source_that_may_change_unseen_has_no_time(tmp_path: Path) -> None:
    times = SourceTimes(tmp_path)
    one = Resource("a/b.html", 1, 1_600_000_000_123_456_789, 1, "text/html")
    times.record([one])
    assert os.stat(tmp_path / "times/a/b.html").st_mtime_ns == one.mtime_ns
    times.record([one._replace(mtime_ns=-1)])
    assert not (tmp_path / "times/a").exists()


@pytest.mark.parametrize("path", ["x" * 256, "a/b", "c"])
def test_a_name_that_cannot_be_has_no_time(tmp_path: Path, path: str) -> None:
    times = SourceTimes(tmp_path)
    resource = Resource("a", 1, 1, 1, "text/html")
    times.record([resource, resource._replace(path="c/d")])
    times.record([resource._replace(path=path, mtime_ns=2 * 10**9)])
    assert list(files_below(tmp_path / "times")) == ["a", "c/d"]


# ---- who cannot be strict


@pytest.mark.parametrize(("server", "name"), [("caddy", "Caddy"), ("lighttpd", "lighttpd")])
def test_small_servers_refuse(site: BuiltSite, server: str, name: str) -> None:
    site.build()
    with pytest.raises(UsageError, match=f"serve.freshness: {name} does not support"):
        emit(site.config(serve__freshness="strict"), [server])


def test_htaccess_says_that_it_cannot(site: BuiltSite) -> None:
    site.build()
    emit(site.config(serve__freshness="strict"), ["htaccess"])
    assert "a log format, strict freshness." in (site.output / "serve" / "htaccess").read_text()


def test_the_modules_are_named(site: BuiltSite) -> None:
    site.build()
    emit(site.config(serve__freshness="strict"), ["apache", "nginx"])
    assert "a2enmod actions headers lua rewrite" in (site.output / "serve" / "apache.conf").read_text()
    assert "libnginx-mod-http-js" in (site.output / "serve" / "nginx-server.conf").read_text()


@pytest.mark.servers
def test_nginx_takes_the_script(site: BuiltSite, tmp_path: Path) -> None:
    site.build()
    emit(site.config(serve__freshness="strict"), ["nginx"])
    conf = site.output / "serve"
    text = web.nginx_text(
        tmp_path, 8080, site.docroot, f"include {conf}/nginx-http.conf;", f"include {conf}/nginx-server.conf;"
    )
    (tmp_path / "nginx.conf").write_text(text)
    assert web.nginx_check(tmp_path / "nginx.conf", tmp_path).returncode == 0
