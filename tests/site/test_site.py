"""Which file a URL path leads to."""

from __future__ import annotations

import pytest

from adaptc.core.urls import Reach, SiteAddress
from adaptc.site.site import Site, Source

PATHS = ("index.html", "a/index.htm", "a/index.html", "b/c/page.html", "dir.d/x")
SITE = Site.of({path: Source("", 0, "text/html") for path in PATHS}, SiteAddress(), ("index.html", "index.htm"))


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("", "index.html"),
        ("index.html", "index.html"),
        ("a/", "a/index.html"),
        ("a", "a/index.html"),
        ("b/", None),
        ("b/c/page.html", "b/c/page.html"),
        ("b/c/page.html/", None),
        ("nowhere", None),
    ],
)
def test_the_file_that_a_server_sends(path: str, file: str | None) -> None:
    assert SITE.find(path) == file


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("b", True),
        ("b/", True),
        ("b/c", True),
        ("dir.d", True),
        ("", True),
        ("a", True),
        ("c", False),
        ("b/c/x", False),
        ("b/c/page", True),  # static hosts send page.html
    ],
)
def test_a_directory_answers_with_its_listing(path: str, leads: bool) -> None:
    assert SITE.leads_somewhere(path) == leads


def test_candidates_in_the_order_of_the_configuration() -> None:
    assert SITE.candidates("a/") == ("a/index.html", "a/index.htm")
    assert SITE.candidates("a") == ("a", "a/index.html", "a/index.htm")


def test_follow_tells_where_and_which() -> None:
    found = SITE.follow(SITE.address.url_of("b/c/page.html"), "../../a/#part")
    assert (found.target.reach, found.target.path, found.target.suffix) == (Reach.LOCAL, "a/", "#part")
    assert found.path == "a/index.html"
    assert SITE.follow(SITE.address.base, "https://elsewhere.example/a/").path is None


def test_an_empty_site_has_its_root() -> None:
    assert Site.of({}, SiteAddress(), ("index.html",)).leads_somewhere("")
