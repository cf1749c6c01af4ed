"""One build at a time in one output directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OutputBusy(Exception):
    """Another build holds the output directory."""


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


@contextmanager
def output_lock(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; the kernel frees it however this process ends. Raises ``OutputBusy``."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputBusy(f"another build is writing to {path.parent.parent}") from None
        yield
    finally:
        os.close(descriptor)
