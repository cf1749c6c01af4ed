"""Read log files line by line: plain, gzip or standard input. Lines that do not parse are counted and reported."""

from __future__ import annotations

import glob
import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from typing import cast

from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.values import dataclass, field
from adaptc.formats.accesslog.parser import Entry, LineParser

STANDARD_INPUT = "-"
SAMPLES = 3  # lines of a file that are quoted when they do not parse
_SAMPLE_LENGTH = 160  # characters of such a line
_CHUNK = 1 << 18
# Servers limit a request line and each header to 8 KiB, and an escaped byte takes four: a longer line is no log.
_MAX_LINE = 1 << 18
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(slots=True)
class LogTally:
    """The number of lines that were read, and of those that were skipped, with diagnostics."""

    lines: int = 0
    skipped: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)


def log_files(patterns: Iterable[str]) -> list[str]:
    """Return the files that match ``patterns`` (paths, shell patterns or ``-``), each once and in order.

    Raises ``UsageError`` for a pattern without a match.
    """
    files: dict[str, None] = {}
    for pattern in patterns:
        is_file = pattern == STANDARD_INPUT or os.path.exists(pattern)
        names = [pattern] if is_file else sorted(glob.glob(pattern))
        if not names:
            raise UsageError(f"there is no log {pattern}")
        files.update(dict.fromkeys(names))
    return list(files)


def read_log(name: str, parser: LineParser, tally: LogTally) -> Iterator[Entry]:
    """Yield the entries of a log file, or of standard input for ``-``, and count into ``tally``.

    A damaged file is read as far as possible. Diagnostics: ``log-line-skipped``, ``log-lines-skipped``,
    ``log-truncated``. Raises ``UsageError`` if the file cannot be opened.
    """
    parse = parser.parse
    lines, skipped = tally.lines, tally.skipped
    with _open(name) as stream:
        for line in _lines(name, stream, parser, tally):
            tally.lines += 1
            entry = parse(line)
            if entry is not None:
                yield entry
            elif line and not line.startswith("#"):  # W3C extended log file format: not a request
                _skip(name, line, tally.lines - lines, tally.skipped - skipped, tally)
    if tally.skipped > skipped:
        count, all_lines = tally.skipped - skipped, tally.lines - lines
        diagnostic = diagnose("log-lines-skipped", Location(name), count=count, lines=all_lines, format=parser.format)
        tally.diagnostics.append(diagnostic)


def _skip(name: str, line: str, number: int, skipped: int, tally: LogTally) -> None:
    tally.skipped += 1
    if skipped < SAMPLES:
        sample = line if len(line) <= _SAMPLE_LENGTH else f"{line[:_SAMPLE_LENGTH]}..."
        tally.diagnostics.append(diagnose("log-line-skipped", Location(name, number), line=sample))


@contextmanager
def _open(name: str) -> Iterator[BufferedIOBase]:
    """Open a log; a file that begins like gzip is decompressed, whatever its name."""
    if name == STANDARD_INPUT:
        yield _decompress(cast(BufferedReader, sys.stdin.buffer))
        return
    try:
        file = open(name, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise UsageError(f"log {name} cannot be read ({error.strerror})") from error
    with file:
        yield _decompress(file)


def _decompress(stream: BufferedReader) -> BufferedIOBase:
    is_gzip = stream.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
    return gzip.GzipFile(fileobj=stream, mode="rb") if is_gzip else stream


def _lines(name: str, stream: BufferedIOBase, parser: LineParser, tally: LogTally) -> Iterator[str]:
    """Yield lines without their ends. A last line without an end may be incomplete: it counts only if it parses."""
    rest = b""
    for chunk in _chunks(name, stream, tally):
        whole, newline, last = chunk.rpartition(b"\n")
        if newline:
            yield from _text(rest + whole).replace("\r\n", "\n").split("\n")
            rest = last
        elif len(rest) <= _MAX_LINE:
            rest += chunk
    if rest and parser.parse(_text(rest)):
        yield _text(rest)


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "surrogateescape")


def _chunks(name: str, stream: BufferedIOBase, tally: LogTally) -> Iterator[bytes]:
    """Yield chunks; a truncated or damaged gzip file ends early with a diagnostic."""
    try:
        while chunk := stream.read(_CHUNK):
            yield chunk
    except (EOFError, OSError, zlib.error) as error:
        tally.diagnostics.append(diagnose("log-truncated", Location(name), reason=str(error)))
