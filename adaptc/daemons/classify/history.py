"""Logs that are complete: plain or gzip, read once from beginning to end."""

from __future__ import annotations

import gzip
import heapq
import sys
import zlib
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, cast

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.classify.hits import Hit, hits
from adaptc.formats.accesslog.parser import LineParser

_GZIP = b"\x1f\x8b"


def log_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log without their ends; ``-`` is standard input. A damaged gzip file ends where it is cut.

    Raises ``UsageError`` when the file cannot be opened.
    """
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            for line in _unpacked(cast(BinaryIO, file)):
                yield line.decode("utf-8", "surrogateescape").rstrip("\r\n")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return
    except OSError as error:
        raise UsageError(f"log {path} cannot be read ({error.strerror})") from error


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    first = file.readline()
    if not first.startswith(_GZIP):
        yield first
        yield from file
        return
    file.seek(0)
    yield from gzip.GzipFile(fileobj=file)


def read_history(
    paths: Sequence[Path], parser: LineParser, unacted: frozenset[str], skipped: list[int]
) -> Iterator[Hit]:
    """Yield the requests of logs, merged in the order of time; each log must be in order by itself."""
    logs = [hits(log_lines(path), parser, unacted, skipped) for path in paths]
    return logs[0] if len(logs) == 1 else heapq.merge(*logs, key=attrgetter("at"))
