"""How long units took when they were built: what batches of them are sized by, the next time.

The size of a file says little about that: of two pages of one size, at one level, one may take a hundred times as long.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from adaptc.core.media import CSS, JS, PNG, SVG

if TYPE_CHECKING:
    from adaptc.compile.engine.state.results import UnitResult
    from adaptc.compile.engine.state.state import State, Unit
    from adaptc.site.site import Source

TABLES = """
CREATE TABLE durations (path BLOB, level TEXT, seconds REAL, PRIMARY KEY (path, level)) WITHOUT ROWID;
CREATE TRIGGER durations_delete AFTER DELETE ON sources BEGIN DELETE FROM durations WHERE path = OLD.path; END;
"""

# Build time relative to a page of the same size, at the least effort; JPEG images take as long as pages
_WEIGHTS = {CSS: 8, JS: 3, SVG: 2, PNG: 2}
# Bytes of pages that are built in a second, at the least effort: 18 kB in 9 ms (rust-doc)
_PACE = 2 << 20

# What comes from the cache takes no time, and tells nothing about how long the next version of it takes
_NOTE = "INSERT INTO durations VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seconds = max(excluded.seconds, seconds / 2)"


def weight_of(source: Source) -> int:
    """Return the number of bytes of a page that would take about as long to build."""
    return source.size * _WEIGHTS.get(source.media_type, 1)


def note_duration(state: State, result: UnitResult) -> None:
    """Record how long a unit took, or half of what it took before if that is longer."""
    state.db.execute(_NOTE, (os.fsencode(result.path), result.level, result.seconds))


def weigh(state: State, units: Iterable[Unit], sources: Mapping[str, Source]) -> list[tuple[Unit, int]]:
    """Return units with their weights: the number of bytes of a page that take as long as they took last time.

    Those that were not built before get the weights of their sources, in the proportion of the others.
    """
    guessed = [(unit, weight_of(sources[unit[1]])) for unit in units]
    if state.db.execute("SELECT 1 FROM durations LIMIT 1").fetchone() is None:
        return guessed
    known = [_seconds(state, unit) for unit, _ in guessed]
    took = sum(seconds for seconds in known if seconds is not None)
    alike = sum(guess for (_, guess), seconds in zip(guessed, known, strict=True) if seconds is not None)
    scale = _PACE * took / alike if took and alike else 1.0
    return [
        (unit, round(guess * scale if seconds is None else seconds * _PACE))
        for (unit, guess), seconds in zip(guessed, known, strict=True)
    ]


def _seconds(state: State, unit: Unit) -> float | None:
    query = "SELECT seconds FROM durations WHERE path = ? AND level = ?"
    row = state.db.execute(query, (os.fsencode(unit[1]), unit[0])).fetchone()
    return None if row is None else row[0]
