"""Screenshots in the report: which pages, what is served at each level, what happens without a browser."""

from __future__ import annotations

import base64
import io
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.sites.built import BuiltSite

import adaptc
from adaptc.browser import find_chromium
from adaptc.browser.answers import Answer, level_server
from adaptc.browser.pictures import LARGEST
from adaptc.cli.build import DEFAULT_SCREENSHOTS, build
from adaptc.compile.engine.reporting import Silent
from adaptc.core.urls import SiteAddress
from adaptc.report.figures import PageFigures
from adaptc.report.screenshots import (
    HEIGHT,
    WIDTH,
    Trees,
    sample_pages,
    small_picture,
    take_screenshots,
)
from adaptc.site.site import Site, Source

RED, BLUE = (255, 0, 0), (0, 0, 255)


def colour_page(colour: str) -> str:
    return f"<!DOCTYPE html><title>t</title><body style='margin:0;background:{colour}'>"


# ---- the sample


def page(path: str, level: str, transfer: int, views: int = 0) -> PageFigures:
    return PageFigures(path, level, 1, transfer, transfer, transfer, transfer, views=views)


def sampled(pages: list[PageFigures], count: int) -> list[str]:
    return [path for path, _ in sample_pages(pages, "full", count)]


def test_pages_that_save_most_are_shown_and_equal_ones_by_path() -> None:
    saved = {"a": 10, "b": 500, "c": 500, "d": 0}
    pages = [page(path, level, 1000 - less) for path, by in saved.items() for level, less in (("full", 0), ("low", by))]
    assert sampled(pages, 3) == ["b", "c", "a"]
    assert sampled(pages, 9) == ["b", "c", "a", "d"]


def test_pages_that_are_viewed_come_first() -> None:
    pages = [page("a", "full", 900), page("a", "low", 1), page("b", "full", 9, views=1), page("c", "full", 9, views=5)]
    assert sampled(pages, 2) == ["c", "b"]


# ---- what a level sends


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    """A site below /docs/: page a at both levels, page b as original only, an extra file, a page that is gone."""
    files = {
        "site/a.html": colour_page("red"),
        "site/b.html": colour_page("red"),
        "site/secret.txt": "not a part of the site",
        "opt/full/id/a.html": colour_page("red"),
        "opt/low/id/a.html": colour_page("blue"),
        "opt/low/id/_adaptc/x.webp": "picture",
        "secret.txt": "outside",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    sources = {path: Source("", 9, "text/html") for path in ("a.html", "b.html", "gone.html")}
    site = Site.of(sources, SiteAddress("https://example.org/docs/"), ("a.html",))
    return Trees(tmp_path / "opt", tmp_path / "site", ("full", "low"), site)


def served(trees: Trees, path: str, level: str = "low") -> Answer | None:
    url = path if path.startswith("http") else f"https://example.org{path}"
    return level_server(trees.output, trees.docroot, level, trees.site, lambda _path: {"X": "y"})(url)


def test_a_level_sends_its_own_files_and_the_original_where_it_has_none(trees: Trees) -> None:
    own, original, index = (served(trees, path) for path in ("/docs/a.html?q#f", "/docs/b.html", "/docs/"))
    assert own == index == Answer(colour_page("blue").encode(), "text/html", (("X", "y"),))
    assert original == Answer(colour_page("red").encode(), "text/html", (("X", "y"),))
    assert served(trees, "/docs/_adaptc/x.webp") == Answer(b"picture", "image/webp")


@pytest.mark.parametrize(
    "url",
    [
        "/docs/_adaptc/y.webp", "/docs/_adaptc//x.webp", "/docs/gone.html",
        "/docs/secret.txt", "/docs/../secret.txt", "/docs/%2e%2e/secret.txt",
        "/docs/..%2f..%2fsecret.txt", "/a.html", "https://example.com/docs/a.html", "/docs/%00", "ftp://example.org/docs/",
    ],
)  # fmt: skip
def test_nothing_else_is_sent(trees: Trees, url: str) -> None:
    assert served(trees, url) is None


# ---- pictures


def png(colour: tuple[int, int, int], spot: tuple[int, int, int] | None = None) -> bytes:
    image = Image.new("RGB", (80, 60), colour)
    if spot is not None:
        image.paste(spot, (0, 0, 40, 30))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def test_pictures_are_half_as_wide_and_compared() -> None:
    picture = small_picture(png(RED, BLUE), png(RED))
    assert (picture.width, picture.height, picture.difference) == (40, 30, 0.25)
    assert Image.open(io.BytesIO(picture.webp)).format == "WEBP"
    assert small_picture(png(RED), png(RED)).difference == 0


def test_what_no_eye_sees_is_no_difference() -> None:
    assert small_picture(png((250, 0, 5)), png(RED)).difference == 0


def test_pictures_are_bounded() -> None:
    noise = Image.frombytes("RGB", (1280, 960), os.urandom(1280 * 960 * 3)).reduce(3).resize((1280, 960))
    out = io.BytesIO()
    noise.save(out, "PNG")
    assert len(small_picture(out.getvalue(), out.getvalue()).webp) < 2 * LARGEST


# ---- the browser


def figures(path: str) -> dict[str, PageFigures]:
    return {"full": page(path, "full", 2000), "low": page(path, "low", 1000)}


@pytest.mark.chromium
def test_levels_that_look_the_same_share_a_picture(chromium: str, trees: Trees) -> None:
    sample = [("a.html", figures("a.html")), ("b.html", {"full": page("b.html", "full", 9)})]
    (changed, same), said = take_screenshots(trees, sample, Silent())
    assert said == []
    assert [[level for level, _ in shot.levels] for shot in changed.shots] == [["full"], ["low"]]
    assert [shot.difference for shot in changed.shots] == [0, 1]
    assert (changed.shots[0].width, changed.shots[0].height) == (WIDTH // 2, HEIGHT // 2)
    (only,) = same.shots
    assert [(level, cost is None) for level, cost in only.levels] == [("full", False), ("low", True)]


def test_the_browser_of_the_configuration_draws(trees: Trees) -> None:
    shots, said = take_screenshots(replace(trees, browser="/gone/browser"), [("a.html", figures("a.html"))], Silent())
    assert shots == ()
    assert [str(one) for one in said] == [
        "warning: no Chromium was found (/gone/browser); screenshots are missing in the report [browser-missing]"
    ]


def test_a_browser_that_ends_is_said(tmp_path: Path, trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin/chromium"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_chromium() == str(program)
    shots, said = take_screenshots(trees, [("a.html", figures("a.html"))], Silent())
    assert shots == ()
    assert [str(one) for one in said] == [
        f"warning: {program} failed (it ended); screenshots are missing in the report [browser-failed]"
    ]


# ---- builds


def site_of_one_page(root: Path) -> BuiltSite:
    return BuiltSite(root).write({"index.html": colour_page("red") + "<p>Words.  </p>" * 9})


def test_without_a_browser_the_build_goes_on_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = adaptc.build(site_of_one_page(tmp_path).config(), screenshots=1)
    assert [said.id for said in result.diagnostics] == ["browser-missing"]
    assert "data:image" not in result.report.read_text("utf-8")


@pytest.mark.chromium
def test_a_build_shows_screenshots_until_something_changes(chromium: str, tmp_path: Path) -> None:
    site = site_of_one_page(tmp_path)
    site.build()
    before = site.trees()
    result = adaptc.build(site.config(), screenshots=1)
    assert not result.built
    text = result.report.read_text("utf-8")
    (picture,) = re.findall(r'src="data:image/webp;base64,([^"]+)"', text)
    seen = Image.open(io.BytesIO(base64.b64decode(picture)))
    assert seen.size == (WIDTH // 2, HEIGHT // 2)
    assert "img-src data:;" in text
    after = site.trees()
    assert {path for path in after if before.get(path) != after[path]} == {"report.html"}
    assert "<b>lossless</b>" in text
    site.build()
    assert site.trees() == after
    site.write({"index.html": colour_page("blue")})
    site.build()
    assert "data:image" not in result.report.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--screenshots", "public"], (DEFAULT_SCREENSHOTS, "public")),
        (["public", "--screenshots"], (DEFAULT_SCREENSHOTS, "public")),
        (["--screenshots=3", "public"], (3, "public")),
        (["public"], (None, "public")),
    ],
)
def test_the_number_of_screenshots_may_be_left_out(arguments: list[str], wanted: tuple[int | None, str]) -> None:
    parameters = build.make_context("build", arguments).params
    assert (parameters["screenshots"], str(parameters["docroot"])) == wanted
