"""The cache: a content-addressed store of artifacts, shared between levels, runs and machines.

``objects/`` holds bytes, each under the key of what it is: the digest of its content, or the digest of a recipe and
its input. Same key, same bytes. ``records/`` holds JSON values by key, after their digests. Files appear by rename
and are read-only: trees hold hard links to them. Writers need no lock: two that make the same key make the same bytes.

The time of an object comes from its key and not from the clock. Servers make an entity tag of a file's size and its
time, nginx of whole seconds; two versions of a page that had both in common would be answered with a wrong 304 (RFC
9110, section 8.8.3). It also makes tags equal on all machines that serve the same bytes.

Files of a cache may be truncated or overwritten, and trees link to them. So readers verify what they read (``content``,
or by decoding it), and writers compare what is there with what they store.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptc.core.digest import digest_bytes, digest_file
from adaptc.core.fs import READ_ONLY, remove_drafts, write_atomic


class Store:
    """An artifact store in a directory, which is made when missing. Raises ``OSError`` when it cannot be written."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.drafts = f"{self.root}/drafts"

    def object_path(self, key: str) -> str:
        """Return the path of the object of ``key``, whether it exists or not."""
        return f"{self.root}/objects/{key[:2]}/{key[2:]}"

    def has(self, key: str) -> bool:
        """Whether there is an object of this key."""
        return os.path.exists(self.object_path(key))

    def read(self, key: str) -> bytes | None:
        """Return an object, or ``None``."""
        try:
            with open(self.object_path(key), "rb", buffering=0) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def content(self, digest: str) -> bytes | None:
        """Return the object of this digest, or ``None`` when there is none or it is damaged."""
        content = self.read(digest)
        return content if content is not None and digest_bytes(content) == digest else None

    def put(self, content: bytes, key: str | None = None) -> str:
        """Store ``content`` under ``key``, by default its digest; return the key."""
        key = key or digest_bytes(content)
        if self.read(key) != content:
            self._write(self.object_path(key), content, READ_ONLY, time_of(key))
        return key

    def put_chunks(self, chunks: Iterator[bytes], digest: str) -> None:
        """Store content that is too large for memory; an existing object that is as it should be is left alone."""
        path = self.object_path(digest)
        if digest_file(path) == digest:
            return
        self._write(path, chunks, READ_ONLY, time_of(digest))

    def record(self, key: str) -> Any:
        """Return the record of ``key``, or ``None`` when there is none or it is damaged."""
        digest, _, text = (self.raw_record(key) or b"").partition(b"\n")
        return json.loads(text) if digest_bytes(text).encode() == digest else None

    def put_record(self, key: str, value: Any) -> None:
        """Store a JSON value under ``key``."""
        text = json.dumps(value, separators=(",", ":")).encode("utf-8")
        self.put_raw_record(key, digest_bytes(text).encode() + b"\n" + text)

    def raw_record(self, key: str) -> bytes | None:
        """Return a record as it is stored, or ``None``."""
        try:
            with open(self._record_path(key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def put_raw_record(self, key: str, content: bytes) -> None:
        """Store what ``raw_record`` returned, of this or another store."""
        self._write(self._record_path(key), content)

    def _record_path(self, key: str) -> str:
        return f"{self.root}/records/{key[:2]}/{key[2:]}"

    def _write(self, path: str, chunks: Iterator[bytes] | bytes, mode: int = 0o644, mtime: int | None = None) -> None:
        for directory in (self.drafts, os.path.dirname(path)):
            if not os.path.isdir(directory):
                os.makedirs(directory, exist_ok=True)
        write_atomic(path, chunks, mode, mtime=mtime, drafts=self.drafts)

    def remove_drafts(self) -> None:
        """Remove what processes left that were killed as they wrote. Only processes of this machine may write."""
        if os.path.isdir(self.drafts):
            remove_drafts(self.drafts)

    def collect(self, limit: int) -> int:
        """Remove unlinked files, least recently used first, down to ``limit`` bytes; return the bytes freed.

        Files that a tree links to take no space of their own and stay. A record without its object is a cache miss.
        """
        files = sorted(_files(Path(self.root)))
        total = sum(size for _, size, _ in files)
        freed = 0
        for _, size, path in files:
            if total - freed <= limit:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
                freed += size
        return freed


# From 2001 on, and never in the future: servers make no entity tag or date of a future time.
_FIRST_TIME, _TIMES = 1_000_000_000, 500_000_000


def time_of(key: str) -> int:
    """Return the time of an object in seconds since 1970, derived from its key."""
    return _FIRST_TIME + zlib.crc32(key.encode()) % _TIMES


def _files(root: Path) -> list[tuple[float, int, str]]:
    """Return (time of last use, size, path) of the files that nothing else links to."""
    files = []
    for directory, _, names in os.walk(root):
        for name in names:
            path = f"{directory}/{name}"
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(path)
                if status.st_nlink == 1:
                    files.append((max(status.st_mtime, status.st_atime), status.st_size, path))
    return files


# How often a unit is built when another build that shares the cache removes its artifacts
TRIES = 4


class ObjectGone(Exception):
    """An artifact was removed from the cache before it was published, by another build that shares the cache."""


def cache_loses(cache: Path) -> OSError:
    """Return the error for a cache whose artifacts are gone whenever they are asked for."""
    return OSError(errno.EIO, "the cache loses what is stored in it", os.fspath(cache))
