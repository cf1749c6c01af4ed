"""The log of a crawl: one JSON object a line for every request and every refused link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any


class Journal:
    """Appends to the log ``path``; a run that goes on from an interrupted one appends to the same file."""

    def __init__(self, path: Path, *, anew: bool) -> None:
        self._file: IO[str] = open(path, "w" if anew else "a", encoding="utf-8", buffering=1 << 16)  # noqa: SIM115

    def write(self, decision: str, url: str, **fields: Any) -> None:
        """Write a line: what was decided on a URL, and what is known of it."""
        record = {
            "url": url,
            "decision": decision,
            **{name: value for name, value in fields.items() if value is not None},
        }
        self._file.write(json.dumps(record) + "\n")

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
