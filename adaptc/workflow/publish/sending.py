"""Carries out a publication: assets, then pages, then removals, with a record from which the next run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TypeVar

from adaptc.compile.engine.reporting import Progress
from adaptc.core.diagnostics import Diagnostic, Location, RemoteError, diagnose
from adaptc.core.digest import digest_bytes, digest_file
from adaptc.core.remote import CONNECTIONS, Remote, RemoteFile
from adaptc.workflow.publish.changes import Changes
from adaptc.workflow.publish.lease import Lease
from adaptc.workflow.publish.objects import SiteObject
from adaptc.workflow.publish.record import Entry, Record

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
