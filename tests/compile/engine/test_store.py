"""The cache: same key, same bytes, whatever happened to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adaptc.compile.engine.cache.store import Store
from adaptc.core.digest import digest_bytes


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def test_content_is_kept_under_its_digest(store: Store) -> None:
    key = store.put(b"content")
    assert key == digest_bytes(b"content")
    assert store.has(key)
    assert store.read(key) == store.content(key) == b"content"
    assert os.stat(store.object_path(key)).st_mode & 0o777 == 0o444


def test_content_is_kept_under_a_recipe(store: Store) -> None:
    assert store.put(b"encoded", "ab" * 32) == "ab" * 32
    assert store.read("ab" * 32) == b"encoded"


def test_what_is_not_there(store: Store) -> None:
    assert not store.has("ab" * 32)
    assert store.read("ab" * 32) is store.content("ab" * 32) is store.record("ab" * 32) is None


def test_what_is_there_is_left_alone(store: Store) -> None:
    key = store.put(b"content")
    before = os.stat(store.object_path(key))
    store.put(b"content")
    store.put_chunks(iter([b"never looked at"]), key)
    assert os.stat(store.object_path(key)).st_ino == before.st_ino


@pytest.mark.parametrize("damage", [b"", b"conten", b"CONTENT"])
def test_what_is_damaged_is_written_anew(store: Store, damage: bytes) -> None:
    key = store.put(b"content")
    path = Path(store.object_path(key))
    path.chmod(0o644)
    path.write_bytes(damage)
    assert store.content(key) is None
    store.put(b"content")
    assert store.content(key) == b"content"
    path.chmod(0o644)
    path.write_bytes(damage)
    store.put_chunks(iter([b"con", b"tent"]), key)
    assert store.content(key) == b"content"


def test_content_in_chunks(store: Store) -> None:
    key = digest_bytes(b"content")
    store.put_chunks(iter([b"con", b"tent"]), key)
    assert store.content(key) == b"content"
    Path(store.object_path(key)).unlink()
    with pytest.raises(RuntimeError):
        store.put_chunks((_raise() for _ in "x"), key)
    assert not store.has(key)


def _raise() -> bytes:
    raise RuntimeError


def test_records(store: Store, tmp_path: Path) -> None:
    key = "cd" * 32
    store.put_record(key, {"content": None, "names": ["ü", "\udcff"]})
    assert store.record(key) == {"content": None, "names": ["ü", "\udcff"]}
    (tmp_path / "cache/records/cd" / key[2:]).write_text('{"content": nul')
    assert store.record(key) is None


def test_the_least_recently_used_go_first(store: Store) -> None:
    keys = [store.put(bytes([number]) * 100) for number in range(5)]
    for age, key in enumerate(keys):
        os.utime(store.object_path(key), (1000 - age, 1000 - age))
    assert store.collect(250) == 300
    assert [store.has(key) for key in keys] == [True, True, False, False, False]
    assert store.collect(250) == 0


def test_what_was_read_lately_stays(store: Store) -> None:
    old, new = store.put(b"a" * 100), store.put(b"b" * 100)
    os.utime(store.object_path(new), (500, 500))
    os.utime(store.object_path(old), (900, 100))
    store.collect(100)
    assert (store.has(old), store.has(new)) == (True, False)


def test_what_a_tree_holds_costs_nothing_and_stays(store: Store, tmp_path: Path) -> None:
    held, free = store.put(b"a" * 100), store.put(b"b" * 100)
    os.link(store.object_path(held), tmp_path / "published")
    assert store.collect(0) == 100
    assert (store.has(held), store.has(free)) == (True, False)


def test_a_cache_that_is_not_there_is_collected(store: Store) -> None:
    assert store.collect(0) == 0
