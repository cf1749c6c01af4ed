"""Seals: by one look at the entries of a directory of the trees, whether it holds what the state says, and no more.

A seal is a digest of names, sizes and times. The build that completes the trees notes one for each directory, made
of the state and not of what is there. A check of 80,000 files then reads a few hundred rows instead of the record of
every unit; where a seal does not fit, or something stands that it cannot tell, the long way is gone.
"""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from hashlib import sha256

from adaptc.compile.engine.state import State
from adaptc.compile.engine.store import time_of
from adaptc.core.fs import opened_directory
from adaptc.core.model import name_in_tree, path_of_name

Entry = tuple[str, int, int]
"""A file of a directory: its name, its size in bytes, its time in ns since 1970."""

_SECOND = 10**9


def seal_of(entries: Sequence[Entry]) -> str:
    """Return the seal of a directory that holds these files and no others."""
    total = sha256()
    if entries:
        names, sizes, times = zip(*sorted(entries), strict=True)
        total.update(os.fsencode("/".join(names)) + b"/")
        total.update(array("q", sizes).tobytes() + array("q", times).tobytes())
    return total.hexdigest()


def expected_seals(state: State) -> Iterator[tuple[str, str]]:
    """Yield each directory below the output that holds files, and its seal; the state is read level by level."""
    level, entries = "", defaultdict[str, list[Entry]](list)
    extras: set[str] = set()
    for (at, path), files in state.files():
        if at != level:
            yield from ((directory, seal_of(found)) for directory, found in entries.items())
            level, entries, extras = at, defaultdict(list), set()
        for name, coding, key, _, size in files:
            file = f"{level}/{coding}/{name_in_tree(coding, name)}"
            if name != path and file in extras:
                continue
            if name != path:  # an extra file, which other units may have as well
                extras.add(file)
            directory, _, last = file.rpartition("/")
            entries[directory].append((last, size, time_of(key) * _SECOND))
    yield from ((directory, seal_of(found)) for directory, found in entries.items())


def sealed_files(output: str, seals: dict[str, str], aliases: Container[str]) -> int | None:
    """Return how many files stand in the directories of ``seals``; ``None`` when something is not as sealed.

    ``aliases`` are the paths of the docroot that may be published as symbolic links.
    """
    files = 0
    for directory, seal in seals.items():
        entries = _entries(output, directory, seals, aliases)
        if entries is None or seal_of(entries) != seal:
            return None
        files += len(entries)
    return files


def _entries(output: str, directory: str, known: Container[str], aliases: Container[str]) -> list[Entry] | None:
    """Return the files of a directory; ``None`` where it is gone, or holds a link or directory that is not known."""
    found: list[Entry] = []
    try:
        with opened_directory(f"{output}/{directory}") as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if f"{directory}/{entry.name}" not in known:
                        return None
                    continue
                is_link = entry.is_symlink()
                if is_link and _in_docroot(f"{directory}/{entry.name}") not in aliases:
                    return None
                status = entry.stat(follow_symlinks=is_link)
                found.append((entry.name, status.st_size, status.st_mtime_ns))
    except OSError:  # it went, or the link leads nowhere
        return None
    return found


def _in_docroot(file: str) -> str:
    """Return the path that a file of the trees, ``LEVEL/CODING/NAME``, stands for; "" for one that is out of place."""
    _, _, inside = file.partition("/")
    coding, _, name = inside.partition("/")
    return path_of_name(coding, name)
