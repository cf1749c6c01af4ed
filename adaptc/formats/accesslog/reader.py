"""Reads log files line by line: plain or gzip, or standard input; what does not parse is counted and said."""

from __future__ import annotations

import glob
import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedIOBase, BufferedReader
from typing import cast

from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.formats.accesslog.parser import Entry, LineParser

STANDARD_INPUT = "-"
SAMPLES = 3  # lines of a file that are shown when they do not parse
_SHOWN = 160  # characters of such a line
_CHUNK = 1 << 18
# Servers limit a request line and each header to 8 KiB, and an escaped byte takes four: a longer line is no log
_LONGEST = 1 << 18
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class LogTally:
    """How many lines were read and how many of them were skipped, and what was said about that."""

    lines: int = 0
    skipped: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)


def log_files(patterns: Iterable[str]) -> list[str]:
    """Return the files that ``patterns`` (paths, shell patterns or ``-``) name, each once and in order.

    Raises ``UsageError`` for a pattern that names none.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        is_file = pattern == STANDARD_INPUT or os.path.exists(pattern)
        names = [pattern] if is_file else sorted(glob.glob(pattern))
        if not names:
            raise UsageError(f"there is no log {pattern}")
        found.update(dict.fromkeys(names))
    return list(found)


def read_log(name: str, parser: LineParser, tally: LogTally) -> Iterator[Entry]:
    """Yield the entries of a log file, or of standard input for ``-``, and count into ``tally``.

    Raises ``UsageError`` when the file cannot be opened; a damaged one is read as far as it goes.
    """
    parse = parser.parse
    lines, skipped = tally.lines, tally.skipped
    with _opened(name) as stream:
        for line in _lines(name, stream, parser, tally):
            tally.lines += 1
            entry = parse(line)
            if entry is not None:
                yield entry
            elif line:
                _skip(name, line, tally.lines - lines, tally.skipped - skipped, tally)
    if tally.skipped > skipped:
        count, all_lines = tally.skipped - skipped, tally.lines - lines
        said = diagnose("log-lines-skipped", Location(name), count=count, lines=all_lines, format=parser.format)
        tally.diagnostics.append(said)


def _skip(name: str, line: str, number: int, before: int, tally: LogTally) -> None:
    tally.skipped += 1
    if before < SAMPLES:
        shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
        tally.diagnostics.append(diagnose("log-line-skipped", Location(name, number), line=shown))


@contextmanager
def _opened(name: str) -> Iterator[BufferedIOBase]:
    """Open a log; what begins as gzip does is unpacked, whatever it is called."""
    if name == STANDARD_INPUT:
        yield _unpacked(cast(BufferedReader, sys.stdin.buffer))
        return
    try:
        file = open(name, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise UsageError(f"log {name} cannot be read ({error.strerror})") from error
    with file:
        yield _unpacked(file)


def _unpacked(stream: BufferedReader) -> BufferedIOBase:
    is_packed = stream.peek(len(_GZIP)).startswith(_GZIP)
    return gzip.GzipFile(fileobj=stream, mode="rb") if is_packed else stream


def _lines(name: str, stream: BufferedIOBase, parser: LineParser, tally: LogTally) -> Iterator[str]:
    """Yield lines without their ends. A last line without an end may be half written: it counts if it parses."""
    rest = b""
    for chunk in _chunks(name, stream, tally):
        whole, newline, last = chunk.rpartition(b"\n")
        if newline:
            yield from _text(rest + whole).replace("\r\n", "\n").split("\n")
            rest = last
        elif len(rest) <= _LONGEST:
            rest += chunk
    if rest and parser.parse(_text(rest)):
        yield _text(rest)


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "surrogateescape")


def _chunks(name: str, stream: BufferedIOBase, tally: LogTally) -> Iterator[bytes]:
    """Yield what can be read; a gzip file that was cut or damaged is an end, and is said."""
    try:
        while chunk := stream.read(_CHUNK):
            yield chunk
    except (EOFError, OSError, zlib.error) as error:
        tally.diagnostics.append(diagnose("log-truncated", Location(name), reason=str(error)))
