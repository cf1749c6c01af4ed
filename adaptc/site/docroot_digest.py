"""The digest of a docroot: of what ``lstat`` reports of everything in it, at three microseconds a file.

Equal digests mean that loading the docroot again would find what it found before, so that a build or check of
100,000 files with nothing to do need not. Where the digest of a directory is equal, that directory need not be read.
"""

from __future__ import annotations

import os
import stat
from array import array
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from adaptc.core.fs import open_directory
from adaptc.site.selection import Selection

if TYPE_CHECKING:
    from hashlib import _Hash


class PlainDirectory(NamedTuple):
    """A directory of files and directories that everybody may read, and nothing else.

    ``digest`` is that of what ``lstat`` reports, ``files`` the number of its files, ``inner`` the names of the
    directories in it, in order.
    """

    digest: str
    files: int
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocrootScan:
    """The digest of a docroot, the times of its files in ns since 1970, and its plain directories by path."""

    digest: str
    times: array[int]
    plain: dict[str, PlainDirectory] = field(default_factory=dict)


def scan_directory(root: str, selection: Selection) -> DocrootScan | None:
    """Scan the files of ``root`` that ``selection`` has, and hidden ones next to them; ``None`` if some are unreadable.

    Of a symbolic link it is the identity of its target that counts, too.
    """
    matcher, total, times, plain = selection.matcher(), sha256(), array("q"), dict[str, PlainDirectory]()
    pending = [""]
    try:
        while pending:
            directory = pending.pop()
            scanned, is_plain = _scan_directory(f"{root}/{directory}" if directory else root, total, times)
            if is_plain:
                plain[directory] = scanned
            places = (f"{directory}/{name}" if directory else name for name in scanned.inner)
            pending.extend(place for place in places if not matcher.fullmatch(place))
    except OSError:
        return None
    return DocrootScan(total.hexdigest(), times, plain)


def _scan_directory(path: str, total: _Hash, times: array[int]) -> tuple[PlainDirectory, bool]:
    """Add a directory to ``total`` and ``times``; return it, and whether it is plain. Raises ``OSError``."""
    with open_directory(path) as descriptor, os.scandir(descriptor) as entries:
        found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        inner, values, is_plain = [], array("Q"), True
        for name, status in found:
            mode = status.st_mode
            is_plain = is_plain and bool(mode & _OPEN.get(stat.S_IFMT(mode), 0))
            if stat.S_ISDIR(mode):
                inner.append(name)
                values.append(mode)
                continue
            times.append(status.st_mtime_ns)
            values.extend((mode, status.st_size, status.st_mtime_ns & _MASK, status.st_ino))
            if stat.S_ISLNK(mode):
                values.extend(_target(name, descriptor))
    content = os.fsencode("/".join(name for name, _ in found)) + b"//" + values.tobytes()
    total.update(content)
    return PlainDirectory(sha256(content).hexdigest(), len(found) - len(inner), tuple(inner)), is_plain


# The bits by which everybody may read a file, or search a directory
_OPEN = {stat.S_IFREG: stat.S_IROTH, stat.S_IFDIR: stat.S_IXOTH}
_MASK = (1 << 64) - 1  # a time before 1970 is negative


def _target(name: str, descriptor: int) -> tuple[int, ...]:
    try:
        status = os.stat(name, dir_fd=descriptor)
    except OSError as error:
        return (error.errno or 0,)
    return (status.st_mode, status.st_size, status.st_mtime_ns & _MASK, status.st_dev & _MASK, status.st_ino)
