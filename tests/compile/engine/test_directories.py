"""The directories of the trees: those that hold what was touched are computed anew, with the same result as for all."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.sites.built import BuiltSite

from adaptc.compile.engine.state.state import State, state_path
from adaptc.compile.engine.trees import directories
from adaptc.compile.engine.trees.directories import Recorder

PAGE = "<!DOCTYPE html>\n<html lang=en><title>{0}</title>\n<p>  {0}</p>\n" + "<p>Words of the page.\n" * 40
WITH_IMAGE = PAGE + '<img src="/img/photo.png" alt="A photograph" width=300 height=200>'


def photograph() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((300, 200), 60).convert("RGB").save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    files = ("index.html", "a/one.html", "a/b/two.html", "a/b/three.html", "ab/four.html", "z/five.html")
    site = BuiltSite(tmp_path).write({path: PAGE.format(path) for path in files})
    site.write({"img/photo.png": photograph(), "img/page.html": WITH_IMAGE.format("photo")})
    build(site)
    return site


def build(site: BuiltSite) -> None:
    site.build(build__levels=("full", "lossless", "moderate"))


def assert_recorded(site: BuiltSite) -> None:
    """The directories in the state are those that all units give, with their times on disk, and the trees are fresh."""
    state = State(state_path(site.output), read_only=True)
    every, files = Recorder(state, os.fspath(site.output)).record_all()
    assert files > 0
    assert state.directories() == every
    state.close()


CHANGES: dict[str, Callable[[BuiltSite], object]] = {
    "a page of the docroot itself": lambda site: site.write({"index.html": PAGE.format("other")}),
    "a page between directories": lambda site: site.write({"a/one.html": PAGE.format("other")}),
    "a page deep down": lambda site: site.write({"a/b/two.html": PAGE.format("other")}),
    "a new directory": lambda site: site.write({"new/deep/page.html": PAGE.format("new")}),
    "a directory that is gone": lambda site: site.remove("a/b"),
    "the last file above others": lambda site: site.remove("a/one.html"),
    "the last file of a directory": lambda site: site.remove("z/five.html"),
    "another image": lambda site: site.write({"img/photo.png": photograph()}),
    "images that are gone": lambda site: (site.remove("img/photo.png"), site.write({"img/page.html": PAGE})),
    "a link": lambda site: (site.docroot / "a/link.html").symlink_to("one.html"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_touched_changes_the_directories_as_a_whole_count_does(
    site: BuiltSite, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_state: State) -> None:
        raise AssertionError("all units were read")

    CHANGES[change](site)
    with monkeypatch.context() as patched:
        patched.setattr(directories, "_all_entries", refuse)
        build(site)
    assert_recorded(site)
    build(site)
    assert_recorded(site)


def test_all_directories_are_computed_where_much_was_touched(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "_FEW", 1)
    site.write({"index.html": PAGE.format("other"), "a/one.html": PAGE.format("other")})
    build(site)
    assert_recorded(site)


def test_a_directory_that_somebody_changed_meanwhile_is_still_found_changed(site: BuiltSite) -> None:
    os.utime(site.output / "lossless/id/z", ns=(5, 5))
    site.write({"a/one.html": PAGE.format("other")})
    (site.output / "lossless/id/z/five.html").unlink()
    build(site)
    assert_recorded(site)
    assert (site.output / "lossless/id/z/five.html").exists()
