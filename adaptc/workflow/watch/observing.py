"""Events of the file system, by watchdog (inotify, FSEvents, kqueue)."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Callable

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from adaptc.core.diagnostics import UsageError
from adaptc.workflow.watch.notice import Notice

_NO_MORE = (errno.ENOSPC, errno.EMFILE)
_EVENTS: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]


class Observing:
    """Tells ``notice`` of events below its docroot. Raises ``UsageError`` when the system has no more watches.

    ``lost`` is called when events were lost: watchdog says so in its log.
    """

    def __init__(self, notice: Notice, lost: Callable[[], None]) -> None:
        self._log = _LossHandler(lost)
        logging.getLogger("watchdog").addHandler(self._log)
        self._observer = Observer()
        self._observer.schedule(_Handler(notice, lost), notice.docroot, recursive=True, event_filter=_EVENTS)
        try:
            self._observer.start()
        except OSError as error:
            self._observer.stop()
            if error.errno not in _NO_MORE:
                raise
            raise UsageError(
                "the system has no more watches for directories: raise fs.inotify.max_user_watches and"
                " fs.inotify.max_user_instances, or use --poll"
            ) from None

    def close(self) -> None:
        """End watching."""
        self._observer.stop()
        self._observer.join()
        logging.getLogger("watchdog").removeHandler(self._log)

    @property
    def is_alive(self) -> bool:
        """Whether events still come: they end with the directory that is watched."""
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)


class _Handler(FileSystemEventHandler):
    def __init__(self, notice: Notice, lost: Callable[[], None]) -> None:
        self._notice, self._lost = notice, lost

    def on_any_event(self, event: FileSystemEvent) -> None:
        look = self._notice.directory if event.is_directory else self._notice.file
        for path in (event.src_path, event.dest_path):
            if path:
                try:
                    scan_docroot(os.fsdecode(path))
                except (OSError, sqlite3.Error):  # a thread that ends would be deaf from then on
                    self._lost()


class _LossHandler(logging.Handler):
    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost

    def emit(self, _record: logging.LogRecord) -> None:
        self._lost()
