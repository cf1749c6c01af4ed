"""The last manifest as text, row by row, so that rows that did not change are copied and not made again.

Every row is on a line of its own. Rows refer to each other by their numbers, so that a file that came or went changes
the numbers in the rows that are copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from pathlib import Path

from adaptc.core.digest import digest_bytes

# In a string a quotation mark would be escaped
_REFERENCES = re.compile(rb'"references":\[([\d,]+)\]')
_PATH, _PATH_END = b'{"path":', b',"media_type":'
_END_OF_ROWS = b'],"extras":['


@dataclass(frozen=True, slots=True)
class ManifestText:
    """The rows of a manifest by the JSON of their paths, in order."""

    rows: Mapping[bytes, bytes]

    def referring(self, paths: Iterable[str]) -> set[str]:
        """Return the paths of files that refer to one of ``paths`` at some level, directly or through style sheets."""
        numbers = {path: str(number).encode() for number, path in enumerate(self.rows)}
        referring: set[bytes] = set()
        pending = {numbers[key] for key in map(key_of, paths) if key in numbers}
        while pending:
            rows = self._rows_with(frozenset(pending)) - referring
            referring |= rows
            pending = {numbers[key] for key in rows if b'"media_type":"text/css"' in self.rows[key]}
        return set(map(_path_of, referring))

    def _rows_with(self, numbers: frozenset[bytes]) -> set[bytes]:
        known: dict[bytes, bool] = {}

        def has_some(references: bytes) -> bool:
            if references not in known:
                known[references] = not numbers.isdisjoint(references.split(b","))
            return known[references]

        return {key for key, row in self.rows.items() if any(map(has_some, _REFERENCES.findall(row)))}

    def updated(self, paths: Sequence[str], changed: Mapping[str, bytes]) -> Iterator[bytes]:
        """Yield the rows of ``paths`` in order; those of ``changed`` are given, the others are copied."""
        keys = list(map(key_of, paths))
        rows = self.rows if list(self.rows) == keys else self._renumbered(keys)
        for path, key in zip(paths, keys, strict=True):
            yield changed[path] if path in changed else rows[key]

    def _renumbered(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the rows of files that remain, with the numbers that the files in order of ``keys`` have."""
        numbers = {key: str(number).encode() for number, key in enumerate(keys)}
        new = {str(number).encode(): numbers.get(key) for number, key in enumerate(self.rows)}
        known: dict[bytes, bytes] = {}

        def renumber(match: re.Match[bytes]) -> bytes:
            references = match[1]
            if references not in known:
                remaining = (new[number] for number in references.split(b","))
                known[references] = b",".join(number for number in remaining if number is not None)
            return b'"references":[' + known[references] + b"]"

        return {key: _REFERENCES.sub(renumber, row) for key, row in self.rows.items() if key in numbers}


def read_rows(file: Path, digest: str) -> ManifestText | None:
    """Return the rows of a manifest; ``None`` when it is missing, or not the one with this digest."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    if digest_bytes(content) != digest:
        return None
    lines = content.split(b"\n")
    rows = lines[1 : lines.index(_END_OF_ROWS)]
    return ManifestText({_key_in(row): row.removesuffix(b",") for row in rows})


def _key_in(row: bytes) -> bytes:
    return row[len(_PATH) : row.index(_PATH_END)]


def key_of(path: str) -> bytes:
    """Return a path as the manifest writes it."""
    return encode_basestring_ascii(path).encode("ascii")


def _path_of(key: bytes) -> str:
    path: str = json.loads(key)
    return path
