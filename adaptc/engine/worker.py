"""The functions that run in worker processes: they load a snapshot once and then take units in batches."""

from __future__ import annotations

import os
import threading
import time
from functools import lru_cache
from pathlib import Path

from adaptc.analyse.facts import Facts, gather
from adaptc.engine.results import UnitResult
from adaptc.engine.snapshot import Snapshot
from adaptc.engine.workshop import Workshop
from adaptc.digest import digest_bytes
from adaptc.fs import ChangedWhileRead

# Seconds between two looks at whether the build is still there
_PARENT_CHECK = 1.0


def start_worker() -> None:
    """Make this worker end when the build that started it was killed."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK)
    os._exit(1)


@lru_cache(maxsize=1)
def _workshop(snapshot: str) -> Workshop:
    return Workshop(Snapshot.load(Path(snapshot)))


def gather_batch(snapshot: str, paths: tuple[str, ...]) -> list[tuple[str, Facts | str]]:
    """Return (path, facts) for each source, or (path, reason) where it cannot be read."""
    workshop = _workshop(snapshot)
    return [(path, _gathered(workshop, path)) for path in paths]


def _gathered(workshop: Workshop, path: str) -> Facts | str:
    source = workshop.site.sources[path]
    try:
        content = workshop.tree.read(path)
    except ChangedWhileRead:
        return "it changed while it was read"
    except OSError as error:
        return error.strerror or str(error)
    if source.size > workshop.snapshot.max_file_bytes:
        return Facts(digest_bytes(content))
    return gather(path, content, source.media_type, workshop.site)


def build_batch(snapshot: str, units: tuple[tuple[str, str], ...]) -> list[UnitResult]:
    """Build and publish units; return their results in order."""
    workshop = _workshop(snapshot)
    return [workshop.build(level, path) for level, path in units]
