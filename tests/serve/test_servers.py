"""What is emitted, in front of real servers: each test is a trap that one of them has set."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.servers import web
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite, decoded
from tests.waiting import wait_until

from adaptc.daemons.classify.tables import WRITERS, Table
from adaptc.daemons.run_directory import RunDirectory
from adaptc.daemons.sensors.status_page import StatusPage
from adaptc.serve import state_directory

pytestmark = pytest.mark.servers

LINES = "<p>words</p>\n\n" * 99
PAGE = f"<!DOCTYPE html>\n<html lang=en>\n<head><title>A page</title></head>\n<body>\n{LINES}</body></html>"
HOSTILE = (
    "a b.html",
    "a%41.html",
    "${IFS}$1%1%{x}.html",
    "'\"`\\.html",
    "a\nb.html",
    "a#b;c&d.html",
    "grüße.html",
    "latin\udce9.html",
    "~(.*)[x]{2}^$|+.html",
    "-f.html",
)


def page(text: str) -> str:
    return PAGE.replace("words", text)


@pytest.fixture(params=["apache", "nginx"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedSite:
    files = {"index.html": PAGE, "news/index.html": page("news"), "404.html": page("missing"), "plain.bin": b"\0\1"}
    return ServedSite(BuiltSite(tmp_path).write(files), request.param, {})


@pytest.fixture
def ladder(served: ServedSite) -> ServedSite:
    """The site with a level that is no longer the same page."""
    return ServedSite(served.site, served.kind, POORER)


# ---- the flag


def test_the_flag_switches_without_a_reload(served: ServedSite) -> None:
    with served.start() as server:
        assert server.get("/index.html").body == PAGE.encode()
        assert "x-adapt" not in server.get("/index.html").headers
        served.switch()
        assert server.get("/index.html").body == served.site.read("index.html")
        assert server.get("/index.html").headers["x-adapt"] == "lossless/id"
        served.switch(on=False)
        assert server.get("/index.html").body == PAGE.encode()


def test_without_a_flag_it_is_always_on(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        assert server.get("/").headers["x-adapt"] == "lossless/id"


def test_no_request_fails_while_the_flag_flies(served: ServedSite) -> None:
    with served.start() as server:
        stop = threading.Event()

        def fly() -> None:
            while not stop.is_set():
                served.switch()
                served.switch(on=False)

        flier = threading.Thread(target=fly)
        flier.start()
        try:
            replies = [server.get("/index.html", accept_encoding="br") for _ in range(300)]
        finally:
            stop.set()
            flier.join()
    variants = {PAGE.encode(), served.site.read("index.html")}
    assert {reply.status for reply in replies} == {200}
    assert {decoded(reply) for reply in replies} <= variants


# ---- candidates


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("br, gzip", "br"),
        ("gzip", "gz"),
        ("zstd", "zst"),
        ("x-gzip", "gz"),
        ("GZIP", "gz"),
        ("br;q=0, gzip;q=0.5", "gz"),
        ("gzip, br; q=0.000", "gz"),
        ("br;q=0.001", "br"),
        ("brr, x-br", "id"),
        ("identity", "id"),
    ],
)
def test_the_coding_is_one_that_the_client_takes(served: ServedSite, accepted: str, coding: str) -> None:
    with served.start(flag=False) as server:
        reply = server.get("/", accept_encoding=accepted)
    assert reply.headers["x-adapt"] == f"lossless/{coding}"
    assert reply.headers.get("content-encoding") == {"gz": "gzip", "zst": "zstd", "br": "br"}.get(coding)
    assert reply.headers["vary"] == "Accept-Encoding"
    assert reply.headers["content-type"].startswith("text/html")
    assert reply.body == served.site.read("index.html", coding=coding)


def test_what_is_not_there_falls_back(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        for coding, then in (("br", "id"), ("id", None)):
            (served.site.output / "lossless" / coding / "index.html").unlink()
            reply = server.get("/index.html", accept_encoding="br")
            assert (reply.status, reply.headers.get("x-adapt")) == (200, then and f"lossless/{then}")
        assert reply.body == PAGE.encode()
        assert reply.headers["vary"] == "Accept-Encoding"
        assert server.get("/nothing.html").status == 404


def test_what_has_no_coding_is_sent_as_it_is(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        reply = server.get("/plain.bin", accept_encoding="br, zstd, gzip")
    assert (reply.body, reply.headers["x-adapt"]) == (b"\0\1", "lossless/id")
    assert "content-encoding" not in reply.headers


def test_directories(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        moved = server.get("/news")
        assert (moved.status, moved.headers["location"]) == (301, f"http://127.0.0.1:{server.port}/news/")
        assert server.get("/news/").body == served.site.read("news/index.html")
        assert server.get("/news/?a=b").headers["x-adapt"] == "lossless/id"


def test_hostile_names(served: ServedSite) -> None:
    served.site.write({name: page(f"number {at}") for at, name in enumerate(HOSTILE)})
    with served.start(flag=False) as server:
        for name in HOSTILE:
            reply = server.get("/" + quote(os.fsencode(name)), accept_encoding="br")
            assert (reply.status, reply.headers.get("x-adapt")) == (200, "lossless/br"), name
            assert reply.body == served.site.read(name, coding="br")


def test_a_name_with_a_question_mark_is_no_worse_than_before(served: ServedSite) -> None:
    served.site.write({"what?.html": PAGE})
    with served.start(flag=False) as server:
        assert server.get("/what%3F.html").status == 200


@pytest.mark.parametrize(
    "target", ["/../run/opt.do", "/%2e%2e/%2e%2e/run/opt.do", "/..%2f..%2frun/opt.do", "/id/index.html"]
)
def test_nobody_gets_out_of_the_tree(served: ServedSite, target: str) -> None:
    with served.start(flag=False) as server:
        assert server.get(target).status in (400, 403, 404)


# ---- header fields


def test_conditional_and_partial_requests(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        full = server.get("/index.html", accept_encoding="br")
        tag = full.headers["etag"]
        assert "last-modified" not in full.headers
        same = server.get("/index.html", accept_encoding="br", if_none_match=tag)
        assert (same.status, same.headers.get("content-encoding")) == (304, None)
        assert same.headers["vary"] == "Accept-Encoding"
        beyond = server.get("/index.html", accept_encoding="br", range="bytes=999999-")
        assert (beyond.status, beyond.headers.get("content-encoding")) == (416, None)
        failed = server.get("/index.html", accept_encoding="br", if_match='"x"')
        assert (failed.status, failed.headers.get("content-encoding")) == (412, None)
        head = server.get("/index.html", method="HEAD", accept_encoding="br")
        assert (head.status, head.headers["content-encoding"], head.body) == (200, "br", b"")


def test_parts_are_those_of_one_representation(served: ServedSite) -> None:
    """nginx sends parts of the identity: it could not take Content-Encoding back from a 416 answer."""
    with served.start(flag=False) as server:
        accept = {} if served.kind == "nginx" else {"accept_encoding": "br"}
        whole = server.get("/index.html", **accept)
        tag, coding = whole.headers["etag"], whole.headers.get("content-encoding")
        for condition in ({}, {"if_range": tag}):
            part = server.get("/index.html", accept_encoding="br", range="bytes=2-9", **condition)
            assert (part.status, part.headers.get("content-encoding")) == (206, coding)
            assert (part.body, part.headers["etag"]) == (whole.body[2:10], tag)
        other = server.get("/index.html", accept_encoding="gzip" if accept else "br").headers["etag"]
        again = server.get("/index.html", accept_encoding="br", range="bytes=2-9", if_range=other)
        assert (again.status, again.body) == (200, whole.body)


def test_a_date_is_no_reason_for_304(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        reply = server.get("/index.html", if_modified_since="Sun, 01 Jan 2090 00:00:00 GMT")
    assert reply.status == 200


def test_variants_of_equal_size_have_other_tags(ladder: ServedSite) -> None:
    """nginx makes a tag of size and second: two levels of a page were once answered with a wrong 304."""
    with ladder.start(flag=False, classes=True) as server:
        words = [f".{name}" for name in ("full", "lossless")]
        tags = [
            server.get("/index.html", accept_encoding="br", x_server_actions=word).headers["etag"] for word in words
        ]
        assert len({*tags, server.get("/index.html").headers["etag"]}) == 3
    times = {os.stat(ladder.site.output / level / "id" / "index.html").st_mtime for level in ("full", "lossless")}
    assert len(times) == 2


def test_an_error_page_has_the_coding_that_it_says(served: ServedSite) -> None:
    own = "ErrorDocument 404 /404.html" if served.kind == "apache" else "error_page 404 /404.html;"
    with served.start(before=own, flag=False) as server:
        reply = server.get("/nothing", accept_encoding="br")
    assert reply.status == 404
    assert b"missing" in decoded(reply)


def test_the_sites_own_caching_stays_where_the_page_is_the_same(ladder: ServedSite) -> None:
    with ladder.start(flag=False, classes=True) as server:
        assert "cache-control" not in server.get("/index.html").headers
        poor = server.get("/index.html", x_server_actions=".poorer")
        assert poor.headers["x-adapt"] == "poorer/id"
        assert poor.headers["cache-control"] == "private, no-cache"


def test_shared_caches_may_hold_what_anybody_gets(ladder: ServedSite) -> None:
    with ladder.start(
        flag=False, classes=True, normal_level="poorer", poor_level="poorer", shared_seconds=61
    ) as server:
        shared = server.get("/index.html").headers
        assert shared["cache-control"] == "max-age=0, s-maxage=30, stale-while-revalidate=24, must-revalidate"
        assert shared["cdn-cache-control"] == "max-age=30, stale-while-revalidate=24, stale-if-error=86400"
        assert shared["surrogate-control"] == shared["cdn-cache-control"]
        name, _, page = shared["cache-tag"].partition("-poorer,")
        assert shared["surrogate-key"] == f"{name}-poorer {page}"
        assert page == f"{name}/index.html"
        for fields in ({"save_data": "on"}, {"x_server_actions": ".poor"}):
            own = server.get("/index.html", **fields).headers
            assert (own["x-adapt"], own["cache-control"]) == ("poorer/id", "private, no-cache")
            assert not {"cdn-cache-control", "surrogate-control"} & own.keys()
            assert own["surrogate-key"] == own["cache-tag"] == page
        same = server.get("/index.html", x_server_actions=".lossless").headers
        assert not {"cache-control", "cdn-cache-control"} & same.keys()
        assert same["cache-tag"] == page


def test_compression_on_the_fly_does_not_compress_twice(served: ServedSite) -> None:
    own = {
        "apache": "AddOutputFilterByType DEFLATE text/html\nAddOutputFilterByType BROTLI_COMPRESS text/html",
        "nginx": "gzip on; gzip_min_length 1;",
    }
    with served.start(before=own[served.kind], flag=False) as server:
        reply = server.get("/index.html", accept_encoding="gzip")
        assert reply.headers["content-encoding"] == "gzip"
        assert decoded(reply) == served.site.read("index.html")


def test_headers_may_stay_hidden(ladder: ServedSite) -> None:
    with ladder.start(flag=False, classes=True, expose=False) as server:
        assert not {"x-adapt", "x-class"} & set(server.get("/index.html").headers)


# ---- classes and buckets


def classes_of(served: ServedSite, networks: Mapping[str, str]) -> None:
    classes = {ip_network(network): name for network, name in networks.items()}
    clients = {network for network in classes if network.num_addresses == 1}
    table = Table(
        {str(network.network_address): classes[network] for network in clients},
        {network: name for network, name in classes.items() if network not in clients},
    )
    for form in ("txt", "dbm", "geo", "markers"):
        WRITERS[form](RunDirectory(served.state), table)


@pytest.mark.parametrize("nginx_classes", ["markers", "geo"])
def test_the_class_is_that_of_the_narrowest_network(ladder: ServedSite, nginx_classes: str) -> None:
    if ladder.kind == "apache" and nginx_classes == "geo":
        nginx_classes = "markers"
    settings = {"classes": True, "poor_level": "poorer", "rich_level": "full", "nginx_classes": nginx_classes}
    ladder.emitted(**settings)
    known = {"10.1.0.0/16": "poor", "10.1.2.0/24": "normal", "10.1.2.9": "rich", "172.16.0.0/12": "poor"}
    known |= {"2001:db8:1::/48": "poor", "2001:db8::/48": "rich", "2001:db8:1:2::/64": "rich"}
    classes_of(ladder, known)
    with ladder.start(flag=False, trusted_proxies=["127.0.0.1"], **settings) as server:
        wanted = {
            "10.1.9.9": "poor",
            "::ffff:10.1.9.9": "poor",
            "::FFFF:10.1.2.9": "rich",
            "10.1.2.99": "normal",
            "10.1.2.9": "rich",
            "10.2.0.1": "normal",
            "172.31.255.1": "poor",
            "2001:db8:1::7": "poor",
            "2001:db8::1": "rich",
            "2001:db8:0:5::1": "rich",
            "2001:db8:1:2:3::1": "rich",
            "2001:db8:2::": "normal",
        }
        served_to = {address: server.get("/", x_forwarded_for=address).headers["x-class"] for address in wanted}
        assert served_to == wanted
        assert server.get("/", x_forwarded_for="10.1.9.9").headers["x-adapt"] == "poorer/id"
        assert server.get("/", x_forwarded_for="10.1.2.9").headers["x-adapt"] == "full/id"


def test_hints_make_a_client_poor(ladder: ServedSite) -> None:
    with ladder.start(flag=False, classes=True, poor_level="poorer") as server:
        new = {"sec_ch_save_data": "?1"}
        for hint in (
            new,
            {"save_data": "on"},
            {"ect": "2g"},
            {"ect": "slow-2g"},
            {"downlink": "0.15"},
            {"rtt": "2000"},
        ):
            assert server.get("/", **hint).headers["x-adapt"] == "poorer/id", hint
        for hint in ({"save_data": "off"}, {"ect": "3g"}, {"downlink": "1.5"}, {"downlink": "0.4"}, {"rtt": "350"}):
            assert server.get("/", **hint).headers["x-adapt"] == "lossless/id", hint


@pytest.mark.parametrize("critical", [False, True])
def test_browsers_are_asked_for_hints(ladder: ServedSite, critical: bool) -> None:
    with ladder.start(classes=True, poor_level="poorer", critical_hints=critical) as server:
        for is_on in (False, True):
            ladder.switch(is_on)
            fields = server.get("/").headers
            assert {"Save-Data", "Sec-CH-Save-Data", "ECT", "Downlink", "RTT"} <= set(fields["accept-ch"].split(", "))
            assert fields.get("critical-ch") == ("Save-Data, ECT, Downlink, RTT" if critical else None)
            assert "accept-ch" not in server.get("/plain.bin").headers


def test_a_client_may_ask_for_what_there_is_and_nothing_else(ladder: ServedSite) -> None:
    with ladder.start(flag=False, classes=True, poor_level="poorer") as server:
        asked = {
            ".poorer": "poorer/id",
            ".gz": "lossless/id",
            ".gz, .full": "full/id",
            ".full .poorer": "full/id",
            ".poor": "poorer/id",
            ".nope .full": "full/id",
            "none": None,
            "../../run": None,
            ".full/../..": None,
            "%{ENV:PATH}": None,
        }
        served_to = {word: server.get("/", x_server_actions=word).headers.get("x-adapt") for word in asked}
        assert served_to == asked
        assert server.get("/", x_server_actions="none").headers["x-class"] == "normal"


def test_a_bucket_has_its_level_at_once_and_may_be_rejected(ladder: ServedSite) -> None:
    settings = {"buckets": True, "reject": True, "classes": True, "retry_after": 7, "level": "lossless"}
    with ladder.start(flag=False, **settings) as server:
        assert server.get("/").headers["x-adapt"] == "lossless/id"
        state_directory.write_buckets(ladder.state, dict.fromkeys(state_directory.BUCKETS, "poorer"), "full")
        assert server.get("/").headers["x-adapt"] == "poorer/id"
        assert server.get("/", x_server_actions=".full").headers["x-adapt"] == "poorer/id"
        state_directory.write_buckets(ladder.state, dict.fromkeys(state_directory.BUCKETS, "0"), "full")
        reply = server.get("/", x_server_actions=".full")
        assert (reply.status, reply.headers["retry-after"], reply.headers["cache-control"]) == (503, "7", "no-store")
        assert reply.headers["x-adapt"] == "0/-"
        assert server.get("/", x_server_actions="none").status == 503


def test_excluded_and_odd_names_are_rejected_too(ladder: ServedSite) -> None:
    ladder.site.write({"odd?.html": PAGE})
    with ladder.start(flag=False, buckets=True, reject=True, exclude=["/news"]) as server:
        targets = ("/news/index.html", "/news/", "/odd%3F.html", "/index.html")
        assert [server.get(target).status for target in targets] == [200] * 4
        assert "x-adapt" not in server.get("/news/").headers
        state_directory.write_buckets(ladder.state, dict.fromkeys(state_directory.BUCKETS, "0"), "full")
        assert [server.get(target).status for target in targets] == [503] * 4


def limited(server: web.Server, target: str = "/index.html", method: str = "GET", **fields: str) -> web.Reply:
    """Return the first answer of many at the lowest level, or the last one: what a second allows goes first."""
    for _ in range(300):
        reply = server.get(target, method=method, **fields)
        if reply.headers.get("x-adapt", "").startswith("poorer/"):
            break
    return reply


@pytest.fixture
def paced(tmp_path: Path) -> ServedSite:
    """The ladder of nginx, which has a page rate."""
    files = {"index.html": PAGE, "news/index.html": page("news"), "plain.bin": b"\0\1"}
    return ServedSite(BuiltSite(tmp_path).write(files), "nginx", POORER)


@pytest.mark.parametrize("flag", [True, False])
def test_pages_beyond_a_rate_have_the_lowest_level(paced: ServedSite, flag: bool) -> None:
    settings = {"nginx_page_rate": 1, "buckets": True, "reject": True, "exclude": ["/news"]}
    with paced.start(flag=flag, level="lossless", **settings) as server:
        own = "lossless/id" if not flag else None
        assert [server.get("/").headers.get("x-adapt") for _ in range(5)] == [own] * 5
        for target in ("/", "/index.html"):
            reply = limited(server, target, accept_encoding="br")
            assert reply.headers["x-adapt"] == "poorer/br"
            assert reply.body == paced.site.read("index.html", "poorer", "br")
        assert limited(server, method="HEAD").headers["x-adapt"] == "poorer/id"
        assert not limited(server, "/news/").headers.get("x-adapt")
        assert limited(server, "/plain.bin").body == b"\0\1"
        assert server.get("/nothing.html").status == 404
        paced.switch()
        assert limited(server).headers["x-adapt"] == "poorer/id"
        state_directory.write_buckets(paced.state, dict.fromkeys(state_directory.BUCKETS, "0"), "lossless")
        assert server.get("/").status == 503
        RunDirectory.of(paced.site.output).reset()
        (paced.state / "off").touch()
        assert limited(server).headers.get("x-adapt") == own


@pytest.mark.parametrize("flag", [True, False])
def test_pages_whose_source_has_changed_have_it_at_any_rate(paced: ServedSite, flag: bool) -> None:
    with paced.start(flag=flag, level="lossless", nginx_page_rate=1, freshness="strict") as server:
        assert limited(server).headers["x-adapt"] == "poorer/id"
        paced.site.write({"index.html": PAGE.replace("words", "other words")})
        os.utime(paced.site.docroot / "index.html", (1, 1))
        reply = limited(server)
        assert "x-adapt" not in reply.headers and b"other words" in reply.body
        assert limited(server, "/news/index.html").headers["x-adapt"] == "poorer/id"


def test_levels_that_are_no_longer_the_same_page_do_not_count_for_the_rate(paced: ServedSite) -> None:
    with paced.start(flag=False, nginx_page_rate=1, classes=True, level="full") as server:
        for _ in range(30):
            assert server.get("/", x_server_actions=".poorer").headers["x-adapt"] == "poorer/id"
        assert server.get("/").headers["x-adapt"] == "full/id"
        assert limited(server).headers["x-adapt"] == "poorer/id"
        assert "x-adapt" not in limited(server, x_server_actions="none").headers


@pytest.mark.parametrize("start", ["full", "lossless", "poorer"])
def test_each_marker_gives_its_level(ladder: ServedSite, start: str) -> None:
    with ladder.start(buckets=True, reject=True, level=start) as server:
        ladder.switch()
        for level in ("full", "lossless", "poorer", "0", start):
            state_directory.write_buckets(ladder.state, dict.fromkeys(state_directory.BUCKETS, level), start)
            assert server.get("/").headers["x-adapt"].partition("/")[0] == level
        ladder.switch(on=False)
        assert "x-adapt" not in server.get("/").headers


def test_directories_with_other_index_pages(served: ServedSite) -> None:
    served.site.write({"old/index.htm": page("old"), "both/index.html": page("new"), "both/index.htm": page("old")})
    order = "DirectoryIndex index.html index.htm" if served.kind == "apache" else "index index.html index.htm;"
    with served.start(before=order, flag=False) as server:
        for directory, name in (("old", "index.htm"), ("both", "index.html"), ("news", "index.html")):
            reply = server.get(f"/{directory}/", accept_encoding="br")
            assert reply.headers.get("x-adapt") == "lossless/br", directory
            assert reply.body == served.site.read(f"{directory}/{name}", coding="br")
        assert server.get("/nothing/").status == 404


def test_a_variant_that_nginx_cannot_read_is_replaced_by_the_original(common: Path) -> None:
    """Apache does so with serve.freshness = strict."""
    served = ServedSite(BuiltSite(common).write({"index.html": PAGE}), "nginx", {})
    with served.start(flag=False, user=web.UNPRIVILEGED) as server:
        (served.site.output / "lossless" / "br" / "index.html").chmod(0)
        reply = server.get("/index.html", accept_encoding="br")
        assert (reply.status, reply.body) == (200, PAGE.encode())
        assert "content-encoding" not in reply.headers


def test_clients_are_spread_over_the_buckets(ladder: ServedSite) -> None:
    ladder.emitted(buckets=True)
    half = {bucket: "full" if int(bucket, 16) < 128 else "poorer" for bucket in state_directory.BUCKETS}
    state_directory.write_buckets(ladder.state, half, "lossless")
    with ladder.start(flag=False, buckets=True, trusted_proxies=["127.0.0.1"]) as server:
        levels = [server.get("/", x_forwarded_for=f"10.0.{number}.7").headers["x-adapt"] for number in range(200)]
    assert 60 < levels.count("full/id") < 140
    assert levels.count("full/id") + levels.count("poorer/id") == 200


def test_files_of_the_trees_alone_answer_in_every_mode(ladder: ServedSite) -> None:
    with ladder.start(buckets=True, reject=True) as server:
        own = ladder.site.output / "poorer" / "id" / "_adaptc" / "0a1b.css"
        own.parent.mkdir(parents=True)
        own.write_text("p{}")
        for switch in (False, True):
            ladder.switch(switch)
            reply = server.get("/_adaptc/0a1b.css", accept_encoding="br")
            assert (reply.status, reply.body) == (200, b"p{}")
            assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
        state_directory.write_buckets(ladder.state, dict.fromkeys(state_directory.BUCKETS, "0"), "lossless")
        assert server.get("/").status == 503
        assert server.get("/_adaptc/0a1b.css").status == 200
        assert server.get("/_adaptc/none.css").status == 404


# ---- beside the site's own configuration


def test_a_prefix(served: ServedSite) -> None:
    outside = served.site.root / "www"
    outside.mkdir()
    (outside / "docs").symlink_to(served.site.docroot)
    (outside / "other.html").write_text("other")
    own = f'<Directory "{served.site.root}">\nRequire all granted\n</Directory>' if served.kind == "apache" else ""
    with served.start(before=own, root=outside, flag=False, prefix="/docs") as server:
        for target in ("/docs/index.html", "/docs/"):
            assert server.get(target, accept_encoding="br").body == served.site.read("index.html", coding="br")
        reply = server.get("/other.html")
        assert (reply.body, reply.headers.get("vary")) == (b"other", None)


def test_a_subtree_may_be_left_alone(served: ServedSite) -> None:
    with served.start(flag=False, exclude=["/news"]) as server:
        assert "x-adapt" not in server.get("/news/index.html").headers
        assert server.get("/index.html").headers["x-adapt"] == "lossless/id"


def test_two_sites_on_one_server(served: ServedSite, tmp_path: Path) -> None:
    other = ServedSite(BuiltSite(tmp_path / "other").write({"index.html": page("other")}), served.kind, {})
    emitted = other.emitted(flag=False, name="Other", prefix="/other")
    conf = other.site.output / "serve"
    (served.site.docroot / "other").symlink_to(other.site.docroot)
    if served.kind == "apache":
        before, http = f'Include "{conf}/apache.conf"', ""
    else:
        before, http = f'include "{conf}/nginx-server.conf";', f'include "{conf}/nginx-http.conf";'
    with served.start(before=before, http=http, flag=False, name="First") as server:
        assert server.get("/index.html").headers["x-adapt"] == "lossless/id"
        if served.kind == "nginx":
            assert b"other" in server.get("/other/index.html").body
    assert emitted.policy.name != "ad_first"


def test_rules_of_the_site_go_on_working(served: ServedSite) -> None:
    if served.kind == "nginx":
        own = "location /own/ { return 200 own; }\nlocation = /old { return 301 /news/; }"
    else:
        own = "RewriteRule ^/own/ /plain.bin [PT]\nRewriteRule ^/old$ /news/ [R=301,L]"
        served.site.write({".htaccess": "RewriteEngine On\nRewriteRule ^here$ /plain.bin [L]\n"})
    with served.start(after=own) as server:
        for on in (False, True):
            served.switch(on)
            assert server.get("/own/x").status == 200
            assert server.get("/old").headers["location"].endswith("/news/")
            if served.kind == "apache":
                assert server.get("/here").body == b"\0\1"


def test_other_methods_are_not_adapted(served: ServedSite) -> None:
    with served.start(flag=False) as server:
        reply = server.get("/index.html", method="OPTIONS")
        assert reply.status == 405 or "x-adapt" not in reply.headers


def test_an_awkward_place(served: ServedSite) -> None:
    """Apache replaces names that are in its environment, mod_rewrite expands, nginx has variables and globs."""
    site = BuiltSite(served.site.root / "o p't${PATH}%1$1\"x[y]*").write({"index.html": PAGE})
    awkward = ServedSite(site, served.kind, {})
    awkward.emitted(flag=False, buckets=True, classes=True, class_map="txt")
    text = {file.name: file.read_text() for file in (site.output / "serve").iterdir()}
    folder, docroot = served.site.root / "server", served.site.docroot
    if served.kind == "apache":
        running = web.apache(folder, docroot, text["apache.conf"])
    else:
        running = web.nginx(folder, docroot, text["nginx-http.conf"], text["nginx-server.conf"])
    with running as server:
        reply = server.get("/index.html", accept_encoding="br")
    assert reply.headers["x-adapt"] == "lossless/br"
    assert reply.body == site.read("index.html", coding="br")


def test_locations_of_the_site_include_what_they_want(served: ServedSite) -> None:
    if served.kind == "apache":
        return
    conf = served.site.output / "serve"
    own = f"location / {{ }}\nlocation /news/ {{ expires 1h; include {conf}/nginx-location.conf; }}"
    with served.start(after=own, flag=False, nginx_location=False) as server:
        assert "x-adapt" not in server.get("/index.html").headers
        reply = server.get("/news/index.html")
        assert (reply.headers["x-adapt"], reply.headers["cache-control"]) == ("lossless/id", "max-age=3600")


# ---- logs


def test_the_log_shows_what_was_served(ladder: ServedSite) -> None:
    log = ladder.site.root / "access.log"
    name = ladder.emitted(classes=True, buckets=True).policy.name
    own = f'CustomLog "{log}" {name}' if ladder.kind == "apache" else f'access_log "{log}" {name};'
    with ladder.start(after=own, flag=False, classes=True, buckets=True) as server:
        # A line follows its answer, in the server's own time: one request waits for the line of the one before.
        server.get("/index.html", accept_encoding="br", x_server_actions=".poorer")
        _await_lines(log, 1)
        server.get("/nothing")
        _await_lines(log, 2)
    lines = log.read_text().splitlines()
    fields = r'.*" at=\d+\.\d{3} took=[\d.]+(?:us|s) served=(\S+) class=(\S+) bucket=[0-9a-f]{2}'
    matches = [re.fullmatch(fields, line) for line in lines]
    assert [match and match.groups() for match in matches] == [("poorer/br", "normal"), ("-", "normal")]


def _await_lines(log: Path, count: int) -> None:
    wait_until(lambda: log.read_bytes().count(b"\n") >= count, lambda: f"{log} has no line {count}")


# ---- a status page of its own


def test_the_status_page_has_a_listener_of_its_own(served: ServedSite) -> None:
    own = f"127.0.0.1:{web.free_port()}"
    file = served.site.output / "serve/apache-status.conf"
    status = f'LoadModule status_module /usr/lib/apache2/modules/mod_status.so\nInclude "{file}"'
    with served.start(http=status if served.kind == "apache" else "", status=own) as server:
        knobs = state_directory.read_knobs(served.site.output)
        assert knobs is not None
        found = StatusPage(knobs.status).read()
        assert found.requests is not None
        assert server.get("/server-status").status == 404
