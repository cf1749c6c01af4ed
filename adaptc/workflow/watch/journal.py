"""What the watcher reports: each event as a line of text and a line of JSON, and its status file.

The status file is ``OUT/run/watch.json``, which ``adaptc status`` reads.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from adaptc.daemons.run_directory import RunDirectory

NAME = "watch.json"
# Seconds between two writes, by a thread of its own, since a build may take minutes
EVERY = 1.0
_ERRORS = frozenset({"failed", "diagnostic"})
_CLEAR = "\r\x1b[K"


class Journal:
    """Reports events.

    ``print_line`` prints a line for people; ``records`` get lines of JSON; on a ``terminal`` a last line shows the
    current state; ``status_file`` is kept up to date.
    """

    def __init__(
        self, print_line: Callable[[str], None], records: list[IO[str]], terminal: IO[str] | None = None
    ) -> None:
        self._print_line, self._records, self._terminal, self._state = print_line, records, terminal, ""
        self.status_file = StatusFile()
        self._lock = threading.Lock()

    def report(self, event: str, sentence: str, **values: Any) -> None:
        """Report an event: its name, a sentence, and its values."""
        now = time.time()
        self._write(_CLEAR)
        self._print_line(f"{time.strftime('%H:%M:%S', time.localtime(now))} {sentence}")
        self._write(_CLEAR + self._state)
        self.status_file.add_event(event, sentence)
        self.record(event, sentence=sentence, **values)

    def record(self, event: str, **values: Any) -> None:
        """Report an event as JSON only; any thread may call this."""
        line = json.dumps({"at": round(time.time(), 4), "event": event, **values}, ensure_ascii=True)
        with self._lock:
            for stream in self._records:
                stream.write(line + "\n")
                stream.flush()

    def set_state(self, sentence: str) -> None:
        """Show what the watcher does now."""
        self._state = sentence
        self.status_file.set_state(sentence)
        self._write(_CLEAR + sentence)

    def _write(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write(text)
            self._terminal.flush()


def open_log(path: Path) -> IO[str]:
    """Open a log of events to append to. Raises ``OSError``."""
    return path.open("a", encoding="ascii")


class StatusFile:
    """The state of a watcher, its last event, and the errors since it began. Threads may share it.

    A file that cannot be written (``run`` may belong to another user, or be a link to a directory that does not exist
    yet) does not stop the watcher; the next file that is written has the number of failures.
    """

    def __init__(self) -> None:
        """Begin without a file to write."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._output: Path | None = None
        self._values: dict[str, Any] = {"state": "starting", "errors": 0}

    def open(self, output: Path, docroot: str) -> None:
        """Write to the run directory of ``output`` from now on, until it is closed."""
        self._output, self._stop = output, threading.Event()
        self._note({"docroot": docroot})
        threading.Thread(target=self._repeat, args=(self._stop,), name="status-file", daemon=True).start()

    def close(self) -> None:
        """Write that the watcher stopped, and nothing after that."""
        self._stop.set()
        with self._lock:
            self._write_now(stopped=True)
            self._output = None

    def set_state(self, sentence: str) -> None:
        """Note the current state."""
        if sentence != self._values["state"]:
            self._note({"state": sentence, "state_at": time.time()})
            self._write()

    def add_event(self, name: str, sentence: str) -> None:
        """Note an event; it is written with the next state, or within a second."""
        now = time.time()
        self._note({"event": sentence, "event_at": now})
        if name in _ERRORS:
            self._note({"errors": self._values["errors"] + 1, "error": sentence, "error_at": now})

    def _note(self, values: dict[str, Any]) -> None:
        with self._lock:
            self._values |= values

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
            RunDirectory.of(self._output).write_json(NAME, {**head, **self._values, **more})
        except OSError:
            self._values["unwritten"] = self._values.get("unwritten", 0) + 1
