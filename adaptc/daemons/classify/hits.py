"""Log lines as the classifier needs them: who asked for what, when, and what was done to it.

Time comes from ``at=SECONDS`` at the end of a line where the log has it (milliseconds, docs/daemons.md), else from
the format's own field, which has seconds. ``served=LEVEL/CODING`` tells whether an action was taken, ``rtt=``
microseconds of nginx's ``$tcpinfo_rtt``.
"""

from __future__ import annotations

import gzip
import heapq
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from adaptc.core.diagnostics import UsageError
from adaptc.formats.accesslog.parser import LineParser


class Hit(NamedTuple):
    """A request: time in seconds (epoch), size in bytes, whether an action was taken, round-trip time in seconds."""

    client: str
    at: float
    path: str
    status: int
    size: int
    acted: bool
    rtt: float | None


def hits(
    lines: Iterable[str], parser: LineParser, unacted: frozenset[str], skipped: list[int] | None = None
) -> Iterator[Hit]:
    """Yield the GET requests of some lines; lines in another format are counted in ``skipped[0]``.

    ``unacted`` are the levels that leave a page as it is.
    """
    request = parser.request
    for line in lines:
        entry = request(line)
        if entry is None or (at := entry[1]) is None:
            if skipped is not None and line:
                skipped[0] += 1
            continue
        client, _, method, path, status, size = entry
        if method != "GET":
            continue
        acted, rtt = False, None
        if line[-1] != '"' and "=" in line:
            at, acted, rtt = _tail(line, at, unacted)
        yield Hit(client, at, path, status, size, acted, rtt)


# The fields as ``emit`` writes them; those of an operator's own format may stand in any order.
_EMITTED = re.compile(
    r" at=([^ ]*+) took=[^ ]*+ served=([^ /]*+)[^ ]*+ class=[^ ]*+(?: bucket=[^ ]*+)?(?: rtt=([^ ]*+))?"
)
_FIELD = re.compile(r" (at|served|rtt)=([^ /]*+)")


def _tail(line: str, at: float, unacted: frozenset[str]) -> tuple[float, bool, float | None]:
    start = line.rfind('"') + 1
    if (emitted := _EMITTED.match(line, start)) is not None:
        moment, served, rtt = emitted.groups()
    else:
        moment, served, rtt = map(dict(_FIELD.findall(line, start)).get, ("at", "served", "rtt"))
    micro = _seconds(rtt) if rtt else None
    return _seconds(moment) or at, served is not None and served not in unacted, micro / 1e6 if micro else None


def _seconds(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return None


# A container by the spelling of its path (section 2.1 of the paper), and what the paper's server appended to it: the
# suffixes of its actions (".gz", ".p_lc").
_CONTAINER = re.compile(r"(?:/|/[^/.]+|\.x?html?|\.php|\.aspx?|\.jsp)((?:\.[a-z_]+)*)", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def container(path: str) -> bool | None:
    """Tell what a path names: True a page, False a page on which an action was taken, None an embedded object."""
    name = path[path.rfind("/") :]
    start = name.find(".")
    match = _CONTAINER.fullmatch(name if start < 0 else name[start:])
    if name == "/":
        return True
    return None if match is None else not match[1]


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
