"""The event loop of the watcher: passes events to the state machine, and carries out its commands."""

from __future__ import annotations

import errno
import logging
import os
import queue
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from types import FrameType

from watchdog import events
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.state.damage import MALFORMED
from adaptc.compile.engine.trees.gate import BuildCancelled
from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.shortage import Shortage, recognizing_shortage
from adaptc.core.values import dataclass
from adaptc.daemons.loop import notify
from adaptc.workflow.api import engine_of
from adaptc.workflow.watch.builder_session import BuilderSession, BuildOutcome
from adaptc.workflow.watch.invalidation import Invalidator
from adaptc.workflow.watch.journal import Journal
from adaptc.workflow.watch.state_machine import (
    BuildBest,
    BuildChanged,
    BuildSite,
    Command,
    CommandDone,
    DocrootMoved,
    End,
    Event,
    EventsLost,
    FilesChanged,
    Reconcile,
    Reload,
    Reopen,
    State,
    Stop,
    Tick,
    Timing,
    next_tick,
    step,
)

_NO_MORE = (errno.ENOSPC, errno.EMFILE)
# Those of modes are modifications in version 6
_NAMES = (
    *("DirCreatedEvent", "DirDeletedEvent", "DirModifiedEvent", "DirMovedEvent", "DirAttribEvent", "FileClosedEvent"),
    *("FileCreatedEvent", "FileDeletedEvent", "FileModifiedEvent", "FileMovedEvent", "FileAttribEvent"),
)
_EVENTS: list[type[FileSystemEvent]] = [getattr(events, name) for name in _NAMES if hasattr(events, name)]
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


# Seconds between two checks of what no event reports: whether the docroot's name leads elsewhere
_CHECK_EVERY = 0.25
# Paths in a line for people, and in a record
_NAMED, _RECORDED = 3, 16


@dataclass(frozen=True, slots=True)
class WatcherContext:
    """How the watcher reads its configuration, its times, and where it reports.

    ``observes`` is false where the file system has no events: then changes are found by comparing.
    """

    load_config: Callable[[], Config]
    timing: Timing
    journal: Journal
    progress: Progress
    observes: bool = True


class Watcher:
    """Keeps an output fresh until it is stopped."""

    def __init__(self, context: WatcherContext) -> None:
        self.context = context
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._state = State()
        self._observer: FileObserver | None = None
        self._is_docroot_missing = self._is_stopping = False
        self._session = self._new_session(context.load_config())

    def run(self) -> None:
        """Watch until SIGTERM or SIGINT; SIGHUP reads the configuration again. Raises ``OSError``, ``UsageError``."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            self._begin()
            while self._turn():
                pass
        finally:
            notify("STOPPING=1")
            self.context.journal.report("stopped", "stopped")
            self._close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._queue.put(Reload(time.monotonic()))
        else:
            self._is_stopping = self._session.gate.is_stopping = True
            self._queue.put(Stop(time.monotonic()))

    # ---- opening and closing

    def _new_session(self, config: Config) -> BuilderSession:
        session = BuilderSession(config, self._on_changes, self.context.progress)
        session.gate.is_stopping = self._is_stopping
        return session

    def _on_changes(self, paths: Sequence[str], whole: bool) -> None:
        self._queue.put(FilesChanged(time.monotonic(), len(paths), whole))
        if paths:
            self.context.journal.record("noticed", files=len(paths), paths=paths[:_RECORDED])

    def _begin(self) -> None:
        """Observe first and compare then, so that no change falls between."""
        spec = self._session.best.spec
        self.context.journal.status_file.open(spec.output, str(spec.docroot))
        if self.context.observes:
            self._observer = FileObserver(
                self._session.invalidator, lambda: self._queue.put(EventsLost(time.monotonic()))
            )
        if self._session.discarded is not None:
            self._report_damage(self._session.discarded)
        self._session.reconcile()
        self._perform(BuildSite())
        notify("READY=1")
        self.context.journal.report("ready", f"watching {spec.docroot}", docroot=str(spec.docroot))

    def _close(self) -> None:
        if self._observer is not None:
            self._observer.close()
            self._observer = None
        self._session.close()
        self.context.journal.status_file.close()

    def _reopen(self, reload: bool) -> None:
        """Begin anew with the current configuration; a wrong one is reported, and the old one stays in use."""
        try:
            config = self.context.load_config() if reload else self._session.config
            engine_of(config, self.context.progress)
        except UsageError as error:
            self.context.journal.report("failed", f"the configuration is wrong and the old one stays: {error}")
            return
        self._close()
        self._session = self._new_session(config)
        self._begin()

    # ---- one turn

    def _turn(self) -> bool:
        """Wait for an event, or until work is due; return whether there is a next turn."""
        for event in self._events():
            if self._is_stopping:  # whatever else came before the signal
                return False
            self._state, command = step(self._state, event, self.context.timing)
            if isinstance(command, End):
                return False
            if command is not None:
                self._perform(command)
        return True

    def _events(self) -> list[Event]:
        now = time.monotonic()
        wait = min(max(next_tick(self._state, self.context.timing) - now, 0), _CHECK_EVERY)
        try:
            events: list[Event] = [self._queue.get(timeout=wait) if wait else self._queue.get_nowait()]
        except queue.Empty:
            events = [DocrootMoved(time.monotonic())] if self._has_moved() else []
        # All that came during a build is one burst; but a stream of events must not delay what is due
        events += [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [*events, Tick(time.monotonic())]

    def _has_moved(self) -> bool:
        """Whether the docroot's name leads elsewhere, or to a directory again; without a directory all is withdrawn."""
        is_elsewhere = self._session.is_elsewhere
        if is_elsewhere is None:
            if not self._is_docroot_missing:
                self._is_docroot_missing = True
                self._session.invalidator.invalidate_all()
            return False
        has_no_observer = self._observer is not None and not self._observer.is_alive
        has_moved = is_elsewhere or has_no_observer or self._is_docroot_missing
        self._is_docroot_missing = False
        return has_moved

    # ---- commands

    def _perform(self, command: Command) -> None:
        if isinstance(command, Reopen):
            self.context.journal.report(
                "reopened", "reading the configuration" if command.reload else "another docroot"
            )
            self._reopen(command.reload)
            return
        failed = True
        self.context.journal.set_state(_ACTIVITIES[type(command)])
        try:
            with recognizing_shortage():
                self._carry_out(command)
            failed = False
        except BuildCancelled:
            failed = False
            self.context.journal.report("given-up", "given up, since files changed")
        except (sqlite3.DatabaseError, *MALFORMED) as error:
            self._session.recover(error)
            self._report_damage(str(error))
        except (OSError, Shortage) as error:
            self.context.journal.report("failed", f"{error}; trying again in {self.context.timing.retry:g} s")
        self._state, _ = step(self._state, CommandDone(time.monotonic(), command, failed), self.context.timing)
        self.context.journal.set_state(self._idle_state())

    def _idle_state(self) -> str:
        if self._state.is_dirty or self._state.not_before:
            return "something waits to be built"
        return "fresh, fast encodings for now" if self._state.coarse else "fresh"

    def _carry_out(self, command: Command) -> None:
        started = time.monotonic()
        if isinstance(command, Reconcile):
            if not self._session.reconcile():
                self._on_changes((), True)
            return
        outcome = _BUILDS[type(command)](self._session)
        self._report(command, outcome, time.monotonic() - started)

    def _report_damage(self, reason: str) -> None:
        self.context.journal.report("failed", f"the state could not be used, and everything is built anew: {reason}")

    def _report(self, command: Command, outcome: BuildOutcome, seconds: float) -> None:
        name = "polished" if isinstance(command, BuildBest) else "built"
        if name == "built" and not (outcome.built or outcome.removed):
            return
        for diagnostic in outcome.diagnostics:
            if diagnostic.severity.value == "error":
                self.context.journal.report("diagnostic", str(diagnostic), id=diagnostic.id)
        self.context.journal.report(
            name,
            _sentence(name, outcome, seconds),
            built=outcome.built,
            removed=outcome.removed,
            refused=outcome.refused,
            seconds=round(seconds, 4),
            paths=outcome.paths[:_RECORDED],
            files=len(outcome.paths),
            **({"why": outcome.why} if outcome.why else {}),
        )


_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_ACTIVITIES: dict[type[Command], str] = {
    BuildChanged: "building",
    BuildSite: "comparing and building the site",
    BuildBest: "building the best encodings",
    Reconcile: "looking for changes",
}
_BUILDS: dict[type[Command], Callable[[BuilderSession], BuildOutcome]] = {
    BuildChanged: BuilderSession.build_changed,
    BuildSite: BuilderSession.build_site,
    BuildBest: BuilderSession.build_best,
}


def _sentence(name: str, outcome: BuildOutcome, seconds: float) -> str:
    named = ", ".join(outcome.paths[:_NAMED]) + (
        f" and {len(outcome.paths) - _NAMED} more" if outcome.paths[_NAMED:] else ""
    )
    counts = f"{name} {outcome.built:,}" + (f", removed {outcome.removed:,}" if outcome.removed else "")
    return f"{named + ': ' if named else ''}{counts} in {1000 * seconds:.0f} ms"
