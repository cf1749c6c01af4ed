"""The functions that run in worker processes: they load a snapshot once and then take units in batches."""

from __future__ import annotations

import os
import signal
import threading
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path

from adaptc.compile.analyse.facts import Facts
from adaptc.compile.analyse.gathering import gather
from adaptc.compile.engine.lock import hold_as_worker
from adaptc.compile.engine.results import UnitResult
from adaptc.compile.engine.snapshot import Snapshot
from adaptc.compile.engine.workshop import Workshop, failure
from adaptc.core.digest import digest_bytes, digest_chunks
from adaptc.core.fs import ChangedWhileRead


def start_worker(build: Connection, lock: str) -> None:
    """Make this worker end with the build: at once when the other end of the pipe ``build`` is closed.

    A new build waits for ``lock``, which is held until then. An interrupt from the keyboard, which goes to all
    processes, is for the build.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hold_as_worker(lock)
    threading.Thread(target=_end_with, args=(build,), daemon=True).start()


def _end_with(build: Connection) -> None:
    build.poll(None)
    os._exit(1)


@lru_cache(maxsize=1)
def _workshop(snapshot: str) -> Workshop:
    return Workshop(Snapshot.load(Path(snapshot)))


def gather_batch(snapshot: str, paths: tuple[str, ...]) -> list[tuple[str, Facts | str]]:
    """Return (path, facts) for each source, or (path, reason) where it cannot be read."""
    workshop = _workshop(snapshot)
    return [(path, gathered(workshop, path)) for path in paths]


def gathered(workshop: Workshop, path: str) -> Facts | str:
    """Return the facts of a source, or why it cannot be read."""
    try:
        return _facts(workshop, path)
    except ChangedWhileRead:
        return "it changed while it was read"
    except OSError as error:
        return error.strerror or str(error)


def _facts(workshop: Workshop, path: str) -> Facts:
    source = workshop.site.sources[path]
    if source.size > workshop.snapshot.max_file_bytes:
        return Facts(digest_chunks(workshop.tree.chunks(path)))
    content = workshop.tree.read(path)
    try:
        return gather(path, content, source.media_type, workshop.site)
    except Exception as bug:  # as in Workshop: one page must not cost the others
        return Facts(digest_bytes(content), diagnostics=(failure(path, "facts", bug),))


def build_batch(snapshot: str, units: tuple[tuple[str, str], ...]) -> list[UnitResult]:
    """Build and publish units; return their results in order."""
    workshop = _workshop(snapshot)
    return [workshop.build(level, path) for level, path in units]


def make_batch(snapshot: str, units: tuple[tuple[str, str], ...]) -> list[UnitResult]:
    """Build units into the cache, for who publishes them; return their results in order."""
    workshop = _workshop(snapshot)
    return [workshop.make(level, path) for level, path in units]
