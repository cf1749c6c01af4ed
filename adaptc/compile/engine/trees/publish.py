"""Publish: put a unit's files into the trees, each by one rename, and remove outdated files.

A level's tree has one directory for each content coding, and in it the paths of the docroot: ``lossless/br/a/b.html``;
one for each image format: ``lossless/webp/a/b.png.webp``; and one for each dictionary: ``lossless/dcz-NAME/a/b.html``.
"""

from __future__ import annotations

import dataclasses
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path

from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.compile.engine.state.results import Output, UnitResult
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.digest import digest_file
from adaptc.core.fs import outward_part, place, place_link, refuse_outward, remove, remove_empty_directories
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, PRIVATE, is_dictionary_coding, name_in_tree
from adaptc.core.sync import sync

ALL_CODINGS = (IDENTITY, *CODINGS, *FORMATS)
_TRIES = 3

# The target's file system has no such name: too long, or bytes that it does not allow.
_NAME_REFUSED = (errno.ENAMETOOLONG, errno.EILSEQ)


class Publisher:
    """Writes into the trees of one output directory. Raises ``OSError`` when it cannot."""

    def __init__(self, output: Path, store: Store) -> None:
        self.output = os.fspath(output)
        self.store = store
        self._numbers = count()
        self._directories: set[str] = set()
        self._own: set[str] = set()  # directories that no link leads out of
        self._changed: set[str] = set()  # directories that changed since the last sync

    def file(self, level: str, coding: str, path: str) -> str:
        """Return the name of a representation on disk."""
        return f"{self.output}/{level}/{coding}/{name_in_tree(coding, path)}"

    def codings(self, level: str) -> tuple[str, ...]:
        """Return the codings, formats and dictionaries of which the tree of a level has a directory, in order."""
        try:
            names = os.listdir(f"{self.output}/{level}")
        except OSError:
            names = []
        return (*(coding for coding in ALL_CODINGS if coding in names), *filter(is_dictionary_coding, names))

    # ---- syncing

    def sync(self, results: Iterable[UnitResult] = ()) -> None:
        """Write to the disk what changed in the trees so far, and the artifacts of ``results``.

        Only then may the state say what changed, and ``results`` be published: after a power loss a name without its
        content would be an empty file.
        """
        objects = [self.store.object_path(output.key) for result in results for _, output in result.files()]
        changed, self._changed = self._changed, set()
        is_whole = objects and sync(self.store.root, objects) and _on_one_file_system(self.store.root, self.output)
        if changed and not is_whole:
            sync(self.output, {parent for directory in changed for parent in self._up_from(directory)})

    def _up_from(self, directory: str) -> Iterator[str]:
        while directory.startswith(self.output):
            yield directory
            directory = os.path.dirname(directory)

    def _note_change(self, result: UnitResult, present: tuple[str, ...]) -> None:
        codings = {*present, *(output.coding for _, output in result.files())}
        for path in {result.path, *(extra.path for extra in result.extras)}:
            self._changed.update(os.path.dirname(self.file(result.level, coding, path)) for coding in codings)

    # ---- writing

    def _write(self, result: UnitResult, alias_of: str | None, present: tuple[str, ...]) -> None:
        """Make the tree hold exactly the outputs of ``result`` for its path, and before that its extra files.

        ``present`` are the directories that the tree has of codings.
        """
        self._place_extras(result)
        keys = {output.coding: output.key for output in result.outputs} if result.published else {}
        made = {*present, *keys}
        for coding in (*(each for each in ALL_CODINGS if each in made), *filter(is_dictionary_coding, present)):
            target = self.file(result.level, coding, result.path)
            if coding not in keys:
                self.remove_file(target)
            elif not self._publish_link(result, coding, keys[coding], alias_of, target):
                self._place(self.store.object_path(keys[coding]), target)

    def _place_extras(self, result: UnitResult) -> None:
        for extra in result.extras:
            for output in extra.outputs:
                self._place(self.store.object_path(output.key), self.file(result.level, output.coding, extra.path))

    def replace_dictionary(self, result: UnitResult) -> UnitResult:
        """Publish what a unit in the tree has of a dictionary, remove what it had of others, and return the result.

        Raises ``ObjectGone``.
        """
        present = self.codings(result.level)
        self._note_change(result, present)
        self._place_extras(result)
        keys = {output.coding: output.key for output in result.outputs if is_dictionary_coding(output.coding)}
        for coding in {*filter(is_dictionary_coding, present), *keys}:
            target = self.file(result.level, coding, result.path)
            if coding in keys:
                self._place(self.store.object_path(keys[coding]), target)
            else:
                self.remove_file(target)
        return result

    def publish(self, result: UnitResult, alias_of: str | None) -> UnitResult:
        """Publish a result and return it, after ``sync``.

        If the file system refuses the name, remove the unit and add a diagnostic. Raises ``ObjectGone``.
        """
        present = self.codings(result.level)
        self._note_change(result, present)
        try:
            self._write(result, alias_of, present)
        except OSError as error:
            if error.errno not in _NAME_REFUSED:
                raise
            self.remove_unit(result.level, result.path)
            diagnostic = diagnose("name-unpublishable", Location(result.path), reason=error.strerror)
            return dataclasses.replace(result, outputs=(), diagnostics=(*result.diagnostics, diagnostic))
        return result

    def _publish_link(self, result: UnitResult, coding: str, key: str, alias_of: str | None, target: str) -> bool:
        """Publish an alias as a symbolic link if its target is the same file; return whether it is."""
        if alias_of is None:
            return False
        aliased = self.file(result.level, coding, alias_of)
        if not _is_entry_of(aliased, self.store.object_path(key)):
            return False
        directory, written = os.path.split(aliased)
        if directory != os.path.dirname(target):
            written = os.path.relpath(aliased, os.path.dirname(target))
        self._in_directory(target, lambda: place_link(written, target, self._temporary()))
        return True

    def _place(self, source: str, target: str) -> None:
        try:
            self._in_directory(target, lambda: place(source, target, self._temporary()))
        except FileNotFoundError:
            if os.path.exists(source):
                raise
            raise ObjectGone(source) from None

    def _in_directory(self, target: str, write: Callable[[], None]) -> None:
        """Write into the directory of ``target``, which another worker may just have found empty and removed."""
        directory = os.path.dirname(target)
        for _ in range(_TRIES):
            try:
                if directory not in self._directories:
                    if not self._is_own(directory):
                        refuse_outward(directory, self.output)
                    os.makedirs(directory, exist_ok=True)
                    self._directories.add(directory)
                return write()
            except FileNotFoundError:
                self._directories.discard(directory)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), directory)

    def has_output(self, level: str, path: str, output: Output, alias_of: str | None) -> bool:
        """Whether the tree holds an output as it was built."""
        file = self.file(level, output.coding, path)
        if _size(file) != output.size or (alias_of is None and os.path.islink(file)):
            return False
        return _same_file(file, self.store.object_path(output.key)) or digest_file(file) == output.digest

    def _temporary(self) -> str:
        return f"{self.output}/{PRIVATE}/tmp/{os.getpid()}-{next(self._numbers)}"

    def remove_file(self, target: str) -> None:
        """Remove a file of a tree, and the directories that it leaves empty."""
        if self._remove(target):
            self.remove_if_empty(os.path.dirname(target))

    def _remove(self, target: str) -> bool:
        """Remove a file or link; return whether it existed. Nothing is removed through a link that leads elsewhere."""
        directory = os.path.dirname(target)
        if not self._is_own(directory) or not remove(target):
            return False
        self._changed.add(directory)
        return True

    def _is_own(self, directory: str) -> bool:
        """Whether no link leads from a directory, which may be missing, out of the output."""
        if directory not in self._own:
            if outward_part(directory, self.output) is not None:
                return False
            self._own.add(directory)
        return True

    def remove_if_empty(self, directory: str) -> None:
        """Remove a directory of a tree and its parents as long as they are empty."""
        remove_empty_directories(directory, self.output)
        self._directories.clear()

    def remove_unit(self, level: str, path: str) -> None:
        """Remove every representation of a path at a level, and the directories that are empty then."""
        for coding in self.codings(level):
            target = self.file(level, coding, path)
            self._remove(target)
            self.remove_if_empty(os.path.dirname(target))

    def list_files(self, levels: Iterable[str]) -> tuple[dict[str, None], list[str]]:
        """Return the names of all files in the trees of ``levels``, and of the directories, outer ones first.

        A symbolic link counts as a file, even one to a directory: it is not followed.
        """
        files: dict[str, None] = {}
        directories = []
        for level in levels:
            if os.path.islink(f"{self.output}/{level}"):
                continue
            for directory, inner, names in os.walk(f"{self.output}/{level}"):
                directories.append(directory)
                files.update((f"{directory}/{name}", None) for name in names)
                files.update((path, None) for name in inner if os.path.islink(path := f"{directory}/{name}"))
        return files, directories


def _on_one_file_system(path: str, other: str) -> bool:
    return os.stat(path).st_dev == os.stat(other).st_dev


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _is_entry_of(path: str, source: str) -> bool:
    """Whether ``path`` itself, without following a symbolic link, is the file ``source``."""
    try:
        return os.path.samestat(os.lstat(path), os.stat(source))
    except OSError:
        return False


def _same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False
