"""One build at a time in one output directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OutputBusy(Exception):
    """Another build holds the output directory."""


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
