"""The gate between the thread that notices changed files and the thread that publishes what was built of them.

A changed file is invalid until a build that began later has read it. The gate refuses results that depend on an invalid
file, and as soon as a file is invalidated it removes what depends on it from the trees: from then on no outdated
version is served. The watcher's thread invalidates, the build's thread publishes, one at a time.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adaptc.compile.engine.cache.store import ObjectGone
from adaptc.compile.engine.state.results import PRESENCE, UnitResult
from adaptc.compile.engine.state.state import Dependents, State, Unit
from adaptc.compile.engine.trees.publish import Publisher
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import OWN_DIRECTORY
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    pass


class BuildCancelled(Exception):
    """A build was cancelled because files changed; what it published so far is complete and correct."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Work for the next build: files that were invalidated, and units that were removed or refused."""

    paths: frozenset[str] = frozenset()
    units: frozenset[Unit] = frozenset()


class Gate:
    """The gate of one output directory. ``state`` is its state file, which is only read here.

    ``is_stopping`` asks every build to stop.
    """

    def __init__(self, publisher: Publisher, state: Path) -> None:
        self._publisher, self._dependents = publisher, Dependents(state)
        self._lock = threading.Lock()
        self._invalid: set[str] = set()
        self._pending_units: set[Unit] = set()
        # Dependencies of units that are published but not committed: the state does not have them yet
        self._uncommitted: dict[Unit, frozenset[str]] = {}
        self.is_stopping = False

    # ---- invalidating

    def invalidate(self, paths: Iterable[str]) -> int:
        """Invalidate files, and remove the units that depend on them; return the number of units."""
        with self._lock:
            units: set[Unit] = set()
            for path in paths:
                self._invalid.add(path)
                units.update(self._units_of(path))
            for unit in units:
                self._remove(unit)
            self._pending_units |= units
            return len(units)

    def is_invalid(self, path: str) -> bool:
        """Whether a file is invalid already."""
        return path in self._invalid

    @property
    def has_invalid_files(self) -> bool:
        """Whether some file is invalid."""
        return bool(self._invalid)

    @property
    def has_pending(self) -> bool:
        """Whether there is work for the next build."""
        return bool(self._invalid or self._pending_units)

    def _units_of(self, path: str) -> set[Unit]:
        keys = {path, PRESENCE + path}
        units = {unit for unit, dependencies in self._uncommitted.items() if not keys.isdisjoint(dependencies)}
        return units.union(*map(self._dependents.units_of, keys))

    def _remove(self, unit: Unit) -> None:
        self._publisher.remove_unit(*unit)
        for level, extra in self._dependents.extras_of(unit):
            if not extra.startswith(OWN_DIRECTORY):  # those are named by their content
                self._publisher.remove_unit(level, extra)

    # ---- building

    def drain(self) -> Pending:
        """Return the pending work and clear it. The build must begin to read after this."""
        with self._lock:
            pending = Pending(frozenset(self._invalid), frozenset(self._pending_units))
            self._invalid.clear()
            self._pending_units.clear()
            return pending

    def requeue(self, pending: Pending) -> None:
        """Add back the work that a build could not finish."""
        with self._lock:
            self._invalid |= pending.paths
            self._pending_units |= pending.units

    def publish(self, result: UnitResult, publish: Callable[[], UnitResult]) -> UnitResult:
        """Publish a result. Refuse it if it depends on an invalid file, or if its artifact is gone from the cache."""
        unit = (result.level, result.path)
        with self._lock:
            if result.published and not self._has_invalid_dependency(result):
                try:
                    done = publish()
                except ObjectGone:
                    pass
                else:
                    self._uncommitted[unit] = frozenset(result.dependencies)
                    return done
            self._pending_units.add(unit)
        diagnostics = (
            result.diagnostics if not result.published else (diagnose("changed-while-read", Location(result.path)),)
        )
        return dataclasses.replace(result, published=False, diagnostics=diagnostics)

    def _has_invalid_dependency(self, result: UnitResult) -> bool:
        if not self._invalid:
            return False
        return any(key.removeprefix(PRESENCE) in self._invalid for key in result.dependencies)

    def note_commit(self) -> None:
        """Note that the state has everything that was published."""
        with self._lock:
            self._uncommitted.clear()

    def close(self) -> None:
        """Close the state."""
        with self._lock:
            self._dependents.close()


@dataclass(frozen=True, slots=True)
class GatedPublisher:
    """Publishes results, through a ``gate`` if there is one.

    ``cancels_on_change`` says that the build is cancelled when a file changes.
    """

    publisher: Publisher
    gate: Gate | None = None
    cancels_on_change: bool = False

    def publish(self, result: UnitResult, alias_of: str | None) -> UnitResult:
        """Publish a result that ``commit`` knows of. Raises ``ObjectGone``, which a gate takes for a refusal."""
        if self.gate is None:
            return self.publisher.publish(result, alias_of)
        return self.gate.publish(result, lambda: self.publisher.publish(result, alias_of))

    def replace_dictionary(self, result: UnitResult) -> UnitResult:
        """Publish what a unit in the tree has of a dictionary, as ``publish`` does."""
        if self.gate is None:
            return self.publisher.replace_dictionary(result)
        return self.gate.publish(result, lambda: self.publisher.replace_dictionary(result))

    def commit(self, state: State, following: Sequence[UnitResult] = ()) -> None:
        """Commit what was published in the state, when it and the artifacts of the ``following`` are on the disk."""
        self.publisher.sync(following)
        state.commit()
        if self.gate:
            self.gate.note_commit()

    def check(self) -> None:
        """Raise ``BuildCancelled`` if the build is to stop."""
        if self.is_cancelled:
            raise BuildCancelled

    @property
    def is_cancelled(self) -> bool:
        """Whether the build is to stop."""
        return self.gate is not None and (
            self.gate.is_stopping or (self.cancels_on_change and self.gate.has_invalid_files)
        )


T = TypeVar("T")


def in_groups(results: Iterable[T], most: int, seconds: float, is_urgent: Callable[[], bool]) -> Iterator[list[T]]:
    """Yield results in groups of ``most``, or fewer when so many seconds went by or ``is_urgent``."""
    group: list[T] = []
    begun = time.monotonic()
    for result in results:
        group.append(result)
        if len(group) >= most or time.monotonic() - begun >= seconds or is_urgent():
            yield group
            group, begun = [], time.monotonic()
    if group:
        yield group
