"""Symbolic links in an output that lead out of it: nothing is written, changed or removed through them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.cli.main import run
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.trees.output import SourceTimes
from adaptc.compile.engine.trees.publish import Publisher
from adaptc.core.fs import OutwardLink, outward_part
from adaptc.core.model import Resource
from adaptc.daemons.run_directory import RunDirectory
from adaptc.serve.emitter import emit


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path).write({"index.html": "<p>x", "deep/a.html": "<p>a"})
    site.build()
    return site


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory with a file of the name of a page."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "a.html").write_text("mine")
    return directory


def replace_by_link(directory: Path, target: Path) -> None:
    if directory.exists():
        directory.rename(directory.with_name("before"))
    directory.symlink_to(target)


def contents(directory: Path) -> dict[str, tuple[str, int]]:
    return {file.name: (file.read_text(), file.stat().st_mtime_ns) for file in directory.iterdir()}


@pytest.mark.parametrize("name", ["lossless", "lossless/id/deep", "lossless/br", ".adaptc", "times"])
def test_a_build_writes_nothing_through_a_link(site: BuiltSite, outside: Path, name: str) -> None:
    replace_by_link(site.output / name, outside)
    before = contents(outside)
    site.write({"deep/a.html": "<p>other", "deep/b.html": "<p>b"})
    if "/" in name:  # a file that is not the build's: it is removed
        site.build(serve__freshness="strict")
        assert not (site.output / name).is_symlink()
    else:
        with pytest.raises(OutwardLink, match="leads out of"):
            site.build(serve__freshness="strict")
    assert contents(outside) == before


def test_the_command_names_the_link(site: BuiltSite, outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace_by_link(site.output / "lossless", outside)
    assert run(["build", str(site.docroot), "-o", str(site.output)]) == 3
    assert f"{site.output}/lossless" in capsys.readouterr().err


def test_a_publisher_removes_nothing_through_a_link(site: BuiltSite, outside: Path) -> None:
    """A watcher's publisher lives long: links may appear after a build has begun."""
    replace_by_link(site.output / "lossless/id/deep", outside)
    publisher = Publisher(site.output, Store(site.output / ".adaptc/cache"))
    before = contents(outside)
    publisher.remove_unit("lossless", "deep/a.html")
    with pytest.raises(OutwardLink):
        publisher._in_directory(f"{site.output}/lossless/id/deep/more/b.html", lambda: None)
    assert contents(outside) == before


def test_times_are_not_changed_through_a_link(site: BuiltSite, outside: Path) -> None:
    replace_by_link(site.output / "times", outside)
    before = contents(outside)
    for resource in (Resource("a.html", 1, 1, 1, "text/html"), Resource("a.html", 1, -1, 1, "text/html")):
        with pytest.raises(OutwardLink):
            SourceTimes(site.output).record([resource])
    assert contents(outside) == before


def test_configuration_and_state_are_not_written_through_a_link(site: BuiltSite, outside: Path) -> None:
    replace_by_link(site.output / "serve", outside)
    with pytest.raises(OutwardLink):
        emit(site.config(), ["nginx"])
    replace_by_link(site.output / "run", outside)
    with pytest.raises(OutwardLink):
        RunDirectory.of(site.output)
    assert list(contents(outside)) == ["a.html"]


def test_links_inside_and_an_output_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "real/inner").mkdir(parents=True)
    (tmp_path / "opt").symlink_to("real")
    (tmp_path / "real/link").symlink_to("inner")
    (tmp_path / "real/broken").symlink_to("nowhere")
    root = os.fspath(tmp_path / "opt")
    assert outward_part(f"{root}/link/a/b", root) is None
    assert outward_part(f"{root}/a/b", root) is None
    assert outward_part(f"{root}/broken/a", root) == f"{root}/broken"
    assert outward_part(f"{tmp_path}/missing/a", f"{tmp_path}/missing") is None
