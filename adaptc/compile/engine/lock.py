"""One build at a time in one output directory."""

from __future__ import annotations

import fcntl
import os
from contextlib import AbstractContextManager
from pathlib import Path

from adaptc.core.diagnostics import Busy
from adaptc.core.fs import lock_file


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
