"""Recorded samples: a line of JSON each, which the rules of a daemon can be replayed on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.sensors.sample import SAMPLE_FIELDS, Sample


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Append a sample to a trace. Raises ``OSError``."""
    with path.open("a", encoding="ascii") as file:
        file.write(json.dumps(record) + "\n")


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the samples of a trace, each with its file and line. Raises ``UsageError`` for what is no sample."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _record(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: not JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("at"), int | float):
        raise UsageError(f"{place}: a sample is an object with a number at")
    return found


def read_trace(path: Path) -> Iterator[Sample]:
    """Yield the samples of the sensors in a trace of ``adaptc switch``. Raises ``UsageError``."""
    for place, found in read_records(path):
        values = {name: found[name] for name in SAMPLE_FIELDS if name in found}
        if not all(isinstance(value, int | float) for value in values.values()):
            raise UsageError(f"{place}: the fields of a sample are numbers: {', '.join(SAMPLE_FIELDS)}")
        yield Sample(**values)
