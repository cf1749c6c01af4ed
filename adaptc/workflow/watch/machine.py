"""When to do what: a pure machine of events and commands. Times are seconds of a clock that only goes forward.

Stale files are withdrawn the moment a change is noticed (``adaptc.workflow.watch.notice``), so nothing here is
urgent for correctness. The machine waits until a burst is over, builds with the fast encodings, and when nothing
happened for a while builds the site with the best ones, which also writes manifest and report.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

# Files of one burst above which the site is built as a whole
MOST_FILES = 40


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: without events until a burst is over, and at most until it is built; the same for bursts of many files;
    idle until the best encodings; between two comparisons of the whole docroot; and after a failure."""

    quiet: float = 0.02
    patience: float = 0.5
    # A checkout of 10,000 files takes two seconds, with pauses; what is built before its end has to be built again
    long_quiet: float = 0.2
    long_patience: float = 5.0
    idle: float = 5.0
    reconcile: float = 60.0
    retry: float = 5.0


@dataclass(frozen=True, slots=True)
class Noticed:
    """Files changed; ``whole`` says that it takes a look at the whole docroot to know which."""

    at: float
    files: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Time went by."""

    at: float


@dataclass(frozen=True, slots=True)
class Lost:
    """Events may have been lost: the queue of the kernel overflowed."""

    at: float


@dataclass(frozen=True, slots=True)
class Moved:
    """The docroot is another directory: its symbolic link was swapped."""

    at: float


@dataclass(frozen=True, slots=True)
class Reload:
    """The configuration is to be read again."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """It is time to end."""

    at: float


class Command:
    """What the driver is told to do."""


@dataclass(frozen=True, slots=True)
class BuildChanged(Command):
    """Build what the gate owes."""


@dataclass(frozen=True, slots=True)
class BuildSite(Command):
    """Compare the whole docroot and build what is stale, with the fast encodings."""


@dataclass(frozen=True, slots=True)
class Polish(Command):
    """Build the site with the best encodings, and write manifest and report."""


@dataclass(frozen=True, slots=True)
class Reconcile(Command):
    """Scan for changes that no event told of."""


@dataclass(frozen=True, slots=True)
class Reopen(Command):
    """Begin anew: with the configuration read again, or with another docroot."""

    reload: bool


@dataclass(frozen=True, slots=True)
class End(Command):
    """End."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command is done, or ``failed``: the disk is full, say."""

    at: float
    command: Command
    failed: bool = False


Event = Noticed | Tick | Lost | Moved | Reload | Stop | Done


@dataclass(frozen=True, slots=True)
class State:
    """What is to be done: ``files`` were noticed between ``first`` and ``last``; ``whole`` and ``coarse`` say that the
    site must be compared as a whole, and built with the best encodings. ``reconciled`` is when it was compared last,
    ``not_before`` when work may begin after a failure."""

    files: int = 0
    whole: bool = False
    first: float = 0.0
    last: float = 0.0
    coarse: bool = True
    reconciled: float = 0.0
    not_before: float = 0.0

    @property
    def is_dirty(self) -> bool:
        """Whether something waits to be built."""
        return bool(self.files or self.whole)


def step(state: State, event: Event, timing: Timing) -> tuple[State, Command | None]:
    """Return the next state, and what to do now."""
    match event:
        case Noticed():
            return _noticed(state, event), None
        case Lost():
            return dataclasses.replace(state, whole=True, first=state.first or event.at, last=event.at), None
        case Moved() | Reload():
            return State(reconciled=event.at), Reopen(isinstance(event, Reload))
        case Stop():
            return state, End()
        case Done():
            return _done(state, event, timing), None
        case Tick():
            return _due(state, event.at, timing)


def _noticed(state: State, event: Noticed) -> State:
    return dataclasses.replace(
        state,
        files=state.files + event.files,
        whole=state.whole or event.whole,
        first=state.first if state.is_dirty else event.at,
        last=event.at,
    )


def _due(state: State, at: float, timing: Timing) -> tuple[State, Command | None]:
    """Return what is due; the build is one at a time, and what is noticed meanwhile waits for the next tick."""
    if at < next_tick(state, timing):
        return state, None
    if state.is_dirty:
        command: Command = BuildSite() if state.whole or state.files > MOST_FILES else BuildChanged()
        return dataclasses.replace(state, files=0, whole=False, first=0.0, coarse=True), command
    if state.coarse:
        return dataclasses.replace(state, coarse=False), Polish()
    return state, Reconcile()


def next_tick(state: State, timing: Timing) -> float:
    """Return when something is due."""
    if state.is_dirty:
        is_long = state.files > MOST_FILES
        quiet, patience = (timing.long_quiet, timing.long_patience) if is_long else (timing.quiet, timing.patience)
        due = min(state.last + quiet, state.first + patience)
    elif state.coarse:
        due = state.last + timing.idle
    else:
        due = state.reconciled + timing.reconcile
    return max(due, state.not_before)


def _done(state: State, event: Done, timing: Timing) -> State:
    whole = isinstance(event.command, BuildSite | Polish | Reconcile)
    state = dataclasses.replace(
        state,
        reconciled=event.at if whole else state.reconciled,
        not_before=event.at + timing.retry if event.failed else 0.0,
    )
    if event.failed:
        return dataclasses.replace(state, whole=True, first=state.first or event.at, last=max(state.last, event.at))
    return state
