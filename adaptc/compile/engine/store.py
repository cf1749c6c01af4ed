"""The cache: a content-addressed store of artifacts, shared between levels, runs and machines.

``objects/`` holds bytes, each under the key of what it is: the digest of its content, or the digest of a recipe and
its input. Same key, same bytes. ``records/`` holds small JSON values by key. Files appear by rename and are
read-only: trees hold hard links to them. Writers need no lock: two that make the same key make the same bytes.

The time of an object comes from its key and not from the clock. Servers make an entity tag of a file's size and its
time, nginx of whole seconds; two versions of a page that had both in common would be answered with a wrong 304 (RFC
9110, section 8.8.3). It also makes tags equal on all machines that serve the same bytes.

A cache may have been cut short or written over, and goes into trees as it is: who takes something out verifies it
(``content``, or by decoding it), and who puts something in compares it with what is there.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptc.core.digest import digest_bytes
from adaptc.core.fs import READ_ONLY, write_atomic


class Store:
    """An artifact store in a directory, which is made when missing. Raises ``OSError`` when it cannot be written."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)

    def object_path(self, key: str) -> str:
        """Return where the object of ``key`` stands, or would stand."""
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
            path = self.object_path(key)
            _make_directory(path)
            write_atomic(path, content, READ_ONLY, mtime=time_of(key))
        return key

    def put_chunks(self, chunks: Iterator[bytes], digest: str, size: int) -> None:
        """Store content that is too large to hold; what is there of the right size is left alone."""
        path = self.object_path(digest)
        with contextlib.suppress(FileNotFoundError):
            if os.stat(path).st_size == size:
                return
        _make_directory(path)
        write_atomic(path, chunks, READ_ONLY, mtime=time_of(digest))

    def record(self, key: str) -> Any:
        """Return the record of ``key``, or ``None``."""
        try:
            with open(self._record_path(key), "rb") as file:
                return json.load(file)
        except (FileNotFoundError, ValueError):
            return None

    def put_record(self, key: str, value: Any) -> None:
        """Store a JSON value under ``key``."""
        path = self._record_path(key)
        _make_directory(path)
        write_atomic(path, json.dumps(value, separators=(",", ":")).encode("utf-8"))

    def _record_path(self, key: str) -> str:
        return f"{self.root}/records/{key[:2]}/{key[2:]}"

    def collect(self, limit: int) -> int:
        """Remove what no tree links to, least recently used first, down to ``limit`` bytes; return the bytes freed.

        Files that a tree holds cost nothing here and stay. A record whose object went is a miss, nothing worse.
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


# From 2001 on, and never in the future: a server does not make a tag or a date of a time to come.
_FIRST_TIME, _TIMES = 1_000_000_000, 500_000_000


def time_of(key: str) -> int:
    """Return the time of an object in seconds, which its key makes."""
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


def _make_directory(path: str) -> None:
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        os.makedirs(directory, exist_ok=True)
