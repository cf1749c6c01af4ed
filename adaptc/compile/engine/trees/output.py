"""The output directory: its private directory, its locks, and the times of sources.

One build at a time writes to an output. Strict servers compare times: ``times/PATH`` is an empty file with the
modification time of the source PATH, and a server sends a variant only while the source has exactly that time. So an
edited source, or one replaced by an older copy that kept its time, is noticed at once. Variants cannot carry that time:
their times make entity tags (``store.py``), and sources of equal content share one file.

The order makes it safe: outdated files are removed from the trees before the time of their source is recorded, so that
originals are sent in between, and after a build that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from adaptc.core.diagnostics import Busy
from adaptc.core.fs import lock_file, refuse_outward, remove, remove_empty_directories
from adaptc.core.model import Resource
from adaptc.core.sync import sync


def wait_for_workers(path: Path) -> None:
    """Wait until no worker of a killed build holds the lock file ``path``: it might still publish outdated files."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def hold_as_worker(path: str) -> None:
    """Hold the lock file ``path`` together with other workers for as long as this process lives."""
    fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), fcntl.LOCK_SH)


def output_lock(path: Path) -> AbstractContextManager[object]:
    """Hold the lock file ``path`` of an output directory. Raises ``Busy``."""
    return lock_file(path, Busy(f"another build is writing to {path.parent.parent}"))


TIMES = "times"

# The name is not possible here, or a former file blocks it: the original is sent.
_REFUSED = (errno.ENAMETOOLONG, errno.EILSEQ, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


class SourceTimes:
    """The times below one output. Raises ``OSError`` when they cannot be written."""

    def __init__(self, output: Path) -> None:
        self.root = os.path.join(os.path.abspath(output), TIMES)
        self._own: set[str] = set()  # directories that no link leads out of

    def record(self, resources: Iterable[Resource]) -> None:
        """Record the times of sources, except those that may change again in the same clock tick (``racily_clean``).

        They are on the disk when this returns: a time that was lost would never be recorded again.
        """
        written = []
        for resource in resources:
            if resource.mtime_ns < 0:
                self._forget(resource.path)
            else:
                written.append(self._record(resource))
        if written:
            sync(self.root, (*written, *map(os.path.dirname, written)))

    def forget(self, paths: Iterable[str]) -> None:
        """Remove the times of sources that are gone."""
        for path in paths:
            self._forget(path)

    def replace(self, resources: Iterable[Resource]) -> None:
        """Record the times of these sources and remove all others."""
        known = {resource.path: resource for resource in resources}
        self.forget([path for path in self._paths() if path not in known])
        self.record(known.values())

    def _paths(self) -> Iterable[str]:
        for directory, _, names in os.walk(self.root):
            yield from (os.path.relpath(os.path.join(directory, name), self.root) for name in names)

    def _record(self, resource: Resource) -> str:
        file = f"{self.root}/{resource.path}"
        self._refuse_outward(file)
        times = (resource.mtime_ns, resource.mtime_ns)
        try:
            os.utime(file, ns=times)
        except FileNotFoundError:
            self._create(file, times)
        except OSError as error:
            _raise_unless_refused(error)
        return file

    def _refuse_outward(self, file: str) -> None:
        directory = os.path.dirname(file)
        if directory not in self._own:
            refuse_outward(directory, os.path.dirname(self.root))
            self._own.add(directory)

    def _create(self, file: str, times: tuple[int, int]) -> None:
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o644))
            os.utime(file, ns=times)
        except OSError as error:
            _raise_unless_refused(error)

    def _forget(self, path: str) -> None:
        file = f"{self.root}/{path}"
        self._refuse_outward(file)
        if remove(file):
            remove_empty_directories(os.path.dirname(file), self.root)


def _raise_unless_refused(error: OSError) -> None:
    if error.errno not in _REFUSED:
        raise error
