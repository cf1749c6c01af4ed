"""The door to files: reading a tree, and writing so that nobody sees half a file."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.memory import MemoryTree
from tests.waiting import PATIENCE

from adaptc.core.fs import (
    TEMPORARY,
    ChangedWhileRead,
    DiskTree,
    Tree,
    is_inside,
    lock_file,
    place,
    place_link,
    remove,
    remove_empty_directories,
    write_atomic,
)

FILES = {"a.html": b"page", "sub/b.css": b"sheet", "sub/deep/c": b""}


@pytest.fixture(params=["disk", "memory"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    if request.param == "memory":
        return MemoryTree(FILES)
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return DiskTree(tmp_path)


# ---- reading


def test_a_directory_is_listed_by_name(tree: Tree) -> None:
    assert [(entry.path, entry.kind) for entry in tree.list_directory("")] == [("a.html", "file"), ("sub", "directory")]
    assert [(entry.path, entry.kind) for entry in tree.list_directory("sub")] == [
        ("sub/b.css", "file"),
        ("sub/deep", "directory"),
    ]


def test_a_file_is_read(tree: Tree) -> None:
    assert tree.read("sub/b.css") == b"".join(tree.chunks("sub/b.css")) == b"sheet"
    assert tree.read_start("sub/b.css", 2) == b"sh"
    assert tree.status("sub/b.css").size == 5
    assert tree.real_path("sub/b.css") == "sub/b.css"


def test_what_is_not_there(tree: Tree) -> None:
    for ask in (tree.read, tree.status, tree.real_path, lambda path: list(tree.chunks(path))):
        with pytest.raises(FileNotFoundError):
            ask("sub/none")


def test_kinds_of_entries(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("else where")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        entries = {entry.path: (entry.kind, entry.link) for entry in DiskTree(tmp_path).list_directory("")}
    assert entries == {"fifo": ("fifo", ""), "link": ("symlink", "else where"), "socket": ("socket", "")}
    assert {entry.kind for entry in DiskTree("/dev").list_directory("") if entry.path == "null"} == {"device"}


def test_links_are_followed_to_where_they_lead(tmp_path: Path) -> None:
    docroot = tmp_path / "site"
    docroot.mkdir()
    (docroot / "inside").symlink_to("a")
    (docroot / "root").symlink_to(".")
    (docroot / "outside").symlink_to("../site-b")
    (docroot / "a").write_text("a")
    (tmp_path / "site-b").write_text("b")
    tree = DiskTree(docroot)
    assert [tree.real_path(name) for name in ("inside", "root", "outside")] == ["a", "", None]


def test_a_name_that_goes_while_the_directory_is_read_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a").write_text("a")

    def gone(path: str, **_: int) -> str:
        raise FileNotFoundError(errno.ENOENT, "gone", path)

    monkeypatch.setattr(os, "readlink", gone)
    assert [entry.path for entry in DiskTree(tmp_path).list_directory("")] == ["a"]


@pytest.mark.parametrize("write", ["append", "same size", "truncate"])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, write: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, looks, fstat = tmp_path / "a", iter(range(100)), os.fstat
    file.write_bytes(b"a" * 100)

    def look(descriptor: int) -> os.stat_result:
        if next(looks) % 3 == 2:  # regular? before; after
            file.write_bytes({"append": b"a" * 101, "same size": b"b" * 100, "truncate": b""}[write])
            os.utime(file, ns=(0, next(looks)))
            next(looks)
            next(looks)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", look)
    for read in (DiskTree(tmp_path).read, lambda path: b"".join(DiskTree(tmp_path).chunks(path))):
        file.write_bytes(b"a" * 100)
        looks = iter(range(100))
        with pytest.raises(ChangedWhileRead):
            read("a")


def test_a_pipe_in_the_place_of_a_file_does_not_hold_up_anybody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    refused = threading.Event()

    def read() -> None:
        with pytest.raises(ChangedWhileRead):
            DiskTree(tmp_path).read("a")
        refused.set()

    threading.Thread(target=read, daemon=True).start()
    assert refused.wait(PATIENCE)


# ---- writing


def test_a_write_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    old = target.stat().st_ino
    write_atomic(str(target), iter([b"n", b"ew"]), 0o600)
    assert target.read_text() == "new"
    assert target.stat().st_ino != old
    assert target.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_a_name_without_a_directory_is_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[list[str]]()

    def chunks() -> Iterator[bytes]:
        seen.append([name for name in os.listdir(tmp_path) if name.startswith(TEMPORARY)])
        yield b"new"

    monkeypatch.chdir(tmp_path)
    write_atomic("a", chunks())
    assert os.listdir(tmp_path) == ["a"]
    assert len(seen[0]) == 1


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "full")

    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError, match="full"):
        write_atomic(str(tmp_path / "a"), chunks())
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_write_does_not_go_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "a").symlink_to("precious")
    write_atomic(str(tmp_path / "a"), b"new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "a").is_symlink()


def test_equal_content_is_kept(tmp_path: Path) -> None:
    target = str(tmp_path / "a")
    write_atomic(target, b"same", keep_equal=True)
    before = os.stat(target)
    write_atomic(target, b"same", keep_equal=True)
    assert (os.stat(target).st_ino, os.stat(target).st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    write_atomic(target, b"else", keep_equal=True)
    assert (tmp_path / "a").read_bytes() == b"else"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_is_placed_as_a_link_of_itself(tmp_path: Path) -> None:
    (tmp_path / "object").write_text("content")
    for _ in range(2):  # the second time rename() has two names of one file and does nothing
        place(*(str(tmp_path / name) for name in ("object", "target", "temporary")))
        assert (tmp_path / "target").samefile(tmp_path / "object")
        assert sorted(os.listdir(tmp_path)) == ["object", "target"]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EMLINK, errno.EPERM])
def test_a_file_is_copied_where_links_are_not_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "object").write_text("content")
    place(*(str(tmp_path / name) for name in ("object", "target", "temporary")))
    assert (tmp_path / "target").read_text() == "content"
    assert not (tmp_path / "target").samefile(tmp_path / "object")
    assert sorted(os.listdir(tmp_path)) == ["object", "target"]


def test_other_errors_are_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        place(*(str(tmp_path / name) for name in ("object", "target", "temporary")))


def test_a_link_takes_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("a file")
    place_link("../else where", str(tmp_path / "target"), str(tmp_path / "temporary"))
    assert os.readlink(tmp_path / "target") == "../else where"


def test_remove_tells_whether_there_was_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "directory").mkdir()
    names = ("a", "a", "a/b", "directory", "x" * 300)
    (tmp_path / "b").write_text("b")
    assert [remove(str(tmp_path / name)) for name in names] == [True, False, False, False, False]
    with pytest.raises(PermissionError):
        remove("/proc/self/stat")


def test_empty_directories_go_up_to_the_first_that_is_not(tmp_path: Path) -> None:
    (tmp_path / "stop/a/b/c").mkdir(parents=True)
    (tmp_path / "stop/a/file").write_text("x")
    remove_empty_directories(str(tmp_path / "stop/a/b/c/never-made"), str(tmp_path / "stop"))
    assert os.listdir(tmp_path / "stop/a") == ["file"]
    (tmp_path / "stop/a/file").unlink()
    remove_empty_directories(str(tmp_path / "stop/a"), str(tmp_path / "stop"))
    assert os.listdir(tmp_path / "stop") == []


def test_a_lock_file_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    held = OSError("it is held")
    with lock_file(lock, held), pytest.raises(OSError, match="it is held"), lock_file(lock, held):
        pytest.fail("both hold it")
    with lock_file(lock, OSError("it is free")):
        pass


@pytest.mark.parametrize(
    ("path", "directory", "expected"),
    [("/pub", "/pub", True), ("/pub/x", "/pub", True), ("/public", "/pub", False), ("/srv/pub/x", "/pub", False),
     ("/x", "/", True), ("/pub/x", "/pub/", True)],
)  # fmt: skip
def test_paths_are_compared_step_by_step(path: str, directory: str, expected: bool) -> None:
    assert is_inside(path, directory) is expected


def test_a_lock_file_that_was_removed_is_locked_anew(tmp_path: Path) -> None:
    lock, held = tmp_path / "run/lock", OSError("it is held")
    lock.parent.mkdir()
    with lock_file(lock, held) as keep:
        keep()
        lock.unlink()
        lock.parent.rmdir()
        keep()  # there is no place for it
        lock.parent.mkdir()
        keep()
        with pytest.raises(OSError, match="it is held"), lock_file(lock, held):
            pass
        lock.unlink()
        with lock_file(lock, OSError("it is free")), pytest.raises(OSError, match="it is held"):
            keep()  # somebody was quicker
    with lock_file(lock, OSError("it is free")):
        pass
