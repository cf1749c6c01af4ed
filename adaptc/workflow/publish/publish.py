"""Publishes a site at one level to a folder by URL: what changed, and nothing that is as it should be.

Assets are sent first, then pages, then come removals, with a record from which the next run goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.trees.output import output_lock
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, RemoteError, UsageError, diagnose, printable
from adaptc.core.digest import digest_bytes, digest_file
from adaptc.core.fs import TEMPORARY, write_atomic
from adaptc.core.model import PRIVATE
from adaptc.core.remote import CONNECTIONS, Remote, RemoteFile
from adaptc.core.urls import quote_path
from adaptc.core.values import dataclass
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.workflow.export.export import sendable, staleness
from adaptc.workflow.export.items import export_items
from adaptc.workflow.publish.objects import SiteObject, layout_of, site_objects
from adaptc.workflow.publish.target import PRIVATE as OWN_FOLDER
from adaptc.workflow.publish.target import Entry, Lease, Record, hold_lease, read_record

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


@dataclass(frozen=True, slots=True)
class Publication:
    """What a publication did, or would do: names of objects sent and removed, ``size`` bytes sent, objects ``kept``.

    ``purged`` are the URL paths whose content changed since the last complete publication.
    """

    url: str
    level: str
    sent: tuple[str, ...]
    removed: tuple[str, ...]
    kept: int
    size: int
    purged: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def publish_site(
    config: Config,
    progress: Progress,
    *,
    removes: bool = False,
    adopts: bool = False,
    is_dry: bool = False,
    purge_list: Path | None = None,
) -> Publication:
    """Publish the site at ``config.publish.level`` to ``config.publish.url``.

    With ``removes``, what was published before and is gone from the site is removed. With ``adopts``, files that
    publishing did not write are overwritten. ``is_dry`` only compares. ``purge_list`` is a file to which ``purged`` is
    written, a line each. Raises ``UsageError``, ``RemoteError``, and ``Busy`` while a build or another
    publication runs.
    """
    manifest = last_manifest(config.output)
    level = _level(config, manifest)
    if not config.publish.url:
        raise UsageError("no URL: name it on the command line or as publish.url in adaptc.toml")
    remote = Remote(config.publish.url)
    locked = nullcontext() if is_dry else hold_lease(remote)
    with output_lock(config.output / PRIVATE / "lock"), locked as lease:
        stale = staleness(config, manifest, level)
        manifest, withheld = sendable(config, manifest)
        items, left_out = export_items(manifest, config.existing_docroot(), level, layout_of(config.publish.encodings))
        record, listing = read_record(remote), remote.files()
        known = record or Record()
        objects = site_objects(items, manifest, level, config.publish)
        changes = find_changes(objects, known.entries, listing, removes=removes)
        if not adopts:
            refuse_foreign(remote.url, changes, known.entries, listing)
        outdated = {*known.outdated, *(name for name in changes.names if name in listing)}
        problems, done, size = list[Diagnostic](), set(changes.names), 0
        if lease is not None and not (changes.is_empty and not known.outdated):
            sender = Sender(remote, known, lease, progress)
            problems = sender.run(changes, listing)
            done, size = sender.done, sender.size
    purged = tuple(purge_paths(outdated, config.url_prefix, config.site.index))
    if purge_list is not None:
        write_atomic(os.fspath(purge_list), "".join(f"{path}\n" for path in purged).encode("ascii"))
    sent = tuple(each.name for each in changes.sent if each.name in done)
    removed = tuple(name for name in changes.removed if name in done)
    diagnostics = (*stale, *withheld, *left_out, *problems)
    return Publication(remote.url, level, sent, removed, changes.kept, size, purged, diagnostics)


def _level(config: Config, manifest: Manifest) -> str:
    """Return the configured level, or the only one that was built."""
    level = config.publish.level
    if level is None:
        if len(manifest.level_names) > 1:
            built = ", ".join(manifest.level_names)
            raise UsageError(f"which level? Give --level, or publish.level in adaptc.toml; there are: {built}")
        (level,) = manifest.level_names
    manifest.require_level(level)
    return level


# ---- sending

T = TypeVar("T")
R = TypeVar("R")

# Bytes of a file that is sent from memory, after its digest was compared; 32 at a time are 128 MB
_WHOLE = 4 << 20
# The record is stored after this many objects, or this share of all: a large one takes time
_LEAST_OBJECTS, _SHARE = 256, 0.05


class Sender:
    """Sends the objects of one publication. Its methods raise ``RemoteError``, and ``Busy`` when the lock is lost.

    ``done`` are the names of what was sent or removed, ``size`` is in bytes.
    """

    def __init__(self, remote: Remote, record: Record, lease: Lease, progress: Progress) -> None:
        self.remote, self.record, self.lease, self.progress = remote, record, lease, progress
        self.done = set[str]()
        self.size = 0
        self._since_stored = 0
        self._due = _LEAST_OBJECTS

    def run(self, changes: Changes, listing: dict[str, RemoteFile]) -> list[Diagnostic]:
        """Carry out ``changes``; return an error for each object that could not be sent.

        Where that is an asset no page is sent, and where there is any nothing is removed: pages may need it.
        """
        sent = changes.sent
        self._due = max(_LEAST_OBJECTS, int(len(sent) * _SHARE))
        self.progress.begin("sending", len(sent) + len(changes.removed), 0)
        self._claim(changes, listing)
        try:
            self._remove((*changes.drafts, *changes.stale))
            problems = self._send(changes.assets)
            if not problems:
                problems = self._send(changes.pages)
            if not problems:
                self._remove(changes.obsolete_pages)
                self._remove(changes.obsolete_assets)
        except BaseException:
            with suppress(RemoteError):
                self.record.write(self.remote)
            raise
        self.record.settle(self.remote.files())
        if not problems:
            self.record.outdated.clear()
        self.record.write(self.remote)
        self.progress.end()
        return problems

    def _claim(self, changes: Changes, listing: dict[str, RemoteFile]) -> None:
        """Record what will be overwritten or removed, before it is."""
        self.record.entries.update({each.name: Entry("", encodes=each.encodes) for each in changes.sent})
        self.record.outdated.update(name for name in changes.names if name in listing)
        self.record.write(self.remote)

    def _send(self, objects: Iterable[SiteObject]) -> list[Diagnostic]:
        problems = []

        def note(each: SiteObject, done: int | Diagnostic) -> None:
            if isinstance(done, Diagnostic):
                problems.append(done)
            else:
                self.record.entries[each.name] = Entry(each.fingerprint, done, encodes=each.encodes)
                self.done.add(each.name)
                self.size += done

        self._each(objects, self._put, note)
        return problems

    def _put(self, each: SiteObject) -> int | Diagnostic:
        """Send an object; return its size, or an error where the file is not what was built."""
        place, file = Location(each.path), os.fspath(each.file)
        try:
            each.name.encode("utf-8")
            if os.stat(file).st_size > _WHOLE:
                content, digest = None, digest_file(file)
            else:
                content = each.file.read_bytes()
                digest = digest_bytes(content)
        except UnicodeEncodeError:
            return diagnose("name-unpublishable", place, reason="it is not UTF-8")
        except OSError as error:
            return diagnose("publish-failed", place, reason=error.strerror)
        if digest != each.digest:
            return diagnose("publish-failed", place, reason="it changed since it was built")
        if content is None:
            self.remote.upload(file, each.name, each.headers)
            return os.stat(file).st_size
        self.remote.write(each.name, content, each.headers)
        return len(content)

    def _remove(self, names: Iterable[str]) -> None:
        def forget(name: str, _: None) -> None:
            self.record.entries.pop(name, None)
            self.done.add(name)

        self._each(names, self.remote.remove, forget)

    def _each(self, items: Iterable[T], work: Callable[[T], R], note: Callable[[T, R], None]) -> None:
        """Call ``work`` for all items in threads, and ``note`` with each result in this one."""
        self.lease.require()
        with ThreadPoolExecutor(CONNECTIONS, "publish") as threads:
            futures = {threads.submit(work, item): item for item in items}
            try:
                for future in as_completed(tuple(futures)):
                    result = future.result()
                    note(futures.pop(future), result)
                    self.progress.advance(1, 0, 0)
                    self._checkpoint()
            except BaseException:
                threads.shutdown(wait=True, cancel_futures=True)
                for future, item in futures.items():  # that ended meanwhile
                    if not future.cancelled() and future.exception() is None:
                        note(item, future.result())
                raise

    def _checkpoint(self) -> None:
        self._since_stored += 1
        if self._since_stored >= self._due:
            self._since_stored = 0
            self.lease.require()
            self.record.write(self.remote)
