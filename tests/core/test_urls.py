"""URLs of the site and the files they name."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptc.core.diagnostics import UsageError
from adaptc.core.urls import (
    NOWHERE,
    Reach,
    SiteAddress,
    document_base,
    host_and_path,
    join,
    quote_path,
    relative_url,
    unquote_path,
)

HERE = SiteAddress("https://example.org/docs/")

# Segments of any bytes but those that mean something in a path: NUL, "/", and the dot segments of the URL standard
# ("%2e" is one of their spellings). A backslash in a file's name is written %5C and survives.
_segments = (
    st.binary(min_size=1, max_size=12)
    .filter(lambda name: not {0, ord("/")} & set(name) and name.lower().replace(b"%2e", b".") not in (b".", b".."))
    .map(os.fsdecode)
)
_paths = st.lists(_segments, min_size=1, max_size=5).map("/".join)


@pytest.mark.parametrize(
    "address", [None, "https://example.org", "https://example.org/docs", "http://example.org:8080/"]
)
def test_the_address_ends_in_a_slash(address: str | None) -> None:
    assert (
        SiteAddress(address).base
        == {
            None: NOWHERE,
            "https://example.org": "https://example.org/",
            "https://example.org/docs": "https://example.org/docs/",
            "http://example.org:8080/": "http://example.org:8080/",
        }[address]
    )
    assert SiteAddress(address).is_known == (address is not None)


@pytest.mark.parametrize(
    "address", ["example.org", "/docs/", "ftp://example.org/", "https://example.org/?q", "https://a/#x"]
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        SiteAddress(address)


@pytest.mark.parametrize(
    ("reference", "reach", "path", "suffix"),
    [
        ("a.html", Reach.LOCAL, "sub/a.html", ""),
        ("../a.html?q=1#top", Reach.LOCAL, "a.html", "?q=1#top"),
        ("./", Reach.LOCAL, "sub/", ""),
        ("..", Reach.LOCAL, "", ""),
        ("?page=2", Reach.LOCAL, "sub/page.html", "?page=2"),
        ("/docs/x", Reach.LOCAL, "x", ""),
        ("//example.org/docs/x", Reach.LOCAL, "x", ""),
        ("HTTPS://EXAMPLE.ORG/docs/x", Reach.LOCAL, "x", ""),
        ("https://example.org:443/docs/x", Reach.LOCAL, "x", ""),
        ("http://example.org/docs/x", Reach.LOCAL, "x", ""),
        ("..\\a.html", Reach.LOCAL, "a.html", ""),
        ("  a.html\n", Reach.LOCAL, "sub/a.html", ""),
        ("a\n.html", Reach.LOCAL, "sub/a.html", ""),
        ("a%20b%2Fc.html", Reach.LOCAL, "sub/a b%2Fc.html", ""),
        ("%6Cower.html", Reach.LOCAL, "sub/lower.html", ""),
        ("日本.html", Reach.LOCAL, "sub/日本.html", ""),
        ("%E9.html", Reach.LOCAL, os.fsdecode(b"sub/\xe9.html"), ""),
        ("/", Reach.OUTSIDE, "", ""),
        ("../../x", Reach.OUTSIDE, "", ""),
        ("/docsier/x", Reach.OUTSIDE, "", ""),
        ("https://example.org:8443/docs/x", Reach.EXTERNAL, "", ""),
        ("//cdn.example.net/x.js", Reach.EXTERNAL, "", ""),
        ("", Reach.OTHER, "", ""),
        ("#top", Reach.OTHER, "", ""),
        (" \t#top", Reach.OTHER, "", ""),
        ("data:,x", Reach.OTHER, "", ""),
        ("javascript:void(0)", Reach.OTHER, "", ""),
        ("mailto:a@example.org", Reach.OTHER, "", ""),
        ("http://[", Reach.BAD, "", ""),
        ("http://a b/", Reach.BAD, "", ""),
        ("a%00b", Reach.BAD, "", ""),
        ("\udcff.html", Reach.BAD, "", ""),
    ],
)
def test_where_references_lead(reference: str, reach: Reach, path: str, suffix: str) -> None:
    target = HERE.resolve(HERE.url_of("sub/page.html"), reference)
    assert (target.reach, target.path, target.suffix) == (reach, path, suffix)


@given(_paths)
def test_a_path_and_its_url_are_one(path: str) -> None:
    assert unquote_path(quote_path(path)) == path
    target = HERE.resolve(HERE.base, HERE.url_of(path))
    assert (target.reach, target.path, target.suffix) == (Reach.LOCAL, path, "")


@given(_paths, _paths)
def test_a_relative_url_leads_to_its_target_under_every_prefix(here: str, there: str) -> None:
    url = relative_url(here, there)
    for address in (HERE, SiteAddress(), SiteAddress("https://example.org/a/b/c/")):
        assert address.resolve(address.url_of(here), url).path == there
    assert not set(url) & set("\"'<>() \\,\n")


@pytest.mark.parametrize(
    ("here", "there", "url"),
    [
        ("index.html", "a.css", "a.css"),
        ("a/b/c.html", "a/d/e.png", "../d/e.png"),
        ("a/b.html", "c.html", "../c.html"),
        ("a/b.html", "a/", "./"),
        ("a/b.html", "", "../"),
        ("index.html", "a:b.html", "./a:b.html"),
        ("index.html", "x/a:b.html", "x/a:b.html"),
        ("index.html", "a?b#c.html", "a%3Fb%23c.html"),
    ],
)
def test_the_shortest_relative_url(here: str, there: str, url: str) -> None:
    assert relative_url(here, there) == url


@pytest.mark.parametrize(
    ("href", "base"),
    [
        (None, "https://example.org/docs/a.html"),
        ("sub/", "https://example.org/docs/sub/"),
        ("https://cdn.example.net/", "https://cdn.example.net/"),
        ("data:,x", "https://example.org/docs/a.html"),
        ("http://[", "https://example.org/docs/a.html"),
    ],
)
def test_the_document_base(href: str | None, base: str) -> None:
    assert document_base("https://example.org/docs/a.html", href) == base


def test_join() -> None:
    assert join("https://example.org/a/b", "../c d") == "https://example.org/c%20d"
    assert join("https://example.org/a/b", "http://[") is None


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://CDN.example:8/a/b.js?c#d", ("cdn.example", "/a/b.js")),
        ("a/b.js", ("", "a/b.js")),
        ("http://[", ("", "")),
        ("//[zz]/a", ("", "")),
    ],
)
def test_host_and_path_of_what_is_written(url: str, parts: tuple[str, str]) -> None:
    assert host_and_path(url) == parts
