"""The sources of a site in a file, of which a process reads what it looks up.

A snapshot of a site goes to each worker, and a worker needs the sources of a batch and of what that refers to: of
100,000 sources a few thousand. In the file they are in the order of their paths, in blocks, and the first paths of all
blocks are the index: the only part that grows with the site in the memory of a worker.
"""

from __future__ import annotations

import os
import pickle
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Container, Iterator, Mapping

from adaptc.site.site import Source, directories_of

# Sources in a block, which takes 50 us to read, and blocks that are kept: 4 MB
_BLOCK, _KEPT = 64, 256
_LENGTH = 8  # bytes of the place of the index, at the end

Row = tuple[str, str, int, str, str | None]


def write_table(sources: Mapping[str, Source]) -> Iterator[bytes]:
    """Yield the file of sources, in pieces."""
    paths = sorted(sources)
    firsts, offsets, offset = list[str](), [0], 0
    for start in range(0, len(paths), _BLOCK):
        rows = [_row(path, sources[path]) for path in paths[start : start + _BLOCK]]
        block = pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)
        offset += len(block)
        firsts.append(rows[0][0])
        offsets.append(offset)
        yield block
    yield pickle.dumps((len(paths), firsts, offsets), pickle.HIGHEST_PROTOCOL)
    yield offset.to_bytes(_LENGTH, "big")


def _row(path: str, source: Source) -> Row:
    return path, source.digest, source.size, source.media_type, source.alias_of


class SourceTable(Mapping[str, Source]):
    """The sources in a file that ``write_table`` wrote, by path. Not for several threads."""

    def __init__(self, file: str) -> None:
        self._descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)
        end = os.fstat(self._descriptor).st_size - _LENGTH
        index = int.from_bytes(os.pread(self._descriptor, _LENGTH, end), "big")
        # our own file, under our own lock
        index_rows: tuple[int, list[str], list[int]] = pickle.loads(os.pread(self._descriptor, end - index, index))
        self._count, self._firsts, self._offsets = index_rows
        self._blocks: OrderedDict[int, dict[str, Source]] = OrderedDict()

    def __getitem__(self, path: str) -> Source:
        number = bisect_right(self._firsts, path) - 1
        if number < 0:
            raise KeyError(path)
        return self._block(number)[path]

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._firsts)):
            yield from self._block(number)

    def __len__(self) -> int:
        return self._count

    def _block(self, number: int) -> dict[str, Source]:
        block = self._blocks.get(number)
        if block is None:
            start, end = self._offsets[number : number + 2]
            rows: list[Row] = pickle.loads(os.pread(self._descriptor, end - start, start))
            block = self._blocks[number] = {row[0]: Source(*row[1:]) for row in rows}
            if len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return block

    def following(self, path: str) -> str | None:
        """Return the first path that is not less than ``path``."""
        number = bisect_right(self._firsts, path) - 1
        if number >= 0:
            paths = list(self._block(number))
            place = bisect_left(paths, path)
            if place < len(paths):
                return paths[place]
        return self._firsts[number + 1] if number + 1 < len(self._firsts) else None


class _Directories(Container[str]):
    def __init__(self, table: SourceTable) -> None:
        self.table = table

    def __contains__(self, directory: object) -> bool:
        found = self.table.following(f"{directory}/")
        return found is not None and found.startswith(f"{directory}/")


directories_of.register(SourceTable, _Directories)
