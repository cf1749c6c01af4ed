"""Manners: robots, waiting, retries, redirects, authentication, cookies, proxies, codings."""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import brotli
import pytest
import zstandard

from tests.servers.crawl import TLS, Answer, Asked, Resource, Server, redirect, serving, tls
from tests.servers.web import free_port
from tests.sites.crawl_case import Case, check, crawl

from adaptc.cli.main import run
from adaptc.crawl.schedule import Pace

TWO = {"/": '<a href="a.html">a</a><a href="b.html">b</a>', "/a.html": "a", "/b.html": "b"}


def robots(text: str | Answer) -> dict[str, str | Answer]:
    return {**TWO, "/robots.txt": text if isinstance(text, Answer) else Answer(text, type="text/plain")}


def coded(coding: str, body: bytes) -> dict[str, Answer | str]:
    return {"/": Answer(body, type="text/html", fields=(("Content-Encoding", coding),)), "/a.html": "a"}


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


LINK = b"<a href=/a.html>a</a>"
ALL, NONE, ONE = "/ /a.html /b.html", "/", "/ /b.html"

CASES = [
    # ---- robots.txt
    Case("robots.txt forbids", robots("User-agent: *\nDisallow: /a"), asked=ONE),
    Case("it is a file of the site", robots("User-agent: *\nDisallow: /a"), "", "index.html b.html robots.txt"),
    Case(
        "what forbids is told", robots("User-agent: *\nDisallow: /a"), "--format json", asked=ONE, said='"refused": 1'
    ),
    Case("no robots", robots("User-agent: *\nDisallow: /"), "--no-robots", asked=ALL),
    Case("the start is asked for anyway", robots("User-agent: *\nDisallow: /"), asked=NONE),
    Case("our own group", robots("User-agent: *\nDisallow: /\n\nUser-agent: adaptc\nDisallow: /a"), asked=ONE),
    Case("the group of others", robots("User-agent: wget\nDisallow: /"), asked=ALL),
    Case("the longest match wins", robots("User-agent: *\nDisallow: /\nAllow: /b.html"), asked=ONE),
    Case("wildcards", robots("User-agent: *\nDisallow: /*a.h*l$"), asked=ONE),
    Case("an empty rule", robots("User-agent: *\nDisallow:"), asked=ALL),
    Case("a mark and odd newlines", robots("\ufeffUser-agent: *\rDisallow: /a"), asked=ONE),
    Case("no robots.txt", TWO, asked=ALL),
    Case("robots.txt forbidden", robots(Answer("", 403)), asked=ALL),
    Case(
        "robots.txt broken: everything is forbidden",
        robots(Answer("", 500)),
        asked=NONE,
        exit=8,
        said="error: {base}/robots.txt is answered with 500: of this origin nothing but",
    ),
    Case(
        "robots.txt cut off: everything is forbidden",
        robots(Answer(raw=b"")),
        asked=NONE,
        exit=4,
        said="error: {base}/robots.txt could not be fetched: ",
    ),
    Case("robots.txt broken, though nothing else is wanted", {"/": "x", **robots(Answer("", 500))}, "-l 1", exit=8),
    Case(
        "the group of another user agent",
        robots("User-agent: adaptc\nDisallow: /\n\nUser-agent: other\nDisallow: /a"),
        "-U Other/2.0",
        asked=ONE,
    ),
    Case("the group of a field", robots("User-agent: other\nDisallow: /a"), "--header User-Agent:Other/2.0", asked=ONE),
    Case(
        "a group whose name is part of ours",
        robots("User-agent: a\nDisallow: /\n\nUser-agent: dap\nDisallow: /"),
        asked=ALL,
    ),
    Case("robots.txt broken for a moment", robots(Answer("", 503, after=(Answer("", 404),))), asked=ALL),
    Case("robots.txt cut off for a moment", robots(Answer(raw=b"", after=(Answer("", 404),))), asked=ALL),
    Case(
        "robots.txt redirected",
        {**TWO, "/robots.txt": redirect("/r.txt"), "/r.txt": "User-agent: *\nDisallow: /a"},
        asked="/ /b.html /r.txt",
    ),
    Case(
        "requisites are forbidden, too",
        {"/": "<img src=/a.png>", "/a.png": b"", "/robots.txt": "User-agent: *\nDisallow: /a"},
        "-p",
        asked="/",
    ),
    Case(
        "each host has its own",
        {**TWO, "/": '<a href="{other}/a.html">a</a>', "/robots.txt": "User-agent: *\nDisallow: /b"},
        "-H",
        asked="/ /a.html",
    ),
    # ---- following
    Case(
        "rel=nofollow is followed",
        {**TWO, "/": '<a rel="external NoFollow" href="a.html">a</a><a href="b.html">b</a>'},
        asked=ALL,
    ),
    Case(
        "rel=nofollow",
        {**TWO, "/": '<a rel="external NoFollow" href="a.html">a</a><a href="b.html">b</a>'},
        "--obey-nofollow",
        asked=ONE,
        said="1 links not followed (nofollow 1)",
    ),
    Case(
        "rel=nofollow once, and once without",
        {**TWO, "/": '<a rel=nofollow href="a.html">a</a><a href="a.html">b</a>'},
        "--obey-nofollow",
        asked="/ /a.html",
    ),
    Case(
        "meta robots",
        {**TWO, "/": '<meta name=ROBOTS content="noindex, NOFOLLOW"><a href="a.html">a</a><img src="b.html">'},
        asked=ONE,
    ),
    Case("meta robots none", {**TWO, "/": '<meta name=robots content=none><a href="a.html">a</a>'}, asked=NONE),
    Case(
        "meta robots without robots",
        {**TWO, "/": '<meta name=robots content=none><a href="a.html">a</a>'},
        "--no-robots",
        asked="/ /a.html",
    ),
    Case("X-Robots-Tag", {**TWO, "/": Answer(TWO["/"], fields=(("X-Robots-Tag", "nofollow"),))}, asked=NONE),
    Case(
        "X-Robots-Tag for another",
        {**TWO, "/": Answer(TWO["/"], fields=(("X-Robots-Tag", "otherbot: nofollow"),))},
        asked=ALL,
    ),
    Case(
        "X-Robots-Tag for us",
        {**TWO, "/": Answer(TWO["/"], fields=(("X-Robots-Tag", "adaptc: nofollow"),))},
        asked=NONE,
    ),
    Case(
        "X-Robots-Tag for another user agent",
        {**TWO, "/": Answer(TWO["/"], fields=(("X-Robots-Tag", "other: nofollow"),))},
        "-U Other/1.0",
        asked=NONE,
    ),
    Case(
        "meta robots for another user agent",
        {**TWO, "/": '<meta name=other content=nofollow><a href="a.html">a</a>'},
        "-U Other/1.0",
        asked=NONE,
    ),
    Case(
        "meta robots for a user agent that we are not",
        {**TWO, "/": '<meta name=adaptc content=nofollow><a href="a.html">a</a>'},
        "-U Other/1.0",
        asked="/ /a.html",
    ),
    # ---- trying again
    Case(
        "a body that is cut off",
        {"/": Answer("x" * 99, cut=50, after=(Answer("whole"),))},
        "",
        asked="/ /",
        holds={"index.html": "whole"},
    ),
    Case(
        "a connection that is closed",
        {"/": Answer(raw=b"", after=(Answer("whole"),))},
        "",
        asked="/ /",
        holds={"index.html": "whole"},
    ),
    Case("so many tries", {"/": Answer(raw=b"")}, "--tries 2 --no-robots", "", asked="/ /", exit=4),
    Case("one try", {"/": Answer("x" * 99, cut=50)}, "-t 1", "", asked="/", exit=4),
    Case(
        "chunks that are cut off",
        {"/": Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")},
        "-t 2",
        "",
        asked="/ /",
        exit=4,
    ),
    Case("what is no HTTP", {"/": Answer(raw=b"\x00\x01\x02\r\n\r\n")}, "-t 1", "", exit=7),
    Case(
        "503 is tried again", {"/": Answer("", 503, after=(Answer("up"),))}, "", asked="/ /", holds={"index.html": "up"}
    ),
    Case("429 is tried again", {"/": Answer("", 429, (("Retry-After", "0"),), after=(Answer("up"),))}, "", asked="/ /"),
    Case("500 is not", {"/": Answer("", 500)}, "", asked="/", exit=8),
    Case("unless asked", {"/": Answer("", 500, after=(Answer("up"),))}, "--retry-on-http-error 500,502", asked="/ /"),
    Case("no status", {}, "--retry-on-http-error soon", exit=2, said="--retry-on-http-error: soon is not a status"),
    Case(
        "who asks for too much patience is left alone",
        {"/": Answer("", 503, (("Retry-After", "100000"),))},
        "",
        asked="/",
        exit=8,
    ),
    Case(
        "404 is not tried again",
        {"/": '<a href="x">x</a>'},
        "",
        "index.html",
        asked="/ /x",
        exit=8,
        said="a href leads to {base}/x, which is answered with 404",
    ),
    Case("a silent server", {"/": Answer("late", delay=1.6)}, "--read-timeout 1 -t 1", "", exit=4),
    Case("lengths that are wrong", {"/": Answer("x" * 50, length=99, cut=50)}, "--ignore-length", "index.html"),
    # ---- redirects
    Case(
        "a loop", {"/": redirect("/a"), "/a": redirect("/")}, "", "", asked="/ /a", exit=8, said="redirects in a loop"
    ),
    Case("to itself", {"/": redirect("/")}, "", "", asked="/", exit=8, said="redirects to itself"),
    Case(
        "too many",
        {f"/{n or ''}": redirect(f"/{n + 1}") for n in range(9)},
        "--max-redirect 3",
        "",
        asked="/ /1 /2 /3",
        exit=8,
        said="redirects more often than --max-redirect",
    ),
    Case("none", {"/": redirect("/1")}, "--max-redirect 0", "", asked="/", exit=8),
    Case("to what is no URL of the web", {"/": redirect("mailto:a@b")}, "", "", exit=7, said="redirects to mailto:a@b"),
    *(
        Case(f"status {status}", {"/": redirect("/a.html", status), "/a.html": "a"}, asked="/ /a.html")
        for status in (301, 302, 303, 307, 308)
    ),
    Case("a redirect without a place", {"/": Answer("x", 302)}, "", "", exit=8),
    # ---- codings
    Case("gzip", coded("gzip", gzip.compress(LINK)), asked="/ /a.html", holds={"index.html": LINK.decode()}),
    Case("x-gzip", coded("x-gzip", gzip.compress(LINK)), asked="/ /a.html"),
    Case("deflate", coded("deflate", zlib.compress(LINK)), asked="/ /a.html"),
    Case("bare deflate", coded("deflate", raw_deflate(LINK)), asked="/ /a.html"),
    Case("br", coded("br", brotli.compress(LINK)), asked="/ /a.html"),
    Case("zstd", coded("zstd", zstandard.compress(LINK)), asked="/ /a.html"),
    Case("two codings", coded("gzip, br", brotli.compress(gzip.compress(LINK))), asked="/ /a.html"),
    Case(
        "a coding nobody asked for",
        coded("compress", LINK),
        "",
        "",
        exit=7,
        said="Content-Encoding compress was not asked for",
    ),
    Case("a coding that is none", coded("gzip", LINK), "", "", exit=7, said="the body is not gzip"),
    Case(
        "an archive stays what it is",
        {
            "/": "<a href=x.tar.gz>x</a>",
            "/x.tar.gz": Answer(
                gzip.compress(b"tar"), fields=(("Content-Encoding", "gzip"),), type="application/x-gzip"
            ),
        },
        "",
        holds={"x.tar.gz": "\x1f"},
    ),
    Case(
        "chunks",
        {"/": Answer(LINK, chunked=True), "/a.html": "a"},
        asked="/ /a.html",
        holds={"index.html": LINK.decode()},
    ),
    Case("an empty body", {"/": ""}, "", "index.html"),
    Case("no content", {"/": Answer("", 204)}, "", "index.html"),
    # ---- wrong use
    Case("no URL", {}, "", exit=2, start="", said="name a URL to crawl"),
    Case("another scheme", {}, "ftp://x/", exit=2, start="", said="'ftp://x/' is not a URL of the web (http or https)"),
    Case(
        "a field that is none", {}, "--header nonsense", exit=2, said="--header 'nonsense' is not a field: Name: value"
    ),
    Case("a filter that is none", {}, "--filter *.png", exit=2, said="filter '*.png' must be + or - and a pattern"),
    Case("a size that is none", {}, "-Q 5x", exit=2, said="'5x' is not a size"),
    Case("a time that is none", {}, "-w 5y", exit=2, said="'5y' is not a time"),
    Case("a depth that is none", {}, "-l deep", exit=2, said="'deep' is neither a number nor inf"),
    Case("a regular expression that is none", {}, "--accept-regex (", exit=2, said="'(' is not a regular expression"),
    Case(
        "an option of wget that is not there",
        {},
        "--post-data x",
        exit=2,
        said="--post-data of wget is missing in adaptc crawl",
    ),
    Case(
        "a flag of wget that is not there",
        {},
        "--save-headers",
        exit=2,
        said="--save-headers of wget is missing in adaptc crawl; --warc-file",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_manners(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)


# ---- what is sent

SENT = {
    "": {"user-agent": "adaptc/0.1.0", "accept-encoding": "gzip, deflate, br, zstd", "accept": "*/*"},
    "-U Mozilla/5.0": {"user-agent": "Mozilla/5.0"},
    "--compression none": {"accept-encoding": "identity"},
    "--header X-Own:1 --header Accept-Language:de": {"x-own": "1", "accept-language": "de"},
    "--header Accept:text/html": {"accept": "text/html"},
    "--header User-Agent:mine": {"user-agent": "mine"},
    "--referer http://here/": {"referer": "http://here/"},
}


@pytest.mark.parametrize("options", SENT)
def test_fields_of_requests(options: str, tmp_path: Path) -> None:
    with serving({"/": "x"}) as server:
        crawl(server, tmp_path / "m", options)
        sent = server.asked[-1].fields
    assert {name: sent.get(name) for name in SENT[options]} == SENT[options]


def test_the_referrer_is_the_page_with_the_link(tmp_path: Path) -> None:
    with serving({"/": "<a href=a.html>a</a>", "/a.html": "a"}) as server:
        crawl(server, tmp_path / "m")
        assert "referer" not in server.asked[1].fields
        assert server.asked[2].fields["referer"] == server.base + "/"


# ---- pace

MANY = {
    "/": "".join(f"<a href={n}.html>x</a>" for n in range(24)),
    **{f"/{n}.html": Answer("x", delay=0.02) for n in range(24)},
}


def test_connections_are_kept_and_bounded(tmp_path: Path) -> None:
    with serving(MANY) as server:
        crawl(server, tmp_path / "m", "--connections 4")
        assert server.connections <= 5
        assert 2 <= server.most_under_way <= 4


def test_without_keep_alive_each_request_has_its_own(tmp_path: Path) -> None:
    with serving(TWO) as server:
        crawl(server, tmp_path / "m", "--no-http-keep-alive")
        assert server.connections == len(server.asked)


@pytest.mark.parametrize(
    "site", [{}, {"/robots.txt": "User-agent: *\nCrawl-delay: 0.05"}], ids=["--wait", "Crawl-delay"]
)
def test_waiting_is_between_starts_and_one_at_a_time(
    site: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starts by the crawler's own clock: when the server sees a request depends on the load of the machine."""
    starts: list[float] = []

    def note(pace: Pace, name: str, now: float, started: Callable[..., None] = Pace.started) -> None:
        starts.append(now)
        started(pace, name, now)

    monkeypatch.setattr(Pace, "started", note)
    with serving({**TWO, **site}) as server:
        crawl(server, tmp_path / "m", "" if site else "--wait 0.05")
        assert server.most_under_way == 1
    assert len(starts) == 4  # robots.txt first: what it says counts afterwards
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(starts[1:]))


def test_retry_after_is_obeyed(tmp_path: Path) -> None:
    with serving({"/": Answer("", 503, (("Retry-After", "1"),), after=(Answer("up"),))}) as server:
        crawl(server, tmp_path / "m")
        times = [one.at for one in server.asked if one.path == "/"]
        assert times[1] - times[0] >= 0.9


def test_the_rate_is_limited(tmp_path: Path) -> None:
    with serving({"/": "<a href=a>a</a><a href=b>b</a>", "/a": b"x" * 30000, "/b": b"x" * 30000, "/c": ""}) as server:
        crawl(server, tmp_path / "m", "--limit-rate 100k")
        import time

        began = server.asked[0].at
        assert time.monotonic() - began >= 0.25


# ---- authentication


def basic(user: str, password: str) -> Answer:
    wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    refused = Answer("", 401, (("WWW-Authenticate", 'Basic realm="r"'),))
    return Answer(
        decide=lambda asked: Answer("<a href=/in>x</a>") if asked.fields.get("authorization") == wanted else refused
    )


def digest(user: str, password: str) -> Answer:
    def decide(asked: Asked) -> Answer:
        given = asked.fields.get("authorization", "")
        challenge = 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
        if not given.startswith("Digest "):
            return Answer("", 401, (("WWW-Authenticate", challenge),))
        pairs = dict(part.strip().split("=", 1) for part in given[7:].split(","))
        value = {name: text.strip('"') for name, text in pairs.items()}
        one = _md5(f"{user}:r:{password}")
        two = _md5(f"GET:{asked.path}")
        wanted = _md5(f"{one}:n:{value['nc']}:{value['cnonce']}:auth:{two}")
        return Answer("in") if value["response"] == wanted else Answer("", 401, (("WWW-Authenticate", challenge),))

    return Answer(decide=decide)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


AUTHENTICATED = [
    Case("Basic", {"/": basic("me", "pw")}, "--user me --password pw", "index.html", asked="/ / /in", exit=8),
    Case(
        "Basic by wget's older names",
        {"/": basic("me", "pw")},
        "--http-user me --http-password pw",
        "index.html",
        exit=8,
    ),
    Case(
        "Basic unasked", {"/": basic("me", "pw")}, "--user me --password pw --auth-no-challenge", asked="/ /in", exit=8
    ),
    Case("Digest", {"/": digest("me", "pw")}, "--user me --password pw", "index.html", asked="/ /"),
    Case(
        "a wrong password", {"/": basic("me", "pw")}, "--user me --password no", "", exit=6, said="is answered with 401"
    ),
    Case("none", {"/": basic("me", "pw")}, "", "", exit=6),
]


@pytest.mark.parametrize("case", AUTHENTICATED, ids=str)
def test_authentication(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)


def test_credentials_in_the_url_are_used_and_written_nowhere(tmp_path: Path) -> None:
    with serving({"/": basic("me", "se:cret"), "/in": "x"}) as server:
        url = server.base.replace("//", "//me:se%3Acret@")
        outcome = crawl(server, tmp_path / "m", url, start="")
        assert outcome.code == 0
        assert outcome.files() == {"index.html", "in"}
    written = b"".join(one.read_bytes() for one in (tmp_path / "m").rglob("*") if one.is_file())
    assert b"cret" not in written


def test_credentials_do_not_go_to_another_host(tmp_path: Path) -> None:
    with serving({"/": basic("me", "pw"), "/in": redirect("{other}/out"), "/out": "out"}) as server:
        crawl(server, tmp_path / "m", "--user me --password pw -H --auth-no-challenge")
        out = next(one for one in server.asked if one.path == "/out")
        assert "authorization" not in out.fields
        assert "authorization" in server.asked[1].fields


@contextmanager
def two_servers(site: dict[str, Resource], other: dict[str, Resource]) -> Iterator[tuple[Server, Server]]:
    """One with TLS, and one without it on another port of the same host; ``{plain}`` is the URL of that."""
    with serving(other) as plain:
        filled = {path: str(text).replace("{plain}", plain.base) for path, text in site.items()}
        with serving(filled, tls()) as secure:
            yield secure, plain


SECRETS = [
    "--user me --password pw --auth-no-challenge",
    "--header Authorization:secret",
    "--header Cookie:secret=1",
    "--header authorization:secret",
]


@pytest.mark.parametrize("options", SECRETS)
def test_credentials_do_not_go_from_https_to_http(options: str, tmp_path: Path) -> None:
    with two_servers({"/": "<a href={plain}/x>x</a><a href=/y>y</a>", "/y": "y"}, {"/x": "x"}) as (secure, plain):
        crawl(secure, tmp_path / "m", f"{options} --ca-certificate {TLS}/ca.pem")
        assert [{"authorization", "cookie"} & set(each.fields) for each in plain.asked] == [set(), set()]
        assert all({"authorization", "cookie"} & set(each.fields) for each in secure.asked)


def test_a_netrc_does_not_go_from_https_to_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password pw\n")
    with two_servers({"/": "<a href={plain}/x>x</a>"}, {"/x": "x"}) as (secure, plain):
        run(["crawl", f"{secure.base}/", "-o", str(tmp_path / "m"), "--ca-certificate", f"{TLS}/ca.pem"])
        assert [asked.path for asked in plain.asked if "authorization" in asked.fields] == []
        assert [asked.path for asked in plain.asked] == ["/robots.txt", "/x"]
        assert all("authorization" in asked.fields for asked in secure.asked)


@pytest.mark.parametrize("options", SECRETS)
def test_credentials_do_not_go_to_another_port_or_host(options: str, tmp_path: Path) -> None:
    is_password = options.startswith("--user")
    with serving({"/x": "x"}) as elsewhere:
        link = elsewhere.base if is_password else elsewhere.other
        with serving({"/": f"<a href={link}/x>x</a>"}) as server:
            crawl(server, tmp_path / "m", f"-H {options}")
            assert [each.path for each in elsewhere.asked] == ["/robots.txt", "/x"]
            assert [{"authorization", "cookie"} & set(each.fields) for each in elsewhere.asked] == [set(), set()]
            assert all({"authorization", "cookie"} & set(each.fields) for each in server.asked)


# ---- cookies


def test_cookies_go_back_by_domain_and_path(tmp_path: Path) -> None:
    set_one = (("Set-Cookie", "a=1; Path=/in"), ("Set-Cookie", "b=2"), ("Set-Cookie", "c=3; Domain=example.org"))
    site = {"/": Answer('<a href="/in/x">x</a><a href="{other}/y">y</a>', fields=set_one), "/in/x": "x", "/y": "y"}
    with serving(site) as server:
        crawl(server, tmp_path / "m", "-H")
        sent = {one.path: one.fields.get("cookie") for one in server.asked}
    assert sent["/in/x"] == "a=1; b=2"
    assert sent["/y"] is None


def test_no_cookies(tmp_path: Path) -> None:
    with serving({"/": Answer('<a href="/x">x</a>', fields=(("Set-Cookie", "a=1"),)), "/x": "x"}) as server:
        crawl(server, tmp_path / "m", "--no-cookies")
        assert all("cookie" not in one.fields for one in server.asked)


def test_cookies_of_files(tmp_path: Path) -> None:
    jar, saved = tmp_path / "in.txt", tmp_path / "out.txt"
    jar.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tk\tv\n")
    site = {"/": Answer("x", fields=(("Set-Cookie", "kept=1; Max-Age=9999"), ("Set-Cookie", "session=1")))}
    with serving(site) as server:
        crawl(server, tmp_path / "m", f"--load-cookies {jar} --save-cookies {saved}")
        assert server.asked[-1].fields["cookie"] == "k=v"
    text = saved.read_text()
    assert "kept\t1" in text and "k\tv" in text and "session" not in text
    with serving(site) as server:
        crawl(server, tmp_path / "n", f"--save-cookies {saved} --keep-session-cookies")
    assert "session\t1" in saved.read_text()


# ---- proxies and hosts that do not answer


def test_a_proxy_is_asked_for_everything(tmp_path: Path) -> None:
    site = {
        "http://site.invalid/": "<a href=/x>x</a>",
        "http://site.invalid/x": "x",
        "http://site.invalid/robots.txt": "",
    }
    with serving(site) as server:
        outcome = crawl(server, tmp_path / "m", f"--proxy {server.base} http://site.invalid/", start="")
        assert outcome.code == 0
        assert {name for name in outcome.files() if "robots" not in name} == {
            "~site.invalid/index.html",
            "~site.invalid/x",
        }


def test_a_proxy_of_the_environment_and_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"http://site.invalid/": "x", "/": "direct"}) as server:
        monkeypatch.setenv("http_proxy", server.base)
        assert crawl(server, tmp_path / "m", "http://site.invalid/", start="").files() == {"~site.invalid/index.html"}
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
        assert crawl(server, tmp_path / "n", "--no-proxy").files() == {"index.html"}


def test_nobody_listens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({}) as server:
        outcome = crawl(server, tmp_path / "m", f"http://127.0.0.1:{free_port()}/", start="")
    assert outcome.code == 4
    assert "error: http://127.0.0.1:" in capsys.readouterr().err


def test_one_family_of_addresses(tmp_path: Path) -> None:
    with serving({"/": "x"}) as server:
        assert crawl(server, tmp_path / "m", "-4").code == 0
        assert crawl(server, tmp_path / "n", f"-6 {server.other}/", start="").code == 4


# ---- TLS


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("", 5),
        ("--ca-certificate {tls}/ca.pem", 0),
        ("--no-check-certificate", 0),
        ("--ca-certificate {tls}/client.pem", 5),
    ],
)
def test_certificates_of_servers(options: str, code: int, tmp_path: Path) -> None:
    with serving({"/": "<a href=/x>x</a>", "/x": "x"}, tls()) as server:
        outcome = crawl(server, tmp_path / "m", f"-t 1 {options.replace('{tls}', str(TLS))}")
        assert outcome.code == code
        assert outcome.files() == (set() if code else {"index.html", "x"})


@pytest.mark.parametrize(
    ("options", "works"), [("", False), ("--certificate {tls}/client.pem --private-key {tls}/client.pem", True)]
)
def test_certificates_of_clients(options: str, works: bool, tmp_path: Path) -> None:
    with serving({"/": "x"}, tls(asks_clients=True)) as server:
        outcome = crawl(server, tmp_path / "m", f"-t 1 --no-check-certificate {options.replace('{tls}', str(TLS))}")
    assert outcome.files() == ({"index.html"} if works else set())


def test_only_https(tmp_path: Path) -> None:
    with serving({"/": "<a href=http://127.0.0.1:{port}/x>x</a><a href=y>y</a>", "/y": "y"}, tls()) as server:
        outcome = crawl(server, tmp_path / "m", f"--https-only --ca-certificate {TLS}/ca.pem")
    assert outcome.files() == {"index.html", "y"}
    assert [line["rule"] for line in outcome.log() if line["decision"] == "refused"] == ["https-only"]
