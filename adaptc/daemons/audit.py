"""The audit: every decision of a daemon with the rule and the inputs that it came from, as lines of JSON.

``audit-NAME.jsonl`` in the run directory grows to 8 MiB, then becomes ``.1`` and a new one begins: about 40,000
decisions each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

_LARGEST = 8 << 20
_TOGETHER = 1000  # lines that are written at once


@dataclass(frozen=True, slots=True)
class Audit:
    """The file of one daemon; None writes nothing (``--dry-run``)."""

    path: Path | None

    def write(self, at: float, event: str, **record: Any) -> None:
        """Append a line: ``at`` in seconds since the epoch, what happened, and what it came from.

        Raises ``OSError``.
        """
        self.write_all(at, event, [record])

    def write_all(self, at: float, event: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Append a line for each record. Raises ``OSError``."""
        if self.path is None:
            return
        head = {"at": round(at, 3), "event": event}
        lines = (json.dumps({**head, **record}, ensure_ascii=True) + "\n" for record in records)
        while part := "".join(islice(lines, _TOGETHER)):
            self._append(self.path, part)

    @staticmethod
    def _append(path: Path, lines: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        try:
            os.write(descriptor, lines.encode("ascii"))
            is_full = os.fstat(descriptor).st_size > _LARGEST
        finally:
            os.close(descriptor)
        if is_full:
            os.replace(path, f"{path}.1")


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with numbers cut to what is worth reading."""
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}
