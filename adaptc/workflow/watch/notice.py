"""Noticing: a file that is not as it is known is doubted at once, and what was made of it leaves the trees.

This runs in the thread that the events of the file system come in, beside whatever is built.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from adaptc.compile.engine.gate import Gate
from adaptc.core.digest import digest_chunks
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import Resource
from adaptc.site.docroot import Selection

# Up to so many bytes a file is read, to tell one that was only touched; it takes a millisecond
_READ = 1 << 20

Known = Mapping[str, tuple[Resource, str]]


class Notice:
    """Notices changes below ``docroot``. ``told`` gets the files, after they were
    withdrawn, and whether all must be looked at.

    ``know`` tells what the files of the docroot are known as.
    """

    def __init__(
        self, docroot: str, selection: Selection, gate: Gate, told: Callable[[Sequence[str], bool], None]
    ) -> None:
        self.docroot, self.gate, self._told = docroot, gate, told
        self._tree = DiskTree(docroot)
        self._excluded = selection.excluder()
        self._known: Known = {}
        self._aliases: Mapping[str, list[str]] = {}
        self._linked: frozenset[str] = frozenset()
        # While something is built, what files are known as is not what is being published: a file that changes and
        # changes back would look as it did, and the version between would stay. Then every event counts.
        self.is_building = False

    def know(self, known: Known, aliases: Mapping[str, list[str]]) -> None:
        """Go by these files from now on, and by these links by the files that they lead to."""
        if aliases is not self._aliases:
            self._aliases = aliases
            self._linked = frozenset(parent for paths in aliases.values() for path in paths for parent in _above(path))
        self._known = known

    def file(self, full: str) -> None:
        """Scan at a file that something happened to."""
        path = self._path(full)
        if path is None or self.gate.is_invalid(path):
            return
        if path in self._linked:  # perhaps a link to a directory
            self.directory(full)
        elif self._is_changed(path):
            self._doubt({path: None}, whole=path in self._known and self._known[path][0].alias_of is not None)

    def directory(self, full: str) -> None:
        """Scan at a directory that came or went: all known files below it, and whatever else is there."""
        path = self._path(full)
        if path is None and full != self.docroot:
            return
        below = {one: None for one in self._known if path is None or one == path or one.startswith(path + "/")}
        self._doubt({one: None for one in below if self._is_changed(one)}, whole=True)

    def everything(self) -> None:
        """Doubt every known file: the docroot is gone."""
        self._doubt(dict.fromkeys(self._known), whole=True)

    def files(self, paths: Mapping[str, None], *, whole: bool) -> None:
        """Doubt files that were found changed."""
        if paths:
            self._doubt(paths, whole=whole)

    def _path(self, full: str) -> str | None:
        """Return the path below the docroot, ``None`` for the docroot itself and for what is left out."""
        if not full.startswith(self.docroot + "/"):
            return None
        path = full[len(self.docroot) + 1 :]
        return None if self._excluded(path) else path

    def _is_changed(self, path: str) -> bool:
        known = self._known.get(path)
        if self.is_building:
            return known is not None or os.path.lexists(f"{self.docroot}/{path}")
        try:
            found = os.lstat(f"{self.docroot}/{path}")
        except OSError:
            return known is not None
        if known is None:
            return True
        one, digest = known
        if one.alias_of is not None or not stat.S_ISREG(found.st_mode):
            return True
        if (found.st_size, found.st_mtime_ns, found.st_ino) == (one.size, one.mtime_ns, one.inode):
            return False
        return found.st_size != one.size or found.st_size > _READ or self._digest(path) != digest

    def _digest(self, path: str) -> str | None:
        try:
            return digest_chunks(self._tree.chunks(path))
        except (OSError, ChangedWhileRead):
            return None

    def _doubt(self, paths: Mapping[str, None], *, whole: bool) -> None:
        wanted = dict.fromkeys(paths)
        for path in paths:
            wanted.update(dict.fromkeys(self._aliases.get(path, ())))
        self.gate.invalidate(wanted)
        self._told(list(wanted), whole)


def _above(path: str) -> Iterator[str]:
    """Yield the directories that a path stands in."""
    while path := path.rpartition("/")[0]:
        yield path
