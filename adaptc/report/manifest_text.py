"""The last manifest as text, row by row, so that rows that did not change are copied and not made again.

Every row is on a line of its own. Rows refer to each other by their numbers, so that a file that came or went changes
the numbers in the rows that are copied. They are in the order of paths, by their bytes.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from json.encoder import encode_basestring_ascii
from pathlib import Path

from adaptc.core.digest import digest_file

# In a string a quotation mark would be escaped
_REFERENCES = re.compile(rb'"references":\[([\d,]+)\]')
_PATH, _PATH_END = b'{"path":', b',"media_type":'
_END_OF_ROWS = b'],"extras":[\n'
_GONE = -1


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


def read_rows(file: Path, digest: str) -> ManifestText | None:
    """Return the rows of a manifest; ``None`` when it is missing, or not the one with this digest."""
    return ManifestText(file) if digest_file(os.fspath(file)) == digest else None


def _key_in(row: bytes) -> bytes:
    return row[len(_PATH) : row.index(_PATH_END)]


def key_of(path: str) -> bytes:
    """Return a path as the manifest writes it."""
    return encode_basestring_ascii(path).encode("ascii")


def _path_of(key: bytes) -> str:
    path: str = json.loads(key)
    return path
