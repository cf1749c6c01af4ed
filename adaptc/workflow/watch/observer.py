"""Events of the file system, by watchdog (inotify, FSEvents, kqueue)."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Callable

from watchdog import events
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirModifiedEvent,
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
from adaptc.workflow.watch.invalidation import Invalidator

_NO_MORE = (errno.ENOSPC, errno.EMFILE)
_EVENTS: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirModifiedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    # of modes; those of version 6 are modifications
    *(getattr(events, name) for name in ("DirAttribEvent", "FileAttribEvent") if hasattr(events, name)),
]
_OF_MODES = ("modified", "attrib")


class FileObserver:
    """Passes events below the docroot to ``invalidator``. Raises ``UsageError`` when the system has no more watches.

    ``on_loss`` is called when events were lost, which watchdog writes to its log.
    """

    def __init__(self, invalidator: Invalidator, on_loss: Callable[[], None]) -> None:
        self._log = _LossHandler(on_loss)
        logging.getLogger("watchdog").addHandler(self._log)
        self._observer = Observer()
        self._observer.schedule(
            _Handler(invalidator, on_loss), invalidator.docroot, recursive=True, event_filter=_EVENTS
        )
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
        """Stop observing."""
        self._observer.stop()
        self._observer.join()
        logging.getLogger("watchdog").removeHandler(self._log)

    @property
    def is_alive(self) -> bool:
        """Whether events still come: they end when the observed directory is removed."""
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)


class _Handler(FileSystemEventHandler):
    def __init__(self, invalidator: Invalidator, on_loss: Callable[[], None]) -> None:
        self._invalidator, self._on_loss = invalidator, on_loss

    def on_any_event(self, event: FileSystemEvent) -> None:
        check = self._invalidator.check_directory if event.is_directory else self._invalidator.check_file
        if event.is_directory and event.event_type in _OF_MODES:  # or by a file in it, which has an event of its own
            check = self._invalidator.check_mode
        for path in (event.src_path, event.dest_path):
            if path:
                try:
                    check(os.fsdecode(path))
                except (OSError, sqlite3.Error):  # the thread must go on
                    self._on_loss()


class _LossHandler(logging.Handler):
    def __init__(self, on_loss: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._on_loss = on_loss

    def emit(self, _record: logging.LogRecord) -> None:
        self._on_loss()
