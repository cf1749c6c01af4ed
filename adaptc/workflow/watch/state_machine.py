"""The state machine of the watcher: a pure function from events to commands. Times are seconds of a monotonic clock.

Stale files are withdrawn the moment that they change (``adaptc.workflow.watch.invalidation``), so nothing here is
urgent for correctness. The machine waits until a burst is over and builds with the fast encodings; after some time
without events it builds the site with the best ones, which also writes manifest and report.
"""

from __future__ import annotations

import dataclasses

from adaptc.core.values import dataclass

# Files of one burst above which the site is built as a whole
MOST_FILES = 40


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: without events until a burst is over, and at most until it is built; the same for bursts of many files.

    ``idle`` is the time until the best encodings are built, ``reconcile`` that between two comparisons of the whole
    docroot, ``retry`` that after a failure.
    """

    quiet: float = 0.02
    patience: float = 0.5
    # A checkout of 10,000 files takes two seconds, with pauses; what is built before its end has to be built again
    long_quiet: float = 0.2
    long_patience: float = 5.0
    idle: float = 5.0
    reconcile: float = 60.0
    retry: float = 5.0


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """Files changed; with ``whole``, only a comparison of the whole docroot can find which."""

    at: float
    files: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""

    at: float


@dataclass(frozen=True, slots=True)
class EventsLost:
    """Events may have been lost: the queue of the kernel overflowed."""

    at: float


@dataclass(frozen=True, slots=True)
class DocrootMoved:
    """The docroot is another directory: its symbolic link was swapped."""

    at: float


@dataclass(frozen=True, slots=True)
class Reload:
    """The configuration shall be read again."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The watcher shall stop."""

    at: float


class Command:
    """A command for the event loop."""


@dataclass(frozen=True, slots=True)
class BuildChanged(Command):
    """Build the files and units that are pending at the gate."""


@dataclass(frozen=True, slots=True)
class BuildSite(Command):
    """Compare the whole docroot and build what is stale, with the fast encodings."""


@dataclass(frozen=True, slots=True)
class BuildBest(Command):
    """Build the site with the best encodings, and write manifest and report."""


@dataclass(frozen=True, slots=True)
class Reconcile(Command):
    """Find changes that no event reported."""


@dataclass(frozen=True, slots=True)
class Reopen(Command):
    """Begin anew: with the configuration read again, or with another docroot."""

    reload: bool


@dataclass(frozen=True, slots=True)
class End(Command):
    """End."""


@dataclass(frozen=True, slots=True)
class CommandDone:
    """A command was carried out, or ``failed``, as on a full disk."""

    at: float
    command: Command
    failed: bool = False


Event = FilesChanged | Tick | EventsLost | DocrootMoved | Reload | Stop | CommandDone


@dataclass(frozen=True, slots=True)
class State:
    """The pending work: ``files`` changed between ``first`` and ``last``.

    ``whole`` asks for a comparison of the whole site, ``coarse`` for a build with the best encodings. ``reconciled`` is
    the time of the last comparison, ``not_before`` the earliest time for work after a failure.
    """

    files: int = 0
    whole: bool = False
    first: float = 0.0
    last: float = 0.0
    coarse: bool = True
    reconciled: float = 0.0
    not_before: float = 0.0

    @property
    def is_dirty(self) -> bool:
        """Whether changes wait to be built."""
        return bool(self.files or self.whole)


def step(state: State, event: Event, timing: Timing) -> tuple[State, Command | None]:
    """Return the next state, and the command to carry out now."""
    match event:
        case FilesChanged():
            return _with_changes(state, event), None
        case EventsLost():
            return dataclasses.replace(state, whole=True, first=state.first or event.at, last=event.at), None
        case DocrootMoved() | Reload():
            return State(reconciled=event.at), Reopen(isinstance(event, Reload))
        case Stop():
            return state, End()
        case CommandDone():
            return _after_command(state, event, timing), None
        case Tick():
            return _due(state, event.at, timing)


def _with_changes(state: State, event: FilesChanged) -> State:
    return dataclasses.replace(
        state,
        files=state.files + event.files,
        whole=state.whole or event.whole,
        first=state.first if state.is_dirty else event.at,
        last=event.at,
    )


def _due(state: State, at: float, timing: Timing) -> tuple[State, Command | None]:
    """Return the command that is due; builds run one at a time, and changes meanwhile wait for the next tick."""
    if at < next_tick(state, timing):
        return state, None
    if state.is_dirty:
        command: Command = BuildSite() if state.whole or state.files > MOST_FILES else BuildChanged()
        return dataclasses.replace(state, files=0, whole=False, first=0.0, coarse=True), command
    if state.coarse:
        return dataclasses.replace(state, coarse=False), BuildBest()
    return state, Reconcile()


def next_tick(state: State, timing: Timing) -> float:
    """Return when the next command is due."""
    if state.is_dirty:
        is_long = state.files > MOST_FILES
        quiet, patience = (timing.long_quiet, timing.long_patience) if is_long else (timing.quiet, timing.patience)
        due = min(state.last + quiet, state.first + patience)
    elif state.coarse:
        due = state.last + timing.idle
    else:
        due = state.reconciled + timing.reconcile
    return max(due, state.not_before)


def _after_command(state: State, event: CommandDone, timing: Timing) -> State:
    whole = isinstance(event.command, BuildSite | BuildBest | Reconcile)
    state = dataclasses.replace(
        state,
        reconciled=event.at if whole else state.reconciled,
        not_before=event.at + timing.retry if event.failed else 0.0,
    )
    if event.failed:
        return dataclasses.replace(state, whole=True, first=state.first or event.at, last=max(state.last, event.at))
    return state
