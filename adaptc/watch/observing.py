"""Events of the file system, by watchdog (inotify, FSEvents, kqueue)."""

from __future__ import annotations

import logging
import os
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

from adaptc.watch.notice import Notice

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
    """Tells ``notice`` of events below its docroot. Raises ``OSError`` when the system has no more watches.

    ``lost`` is called when events were lost: watchdog says so in its log.
    """

    def __init__(self, notice: Notice, lost: Callable[[], None]) -> None:
        self._log = _LossHandler(lost)
        logging.getLogger("watchdog").addHandler(self._log)
        self._observer = Observer()
        self._observer.schedule(_Handler(notice), notice.docroot, recursive=True, event_filter=_EVENTS)
        self._observer.start()

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
    def __init__(self, notice: Notice) -> None:
        self._notice = notice

    def on_any_event(self, event: FileSystemEvent) -> None:
        look = self._notice.directory if event.is_directory else self._notice.file
        for path in (event.src_path, event.dest_path):
            if path:
                look(os.fsdecode(path))


class _LossHandler(logging.Handler):
    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost

    def emit(self, _record: logging.LogRecord) -> None:
        self._lost()
