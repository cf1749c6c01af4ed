"""Which pages are proven where none are named: the most viewed, and pages of every directory and size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence


def sample_pages(sizes: Mapping[str, int], hits: Mapping[str, int], count: int) -> list[str]:
    """Return ``count`` pages, or all; ``sizes`` has the bytes of each page, ``hits`` the views of those viewed.

    The most viewed come first, then pages of each directory in turn, the directory with the most pages first: its
    largest page, its smallest, its middle one, and so on.
    """
    viewed = sorted((path for path in sizes if hits.get(path)), key=lambda path: (-hits[path], path))
    directories: dict[str, list[str]] = {}
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        directories.setdefault(os.path.dirname(path), []).append(path)
    groups = sorted(directories.items(), key=lambda group: (-len(group[1]), group[0]))
    spread = _in_turn([list(_halved(paths)) for _, paths in groups])
    return list(dict.fromkeys([*viewed, *spread]))[:count]


def _halved(paths: Sequence[str]) -> Iterator[str]:
    """Yield the first, the last, that in their middle, those in the middle of the halves, and so on."""
    yield from paths[:1]
    yield from paths[:0:-1][:1]
    halves = [(0, len(paths) - 1)]
    for first, last in halves:
        middle = (first + last) // 2
        if middle > first:
            yield paths[middle]
            halves += [(first, middle), (middle, last)]


def _in_turn(groups: Sequence[Sequence[str]]) -> Iterator[str]:
    for turn in range(max(map(len, groups), default=0)):
        yield from (group[turn] for group in groups if turn < len(group))
