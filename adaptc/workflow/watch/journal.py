"""What the watcher tells: a line for people, and a line of JSON for programs, for every event."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from adaptc.workflow.watch.standing import Standing

_CLEAR = "\r\x1b[K"


class Journal:
    """Tells events. ``say`` prints a line for people; ``records`` get JSON lines; a ``terminal`` has a line that says
    what is going on; ``standing`` is kept up to date."""

    def __init__(self, say: Callable[[str], None], records: list[IO[str]], terminal: IO[str] | None = None) -> None:
        self._say, self._records, self._terminal, self._status = say, records, terminal, ""
        self.standing = Standing()
        self._lock = threading.Lock()

    def tell(self, event: str, sentence: str, **values: Any) -> None:
        """Tell an event: its name, in words, and what it is made of."""
        now = time.time()
        self._write(_CLEAR)
        self._say(f"{time.strftime('%H:%M:%S', time.localtime(now))} {sentence}")
        self._write(_CLEAR + self._status)
        self.standing.event(event, sentence)
        self.record(event, sentence=sentence, **values)

    def record(self, event: str, **values: Any) -> None:
        """Tell an event to programs only; other threads may."""
        line = json.dumps({"at": round(time.time(), 4), "event": event, **values}, ensure_ascii=True)
        with self._lock:
            for one in self._records:
                one.write(line + "\n")
                one.flush()

    def status(self, sentence: str) -> None:
        """Say what is going on."""
        self._status = sentence
        self.standing.state(sentence)
        self._write(_CLEAR + sentence)

    def _write(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write(text)
            self._terminal.flush()


def open_log(path: Path) -> IO[str]:
    """Open a log of events to append to. Raises ``OSError``."""
    return path.open("a", encoding="ascii")
