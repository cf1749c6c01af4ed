"""Brings the ledger and the rows of the manifest up to date with the state: from what was touched, or from everything.

Both give the same ledger and the same rows.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby, zip_longest
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import IO

from adaptc.compile.engine.outdated import is_recent
from adaptc.compile.engine.state.results import UnitResult
from adaptc.config.config import CostConfig
from adaptc.core.digest import digest_file
from adaptc.core.media import CSS
from adaptc.core.values import dataclass
from adaptc.report.collector import Collector
from adaptc.report.ledger import Ledger
from adaptc.report.manifest_writer import RowWriter, separated
from adaptc.site.source_table import in_order_of_bytes

# From this share and number of files on, reading all units at once is faster than one after the other
_MOST, _FEW = 0.25, 16
# Numbers of rows that are kept in memory
_REMEMBERED = 1 << 16


class Entries:
    """The rows of a manifest whose figures are in the ``ledger``; ``every`` is a file for the rows of a whole site."""

    def __init__(self, collector: Collector, ledger: Ledger, cost: CostConfig, every: IO[bytes]) -> None:
        self.collector, self.ledger = collector, ledger
        self.writer = RowWriter(collector, lru_cache(_REMEMBERED)(self._number_of), cost, bool(collector.hits))
        self._last: ManifestText | None = None
        self._has_same_paths = False
        self._changed: dict[str, bytes] = {}
        self._every = every

    @cached_property
    def paths(self) -> list[bytes]:
        """The paths of all files, in the order of the manifest."""
        return self.collector.state.paths()

    def update(self, last: ManifestText | None) -> None:
        """Bring the ledger up to date: from what was touched since the manifest of ``last`` was written, if any."""
        changed = None if last is None else self._changed_since(last)
        if last is None or changed is None:
            self._enter_all()
        else:
            self._last = last
            self._has_same_paths = all(path in self.collector.resources for path in changed) and last.has(changed)
            self._enter_changed(changed)

    def _changed_since(self, last: ManifestText) -> list[str] | None:
        """Return the paths with other figures than in the ledger; ``None`` for most of the site."""
        most = max(_FEW, _MOST * len(self.collector.resources))
        touched = self.collector.state.touched_paths()
        if len(touched) > most:
            return None
        embedded = [path for path in touched if self._weighs_other(path) and self.ledger.may_embed(path)]
        referring = last.referring(embedded) if embedded else ()
        changed = dict.fromkeys((*touched, *sorted(referring)))
        return list(changed) if len(changed) <= most else None

    def _number_of(self, path: str) -> int | None:
        # a table of a million numbers takes 100 MB, and files refer to few others
        key = os.fsencode(path)
        number = bisect_left(self.paths, key)
        return number if number < len(self.paths) and self.paths[number] == key else None

    def text(self) -> Iterator[bytes]:
        """Yield the rows of the manifest in order, as ``separated`` has them; after ``update``."""
        if self._last is not None:
            if self._has_same_paths:
                return self._last.spliced(self._changed)
            return separated(self._last.updated(list(map(os.fsdecode, self.paths)), self._changed))
        self._every.seek(0)
        return separated(line[:-1] for line in self._every)

    def _weighs_other(self, path: str) -> bool:
        """Whether a file has another weight than in the ledger: the pages that embed it have other figures, too."""
        before, resource = self.ledger.weights(path), self.collector.resources.get(path)
        if resource is None or resource.media_type == CSS:
            return True
        weights = {level: self.collector.weights.at(level, path) for level in self.collector.levels}
        return before != {level: (resource.size, *weight) for level, weight in weights.items() if weight}

    def _enter_all(self) -> None:
        self.ledger.clear()
        self.collector.weights.read_all()
        for path, results in self._results():
            self._every.write(self._enter(path, results) + b"\n")

    def _results(self) -> Iterator[tuple[str, list[UnitResult]]]:
        """Yield every path with its results, in order."""
        groups = groupby(self.collector.state.results(), key=lambda result: result.path)
        place, results = next(groups, (None, ()))
        for path in map(os.fsdecode, self.paths):
            yield path, list(results) if path == place else []
            if path == place:
                place, results = next(groups, (None, ()))

    def _enter_changed(self, changed: Iterable[str]) -> None:
        state, ledger = self.collector.state, self.ledger
        for path in changed:
            ledger.remove(path)
            if path in self.collector.resources:
                self._changed[path] = self._enter(path, list(state.results(path)))
        for path, _, level, _ in list(ledger.extras()):
            if not state.has_extra(level, path):
                ledger.remove_extra(level, path)

    def _enter(self, path: str, results: list[UnitResult]) -> bytes:
        self.collector.enter(self.ledger, path, results)
        return self.writer.row(path, results)


# ---- the last manifest as text, row by row, so that rows that did not change are copied and not made again
#
# Every row is on a line of its own. Rows refer to each other by their numbers, so that a file that came or went changes
# the numbers in the rows that are copied. They are in the order of paths, by their bytes.

# In a string a quotation mark would be escaped
_REFERENCES = re.compile(rb'"references":\[([\d,]+)\]')
_PATH, _PATH_END = b'{"path":', b',"media_type":'
_END_OF_ROWS = b'],"extras":[\n'
_GONE = -1
# Bytes of rows that are copied together at the most
_COPIED = 1 << 20


@dataclass(frozen=True, slots=True)
class ManifestText:
    """The rows of a manifest. They are read from its ``file`` whenever they are needed: those of a million are 1 GB."""

    file: Path

    def _rows(self) -> Iterator[bytes]:
        with open(self.file, "rb") as file:
            next(file)
            for line in file:
                if line == _END_OF_ROWS:
                    return
                yield line.removesuffix(b"\n").removesuffix(b",")

    def referring(self, paths: Iterable[str]) -> set[str]:
        """Return the paths of files that refer to one of ``paths`` at some level, directly or through style sheets."""
        keys = set(map(key_of, paths))
        pending = {number for number, row in enumerate(self._rows()) if _key_in(row) in keys} if keys else set()
        referring: set[bytes] = set()
        while pending:
            rows = {key: found for key, *found in self._rows_with(pending) if key not in referring}
            referring |= rows.keys()
            pending = {number for number, is_sheet in rows.values() if is_sheet}
        return set(map(_path_of, referring))

    def _rows_with(self, numbers: set[int]) -> Iterator[tuple[bytes, int, bool]]:
        """Yield the keys of rows that refer to one of ``numbers``, their own, and whether they are of style sheets."""
        wanted = frozenset(str(number).encode() for number in numbers)
        known: dict[bytes, bool] = {}

        def has_some(references: bytes) -> bool:
            if references not in known:
                known[references] = not wanted.isdisjoint(references.split(b","))
            return known[references]

        for number, row in enumerate(self._rows()):
            if any(map(has_some, _REFERENCES.findall(row))):
                yield _key_in(row), number, b'"media_type":"text/css"' in row

    def has(self, paths: Collection[str]) -> bool:
        """Whether there is a row of each of ``paths``."""
        with self._text() as text:
            return all(start >= 0 for _, start, _ in _places(text, paths))

    def spliced(self, changed: Mapping[str, bytes]) -> Iterator[bytes]:
        """Yield what ``updated`` does, separated, for the same paths as before: all between changed rows is copied."""
        with self._text() as text, open(self.file, "rb") as file:  # pages that are read count less than mapped ones
            place, end = text.find(b"\n"), _end_of_rows(text)
            for path, start, stop in _places(text, changed):
                if start < 0:
                    raise KeyError(path)
                yield from _copied(file, place, start)
                yield changed[path]
                place = stop
            yield from _copied(file, place, end)

    @contextlib.contextmanager
    def _text(self) -> Iterator[mmap.mmap]:
        with open(self.file, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            yield text

    def updated(self, paths: Sequence[str], changed: Mapping[str, bytes]) -> Iterator[bytes]:
        """Yield the rows of ``paths`` in order; those of ``changed`` are given, the others are copied."""
        has_others = any(row is None or path is None or _key_in(row) != key_of(path) for path, row in self._with(paths))
        copied = self._renumbered(paths) if has_others else ((row or b"") for _, row in self._with(paths))
        for path, row in zip(paths, copied, strict=True):
            yield changed[path] if path in changed or not row else row

    def _with(self, paths: Sequence[str]) -> Iterator[tuple[str | None, bytes | None]]:
        return zip_longest(paths, self._rows())

    def _renumbered(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the rows of ``paths``, with the numbers that they have now; nothing for paths that had no row."""
        new = self._new_numbers(paths)
        known: dict[bytes, bytes] = {}

        def renumber(match: re.Match[bytes]) -> bytes:
            references = match[1]
            if references not in known:
                remaining = (new[int(number)] for number in references.split(b","))
                known[references] = b",".join(str(number).encode() for number in remaining if number != _GONE)
            return b'"references":[' + known[references] + b"]"

        position = 0
        for number, row in zip(new, self._rows(), strict=True):
            if number != _GONE:
                yield from (b"" for _ in range(position, number))
                yield _REFERENCES.sub(renumber, row)
                position = number + 1
        yield from (b"" for _ in range(position, len(paths)))

    def _new_numbers(self, paths: Sequence[str]) -> array[int]:
        """Return the number of each row in the order of ``paths``, ``_GONE`` for files that went."""
        new = array("q")
        position = 0
        for row in self._rows():
            name = os.fsencode(_path_of(_key_in(row)))
            while position < len(paths) and os.fsencode(paths[position]) < name:
                position += 1
            stayed = position < len(paths) and os.fsencode(paths[position]) == name
            new.append(position if stayed else _GONE)
        return new


def _places(text: mmap.mmap, paths: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Yield ``paths`` in the order of rows, where the row of each starts, -1 if there is none, and where it ends."""
    place, end = text.find(b"\n"), _end_of_rows(text)
    for path in in_order_of_bytes(paths):
        before = text.find(b"\n%s%s%s" % (_PATH, key_of(path), _PATH_END), place, end)
        if before < 0:
            yield path, -1, -1
            continue
        place = text.find(b"\n", before + 1)
        yield path, before + 1, place - (text[place - 1 : place] == b",")


def _end_of_rows(text: mmap.mmap) -> int:
    return text.rfind(b"\n" + _END_OF_ROWS)


def _copied(file: IO[bytes], place: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file from ``place`` to ``end``."""
    file.seek(place)
    for start in range(place, end, _COPIED):
        yield file.read(min(_COPIED, end - start))


def read_rows(file: Path, digest: str, status: str = "") -> ManifestText | None:
    """Return the rows of a manifest; ``None`` when it is missing, or not the one with this digest.

    One that still has the ``status`` (``status_of``) with which it was written is not read for that.
    """
    is_same = (bool(status) and status_of(file) == status) or digest_file(os.fspath(file)) == digest
    return ManifestText(file) if is_same else None


def status_of(file: Path) -> str:
    """Return what tells a file from one that was written to or replaced: size, time and inode.

    "" where it is missing, or may be written again and keep its time.
    """
    try:
        status = os.stat(file)
    except OSError:
        return ""
    is_final = not is_recent(status.st_mtime_ns, time.time_ns())
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}" if is_final else ""


def _key_in(row: bytes) -> bytes:
    return row[len(_PATH) : row.index(_PATH_END)]


def key_of(path: str) -> bytes:
    """Return a path as the manifest writes it."""
    return encode_basestring_ascii(path).encode("ascii")


def _path_of(key: bytes) -> str:
    path: str = json.loads(key)
    return path
