"""A level that is added takes its own work only: what was built of the levels above is not built again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.engine.unit.unit_builder import UnitBuilder

LEVELS = ["lossless", "moderate", "extreme", "text"]
PAGE = "<!doctype html><title>T</title><link rel=stylesheet href=a.css><h1>{}</h1><p class=a>Words<script>f()</script>"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltSite:
    monkeypatch.chdir(tmp_path)
    pages = {f"{name}.html": PAGE.format(name) for name in "xyz"}
    return BuiltSite(tmp_path).write({**pages, "a.css": "h1{color:red}.a{color:blue}.b{color:green}"})


@pytest.fixture
def built_pages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return a list that gets the level and path of each page that is built."""
    pages: list[tuple[str, str]] = []
    build_page = UnitBuilder._page

    def page(builder: UnitBuilder, level: str, path: str, *others: object) -> object:
        pages.append((level, path))
        return build_page(builder, level, path, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(UnitBuilder, "_page", page)
    return pages


def page_files(site: BuiltSite) -> dict[str, bytes]:
    return {path: content for path, content in site.trees().items() if path.startswith(tuple(LEVELS))}


def test_each_page_is_built_once_at_each_level(site: BuiltSite, built_pages: list[tuple[str, str]]) -> None:
    for count in range(1, len(LEVELS) + 1):
        site.build(build__levels=LEVELS[:count])
    assert sorted(built_pages) == sorted((level, f"{name}.html") for level in LEVELS for name in "xyz")


def test_levels_one_after_the_other_are_those_of_one_build(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS[:2])
    site.build(build__levels=LEVELS)
    clean = site.clean()
    clean.build(build__levels=LEVELS)
    assert page_files(site) == page_files(clean)


def test_a_changed_page_is_not_compared_with_what_it_was(site: BuiltSite, built_pages: list[tuple[str, str]]) -> None:
    site.build(build__levels=LEVELS[:1])
    site.write({"x.html": PAGE.format("other"), "a.css": "h1{color:black}"})
    built_pages.clear()
    site.build(build__levels=LEVELS[:2])
    assert {path for level, path in built_pages if level == "lossless"} == {"x.html", "y.html", "z.html"}
    clean = site.clean()
    clean.build(build__levels=LEVELS[:2])
    assert page_files(site) == page_files(clean)


def test_what_is_gone_from_the_cache_is_built_again(site: BuiltSite, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    site.build(build__levels=LEVELS[:1], build__cache=str(cache))
    shutil.rmtree(cache / "objects")
    site.build(build__levels=LEVELS, build__cache=str(cache))
    clean = site.clean()
    clean.build(build__levels=LEVELS)
    assert page_files(site) == page_files(clean)
