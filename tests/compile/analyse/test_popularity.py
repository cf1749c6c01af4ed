"""Popularity: which paths of a log are views of which pages, and which pages make up a share of them."""

from __future__ import annotations

import pytest

from tests.samples.access_logs import line

from adaptc.compile.analyse.popularity import (
    count_paths,
    join_aliases,
    name_finder,
    page_hits,
    popular_set,
    rank_pages,
    site_finder,
    site_traffic,
)
from adaptc.core import media
from adaptc.core.urls import SiteAddress
from adaptc.formats.accesslog.parser import compile_format
from adaptc.site.site import Site, Source

FILES = (
    "index.html",
    "docs/index.htm",
    "docs/a b.html",
    "about.html",
    "about.css",
    "x.xhtml",
    "feed.xml",
    "v1.2/n.html",
)


def found(path: str, base_url: str | None = None) -> str | None:
    sources = {name: Source("", 1, media.by_name(name) or media.BINARY) for name in FILES}
    return site_finder(Site.of(sources, SiteAddress(base_url), ("index.html", "index.htm")))(path)


def paths_of(text: str) -> dict[str, int]:
    parse = compile_format().parse
    entries = [parse(one) for one in text.splitlines()]
    return dict(count_paths(one for one in entries if one is not None))


def test_what_was_sent_or_known_to_be_fresh_counts() -> None:
    log = [
        line("/a?q=1"),
        line("/a", 304),
        line("/a", 206),
        line("/a", 404),
        line("/a", 301),
        line("/a", method="HEAD"),
    ]
    assert paths_of("".join([*log, line("/a", method="POST"), line("*"), line("/%62")])) == {"/a": 2, "/b": 1}


def test_a_format_without_the_method() -> None:
    entry = compile_format("$uri $status").parse("/a 200")
    assert entry is not None
    assert count_paths([entry]) == {"/a": 1}


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", "index.html"),
        ("/index.html", "index.html"),
        ("/docs/", "docs/index.htm"),
        ("/docs", "docs/index.htm"),
        ("/docs/a b.html", "docs/a b.html"),
        ("/about", "about.html"),
        ("//docs//x/../a b.html", "docs/a b.html"),
        ("/../index.html", "index.html"),
        ("/./docs/", "docs/index.htm"),
        ("/v1.2/n.html", "v1.2/n.html"),
        ("/x.xhtml", None),
        ("/about.css", None),
        ("/feed.xml", None),
        ("/gone.html", None),
        ("/docs/gone/", None),
    ],
)
def test_the_page_behind_a_path(path: str, page: str | None) -> None:
    assert found(path) == page


def test_paths_begin_with_that_of_the_base_url() -> None:
    base = "https://example.org/site/"
    assert found("/site/docs/", base) == "docs/index.htm"
    assert found("/site/", base) == "index.html"
    assert found("/about.html", base) is None
    assert found("/sitemap/about.html", base) is None


def test_without_a_site_pages_are_known_by_name() -> None:
    find = name_finder(SiteAddress("https://example.org/site/"), "index.html")
    paths = ("/site/", "/site/a/", "/site/b.htm", "/site/c.css", "/site/d", "/e.html")
    assert [find(path) for path in paths] == ["index.html", "a/index.html", "b.htm", None, None, None]


def test_views_of_one_page_by_several_paths_add_up() -> None:
    assert page_hits({"/": 3, "/about.css": 9, "/index.html": 4, "/about": 1}, found) == {
        "about.html": 1,
        "index.html": 7,
    }


def test_ranks() -> None:
    ranks = list(rank_pages({"b": 1, "a": 1, "c": 6}))
    assert [(one.path, one.hits, one.share, one.cumulative) for one in ranks] == [
        ("c", 6, 0.75, 0.75),
        ("a", 1, 0.125, 0.875),
        ("b", 1, 0.125, 1.0),
    ]


@pytest.mark.parametrize(
    ("share", "popular"),
    [(0.01, ["a"]), (0.5, ["a"]), (0.51, ["a", "b"]), (0.7, ["a", "b"]), (0.8, ["a", "b"]), (1, ["a", "b", "c"])],
)
def test_the_popular_set_is_the_fewest_pages_that_make_up_the_share(share: float, popular: list[str]) -> None:
    assert [one.path for one in popular_set({"a": 5, "b": 3, "c": 2}, share)] == popular


def test_shares_that_binary_fractions_miss() -> None:
    hits = {f"{number:02}": 1 for number in range(20)}
    for part in range(1, 21):
        assert len(popular_set(hits, part / 20)) == part


def test_nothing_was_viewed() -> None:
    assert popular_set({}, 0.7) == []
    traffic = site_traffic({}, 0.7, {})
    assert (traffic.views, traffic.popular) == (0, frozenset())


def test_a_page_and_links_to_it_are_popular_together() -> None:
    aliases = {"en.html": "a.html", "old.html": "z.html"}
    hits = {"a.html": 1, "en.html": 5, "b.html": 3, "z.html": 1}
    assert join_aliases(hits, aliases) == {"a.html": 6, "b.html": 3, "z.html": 1}
    assert site_traffic(hits, 0.6, aliases).popular == {"a.html", "en.html"}
