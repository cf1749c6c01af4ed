"""What the watcher tells: a line for people, and a line of JSON for programs, for every event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


class Journal:
    """Tells events. ``say`` prints a line for people; ``records`` get JSON lines."""

    def __init__(self, say: Callable[[str], None], records: list[IO[str]]) -> None:
        self._say, self._records = say, records

    def tell(self, event: str, sentence: str, **values: Any) -> None:
        """Tell an event: its name, in words, and what it is made of."""
        now = time.time()
        self._say(f"{time.strftime('%H:%M:%S', time.localtime(now))} {sentence}")
        line = json.dumps({"at": round(now, 3), "event": event, **values}, ensure_ascii=True)
        for record in self._records:
            record.write(line + "\n")
            record.flush()


def open_log(path: Path) -> IO[str]:
    """Open a log of events to append to. Raises ``OSError``."""
    return path.open("a", encoding="ascii")
