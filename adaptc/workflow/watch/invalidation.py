"""Invalidation: when a file changes, everything that was built from it is removed from the trees at once.

This runs in the thread of the file system's events, at the same time as builds.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from adaptc.compile.engine.trees.gate import Gate
from adaptc.core.digest import digest_chunks
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import Resource
from adaptc.site.selection import Selection
from adaptc.site.server_rules import ACCESS_FILE

# Files up to this size are read, to recognise one that was only touched; that takes a millisecond
_READ = 1 << 20

Known = Mapping[str, tuple[Resource, str]]


class Invalidator:
    """Invalidates changed files below ``docroot``.

    ``on_changes`` is called with the files, after their outputs were withdrawn, and whether the whole docroot must be
    compared. ``set_known`` sets what the files of the docroot looked like when they were built.
    """

    def __init__(
        self, docroot: str, selection: Selection, gate: Gate, on_changes: Callable[[Sequence[str], bool], None]
    ) -> None:
        self.docroot, self.gate, self._on_changes = docroot, gate, on_changes
        self._tree = DiskTree(docroot)
        self._excluded = selection.excluder()
        self._known: Known = {}
        self._aliases: Mapping[str, list[str]] = {}
        self._linked: frozenset[str] = frozenset()
        self._closed = set[str]()  # directories that others may not search, as far as events named them
        # During a build the known files are not those that are published: a file that changes and changes back would
        # look unchanged, and outputs of the version between would stay. So every event counts.
        self.is_building = False

    def set_known(self, known: Known, aliases: Mapping[str, list[str]]) -> None:
        """Set the files to compare with from now on, and the links to each file."""
        if aliases is not self._aliases:
            self._aliases = aliases
            self._linked = frozenset(parent for paths in aliases.values() for path in paths for parent in _above(path))
        self._known = known

    def check_file(self, full: str) -> None:
        """Invalidate a file that an event named, if it changed."""
        path = self._path(full)
        if os.path.basename(full) == ACCESS_FILE:
            self._invalidate_below(os.path.dirname(full))
        if path is None or self.gate.is_invalid(path):
            return
        if path in self._linked:  # perhaps a link to a directory
            self.check_directory(full)
        elif self._is_changed(path):
            self._invalidate({path: None}, whole=path in self._known and self._known[path][0].alias_of is not None)

    def check_directory(self, full: str) -> None:
        """Invalidate the changed files below a directory that appeared or went."""
        path = self._path(full)
        if path is None and full != self.docroot:
            return
        below = {file: None for file in self._known if path is None or file == path or file.startswith(path + "/")}
        self._invalidate({file: None for file in below if self._is_changed(file)}, whole=True)

    def check_mode(self, full: str) -> None:
        """Invalidate the files below a directory that others may search no longer, or again."""
        path = self._path(full)
        try:
            is_open = path is None or bool(os.lstat(full).st_mode & stat.S_IXOTH)
        except OSError:  # it is gone, and another event says so
            return
        if path is not None and is_open == (path in self._closed):
            self._closed ^= {path}
            self._invalidate_below(full)

    def _invalidate_below(self, full: str) -> None:
        """Invalidate the files below a directory whose rules changed: those of the server may hold no longer."""
        below = "" if full == self.docroot else f"{full[len(self.docroot) + 1 :]}/"
        self._invalidate({file: None for file in self._known if file.startswith(below)}, whole=True)

    def invalidate_all(self) -> None:
        """Invalidate every known file: the docroot is gone."""
        self._invalidate(dict.fromkeys(self._known), whole=True)

    def invalidate(self, paths: Mapping[str, None], *, whole: bool) -> None:
        """Invalidate files that a comparison found changed."""
        if paths:
            self._invalidate(paths, whole=whole)

    def _path(self, full: str) -> str | None:
        """Return the path below the docroot, ``None`` for the docroot itself and for excluded files."""
        if not full.startswith(self.docroot + "/"):
            return None
        path = full[len(self.docroot) + 1 :]
        return None if self._excluded(path) else path

    def _is_changed(self, path: str) -> bool:
        known = self._known.get(path)
        if self.is_building:
            return known is not None or os.path.lexists(f"{self.docroot}/{path}")
        try:
            status = os.lstat(f"{self.docroot}/{path}")
        except OSError:
            return known is not None
        if known is None:
            return True
        resource, digest = known
        if resource.alias_of is not None or _is_other_mode(resource, status.st_mode):
            return True
        if (status.st_size, status.st_mtime_ns, status.st_ino) == (resource.size, resource.mtime_ns, resource.inode):
            return False
        return status.st_size != resource.size or status.st_size > _READ or self._digest(path) != digest

    def _digest(self, path: str) -> str | None:
        try:
            return digest_chunks(self._tree.chunks(path))
        except (OSError, ChangedWhileRead):
            return None

    def _invalidate(self, paths: Mapping[str, None], *, whole: bool) -> None:
        with_aliases = dict.fromkeys(paths)
        for path in paths:
            with_aliases.update(dict.fromkeys(self._aliases.get(path, ())))
        self.gate.invalidate(with_aliases)
        self._on_changes(list(with_aliases), whole)


def _is_other_mode(resource: Resource, mode: int) -> bool:
    """Whether a file is one no longer, or closed to others, or may be run where it might not, or the other way."""
    return not (stat.S_ISREG(mode) and mode & stat.S_IROTH) or bool(mode & stat.S_IXUSR) != resource.is_executable


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a path."""
    while path := path.rpartition("/")[0]:
        yield path
