"""The site as passes see it: its files, and which file a URL leads to."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import singledispatch
from typing import NamedTuple

from adaptc.core.urls import Reach, SiteAddress, Target
from adaptc.core.values import dataclass, field
from adaptc.site.selection import with_ancestors


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the docroot: digest of its content, size in bytes, media type, link target."""

    digest: str
    size: int
    media_type: str
    alias_of: str | None = None


class SiteTarget(NamedTuple):
    """Where a reference leads: ``path`` is the file, or ``None`` when there is none."""

    target: Target
    path: str | None


PAGE_SUFFIX = ".html"


@dataclass(frozen=True)
class Site:
    """Files by path, the site's address, and the names of directory indexes in order.

    ``withheld`` are files and directories that exist and are not built: rules, modes or names keep them from it.
    ``linked`` are the URL paths that the site's pages refer to, as far as somebody asks under which URL one is read.
    """

    sources: Mapping[str, Source]
    address: SiteAddress
    index_names: tuple[str, ...]
    directories: Container[str] = field(default=frozenset())
    withheld: frozenset[str] = frozenset()
    linked: Container[str] = field(default=frozenset())

    @classmethod
    def of(
        cls,
        sources: Mapping[str, Source],
        address: SiteAddress,
        index_names: tuple[str, ...],
        withheld: frozenset[str] = frozenset(),
        linked: Container[str] = frozenset(),
    ) -> Site:
        """Make a site; its directories are those that hold a file."""
        return cls(sources, address, index_names, directories_of(sources), withheld, linked)

    def is_withheld(self, path: str) -> bool:
        """Whether a file that the site lacks may exist all the same: it, or a directory above it, is not built."""
        return bool(self.withheld) and not self.withheld.isdisjoint(with_ancestors(path.rstrip("/")))

    def candidates(self, path: str) -> tuple[str, ...]:
        """Return the files that a server would try for a decoded URL path, in order."""
        if path.endswith("/") or not path:
            return tuple(path + name for name in self.index_names)
        return (path, *(f"{path}/{name}" for name in self.index_names))

    def find(self, path: str) -> str | None:
        """Return the file that a server sends for a decoded URL path, or ``None``.

        A directory without an index counts as missing only when the docroot has no such directory.
        """
        if path in self.sources:
            return path
        for candidate in self.candidates(path):
            if candidate in self.sources:
                return candidate
        return None

    def send(self, path: str) -> str | None:
        """Return the file that a static host sends for a decoded URL path: ``news.html`` for ``news``, too."""
        found = self.find(path)
        return path + PAGE_SUFFIX if found is None and path + PAGE_SUFFIX in self.sources else found

    def url_for_readers(self, page: str) -> str:
        """Return the URL under which readers open a page: scripts read it, and a router shows another page at another.

        An index is read as its directory, ``news.html`` as ``news`` where that is what the site's links say.
        """
        directory, slash, name = page.rpartition("/")
        shorter = directory + slash if name in self.index_names else page.removesuffix(PAGE_SUFFIX)
        is_read_so = page not in self.linked and (name in self.index_names or shorter in self.linked)
        is_read_so |= not directory and name in self.index_names  # visitors enter there
        return self.address.url_of(shorter if is_read_so and self.send(shorter) == page else page)

    def leads_somewhere(self, path: str) -> bool:
        """Whether a link to ``path`` is answered: by a file, or by the listing of a directory.

        Static hosts send ``news.html`` for ``news``, and many generators link so.
        """
        is_directory = not path or path.rstrip("/") in self.directories
        is_file = self.find(path) is not None or path + PAGE_SUFFIX in self.sources
        return is_directory or is_file or self.is_withheld(path)

    def follow(self, base: str, reference: str) -> SiteTarget:
        """Resolve a reference against the absolute URL ``base`` and find its file."""
        target = self.address.resolve(base, reference)
        return SiteTarget(target, self.find(target.path) if target.reach is Reach.LOCAL else None)


@singledispatch
def directories_of(sources: Mapping[str, Source]) -> Container[str]:
    """Return the directories that hold a source. A mapping that knows better registers its own way."""
    return directories_above(sources)


@singledispatch
def paths_of_type(sources: Mapping[str, Source], media_type: str) -> Iterator[str]:
    """Yield the paths of the sources of a media type."""
    return (path for path, source in sources.items() if source.media_type == media_type)


def directories_above(paths: Iterable[str]) -> set[str]:
    """Return the directories that hold one of ``paths``."""
    directories: set[str] = set()
    for path in paths:
        parent = path.rpartition("/")[0]
        while parent and parent not in directories:
            directories.add(parent)
            parent = parent.rpartition("/")[0]
    return directories
