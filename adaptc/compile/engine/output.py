"""One build at a time in one output directory.

The times of sources, for servers that compare them: ``times/PATH`` is an empty file with the time of PATH's source.

A server that is strict sends a variant only while the source has exactly the time that it had when the variants were
made, so that a source that was edited, or replaced by an older copy that kept its time, shows at once. Variants cannot
carry that time: theirs make entity tags (``store.py``), and sources of equal content share one file.

The order makes it safe: what a changed source made stale leaves the trees before its time is noted, so that between
the two, and where a build is killed, originals are sent.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from adaptc.core.diagnostics import Busy
from adaptc.core.fs import lock_file, remove, remove_empty_directories
from adaptc.core.model import Resource


def wait_for_workers(path: Path) -> None:
    """Wait until no worker of a killed build holds the lock file ``path``: it might still publish something old."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def hold_as_worker(path: str) -> None:
    """Hold the lock file ``path`` together with other workers for as long as this process lives."""
    fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), fcntl.LOCK_SH)


def output_lock(path: Path) -> AbstractContextManager[None]:
    """Hold the lock file ``path`` of an output directory. Raises ``Busy``."""
    return lock_file(path, Busy(f"another build is writing to {path.parent.parent}"))


TIMES = "times"

# No file can have this name here, or a file that was there before stands in its way: its original is sent.
_REFUSED = (errno.ENAMETOOLONG, errno.EILSEQ, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


class SourceTimes:
    """The times below one output. Raises ``OSError`` when they cannot be written."""

    def __init__(self, output: Path) -> None:
        self.root = os.path.join(os.path.abspath(output), TIMES)

    def record(self, resources: Iterable[Resource]) -> None:
        """Note the times of sources; one that may change again without another time has none (``racily_clean``)."""
        for resource in resources:
            if resource.mtime_ns < 0:
                self._forget(resource.path)
            else:
                self._note(resource)

    def forget(self, paths: Iterable[str]) -> None:
        """Forget the times of sources that are gone."""
        for path in paths:
            self._forget(path)

    def replace(self, resources: Iterable[Resource]) -> None:
        """Note the times of these sources and of no others."""
        known = {resource.path: resource for resource in resources}
        self.forget([path for path in self._paths() if path not in known])
        self.record(known.values())

    def _paths(self) -> Iterable[str]:
        for directory, _, names in os.walk(self.root):
            yield from (os.path.relpath(os.path.join(directory, name), self.root) for name in names)

    def _note(self, resource: Resource) -> None:
        file = f"{self.root}/{resource.path}"
        times = (resource.mtime_ns, resource.mtime_ns)
        try:
            os.utime(file, ns=times)
        except FileNotFoundError:
            self._make(file, times)
        except OSError as error:
            _let_pass(error)

    def _make(self, file: str, times: tuple[int, int]) -> None:
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o644))
            os.utime(file, ns=times)
        except OSError as error:
            _let_pass(error)

    def _forget(self, path: str) -> None:
        file = f"{self.root}/{path}"
        if remove(file):
            remove_empty_directories(os.path.dirname(file), self.root)


def _let_pass(error: OSError) -> None:
    if error.errno not in _REFUSED:
        raise error


PRIVATE = ".adaptc"
