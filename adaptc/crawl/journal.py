"""The log of a crawl: one JSON object a line for every request and every refused link."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

_KEPT = 1.0  # seconds that lines may wait in memory: what a killed crawl loses of its log
_string = json.encoder.encode_basestring_ascii


_WRITERS: dict[type, Callable[[Any], str]] = {str: _string, int: repr, float: repr}


def _written(value: Any) -> str:
    return _WRITERS.get(type(value), json.dumps)(value)


class Journal:
    """Appends to the log ``path``; a run that goes on from an interrupted one appends to the same file."""

    def __init__(self, path: Path, *, anew: bool) -> None:
        self._file: IO[str] = open(path, "w" if anew else "a", encoding="utf-8", buffering=1 << 16)  # noqa: SIM115
        self._flushed = time.monotonic()

    def write(self, decision: str, url: str, **fields: Any) -> None:
        """Write a line: what was decided on a URL, and what is known of it."""
        # json.dumps of the whole takes twice the time: it makes an encoder for each call
        known = "".join(f', "{name}": {_written(value)}' for name, value in fields.items() if value is not None)
        self._file.write(f'{{"url": {_string(url)}, "decision": "{decision}"{known}}}\n')
        now = time.monotonic()
        if now - self._flushed > _KEPT:
            self._file.flush()
            self._flushed = now

    def close(self) -> None:
        """Close the file."""
        self._file.close()
