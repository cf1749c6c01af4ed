"""The sources of a site in a file, of which a process reads what it looks up.

A snapshot of a site goes to each worker, and a worker needs the sources of a batch and of what that refers to: of
100,000 sources a few thousand. The file is mapped into memory, which all processes share, and searched there: a look-up
takes 10 us. Blocks of pickled rows, of which the last that were used were kept, took 54 us for pages with links to all
parts of a site.
"""

from __future__ import annotations

import mmap
import os
from abc import abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import (
    Callable,
    Collection,
    Container,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from itertools import accumulate, islice
from sys import intern

from adaptc.core.model import Resource
from adaptc.site.site import Source, directories_above, directories_of, paths_of_type

_SEPARATOR = "\0"
_NUMBER = array("Q").itemsize


def write_table(sources: Mapping[str, Source]) -> Iterator[bytes]:
    """Yield the file of sources, in pieces: all paths in order, all values, where each of both ends, their number."""
    paths = in_order_of_bytes(sources)
    ends = array("Q", (0,))
    yield from _joined(map(os.fsencode, paths), ends)
    yield from _joined((_pack(sources[path]) for path in paths), ends)
    yield ends.tobytes()
    yield array("Q", (len(paths),)).tobytes()


def in_order_of_bytes(paths: Collection[str]) -> list[str]:
    """Return paths in the order of their bytes, as the state has them."""
    if all(map(str.isascii, paths)):  # in the order of characters, too: without a copy of each
        return sorted(paths)
    return sorted(paths, key=os.fsencode)


# Pieces that are written at a time
_WRITTEN = 4096


def _joined(pieces: Iterator[bytes], ends: array[int]) -> Iterator[bytes]:
    """Yield pieces many at a time, and add where each ends."""
    while some := list(islice(pieces, _WRITTEN)):
        ends.extend(islice(accumulate(map(len, some), initial=ends[-1]), 1, None))
        yield b"".join(some)


def _pack(source: Source) -> bytes:
    return os.fsencode(_SEPARATOR.join((source.digest, str(source.size), source.media_type, source.alias_of or "")))


def _unpack(packed: bytes) -> Source:
    digest, size, media_type, alias_of = os.fsdecode(packed).split(_SEPARATOR)
    return Source(digest, int(size), intern(media_type), alias_of or None)


class SourceTable(Mapping[str, Source]):
    """The sources in a file that ``write_table`` wrote, by path, in the order of their bytes."""

    def __init__(self, file: str) -> None:
        self.file = file
        with open(file, "rb") as opened:
            self._content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        numbers = memoryview(self._content)[-_NUMBER:].cast("Q")
        self._numbers = range(numbers[0])
        size = (2 * len(self._numbers) + 1) * _NUMBER
        self._ends = memoryview(self._content)[-size - _NUMBER : -_NUMBER].cast("Q")

    def __getitem__(self, path: str) -> Source:
        key = os.fsencode(path)
        number = self._search(key)
        if number == len(self._numbers) or self._piece(number) != key:
            raise KeyError(path)
        return _unpack(self._piece(len(self._numbers) + number))

    def __iter__(self) -> Iterator[str]:
        return (os.fsdecode(self._piece(number)) for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def items(self) -> ItemsView[str, Source]:
        """Return a view that reads the file once, without a search for each path."""
        return _Items(self)

    def rows(self) -> Iterator[tuple[str, Source]]:
        """Yield (path, source) in order."""
        count = len(self._numbers)
        return ((os.fsdecode(self._piece(n)), _unpack(self._piece(count + n))) for n in self._numbers)

    def _search(self, path: bytes) -> int:
        return bisect_left(self._numbers, path, key=self._piece)

    def _piece(self, number: int) -> bytes:
        return self._content[self._ends[number] : self._ends[number + 1]]

    def has_below(self, directory: str) -> bool:
        """Whether there is a source below a directory."""
        start = os.fsencode(directory + "/")
        number = self._search(start)
        return number < len(self._numbers) and self._piece(number).startswith(start)


def as_sources(resources: Iterable[tuple[Resource, str]]) -> dict[str, Source]:
    """Return what passes see of resources and their digests."""
    return {
        resource.path: Source(digest, resource.size, resource.media_type, resource.alias_of)
        for resource, digest in resources
    }


class _Items(ItemsView[str, Source]):
    def __init__(self, table: SourceTable) -> None:
        super().__init__(table)
        self.table = table

    def __iter__(self) -> Iterator[tuple[str, Source]]:
        return self.table.rows()


class KnownFiles(Mapping[str, tuple[Resource, str]]):
    """The files of the last build with their digests. Few are read as long as nobody asks for all of them."""

    @abstractmethod
    def has_below(self, directory: str) -> bool:
        """Whether there is a file below a directory."""

    @abstractmethod
    def of_type(self, media_types: Collection[str]) -> Iterator[str]:
        """Yield the paths of the files of these media types."""


class LoadedFiles(MutableMapping[str, Resource]):
    """The files of a docroot: ``found`` in the directories that were read, and the ``known`` ones of all others.

    No file is new, and links are among the found ones. ``kept`` are the directories that were not read.
    """

    def __init__(self, known: KnownFiles, found: dict[str, Resource], kept: Sequence[str]) -> None:
        self.known, self.found, self.kept = known, found, kept
        self.gone = set[str]()

    def __getitem__(self, path: str) -> Resource:
        if path in self.gone:
            raise KeyError(path)
        found = self.found.get(path)
        return self.known[path][0] if found is None else found

    def __setitem__(self, path: str, resource: Resource) -> None:
        if path not in self:
            raise KeyError(path)
        self.found[path] = resource

    def __delitem__(self, path: str) -> None:
        if path not in self:
            raise KeyError(path)
        self.found.pop(path, None)
        self.gone.add(path)

    def __iter__(self) -> Iterator[str]:
        return (path for path in sorted(self.known) if path not in self.gone)

    def __len__(self) -> int:
        return len(self.known) - len(self.gone)

    def of_type(self, media_types: Collection[str]) -> Iterator[str]:
        """Yield the paths of the files of these media types."""
        yield from (path for path, resource in self.found.items() if resource.media_type in media_types)
        others = self.known.of_type(media_types)
        yield from (path for path in others if path not in self.found and path not in self.gone)

    def has_below(self, directory: str) -> bool:
        """Whether there is a file below a directory."""
        if not self.gone:
            return self.known.has_below(directory)
        return any(path.startswith(f"{directory}/") for path in self)


def read_files(resources: Mapping[str, Resource]) -> Mapping[str, Resource]:
    """Return those of ``resources`` that may differ from what is known, links among them: all, if nothing is known."""
    return resources.found if isinstance(resources, LoadedFiles) else resources


def paths_of(resources: Mapping[str, Resource], media_types: Collection[str]) -> Iterator[str]:
    """Yield the paths of the resources of these media types."""
    if isinstance(resources, LoadedFiles):
        return resources.of_type(media_types)
    return (path for path, resource in resources.items() if resource.media_type in media_types)


class ResourceSources(Mapping[str, Source]):
    """Resources as sources, which are made when they are looked up; ``digest_of`` returns the digest of a path."""

    def __init__(self, resources: Mapping[str, Resource], digest_of: Callable[[str], str]) -> None:
        self.resources, self.digest_of = resources, digest_of

    def __getitem__(self, path: str) -> Source:
        resource = self.resources[path]
        return Source(self.digest_of(path), resource.size, resource.media_type, resource.alias_of)

    def __contains__(self, path: object) -> bool:
        return path in self.resources

    def __iter__(self) -> Iterator[str]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)


class _Directories(Container[str]):
    def __init__(self, table: SourceTable | LoadedFiles) -> None:
        self.table = table

    def __contains__(self, directory: object) -> bool:
        return self.table.has_below(str(directory))


def _resources_of_type(sources: ResourceSources, media_type: str) -> Iterator[str]:
    return paths_of(sources.resources, (media_type,))


def _directories_of_resources(sources: ResourceSources) -> Container[str]:
    resources = sources.resources
    return _Directories(resources) if isinstance(resources, LoadedFiles) else directories_above(resources)


paths_of_type.register(ResourceSources, _resources_of_type)
directories_of.register(SourceTable, _Directories)
directories_of.register(ResourceSources, _directories_of_resources)
