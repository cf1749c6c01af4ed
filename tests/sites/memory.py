"""A docroot in memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping

from adaptc.core.fs import Entry


class MemoryTree:
    """A docroot in memory: ``files`` maps paths to contents and may be changed."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def list_directory(self, path: str) -> list[Entry]:
        prefix = path + "/" if path else ""
        names: dict[str, Entry] = {}
        for name, content in self.files.items():
            if name.startswith(prefix):
                child, _, rest = name[len(prefix) :].partition("/")
                kind = "directory" if rest else "file"
                mode = 0o755 if rest else 0o644
                names[child] = Entry(prefix + child, kind, 0 if rest else len(content), mode=mode)
        return [names[name] for name in sorted(names)]

    def status(self, path: str) -> Entry:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return Entry(path, "file", len(self.files[path]))

    def real_path(self, path: str) -> str | None:
        return self.status(path).path

    def read(self, path: str) -> bytes:
        self.status(path)
        return self.files[path]

    def chunks(self, path: str) -> Iterator[bytes]:
        yield self.read(path)

    def read_start(self, path: str, size: int) -> bytes:
        return self.read(path)[:size]
