"""Syncs: what is written reaches the disk before something is recorded, or served, that depends on it.

A file system writes contents and names in an order of its own. After a power loss a file may have its name and none of
its content, and a removed file may be back, unless a sync came between (``fsync``, POSIX). One sync of a whole file
system (``syncfs``, Linux) took 10 ms, for 1 file as for 500, where ``fsync`` took 6 ms a file. So work is synced in
batches, as OSTree does, and file by file only where there is no such call.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache


def sync(root: str, paths: Iterable[str]) -> bool:
    """Write ``paths``, files and directories, to their disk, or all of the file system of the directory ``root``.

    Returns whether it was all. Paths that do not exist are passed over: somebody removed them meanwhile. Raises
    ``OSError``.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        error = _file_system_call()(descriptor)
    finally:
        os.close(descriptor)
    if error == errno.ENOSYS:
        sync_each(paths)
    elif error:
        raise OSError(error, os.strerror(error), root)
    return not error


@cache
def _file_system_call() -> Callable[[int], int]:
    """Return a function that syncs the file system of a descriptor; it returns 0 or the number of an error."""
    call = None
    if sys.platform.startswith("linux"):
        import ctypes

        call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is None:
        return lambda _descriptor: errno.ENOSYS
    return lambda descriptor: ctypes.get_errno() if call(descriptor) else 0


def boot_id() -> str | None:
    """Return what identifies the time since the machine started, ``None`` where the system does not tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # random(4)
            return file.read().strip()
    except OSError:
        return None


def sync_each(paths: Iterable[str]) -> None:
    """Write files and directories to the disk; those that do not exist are passed over. Raises ``OSError``."""
    for path in dict.fromkeys(paths):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
                if sys.platform == "darwin":  # there, fsync hands the file to the disk's own cache only
                    fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            finally:
                os.close(descriptor)
