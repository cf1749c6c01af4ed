"""The URL under which a docroot is published, read from its pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.cli.main import run
from adaptc.site.published import find_base_url

LINKS = (
    '<link rel=stylesheet href="/repo/s.css"><img src=/repo/a.gif><a href=\'/repo/guide/\'>G</a><a href="/repo/b">B</a>'
)
FILES = {"s.css": "", "a.gif": "", "guide/index.html": "<title>g</title>", "b.html": "<title>b</title>"}


def found(root: Path, index: str, **files: str) -> str | None:
    for name, text in {**FILES, "index.html": f"<!doctype html><title>t</title>{index}", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return find_base_url(root, ("index.html", "index.htm"))


def test_the_path_is_where_addresses_lead(tmp_path: Path) -> None:
    assert found(tmp_path, LINKS) == "http://site.invalid/repo/"


@pytest.mark.parametrize(
    "declared",
    [
        "<link rel=canonical href=https://user.example/repo/>",
        '<link rel="canonical" href="https://user.example/repo">',
        '<meta property="og:url" content="HTTPS://user.example/repo/index.html">',
    ],
)
def test_the_host_is_that_of_what_a_page_says_of_itself(tmp_path: Path, declared: str) -> None:
    assert found(tmp_path, declared + LINKS) == "https://user.example/repo/"


def test_an_address_elsewhere_is_not_that_of_the_site(tmp_path: Path) -> None:
    other = "<link rel=canonical href=https://user.example/other/>"
    assert found(tmp_path, other + LINKS) == "http://site.invalid/repo/"


def test_a_path_of_several_steps(tmp_path: Path) -> None:
    assert found(tmp_path, LINKS.replace("/repo/", "/docs/v2/")) == "http://site.invalid/docs/v2/"


@pytest.mark.parametrize(
    "links",
    [
        LINKS.replace("/repo/", "/"),  # they lead somewhere as they are
        LINKS.replace("/repo/", ""),
        '<a href="/repo/b">B</a><img src=/repo/a.gif>',  # too few to tell
        "".join(f"<a href=/gone/{number}>x</a>" for number in range(9)),  # to nowhere
        LINKS
        + "".join(f"<a href=/guide/?{number}>x</a><a href=/b#{number}>y</a>" for number in range(3))
        + "<img src=/a.gif>"
        "<a href=/s.css>s</a><a href=/guide>g</a><a href=/b.html>b</a>",  # some say this, some that
        LINKS.replace("/repo/", "//repo/"),  # another host
        "<img src=/../../etc/passwd><img src=/repo/../../x><img src=/%00>",
    ],
)
def test_what_pages_are_not_sure_of_is_not_read(tmp_path: Path, links: str) -> None:
    assert found(tmp_path, links) is None


def test_what_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert find_base_url(tmp_path / "none", ("index.html",)) is None


def test_a_build_says_what_it_read_and_the_option_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    found(site, LINKS, **{"s.css": "p { color: red }\n", "a.gif": "GIF89a"})
    monkeypatch.chdir(tmp_path)
    assert run(["build", "site", "--effort", "fast", "-j", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("built as published at http://site.invalid/repo/")
    assert "missing-target" not in said.out + said.err
    assert run(["check"]) == 0
    capsys.readouterr()
    assert run(["build", "site", "--effort", "fast", "-j", "1", "--base-url", "https://example.org/"]) == 0
    said = capsys.readouterr()
    assert "built as published" not in said.out + said.err
    assert "missing-target" in said.out + said.err
