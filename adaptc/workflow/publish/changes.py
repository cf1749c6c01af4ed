"""What a publication will do: a pure comparison of the site, the record at the target, and what the store lists."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from adaptc.core import media
from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.fs import TEMPORARY
from adaptc.core.remote import RemoteFile
from adaptc.core.urls import quote_path
from adaptc.workflow.publish.objects import SiteObject
from adaptc.workflow.publish.target import PRIVATE as OWN_FOLDER
from adaptc.workflow.publish.target import Entry

_LISTED = 5  # names in an error


@dataclass(frozen=True, slots=True)
class Changes:
    """The steps of a publication, in their order.

    ``stale`` are encodings of files that the site still has in another form: a server must not send them any more.
    ``assets`` and then ``pages`` are sent; obsolete pages, and then what they needed, are removed. ``kept`` counts the
    objects that are as they should be, and ``drafts`` are what a killed publisher left in a file system.
    """

    drafts: tuple[str, ...]
    stale: tuple[str, ...]
    assets: tuple[SiteObject, ...]
    pages: tuple[SiteObject, ...]
    obsolete_pages: tuple[str, ...]
    obsolete_assets: tuple[str, ...]
    kept: int

    @property
    def sent(self) -> tuple[SiteObject, ...]:
        """All objects to send, assets first."""
        return (*self.assets, *self.pages)

    @property
    def removed(self) -> tuple[str, ...]:
        """All names to remove."""
        return (*self.stale, *self.obsolete_pages, *self.obsolete_assets)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all that is sent or removed."""
        return (*(each.name for each in self.sent), *self.removed)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.drafts or self.sent or self.removed)


def find_changes(
    objects: Iterable[SiteObject],
    entries: Mapping[str, Entry],
    listing: Mapping[str, RemoteFile],
    *,
    removes: bool,
) -> Changes:
    """Compare ``objects`` with the target; with ``removes``, what was published before and is gone is obsolete."""
    wanted = {each.name: each for each in objects}
    pending = [
        each
        for each in wanted.values()
        if not entries.get(each.name, Entry("")).is_current(each.fingerprint, listing.get(each.name))
    ]
    gone = [name for name in entries if name not in wanted and name in listing]
    paths = {each.path for each in wanted.values()}
    stale = {name for name in gone if entries[name].encodes in paths}
    obsolete = sorted(set(gone) - stale) if removes else []
    return Changes(
        tuple(name for name in listing if os.path.basename(name).startswith(TEMPORARY)),
        tuple(sorted(stale)),
        tuple(each for each in pending if not each.is_page),
        tuple(each for each in pending if each.is_page),
        tuple(name for name in obsolete if media.by_name(name) in media.PAGES),
        tuple(name for name in obsolete if media.by_name(name) not in media.PAGES),
        len(wanted) - len(pending),
    )


def refuse_foreign(url: str, changes: Changes, entries: Mapping[str, Entry], listing: Mapping[str, RemoteFile]) -> None:
    """Raise ``UsageError`` if an object that publishing did not write would be overwritten."""
    foreign = [each.name for each in changes.sent if each.name in listing and each.name not in entries]
    if foreign:
        listed = ", ".join(map(printable, foreign[:_LISTED])) + (", ..." if len(foreign) > _LISTED else "")
        raise UsageError(f"{url} holds files that adaptc publish did not write: {listed}; --adopt overwrites them")


def purge_paths(names: Iterable[str], prefix: str, index_names: Collection[str]) -> list[str]:
    """Return the URL paths of objects, for a CDN; that of a directory for its index, too. ``prefix`` is decoded."""
    paths = set()
    for name in names:
        if not name.startswith(OWN_FOLDER):
            paths.add(quote_path(f"{prefix}/{name}"))
            directory, _, last = f"{prefix}/{name}".rpartition("/")
            if last in index_names:
                paths.add(quote_path(f"{directory}/"))
    return sorted(paths)
