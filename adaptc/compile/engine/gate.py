"""The gate between who notices that files change and who publishes what was made of them.

A file that was noticed is doubted until a build that began later has read it. What a build made of a doubted file is
refused, and what stands in the trees for it is withdrawn in the same moment: from then on no old version is served. A
watcher's thread doubts, a build's thread publishes, one at a time.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptc.compile.engine.publish import ObjectGone, Publisher
from adaptc.compile.engine.results import PRESENCE, UnitResult
from adaptc.compile.engine.state import State, Unit
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import OWN_DIRECTORY


class BuildCancelled(Exception):
    """A build was given up since files changed; what it did so far is complete and true."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What the next build has to look at: files that were doubted, and units that were withdrawn or refused."""

    paths: frozenset[str] = frozenset()
    units: frozenset[Unit] = frozenset()


class Gate:
    """The gate of one output directory. ``state`` is its state file, which is only read here.

    ``is_stopping`` asks every build to be given up.
    """

    def __init__(self, publisher: Publisher, state: Path) -> None:
        self._publisher, self._state = publisher, state
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._invalid: set[str] = set()
        self._pending_units: set[Unit] = set()
        # Dependencies of units that are published and not committed: the state does not tell them yet
        self._uncommitted: dict[Unit, frozenset[str]] = {}
        self.is_stopping = False

    # ---- noticing

    def invalidate(self, paths: Iterable[str]) -> int:
        """Doubt files, and withdraw what was made of them; return how many units that were."""
        with self._lock:
            found: set[Unit] = set()
            for path in paths:
                self._invalid.add(path)
                found.update(self._units_of(path))
            for unit in found:
                self._withdraw(unit)
            self._pending_units |= found
            return len(found)

    def is_invalid(self, path: str) -> bool:
        """Whether a file is doubted already."""
        return path in self._invalid

    @property
    def has_invalid_files(self) -> bool:
        """Whether some file is doubted."""
        return bool(self._invalid)

    @property
    def has_pending(self) -> bool:
        """Whether there is something that the next build has to look at."""
        return bool(self._invalid or self._pending_units)

    def _units_of(self, path: str) -> set[Unit]:
        keys = {path, PRESENCE + path}
        found = {unit for unit, dependencies in self._uncommitted.items() if not keys.isdisjoint(dependencies)}
        for key in keys:
            rows = self._query("SELECT level, path FROM dependencies WHERE key = ?", os.fsencode(key))
            found.update((level, os.fsdecode(name)) for level, name in rows)
        return found

    def _withdraw(self, unit: Unit) -> None:
        self._publisher.remove_unit(*unit)
        for (name,) in self._query(
            "SELECT path FROM extras WHERE level = ? AND owner = ?", unit[0], os.fsencode(unit[1])
        ):
            extra = os.fsdecode(name)
            if not extra.startswith(OWN_DIRECTORY):  # those are named by their content
                self._publisher.remove_unit(unit[0], extra)

    def _query(self, query: str, *values: str | bytes) -> list[Any]:
        if self._db is None:
            uri = f"{self._state.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        return self._db.execute(query, values).fetchall()

    # ---- building

    def drain(self) -> Pending:
        """Return what the next build has to look at. It must begin to read after this, and doubts begin anew."""
        with self._lock:
            pending = Pending(frozenset(self._invalid), frozenset(self._pending_units))
            self._invalid.clear()
            self._pending_units.clear()
            return pending

    def requeue(self, pending: Pending) -> None:
        """Give back what a build could not do."""
        with self._lock:
            self._invalid |= pending.paths
            self._pending_units |= pending.units

    def publish(self, result: UnitResult, publish: Callable[[], UnitResult]) -> UnitResult:
        """Publish a result, or refuse it: one of a doubted file, or one whose artifact is gone from the cache."""
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
        said = result.diagnostics if not result.published else (diagnose("changed-while-read", Location(result.path)),)
        return dataclasses.replace(result, published=False, diagnostics=said)

    def _has_invalid_dependency(self, result: UnitResult) -> bool:
        if not self._invalid:
            return False
        return any(key.removeprefix(PRESENCE) in self._invalid for key in result.dependencies)

    def note_commit(self) -> None:
        """Take note that the state tells of all that was published."""
        with self._lock:
            self._uncommitted.clear()

    def close(self) -> None:
        """Close the state."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None


@dataclass(frozen=True, slots=True)
class GatedPublisher:
    """How results get into the trees: by the workers themselves, or through a ``gate`` by this process.

    ``cancels_on_change`` says that the build is given up when the gate shuts.
    """

    publisher: Publisher
    gate: Gate | None = None
    cancels_on_change: bool = False

    def publish(self, made: UnitResult, alias_of: str | None) -> UnitResult:
        """Publish a result through the gate; without one its worker did."""
        if self.gate is None:
            return made
        return self.gate.publish(made, lambda: self.publisher.publish(made, alias_of))

    def commit(self, state: State) -> None:
        """Commit results."""
        state.commit()
        if self.gate:
            self.gate.note_commit()

    @property
    def is_cancelled(self) -> bool:
        """Whether the build is to be given up."""
        return self.gate is not None and (
            self.gate.is_stopping or (self.cancels_on_change and self.gate.has_invalid_files)
        )
