"""Publish: put a unit's files into the trees, each by one rename, and take away what is no longer true.

A level's tree has one directory for each content coding, and in it the paths of the docroot: ``lossless/br/a/b.html``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

from adaptc.engine.results import UnitResult
from adaptc.engine.store import Store
from adaptc.fs import place, place_link, remove, remove_empty_directories
from adaptc.model import CODINGS, IDENTITY

ALL_CODINGS = (IDENTITY, *CODINGS)
PRIVATE = ".adaptc"
_TRIES = 3


class Publisher:
    """Writes into the trees of one output directory. Raises ``OSError`` when it cannot."""

    def __init__(self, output: Path, store: Store) -> None:
        self.output = os.fspath(output)
        self.store = store
        self._numbers = count()
        self._made: set[str] = set()

    def file(self, level: str, coding: str, path: str) -> str:
        """Return the name of a representation on disk."""
        return f"{self.output}/{level}/{coding}/{path}"

    def publish(self, result: UnitResult, alias_of: str | None) -> None:
        """Make the tree hold exactly the outputs of ``result`` for its path."""
        keys = {output.coding: output.key for output in result.outputs} if result.published else {}
        for coding in ALL_CODINGS:
            target = self.file(result.level, coding, result.path)
            if coding not in keys:
                self.withdraw(target)
            elif not self._links(result, coding, keys[coding], alias_of, target):
                self._place(self.store.object_path(keys[coding]), target)

    def _links(self, result: UnitResult, coding: str, key: str, alias_of: str | None, target: str) -> bool:
        """Publish an alias as the symbolic link that it is, where the file behind it is the same; return whether."""
        if alias_of is None:
            return False
        behind = self.file(result.level, coding, alias_of)
        if os.path.islink(behind) or not _same_file(behind, self.store.object_path(key)):
            return False
        written = os.path.relpath(behind, os.path.dirname(target))
        self._in_directory(target, lambda: place_link(written, target, self._temporary()))
        return True

    def _place(self, source: str, target: str) -> None:
        if not os.path.islink(target) and _same_file(source, target):
            return
        self._in_directory(target, lambda: place(source, target, self._temporary()))

    def _in_directory(self, target: str, write: Callable[[], None]) -> None:
        """Write into the directory of ``target``, which another worker may just have found empty and removed."""
        directory = os.path.dirname(target)
        for _ in range(_TRIES):
            if directory not in self._made:
                os.makedirs(directory, exist_ok=True)
                self._made.add(directory)
            try:
                return write()
            except FileNotFoundError:
                self._made.discard(directory)
        return write()

    def _temporary(self) -> str:
        return f"{self.output}/{PRIVATE}/tmp/{os.getpid()}-{next(self._numbers)}"

    def withdraw(self, target: str) -> None:
        """Remove a file of a tree, and the directories that it leaves empty."""
        if remove(target):
            directory = os.path.dirname(target)
            remove_empty_directories(directory, self.output)
            self._made.clear()

    def withdraw_path(self, level: str, path: str) -> None:
        """Remove every representation of a path at a level."""
        for coding in ALL_CODINGS:
            self.withdraw(self.file(level, coding, path))

    def files(self, levels: Iterable[str]) -> dict[str, None]:
        """Return the names of all files in the trees of ``levels``, in no particular order."""
        found: dict[str, None] = {}
        for level in levels:
            for directory, _, names in os.walk(f"{self.output}/{level}"):
                found.update((f"{directory}/{name}", None) for name in names)
        return found


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
