"""A docroot that a scan finds unchanged is not loaded; every change of it is seen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite
from tests.waiting import wait_until

from adaptc.compile.engine import spec
from adaptc.compile.engine.state.state import State
from adaptc.core.fs import DiskTree, Entry
from adaptc.site.docroot import PlainDirectory, scan_directory
from adaptc.site.selection import Selection
from adaptc.workflow.check.check import check

SCRIPT = "#!/bin/sh\n<!DOCTYPE html><p>words</p>"


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    built = BuiltSite(tmp_path).write({
        "a.html": "<!DOCTYPE html><p>words", "b/c.html": "<!DOCTYPE html><p>more", "run.html": SCRIPT, ".git/x": "1",
        "bad.html": '<!DOCTYPE html><a href="gone.html">gone</a>',
    })  # fmt: skip
    for link, target in (("link.html", "a.html"), ("broken.html", "nowhere")):
        (built.docroot / link).symlink_to(target)
        os.utime(built.docroot / link, (1, 1), follow_symlinks=False)
    built.build()
    return built


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The docroots that were loaded since the site was built, of which each directory is read once more."""
    loaded: list[str] = []
    load = spec.load_directory

    def counted(tree, *args):  # type: ignore[no-untyped-def]
        loaded.append(tree.root)
        found, anew = load(tree, *args), load(tree, *args[:3])
        assert list(found.resources.items()) == list(anew.resources.items())
        assert (found.diagnostics, found.bypassing) == (anew.diagnostics, anew.bypassing)
        return found

    monkeypatch.setattr(spec, "load_directory", counted)
    return loaded


def test_an_unchanged_docroot_is_not_loaded(site: BuiltSite, loads: list[str]) -> None:
    first = site.build()
    assert check(site.config(), every_file=False).findings == ()
    assert loads == []
    assert {diagnostic.id for diagnostic in first.diagnostics} == {"missing-target", "symlink-broken"}
    (site.output / "report.html").unlink()
    site.build()
    assert (site.output / "report.html").exists()
    assert loads == []


def test_an_excluded_directory_does_not_count(site: BuiltSite, loads: list[str]) -> None:
    site.write({".git/x": "2", ".git/y": "3"})
    site.build()
    assert loads == []


CHANGES: dict[str, Callable[[BuiltSite], object]] = {
    "edited": lambda site: site.write({"b/c.html": "<!DOCTYPE html><p>other"}),
    "touched": lambda site: os.utime(site.docroot / "b/c.html", (1, 1)),
    "added": lambda site: site.write({"b/new.html": "<!DOCTYPE html><p>other"}),
    "removed": lambda site: site.remove("b/c.html"),
    "renamed": lambda site: (site.docroot / "a.html").rename(site.docroot / "z.html"),
    "made a program": lambda site: (site.docroot / "run.html").chmod(0o755),
    "unreadable": lambda site: (site.docroot / "a.html").chmod(0),
    "protected": lambda site: site.write({"b/.htaccess": "Require all denied\n"}),
    "a link elsewhere": lambda site: (
        (site.docroot / "link.html").unlink(), (site.docroot / "link.html").symlink_to("b/c.html")
    ),
    "a link mended": lambda site: site.write({"nowhere": "words"}),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_docroot_is_loaded(site: BuiltSite, loads: list[str], change: str) -> None:
    CHANGES[change](site)
    site.build()
    assert loads
    assert check(site.config(), every_file=True).findings == ()


def test_a_page_that_becomes_a_program_leaves_the_trees(site: BuiltSite) -> None:
    assert (site.output / "full/id/run.html").exists()
    (site.docroot / "run.html").chmod(0o755)
    assert "server-program" in {diagnostic.id for diagnostic in site.build().diagnostics}
    assert not (site.output / "full/id/run.html").exists()


def test_other_settings_are_another_docroot(site: BuiltSite, loads: list[str]) -> None:
    site.build(site__exclude=("b",))
    assert loads
    assert not (site.output / "full/id/b").exists()


def test_known_executable_pages_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = BuiltSite(tmp_path).write({"a.html": "<!DOCTYPE html>", "b.html": "<!DOCTYPE html>", "unknown": "words"})
    for name in ("a.html", "b.html"):
        (site.docroot / name).chmod(0o755)
    site.build()
    site.write({"b.html": "<!DOCTYPE html><p>words"})
    read: list[str] = []
    monkeypatch.setattr("adaptc.core.fs.DiskTree.read_start", lambda _tree, path, _size: read.append(path) or b"")
    site.build()
    assert read == ["b.html"]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories of the docroot that were read."""
    directories: list[str] = []
    list_directory = DiskTree.list_directory

    def counted(tree: DiskTree, path: str) -> list[Entry]:
        directories.append(path)
        return list_directory(tree, path)

    monkeypatch.setattr(DiskTree, "list_directory", counted)
    return directories


PAGES = {f"{directory}/a.html": f"<!DOCTYPE html><p>{directory}" for directory in ("b", "b/c", "b/d", "hidden", "php")}


@pytest.fixture
def plain(tmp_path: Path) -> BuiltSite:
    """A site of directories that hold readable pages and nothing else, but for two."""
    site = BuiltSite(tmp_path).write({**PAGES, "hidden/.x": "1", "php/x.php": "2"})
    site.build()
    return site


def test_directories_that_did_not_change_are_not_read(plain: BuiltSite, loads: list[str], read: list[str]) -> None:
    plain.write({"b/c/a.html": "<!DOCTYPE html><p>other"})
    plain.build()
    with_loads, anew = read[:3], read[3:]
    assert loads
    assert sorted(with_loads) == ["b/c", "hidden", "php"]
    assert sorted(anew) == ["", "b", "b/c", "b/d", "hidden", "php"]


def test_every_directory_is_read_where_sources_changed_since(plain: BuiltSite, read: list[str]) -> None:
    with contextlib.closing(State(plain.output / ".adaptc/state.sqlite")) as state:
        state.invalidate_source("b/d/a.html")
    plain.build()
    assert sorted(read) == ["", "b", "b/c", "b/d", "hidden", "php"]


def test_every_directory_is_read_with_other_settings(plain: BuiltSite, loads: list[str], read: list[str]) -> None:
    plain.build(site__exclude=("c",))
    assert loads
    assert "b" in read
    assert not (plain.output / "full/id/b/c").exists()


def test_a_file_that_cannot_be_listed_gives_no_digest(tmp_path: Path) -> None:
    assert scan_directory(str(tmp_path / "gone"), Selection()) is None


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of which two processes scan each a part."""
    root = tmp_path_factory.mktemp("large")
    for directory in [f"d{number}/inner" for number in range(30)]:
        (root / directory).mkdir(parents=True)
        for number in range(200):
            (root / directory / f"{number}.html").touch()
    (root / "d1/link.html").symlink_to("inner/1.html")
    (root / "d2/.git").mkdir()
    return root


def scanned(root: Path, processes: int) -> tuple[str, list[int], dict[str, PlainDirectory]]:
    scan = scan_directory(str(root), Selection(), processes)
    assert scan is not None
    return scan.digest, sorted(scan.times), scan.plain


def test_two_processes_find_what_one_finds(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forks: list[int] = []
    fork = os.fork
    monkeypatch.setattr("os.fork", lambda: forks.append(1) or fork())
    monkeypatch.setattr("threading.active_count", lambda: 1)  # those of the tests' runner do not count
    alone = scanned(large, 1)
    assert not forks
    assert scanned(large, 2) == alone
    assert forks
    for number in range(0, 30, 3):  # whichever process has it
        file = large / f"d{number}/inner/1.html"
        file.touch()
        assert scanned(large, 2)[0] != alone[0]
        alone = scanned(large, 1)


def test_no_process_is_forked_next_to_threads(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fork", lambda: pytest.fail("forked"))
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert scanned(large, 2) == scanned(large, 1)
    finally:
        ended.set()
        thread.join()


def test_what_a_process_cannot_scan_is_scanned_here(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, own, open_ = scanned(large, 1), os.getpid(), os.open

    def here_alone(*args: Any, **named: Any) -> int:
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return open_(*args, **named)

    monkeypatch.setattr("threading.active_count", lambda: 1)
    monkeypatch.setattr("os.open", here_alone)
    assert scanned(large, 2) == alone


@pytest.mark.parametrize("path", ["b/two.html", "b"])
def test_a_mode_that_closes_withdraws_at_the_next_build(tmp_path: Path, path: str) -> None:
    site = BuiltSite(tmp_path).write({"a.html": "<p>a", "b/two.html": "<p>b", "b/c/three.html": "<p>c"})
    site.build()
    for mode in (0o600, 0o700):
        (site.docroot / path).chmod(mode)
        result = site.build()
        assert "closed-mode" in {each.id for each in result.diagnostics}
        assert not (site.output / "full/id/b/two.html").exists()
    (site.docroot / path).chmod(0o755)
    site.build()
    assert (site.output / "full/id/b/two.html").exists()


def test_opening_one_file_closes_the_others(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"a.html": "<p>a", "b/b.html": "<p>b", "c/c.html": "<p>c"})
    for path in ("a.html", "b/b.html", "c/c.html"):
        (site.docroot / path).chmod(0o600)
    site.build()
    assert (site.output / "full/id/b/b.html").exists()
    (site.docroot / "c/c.html").chmod(0o644)
    site.build()
    assert not (site.output / "full/id/b/b.html").exists()


# Holds a lock as a build does, and is killed when the second process has begun
KILLED = """
import fcntl, os, signal, sys
from adaptc.site import docroot
from adaptc.site.selection import Selection

lock = open(sys.argv[2], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
docroot._ALONE = 1
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGKILL))
docroot.scan_directory(sys.argv[1], Selection(), 2)
"""


def test_the_second_process_ends_with_a_build_that_is_killed(tmp_path: Path) -> None:
    for number in range(3000):  # more than a pipe holds
        (tmp_path / f"site/{number}").mkdir(parents=True)
        (tmp_path / f"site/{number}/a").touch()
    lock = tmp_path / "lock"
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "site", lock], check=False)
    assert done.returncode == -signal.SIGKILL

    def is_free() -> bool:
        with open(lock) as opened, contextlib.suppress(BlockingIOError):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    wait_until(is_free, lambda: "the second process still holds the lock")
