"""The pure parts of the crawler, as tables: filters, directories, names, robots, pace, codings, fields."""

from __future__ import annotations

import pytest

from adaptc.core.diagnostics import UsageError
from adaptc.crawl.discover.link import Link
from adaptc.crawl.filters import Ruling, has_repeats, in_directory, judge, matches_name, parse_filter, repeats_grow
from adaptc.crawl.http import parse_head
from adaptc.crawl.names import MAX_NAME, NameOptions, name_of, numbered, server_name
from adaptc.crawl.options import PurgeBound, product_token
from adaptc.crawl.robots import robots_of
from adaptc.crawl.schedule import Pace, retry_after, retry_wait
from adaptc.crawl.store import pack, unpack
from adaptc.crawl.weburl import parts_of, resolved, start_url, without_parameters

URL = "http://www.h.org/dir/file-1.png?q=1"
FILTERS = [
    ("+*.png", "http://h/a.png", Ruling.ACCEPT),
    ("+*.png", "http://h/a.PNG", Ruling.ACCEPT),
    ("+*.png", URL, Ruling.SILENT),
    ("+*.png*", URL, Ruling.ACCEPT),
    ("-*/dir/*", URL, Ruling.REJECT),
    ("-www.h.org/*", URL, Ruling.REJECT),
    ("-http://www.h.org/*", URL, Ruling.REJECT),
    ("-h.org/*", URL, Ruling.SILENT),
    ("-*.h.org/*", URL, Ruling.REJECT),
    ("-*.png -*.gif +*/dir/*", URL, Ruling.ACCEPT),
    ("+*/dir/* -*.png*", URL, Ruling.REJECT),
    ("-*[name].h.org/*", URL, Ruling.REJECT),
    ("-*/*[file].png*[param]", URL, Ruling.REJECT),
    ("-www.h.org/*[file].png*", URL, Ruling.SILENT),
    ("-www.h.org/*[path].png*", URL, Ruling.REJECT),
    ("-*[file]", URL, Ruling.SILENT),
    ("-*/file-*[0-9].png*", URL, Ruling.REJECT),
    ("-*/file-*[a-z].png*", URL, Ruling.SILENT),
    ("-*/file*[-,0-9].png*", URL, Ruling.REJECT),
    ("-mime:image/*", URL, Ruling.OPEN),
    ("-*.png*[>5]", "http://h/a.png", Ruling.OPEN),
    ("-mime:image/* +*.png*", URL, Ruling.ACCEPT),
]


@pytest.mark.parametrize(("rules", "url", "ruling"), FILTERS)
def test_filters(rules: str, url: str, ruling: Ruling) -> None:
    assert judge([parse_filter(rule) for rule in rules.split()], url) is ruling


@pytest.mark.parametrize(
    ("rule", "media_type", "size", "ruling"),
    [
        ("-mime:image/*", "image/png", None, Ruling.REJECT),
        ("-mime:image/*", "text/html", None, Ruling.SILENT),
        ("-*[>5]", "x/y", 6 * 1024, Ruling.REJECT),
        ("-*[>5]", "x/y", 5 * 1024, Ruling.SILENT),
        ("-*[<5]", "x/y", 4 * 1024, Ruling.REJECT),
        ("+*[>5<10]", "x/y", 7 * 1024, Ruling.ACCEPT),
        ("+*[>5<10]", "x/y", 11 * 1024, Ruling.SILENT),
        ("-*[>5]", "x/y", None, Ruling.SILENT),
    ],
)
def test_filters_on_responses(rule: str, media_type: str, size: int | None, ruling: Ruling) -> None:
    assert judge([parse_filter(rule)], URL, media_type, size) is ruling


@pytest.mark.parametrize("rule", ["", "*.png", "+", "-*[z-a]x", "-*[>x]", "-*[words]"])
def test_filters_that_are_none(rule: str) -> None:
    with pytest.raises(UsageError, match="filter"):
        parse_filter(rule)


@pytest.mark.parametrize(
    ("directory", "pattern", "expected"),
    [
        ("/a/", "/a", True),
        ("/a/", "a/", True),
        ("/a/b/", "/a", True),
        ("/ab/", "/a", False),
        ("/a/", "/a/b", False),
        ("/x/cgi/", "/*/cgi", True),
        ("/x/y/cgi/", "/*/cgi", False),
        ("/abc/d/", "/a?c", True),
        ("/", "/", True),
        ("/a/", "/", True),
    ],
)
def test_directories(directory: str, pattern: str, expected: bool) -> None:
    assert in_directory(directory, pattern) is expected


@pytest.mark.parametrize(
    ("name", "pattern", "ignore_case", "expected"),
    [
        ("a.png", "png", False, True),
        ("a.png", ".png", False, True),
        ("a.PNG", "png", False, False),
        ("a.PNG", "png", True, True),
        ("a.png", "a*", False, True),
        ("ba.png", "a*", False, False),
        ("a.png", "[ab].png", False, True),
        ("a.png", "?.png", False, True),
        ("apng", "png", False, True),
    ],
)
def test_names_that_match(name: str, pattern: str, ignore_case: bool, expected: bool) -> None:
    assert matches_name(name, pattern, ignore_case) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/a/a/", False),
        ("/a/a/a/a/a/", True),
        ("/a/b/a/b/a/b/a/b/", False),
        ("/a/b/a/b/a/b/a/b/a/b/", True),
        ("//////", False),
    ],
)
def test_repeats(path: str, expected: bool) -> None:
    assert has_repeats(path, 4) is expected


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("h.org", "http://h.org/"),
        ("h.org:81/x", "http://h.org:81/x"),
        ("HTTPS://H.org:443/a/../b#c", "https://h.org/b"),
        ("http://u:p@h.org/", "http://h.org/"),
        ("localhost:8000", "http://localhost:8000/"),
        ("ftp://h.org/", None),
        ("mailto:a@b", None),
        ("http://", None),
        ("//h.org/x", "http://h.org/x"),
        ("http://[::1]:81/x", "http://[::1]:81/x"),
    ],
)
def test_urls_that_people_type(typed: str, url: str | None) -> None:
    assert start_url(typed) == url


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://h/%7Eu/%7eu", "http://h/~u/~u"),
        ("http://h/%41%5A%61%7a%30%39%2D%5F%2e", "http://h/AZaz09-_."),
        ("http://h/a?b=%7E%26", "http://h/a?b=~%26"),
        ("http://h/%40%5B%60%7B%2F%25%3a", "http://h/%40%5B%60%7B%2F%25%3a"),
        ("http://h/%257E", "http://h/%257E"),
        ("http://h/%C3%A9%", "http://h/%C3%A9%"),
        ("http://h/a/%2E%2E%2F%2E%2E/y", "http://h/a/%2E%2E%2F%2E%2E/y"),
    ],
)
def test_unreserved_characters_are_not_escaped(written: str, url: str) -> None:
    assert resolved("http://h/", written) == url
    assert resolved("http://h/", url) == url


@pytest.mark.parametrize(
    ("page", "path", "grows"),
    [
        ("/a/a/a/", "/a/a/a/a/", True),
        ("/a/a/a/a/x", "/a/a/a/a/y", False),
        ("/", "/a/a/a/a/", False),
        ("/b/a/", "/b/a/a/a/", False),
        ("/a/b/a/b/", "/a/b/a/b/a/", True),
        ("/a/a/a/a/", "/a/", False),
    ],
)
def test_repeats_that_grow(page: str, path: str, grows: bool) -> None:
    assert repeats_grow(page, path) is grows


def test_parts() -> None:
    found = parts_of("https://[::1]:81/a/b?c?d")
    assert (found.origin, found.host, found.directory, found.file, found.query) == (
        "https://[::1]:81",
        "[::1]",
        "/a/",
        "b",
        "c?d",
    )


def test_parameters() -> None:
    strip = frozenset({"sid", "utm"})
    assert without_parameters("http://h/?sid=1", strip) == "http://h/"
    assert without_parameters("http://h/?a=%20&sid&b&utm=2", strip) == "http://h/?a=%20&b"


@pytest.mark.parametrize("name", ["a" * 300, "é" * 200, "a" * 250 + ".html.html", "日" * 100 + ".html"])
def test_long_names_fit(name: str) -> None:
    from urllib.parse import quote

    made = name_of(f"http://h/{quote(name)}", NameOptions(host_directories=False))
    assert len(made.encode()) <= MAX_NAME
    assert len(numbered(made, 12).encode()) <= MAX_NAME


@pytest.mark.parametrize(
    "header", ["", "inline", "attachment; filename=", 'attachment; filename="/"', "filename*=UTF-8''..%2F"]
)
def test_names_of_servers_that_are_none(header: str) -> None:
    assert server_name(header, NameOptions()) is None


@pytest.mark.parametrize(
    ("status", "content", "path", "allowed"),
    [
        (200, b"User-agent: *\nDisallow: /a", "/a", False),
        (200, b"User-agent: *\nDisallow: /a", "/b", True),
        (200, b"User-agent: *\nDisallow: /a%3cd.html", "/a%3Cd.html", False),
        (200, b"User-agent: ADAPTC\nDisallow: /", "/", False),
        (200, b"\xff\xfe", "/", True),
        (200, b"<html>not robots</html>", "/", True),
        (404, b"", "/", True),
        (401, b"", "/", True),
        (301, b"", "/", True),
        (500, b"", "/", False),
        (503, b"", "/", False),
        (599, b"", "/", False),
        (200, b"User-agent: *\nDisallow: /" + b" " * 600_000 + b"\nAllow: /", "/x", False),
    ],
)
def test_robots(status: int, content: bytes, path: str, allowed: bool) -> None:
    assert robots_of(status, content).allows("http://h" + path) is allowed


GROUPS = b"User-agent: bot\nDisallow: /bot\n\nUser-agent: MyBot/1.0\nDisallow: /mine\n\nUser-agent: *\nDisallow: /all"


@pytest.mark.parametrize(
    ("user_agent", "forbidden"),
    [
        ("bot", "/bot"),
        ("MyBot/2.0 (+http://h/)", "/mine"),
        ("robot", "/all"),
        ("bot-news", "/all"),
        ("b", "/all"),
        ("", "/all"),
    ],
)
def test_the_group_of_robots_is_that_of_the_whole_product_token(user_agent: str, forbidden: str) -> None:
    robots = robots_of(200, GROUPS, product_token(user_agent))
    assert [path for path in ("/bot", "/mine", "/all") if not robots.allows(f"http://h{path}")] == [forbidden]


@pytest.mark.parametrize(
    ("bound", "held", "allowed"),
    [(PurgeBound(), 5, 1), (PurgeBound(), 40, 4), (PurgeBound(0.5), 5, 2), (PurgeBound(1.0), 5, 5),
     (PurgeBound(number=3), 5, 3), (PurgeBound(number=0), 5, 0)],
)  # fmt: skip
def test_bounds_on_purging(bound: PurgeBound, held: int, allowed: int) -> None:
    assert bound.allowed(held) == allowed


def test_pace_of_one_host_does_not_hold_up_another() -> None:
    pace = Pace(wait=2.0, random_wait=False, connections=8, total=8)
    pace.started("a", 10.0)
    assert not pace.may_start("a", 11.9)
    assert pace.may_start("b", 10.0)
    pace.ended("a")
    assert pace.ready_in("a", 11.5) == 0.5
    assert pace.may_start("a", 12.0)


def test_pace_bounds_connections() -> None:
    pace = Pace(wait=0.0, random_wait=False, connections=2, total=3)
    for host in ("a", "a", "b"):
        assert pace.may_start(host, 0.0)
        pace.started(host, 0.0)
    assert not pace.may_start("a", 0.0)
    assert not pace.may_start("c", 0.0)


def test_random_waits_are_half_to_one_and_a_half() -> None:
    pace = Pace(wait=2.0, random_wait=True, connections=1, total=1, seed=1)
    waits = []
    for _ in range(50):
        pace.started("a", 0.0)
        waits.append(pace.ready_in("a", 0.0))
        pace.ended("a")
        pace.host("a").ready_at = 0.0
    assert 1.0 <= min(waits) < 1.3
    assert 2.7 < max(waits) <= 3.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("5", 5.0),
        (" 7 ", 7.0),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, 60.0) == seconds


def test_waits_before_tries_grow_to_a_bound() -> None:
    assert [retry_wait(tried, 3.0) for tried in (1, 2, 3, 4)] == [1.0, 2.0, 3.0, 3.0]


def test_heads() -> None:
    head = parse_head(
        b'HTTP/1.1 200 OK\r\nA: 1\r\n  folded\r\nnonsense\r\na:2\r\nContent-Type: Text/HTML;Charset="x"\r\n\r\n'
    )
    assert head.status == 200
    assert head.all("a") == ["1 folded", "2"]
    assert (head.media_type, head.charset, head.length) == ("text/html", "x", None)
    assert parse_head(b"").status == 0


def test_links_survive_packing() -> None:
    links = [Link(f"http://h/{n}", bool(n % 2), "a href", n, True, n == 3) for n in range(50)]
    assert list(unpack(pack(links))) == links
    assert list(unpack(pack(links[:1]))) == links[:1]
    assert list(unpack(pack([]))) == []
