"""Work for worker processes that fails as the names of its units say; a module of its own, so that it loads quickly."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator


def fragile(_snapshot: str, batch: tuple[str, ...]) -> Iterator[str]:
    """Build each unit, which does what its name says."""
    for unit in batch:
        if unit == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if unit == "exits":
            os._exit(1)
        if unit == "stuck":
            threading.Event().wait()
        if unit == "endless":
            sum(range(1 << 62))  # in C, which looks at no signal
        if unit.startswith("short"):
            raise MemoryError
        if unit == "wrong":
            raise LookupError("a bug")
        yield os.environ[unit.removeprefix("$")] if unit.startswith("$") else unit
