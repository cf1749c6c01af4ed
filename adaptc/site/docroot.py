"""A docroot: every file in it that a server would publish, with its media type, and diagnostics about the rest."""

from __future__ import annotations

import errno
import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.fs import ChangedWhileRead, DiskTree, Entry, Tree
from adaptc.core.model import Resource
from adaptc.core.urls import SiteAddress
from adaptc.site.mirror import types_of
from adaptc.site.site import Site, Source

_LINK_PROBLEMS = {errno.ELOOP: "symlink-loop", errno.ENOENT: "symlink-broken", errno.ENOTDIR: "symlink-broken"}

# RFC 8615: the one hidden name that servers publish
_PUBLISHED_HIDDEN = ".well-known"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which names of a docroot are part of the site.

    ``exclude`` are shell patterns; one with a ``/`` is matched against the path, one without against every name.
    """

    exclude: tuple[str, ...] = ()
    include_hidden: bool = False

    def excluder(self) -> Callable[[str], bool]:
        """Return a function that tells whether a path, or a directory above it, is left out."""
        matcher = self.matcher()
        return lambda path: any(map(matcher.fullmatch, _with_ancestors(path)))

    def matcher(self) -> re.Pattern[str]:
        """Return one pattern for all: it matches paths that are left out."""
        parts = [_translated(pattern) for pattern in self.exclude]
        if not self.include_hidden:
            parts.append(rf"(?:.*/)?\.(?!{re.escape(_PUBLISHED_HIDDEN[1:])}(?:/|$))[^/]*")
        return re.compile("|".join(parts) or r"(?!)", re.DOTALL)


def _translated(pattern: str) -> str:
    place = "" if "/" in pattern else "(?:.*/)?"
    return f"{place}{fnmatch.translate(pattern.strip('/'))}"


@dataclass(slots=True)
class Docroot:
    """A loaded docroot: resources by path, in order of their paths, and the diagnostics of loading."""

    resources: dict[str, Resource] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def load_directory(tree: Tree, selection: Selection | None = None, types: Mapping[str, str] | None = None) -> Docroot:
    """Walk ``tree`` and return what is published. ``types`` are media types by path that beat those of names.

    Symbolic links that stay inside are followed once: their targets become aliases. Links that leave, are
    broken or loop, special files and what cannot be read are left out with a diagnostic.
    """
    walk = _Walk(tree, (selection or Selection()).matcher(), types or {})
    walk.run()
    docroot = walk.docroot
    docroot.resources = {path: docroot.resources[path] for path in sorted(docroot.resources)}
    docroot.diagnostics.extend(_case_collisions(docroot.resources))
    return docroot


def load_file(tree: Tree, path: str, types: Mapping[str, str]) -> Resource | None:
    """Return the resource of a plain file; ``None`` for links and special files, which only a walk can judge.

    Raises ``OSError`` and ``ChangedWhileRead``.
    """
    if tree.real_path(path) != path:
        return None
    entry = tree.status(path)
    if entry.kind != "file":
        return None
    media_type = types.get(path) or media.by_name(path)
    media_type = media_type or media.by_content(tree.read_start(path, media.SNIFF_BYTES)) or media.BINARY
    return Resource(path, entry.size, entry.mtime_ns, entry.inode, media_type)


def load_site(config: Config) -> tuple[Tree, Site]:
    """Return the docroot and the files in it, unread. Raises ``UsageError`` when there is no such directory."""
    if config.docroot is None or not config.docroot.is_dir():
        raise UsageError(f"there is no directory {config.docroot}" if config.docroot else "name the DOCROOT")
    tree = DiskTree(config.docroot)
    selection = Selection(config.site.exclude, config.site.include_hidden)
    return tree, site_of(config, load_directory(tree, selection, types_of(config.docroot)).resources)


def site_of(config: Config, resources: Mapping[str, Resource]) -> Site:
    """Return the site of loaded resources, without digests."""
    sources = {path: Source("", file.size, file.media_type, file.alias_of) for path, file in resources.items()}
    return Site.of(sources, SiteAddress(config.site.base_url), config.site.index)


class _Walk:
    def __init__(self, tree: Tree, excluded: re.Pattern[str], types: Mapping[str, str]) -> None:
        self.tree, self.types = tree, types
        self.excluded = excluded
        self.docroot = Docroot()
        # (path, its real path, the real directories that links were followed to); a list and no recursion, since a
        # tree may be deeper than Python's stack
        self.pending: list[tuple[str, str, tuple[str, ...]]] = [("", "", ())]

    def run(self) -> None:
        while self.pending:
            self._directory(*self.pending.pop())

    def _directory(self, path: str, real: str, links: tuple[str, ...]) -> None:
        try:
            entries = self.tree.list_directory(real)
        except OSError as error:
            self._report("unreadable-directory", path or ".", reason=error.strerror)
            return
        for entry in entries:
            name = entry.path.rpartition("/")[2]
            place = f"{path}/{name}" if path else name
            if not self._is_excluded(place, entry.path):
                self._entry(place, entry, links)

    def _is_excluded(self, *paths: str) -> bool:
        return any(map(self.excluded.fullmatch, set(paths)))

    def _entry(self, place: str, entry: Entry, links: tuple[str, ...]) -> None:
        if entry.kind == "directory":
            self.pending.append((place, entry.path, links))
        elif entry.kind == "file":
            self._file(place, entry)
        elif entry.kind == "symlink":
            self._symlink(place, entry, links)
        else:
            self._report("special-file", place, kind=entry.kind)

    def _symlink(self, place: str, entry: Entry, links: tuple[str, ...]) -> None:
        try:
            real = self.tree.real_path(entry.path)
            target = self.tree.status(entry.path)
        except OSError as error:
            kind = _LINK_PROBLEMS.get(error.errno or 0, "unreadable-file")
            self._report(kind, place, target=entry.link, reason=error.strerror)
            return
        if real is None or self._is_excluded(*_with_ancestors(real)):
            self._report("symlink-outside", place, target=entry.link)
        elif target.kind == "directory":
            self._linked_directory(place, entry.path, real, links)
        elif target.kind == "file":
            self._file(place, Entry(real, "file", target.size, target.mtime_ns, target.inode))
        else:
            self._report("special-file", place, kind=target.kind)

    def _linked_directory(self, place: str, link: str, real: str, links: tuple[str, ...]) -> None:
        if not real or any(_contains(real, seen) for seen in (place, link, *links)):
            self._report("symlink-loop", place)
        else:
            self.pending.append((place, real, (*links, real)))

    def _file(self, place: str, entry: Entry) -> None:
        media_type = self.types.get(place) or media.by_name(place)
        if media_type is None:
            try:
                media_type = media.by_content(self.tree.read_start(entry.path, media.SNIFF_BYTES)) or media.BINARY
            except ChangedWhileRead:
                self._report("changed-while-read", place)
                return
            except OSError as error:
                self._report("unreadable-file", place, reason=error.strerror)
                return
        alias_of = entry.path if entry.path != place else None
        self.docroot.resources[place] = Resource(place, entry.size, entry.mtime_ns, entry.inode, media_type, alias_of)

    def _report(self, kind: str, place: str, /, **fields: object) -> None:
        self.docroot.diagnostics.append(diagnose(kind, Location(place), **fields))


def _with_ancestors(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _contains(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")


def _case_collisions(resources: dict[str, Resource]) -> Iterator[Diagnostic]:
    seen: dict[str, str] = {}
    for path in resources:
        first = seen.setdefault(path.casefold(), path)
        if first != path:
            yield diagnose("case-collision", Location(path), other=first)
