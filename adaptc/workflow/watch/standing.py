"""How the watcher stands: ``OUT/run/watch.json``, which ``adaptc status`` reads."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from adaptc.daemons.run_directory import RunDirectory

NAME = "watch.json"
# Seconds between two writes: a thread of its own does it, since a build may take minutes
EVERY = 1.0
_ERRORS = frozenset({"failed", "diagnostic"})


class Standing:
    """What a watcher does now, what happened last, and what went wrong since it began. Threads may share it.

    A file that cannot be written (``run`` may be another user's, or a link to what is not there yet) costs nobody the
    watcher; the next one says how many there were.
    """

    def __init__(self) -> None:
        """Begin, without a place to write to."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._output: Path | None = None
        self._said: dict[str, Any] = {"state": "starting", "errors": 0}

    def open(self, output: Path, docroot: str) -> None:
        """Write to the run directory of ``output`` from now on, until it is closed."""
        self._output, self._stop = output, threading.Event()
        self._note({"docroot": docroot})
        threading.Thread(target=self._repeat, args=(self._stop,), name="standing", daemon=True).start()

    def close(self) -> None:
        """Write that the watcher stopped, and nothing after it."""
        self._stop.set()
        with self._lock:
            self._write_now(stopped=True)
            self._output = None

    def state(self, sentence: str) -> None:
        """Note what the watcher does now."""
        if sentence != self._said["state"]:
            self._note({"state": sentence, "state_at": time.time()})
            self._write()

    def event(self, name: str, sentence: str) -> None:
        """Note what happened; it is written with the next state, or within a second."""
        now = time.time()
        self._note({"event": sentence, "event_at": now})
        if name in _ERRORS:
            self._note({"errors": self._said["errors"] + 1, "error": sentence, "error_at": now})

    def _note(self, values: dict[str, Any]) -> None:
        with self._lock:
            self._said |= values

    def _repeat(self, stop: threading.Event) -> None:
        self._write()
        while not stop.wait(EVERY):
            self._write()

    def _write(self) -> None:
        with self._lock:
            self._write_now()

    def _write_now(self, **more: Any) -> None:
        if self._output is None:
            return
        head = {"daemon": "watch", "pid": os.getpid(), "at": round(time.time(), 3), "interval": EVERY}
        try:
            RunDirectory.of(self._output).write_json(NAME, {**head, **self._said, **more})
        except OSError:
            self._said["unwritten"] = self._said.get("unwritten", 0) + 1
