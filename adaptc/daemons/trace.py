"""Recorded samples: a line of JSON each, which the rules of a daemon can be replayed on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.sensors.panel import Sample, sample_of


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Append a sample to a trace. Raises ``OSError``."""
    with path.open("a", encoding="ascii") as file:
        file.write(json.dumps(record) + "\n")


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the samples of a trace, each with its file and line. Raises ``UsageError``."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _record(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        record: Any = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: not JSON: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("at"), int | float):
        raise UsageError(f"{place}: a sample is an object with a number at")
    return record


def read_trace(path: Path) -> Iterator[Sample]:
    """Yield the samples of the sensors in a trace of ``adaptc switch``. Raises ``UsageError``."""
    for place, record in read_records(path):
        try:
            yield sample_of(record)
        except TypeError as error:
            raise UsageError(f"{place}: {error}") from None
