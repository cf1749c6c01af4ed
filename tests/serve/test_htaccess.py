"""The .htaccess form, in front of a real Apache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.servers import web
from tests.servers.web import Server
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite

pytestmark = pytest.mark.servers

LINES = "<p>words</p>\n\n" * 99
PAGE = f"<!DOCTYPE html>\n<html lang=en>\n<head><title>A page</title></head>\n<body>\n{LINES}</body></html>"


@pytest.fixture
def served(tmp_path: Path) -> ServedSite:
    files = {
        "index.html": PAGE,
        "news/index.html": PAGE.replace("words", "news"),
        "a b$1{x}'.html": PAGE,
        "a%41.html": PAGE,
    }
    return ServedSite(BuiltSite(tmp_path).write(files), "htaccess", POORER)


@contextmanager
def running(served: ServedSite, **settings: object) -> Iterator[Server]:
    served.emitted(**settings)
    (served.site.docroot / ".adaptc-trees").symlink_to(served.site.output)
    text = (served.site.output / "serve" / "htaccess").read_bytes()
    (served.site.docroot / ".htaccess").write_bytes(text)
    inside = (
        f'<Directory "{served.site.output}">\nRequire all granted\n</Directory>\nDirectoryIndex index.html index.htm'
    )
    with web.apache(served.site.root / "server", served.site.docroot, inside) as server:
        yield server


def test_directories_with_other_index_pages(served: ServedSite) -> None:
    served.write_other_index_pages(PAGE)
    with running(served, flag=False) as server:
        served.assert_index_pages_adapt(server)


def test_flag_codings_and_directories(served: ServedSite) -> None:
    with running(served, level="lossless") as server:
        assert server.get("/index.html").body == PAGE.encode()
        served.switch()
        for target, path in (("/index.html", "index.html"), ("/", "index.html"), ("/news/", "news/index.html")):
            reply = server.get(target, accept_encoding="br")
            assert (reply.status, reply.headers["x-adapt"]) == (200, "lossless/br")
            assert reply.body == served.site.read(path, coding="br")
            assert (reply.headers["content-encoding"], reply.headers["vary"]) == ("br", "Accept-Encoding")
            assert "last-modified" not in reply.headers
        assert server.get("/", accept_encoding="br;q=0, gzip").headers["content-encoding"] == "gzip"
        assert server.get("/news").status == 301
        tag = server.get("/").headers["etag"]
        assert server.get("/", if_none_match=tag).status == 304
        assert server.get("/nothing.html").status == 404


def test_names(served: ServedSite) -> None:
    with running(served, flag=False) as server:
        odd = server.get("/" + quote("a b$1{x}'.html"), accept_encoding="br")
        assert (odd.status, odd.headers["x-adapt"]) == (200, "lossless/br")
        percent = server.get("/a%2541.html", accept_encoding="br")
        assert (percent.status, percent.body) == (200, PAGE.encode())


def test_nobody_names_a_file_of_the_trees(served: ServedSite) -> None:
    with running(served, flag=False) as server:
        for target in (
            "/.adaptc-trees/lossless/br/index.html",
            "/.adaptc-trees/run/opt.do",
            "/.adaptc-trees/manifest.json",
        ):
            assert server.get(target).status == 404


def test_classes_by_hints_and_by_wish(served: ServedSite) -> None:
    with running(served, flag=False, classes=True, poor_level="poorer") as server:
        assert server.get("/").headers["x-adapt"] == "lossless/id"
        poor = server.get("/", save_data="on")
        assert (poor.headers["x-adapt"], poor.headers["cache-control"]) == ("poorer/id", "private, no-cache")
        for words, level in ((".full .poorer", "full"), (".gz, .poor", "poorer"), (".gz", "lossless")):
            assert server.get("/", x_server_actions=words).headers["x-adapt"] == f"{level}/id"
        assert "x-adapt" not in server.get("/", x_server_actions="none").headers


def test_shared_caches_may_hold_what_anybody_gets(served: ServedSite) -> None:
    with running(
        served, flag=False, classes=True, normal_level="poorer", poor_level="poorer", shared_seconds=60
    ) as server:
        for target in ("/", "/news/", "/index.html"):
            shared = server.get(target, accept_encoding="br").headers
            assert (shared["x-adapt"], shared["cache-control"]) == (
                "poorer/br",
                "max-age=0, s-maxage=30, stale-while-revalidate=24, must-revalidate",
            )
            assert shared["cache-tag"].endswith("-poorer")
            for fields in ({"save_data": "on"}, {"x_server_actions": ".poor"}):
                own = server.get(target, **fields).headers
                assert own["cache-control"] == "private, no-cache"
                assert "cache-tag" not in own


def test_own_files_answer_in_every_mode(served: ServedSite) -> None:
    with running(served) as server:
        own = served.site.output / "poorer" / "id" / "_adaptc" / "0a1b.css"
        own.parent.mkdir(parents=True)
        own.write_text("p{}")
        reply = server.get("/_adaptc/0a1b.css", accept_encoding="br")
        assert (reply.status, reply.body) == (200, b"p{}")
        assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_a_subtree_may_be_left_alone(served: ServedSite) -> None:
    with running(served, flag=False, exclude=["/news"]) as server:
        assert "x-adapt" not in server.get("/news/").headers
        assert "x-adapt" in server.get("/").headers
