"""Power losses: contents reach the disk before names, names before the state, and builds notice what was lost."""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.trees import output, publish, trees
from adaptc.core import sync as core_sync
from adaptc.core.fs import write_atomic
from adaptc.core.sync import sync
from benchmarks.recorded_writes import Disk, Operation, Recording, lose_power

PAGE = "<!DOCTYPE html>\n<html lang=en><title>page</title>\n<p>  {}\n" + "<p>words\n" * 40
SITE = {"a.html": PAGE.format("a"), "b/c.html": PAGE.format("c"), "main.css": "a  { color : red }\n" * 9}


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path).write(SITE)
    (site.docroot / "link.html").symlink_to("a.html")
    site.build()
    return site


# ---- what builds notice


@pytest.mark.parametrize("file", ["lossless/id/a.html", "lossless/br/b/c.html", "full/id/main.css"])
def test_a_file_that_was_cut_is_built_again(site: BuiltSite, file: str) -> None:
    """The time of its directory does not say so."""
    before = site.trees()
    (site.output / file).chmod(0o644)
    os.truncate(site.output / file, 0)
    assert "OutputMissing" in site.built().values()
    assert site.trees() == before
    assert site.built() == {}


def test_many_files_are_compared_once_after_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_COMPARED", 3)
    site = BuiltSite(tmp_path).write(SITE)
    site.build()
    file = site.output / "lossless/id/a.html"
    file.chmod(0o644)
    os.truncate(file, 0)
    assert site.built() == {}
    monkeypatch.setattr(trees, "boot_id", lambda: "after the loss")
    assert set(site.built().values()) == {"OutputMissing"}
    assert site.built() == {}


def test_a_file_that_lost_its_time_only_is_not_built_again(site: BuiltSite) -> None:
    os.utime(site.output / "lossless/id/a.html", ns=(1, 1))
    assert site.built() == {}


# ---- the order of syncs


class Events:
    """What a build does to trees and state, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, Any]] = []
        for module, name in ((publish, "sync"), (publish, "place"), (publish, "remove"), (output, "sync")):
            self._wrap(monkeypatch, module, name, f"{module.__name__.rpartition('.')[2]}.{name}")
        self._wrap(monkeypatch, State, "commit", "commit")
        self._wrap(monkeypatch, os, "utime", "utime")

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, event: str) -> None:
        original = getattr(owner, name)

        def wrapped(*values: Any, **more: Any) -> Any:
            listed = tuple(list(value) if isinstance(value, set) else value for value in values)
            self.events.append((event, listed))
            return original(*values, **more)

        monkeypatch.setattr(owner, name, wrapped)


def test_contents_are_synced_before_they_get_names(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    events = Events(monkeypatch)
    site.write({"a.html": PAGE.format("other"), "new.html": PAGE.format("new")}).build()
    synced: set[str] = set()
    placed = 0
    for event, values in events.events:
        if event == "publish.sync" and "/cache" in values[0]:
            synced.update(values[1])
        elif event == "publish.place":
            placed += 1
            assert values[0] in synced
    assert placed


@pytest.mark.parametrize("freshness", ["watched", "strict"])
def test_names_are_synced_before_the_state_has_them(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, freshness: str
) -> None:
    events = Events(monkeypatch)
    (site.docroot / "b/c.html").unlink()
    site.write({"a.html": PAGE.format("other"), "new.html": PAGE.format("new")}).build(serve__freshness=freshness)
    unsynced, changes = [], 0
    for event, values in events.events:
        if event in ("publish.place", "publish.remove"):
            unsynced.append(values)
            changes += 1
        elif event == "publish.sync" and values[0] == str(site.output):
            unsynced.clear()
        elif event == "commit" or (event == "utime" and "/times/" in str(values[0])):
            assert not unsynced
    assert changes


def test_times_for_strict_servers_are_synced(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that is lost when its source is known would never be recorded again."""
    events = Events(monkeypatch)
    site.write({"a.html": PAGE.format("other")}).build(serve__freshness="strict")
    names = [event for event, values in events.events if event in ("commit", "output.sync")]
    assert names.index("output.sync") < names.index("commit")


def test_documents_are_synced_before_the_state_calls_them_current(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, replace, set_meta = os.fsync, os.replace, State.set_meta
    monkeypatch.setattr(os, "fsync", lambda file: (order.append("fsync"), fsync(file))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (order.append(os.path.basename(new)), replace(old, new))[1])
    monkeypatch.setattr(State, "set_meta", lambda *values: (order.append(values[1]), set_meta(*values))[1])
    site.write({"a.html": PAGE.format("other")}).build()
    order = order[order.index("manifest.json") - 1 :]
    assert order[:5] == ["fsync", "manifest.json", "fsync", "report.html", "fsync"]
    assert "build" in order[5:]


# ---- syncs


def test_each_file_is_synced_where_there_is_no_call_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    synced: list[str] = []
    monkeypatch.setattr(core_sync, "_file_system_call", lambda: lambda _descriptor: errno.ENOSYS)
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.readlink(f"/proc/self/fd/{number}")))
    sync(str(tmp_path), [str(file), str(tmp_path), str(tmp_path / "gone"), str(file)])
    assert synced == [str(file), str(tmp_path)]


def test_a_disk_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_sync, "_file_system_call", lambda: lambda _descriptor: errno.EIO)
    with pytest.raises(OSError, match="Input/output error") as caught:
        sync(str(tmp_path), [])
    assert caught.value.filename == str(tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has a call for a whole file system")
def test_a_whole_file_system_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _number: pytest.fail("not file by file"))
    sync(str(tmp_path), [str(tmp_path)])


def test_a_durable_write_is_synced_before_it_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    monkeypatch.setattr(os, "fsync", lambda _number: order.append(file.exists()))
    order: list[bool] = []
    write_atomic(str(file), b"content")
    assert order == []
    file.unlink()
    write_atomic(str(file), b"content", durable=True)
    assert order == [False]


# ---- the simulation (benchmarks/power_loss.py)


def _operations(*rows: tuple[Any, ...]) -> list[Operation]:
    return [Operation(kind, tuple(values), number, number) for number, (kind, *values) in enumerate(rows)]


WRITE = (("enter", "tmp", 0), ("write", 0, 0, b"content"), ("rename", "tmp", "file", 0))


def _possible(rows: Sequence[tuple[Any, ...]], model: str) -> set[bytes | None]:
    """Return the contents that the file may have after a power loss; None where it is not there."""
    disks = (
        lose_power(Recording(Disk(), _operations(*rows), None), len(rows), model, random.Random(seed))  # type: ignore[arg-type]
        for seed in range(60)
    )
    return {bytes(disk.contents[0]) if "file" in disk.names else None for disk in disks}


@pytest.mark.parametrize("model", ["journal", "loose"])
def test_what_was_not_synced_may_be_lost(model: str) -> None:
    assert _possible(WRITE, model) == {None, b"", bytes(7), b"content"}


@pytest.mark.parametrize("model", ["journal", "loose"])
def test_what_was_synced_is_not_lost(model: str) -> None:
    assert _possible((*WRITE[:2], ("sync-file", 0), WRITE[2]), model) == {None, b"content"}
    assert _possible((*WRITE, ("sync-all",)), model) == {b"content"}


def test_a_journal_is_synced_as_a_whole() -> None:
    """The sync of any file writes all changes of names before it, and the contents of no other file."""
    other = (("enter", "other", 1), ("sync-file", 1))
    assert _possible((*WRITE, *other), "journal") == {b"", bytes(7), b"content"}
    assert None in _possible((*WRITE, *other), "loose")
    assert _possible((*WRITE, ("sync-directory", ".")), "loose") == {b"", bytes(7), b"content"}
