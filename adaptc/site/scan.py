"""A scan of a docroot: a digest of what ``lstat`` reports of everything in it, at three microseconds a file.

Equal digests mean that loading the docroot again would find what it found before, so that a build or check of
100,000 files with nothing to do need not.
"""

from __future__ import annotations

import os
import stat
from array import array
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from adaptc.core.fs import open_directory
from adaptc.site.docroot import Selection

if TYPE_CHECKING:
    from hashlib import _Hash


@dataclass(frozen=True, slots=True)
class DocrootScan:
    """The digest of a docroot, and the times of its files in ns since 1970."""

    digest: str
    times: array[int]


def scan_directory(root: str, selection: Selection) -> DocrootScan | None:
    """Scan the files of ``root`` that ``selection`` has, and hidden ones next to them; ``None`` if some are unreadable.

    Of a symbolic link it is the identity of its target that counts, too.
    """
    matcher, total, times = selection.matcher(), sha256(), array("q")
    pending = [""]
    try:
        while pending:
            directory = pending.pop()
            inner = _scan_directory(f"{root}/{directory}" if directory else root, total, times)
            places = (f"{directory}/{name}" if directory else name for name in inner)
            pending.extend(place for place in places if not matcher.fullmatch(place))
    except OSError:
        return None
    return DocrootScan(total.hexdigest(), times)


def _scan_directory(path: str, total: _Hash, times: array[int]) -> list[str]:
    """Add a directory to ``total`` and ``times``; return the directories in it. Raises ``OSError``."""
    with open_directory(path) as descriptor, os.scandir(descriptor) as entries:
        found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        inner, values = [], array("Q")
        for name, status in found:
            mode = status.st_mode
            if stat.S_ISDIR(mode):
                inner.append(name)
                values.append(mode)
                continue
            times.append(status.st_mtime_ns)
            values.extend((mode, status.st_size, status.st_mtime_ns & _MASK, status.st_ino))
            if stat.S_ISLNK(mode):
                values.extend(_target(name, descriptor))
    total.update(os.fsencode("/".join(name for name, _ in found)) + b"//" + values.tobytes())
    return inner


_MASK = (1 << 64) - 1  # a time before 1970 is negative


def _target(name: str, descriptor: int) -> tuple[int, ...]:
    try:
        status = os.stat(name, dir_fd=descriptor)
    except OSError as error:
        return (error.errno or 0,)
    return (status.st_mode, status.st_size, status.st_mtime_ns & _MASK, status.st_dev & _MASK, status.st_ino)
