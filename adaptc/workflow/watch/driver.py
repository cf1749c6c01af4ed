"""The driver of the watcher: brings events to the machine, and does what it commands."""

from __future__ import annotations

import queue
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

from adaptc.compile.engine.gate import BuildCancelled
from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.daemons.loop import notify
from adaptc.workflow.api import engine_of
from adaptc.workflow.watch.journal import Journal
from adaptc.workflow.watch.keeper import Keeper, Work
from adaptc.workflow.watch.machine import (
    BuildChanged,
    BuildSite,
    Command,
    Done,
    End,
    Event,
    Lost,
    Moved,
    Noticed,
    Polish,
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
from adaptc.workflow.watch.observing import Observing

# Seconds between two looks at what no event tells of: whether the docroot's name leads elsewhere
_LOOK = 0.25
# Paths that a line for people names, and a record
_NAMED, _RECORDED = 3, 16


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the watcher is given: how to read the configuration, its times, and whom it tells. ``observes`` is false
    where the file system has no events: then everything is found by comparing."""

    configured: Callable[[], Config]
    timing: Timing
    journal: Journal
    progress: Progress
    observes: bool = True


class Watcher:
    """Keeps an output fresh until it is told to stop."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._state = State()
        self._observing: Observing | None = None
        self._is_gone = False
        self._keeper = self._opened(around.configured())

    def run(self) -> None:
        """Watch until SIGTERM or SIGINT; SIGHUP reads the configuration again. Raises ``OSError``, ``UsageError``."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            self._begin()
            while self._turn():
                pass
        finally:
            notify("STOPPING=1")
            self.around.journal.tell("stopped", "stopped")
            self._close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._queue.put(Reload(time.monotonic()))
        else:
            self._keeper.gate.is_stopping = True
            self._queue.put(Stop(time.monotonic()))

    # ---- opening and closing

    def _opened(self, config: Config) -> Keeper:
        return Keeper(config, self._told, self.around.progress)

    def _told(self, paths: Sequence[str], whole: bool) -> None:
        self._queue.put(Noticed(time.monotonic(), len(paths), whole))
        if paths:
            self.around.journal.record("noticed", files=len(paths), paths=paths[:_RECORDED])

    def _begin(self) -> None:
        """Watch first and compare then: nothing falls between."""
        spec = self._keeper.best.spec
        self.around.journal.standing.open(spec.output, str(spec.docroot))
        if self.around.observes:
            self._observing = Observing(self._keeper.notice, lambda: self._queue.put(Lost(time.monotonic())))
        self._keeper.reconcile()
        self._perform(BuildSite())
        notify("READY=1")
        self.around.journal.tell("ready", f"watching {spec.docroot}", docroot=str(spec.docroot))

    def _close(self) -> None:
        if self._observing is not None:
            self._observing.close()
            self._observing = None
        self._keeper.close()
        self.around.journal.standing.close()

    def _reopen(self, reload: bool) -> None:
        """Begin anew, by the configuration as it is now; a wrong one is told, and the old one goes on."""
        try:
            config = self.around.configured() if reload else self._keeper.config
            engine_of(config, self.around.progress)
        except UsageError as wrong:
            self.around.journal.tell("failed", f"the configuration is wrong and the old one stays: {wrong}")
            return
        self._close()
        self._keeper = self._opened(config)
        self._begin()

    # ---- one turn

    def _turn(self) -> bool:
        """Wait for an event, or for what is due; return whether there is a next turn."""
        for event in self._events():
            self._state, command = step(self._state, event, self.around.timing)
            if isinstance(command, End):
                return False
            if command is not None:
                self._perform(command)
        return True

    def _events(self) -> list[Event]:
        now = time.monotonic()
        wait = min(max(next_tick(self._state, self.around.timing) - now, 0), _LOOK)
        try:
            found: list[Event] = [self._queue.get(timeout=wait) if wait else self._queue.get_nowait()]
        except queue.Empty:
            found = [Moved(time.monotonic())] if self._has_moved() else []
        # All that came during a build is one burst; but a stream of events must not keep what is due waiting
        found += [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [*found, Tick(time.monotonic())]

    def _has_moved(self) -> bool:
        """Whether the docroot's name leads elsewhere, or to a directory again; when there is none, all is withdrawn."""
        is_elsewhere = self._keeper.is_elsewhere
        if is_elsewhere is None:
            if not self._is_gone:
                self._is_gone = True
                self._keeper.notice.everything()
            return False
        is_deaf = self._observing is not None and not self._observing.is_alive
        has_moved = is_elsewhere or is_deaf or self._is_gone
        self._is_gone = False
        return has_moved

    # ---- commands

    def _perform(self, command: Command) -> None:
        if isinstance(command, Reopen):
            self.around.journal.tell("reopened", "reading the configuration" if command.reload else "another docroot")
            self._reopen(command.reload)
            return
        failed = True
        self.around.journal.status(_DOING[type(command)])
        try:
            self._try(command)
            failed = False
        except BuildCancelled:
            failed = False
            self.around.journal.tell("given-up", "given up, since files changed")
        except sqlite3.DatabaseError as error:
            self._keeper.recover(error)
            self.around.journal.tell("failed", f"the state is damaged; everything is built anew ({error})")
        except OSError as error:
            self.around.journal.tell("failed", f"{error}; trying again in {self.around.timing.retry:g} s")
        self._state, _ = step(self._state, Done(time.monotonic(), command, failed), self.around.timing)
        self.around.journal.status(self._standing())

    def _standing(self) -> str:
        if self._state.is_dirty or self._state.not_before:
            return "something waits to be built"
        return "fresh, fast encodings for now" if self._state.coarse else "fresh"

    def _try(self, command: Command) -> None:
        started = time.monotonic()
        if isinstance(command, Reconcile):
            if not self._keeper.reconcile():
                self._told((), True)
            return
        work = _WORKS[type(command)](self._keeper)
        self._tell(command, work, time.monotonic() - started)

    def _tell(self, command: Command, work: Work, seconds: float) -> None:
        name = "polished" if isinstance(command, Polish) else "built"
        if name == "built" and not (work.built or work.removed):
            return
        for said in work.diagnostics:
            if said.severity.value == "error":
                self.around.journal.tell("diagnostic", str(said), id=said.id)
        self.around.journal.tell(
            name,
            _sentence(name, work, seconds),
            built=work.built,
            removed=work.removed,
            refused=work.refused,
            seconds=round(seconds, 4),
            paths=work.paths[:_RECORDED],
            files=len(work.paths),
            **({"why": work.why} if work.why else {}),
        )


_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_DOING: dict[type[Command], str] = {
    BuildChanged: "building",
    BuildSite: "comparing and building the site",
    Polish: "building the best encodings",
    Reconcile: "looking for changes",
}
_WORKS: dict[type[Command], Callable[[Keeper], Work]] = {
    BuildChanged: Keeper.build_changed,
    BuildSite: Keeper.build_site,
    Polish: Keeper.polish,
}


def _sentence(name: str, work: Work, seconds: float) -> str:
    named = ", ".join(work.paths[:_NAMED]) + (f" and {len(work.paths) - _NAMED} more" if work.paths[_NAMED:] else "")
    counts = f"{name} {work.built:,}" + (f", removed {work.removed:,}" if work.removed else "")
    return f"{named + ': ' if named else ''}{counts} in {1000 * seconds:.0f} ms"
