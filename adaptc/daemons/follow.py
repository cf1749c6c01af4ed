"""Follows a growing log file: new lines, rotation by renaming, truncation, and a restart of the daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from adaptc.core.values import dataclass

_CHUNK = 1 << 20
_LONGEST = 1 << 18  # bytes of a line; a longer one is no line of a log


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a log was read: which file it was, and the offset of the first line that was not read."""

    device: int
    inode: int
    offset: int


class Follower:
    """Reads what is new in ``path`` at each call of ``lines``.

    Renaming (logrotate's default) is noticed by the inode: the old file is read to its end first. A file that is
    shorter than what was read was truncated (copytruncate) and is read from its start. With a ``mark`` reading goes on
    where it ended, in ``PATH.1`` too if the file was rotated meanwhile.
    """

    def __init__(self, path: Path, mark: Mark | None = None) -> None:
        self.path = path
        self.is_behind = False
        self._file: BinaryIO | None = None
        self._rest = b""
        if mark is not None:
            self._resume(mark)

    @property
    def mark(self) -> Mark | None:
        """How far the log was read; None before it was there."""
        if self._file is None:
            return None
        status = os.fstat(self._file.fileno())
        return Mark(status.st_dev, status.st_ino, self._file.tell() - len(self._rest))

    def _resume(self, mark: Mark) -> None:
        for path in (self.path, Path(f"{self.path}.1")):
            with suppress(OSError):
                status = path.stat()
                if (status.st_dev, status.st_ino) == (mark.device, mark.inode) and status.st_size >= mark.offset:
                    self._file = path.open("rb")
                    self._file.seek(mark.offset)
                    return

    def lines(self, most: int) -> Iterator[str]:
        """Yield new lines without their ends, up to about ``most`` bytes of them. Raises ``OSError``.

        ``is_behind`` says afterwards whether there may be more.
        """
        self.is_behind = False
        while most > 0 and (self._file is not None or self._open()):
            chunk = self._read()
            if chunk:
                most -= len(chunk)
                yield from self._split(chunk)
            elif not self._turn():
                return
        self.is_behind = most <= 0

    def _open(self) -> bool:
        with suppress(FileNotFoundError):
            self._file = self.path.open("rb")
            self._rest = b""
            return True
        return False

    def _read(self) -> bytes:
        assert self._file is not None
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)
            self._rest = b""
        return self._file.read(_CHUNK)

    def _turn(self) -> bool:
        """At the end of the file: whether another file has its name now, which is then to be read."""
        assert self._file is not None
        ours = os.fstat(self._file.fileno())
        try:
            named = self.path.stat()
        except FileNotFoundError:  # between two steps of a rotation
            return False
        if (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino):
            return False
        self.close()
        return self._open()

    def _split(self, chunk: bytes) -> Iterator[str]:
        whole, newline, last = (self._rest + chunk).rpartition(b"\n")
        self._rest = last if len(last) <= _LONGEST else b""
        if newline:
            yield from whole.decode("utf-8", "surrogateescape").split("\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
