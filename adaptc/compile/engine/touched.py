"""What follows in the state when a part of it changes, by triggers in the same transaction.

Each path of which a source, its facts or a unit is stored or removed is noted: manifest and report are written from
these paths, and not from the whole site. The sums of facts (``running_sums``) are forgotten when facts change.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptc.compile.engine.state.state import State

_WATCHED = ("sources", "facts", "units")
_EVENTS = (("INSERT", "NEW"), ("DELETE", "OLD"))

TABLES = (
    "CREATE TABLE touched (path BLOB PRIMARY KEY) WITHOUT ROWID;\n"
    + "\n".join(
        f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} "
        f"BEGIN INSERT OR IGNORE INTO touched VALUES ({row}.path); END;"
        for table in _WATCHED
        for event, row in _EVENTS
    )
    + "".join(
        f"CREATE TRIGGER sums_{event.lower()} AFTER {event} ON facts BEGIN DELETE FROM meta WHERE key = 'sums'; END;"
        for event, _ in _EVENTS
    )
)


def touched_paths(state: State) -> list[str]:
    """Return the paths that changed since ``note_documents``, in the order of their bytes."""
    return [os.fsdecode(path) for (path,) in state.db.execute("SELECT path FROM touched ORDER BY path")]


def note_documents(state: State, record: dict[str, str]) -> None:
    """Store what identifies the documents that were written of this state, and forget what was touched before."""
    state.begin()
    state.db.execute("DELETE FROM touched")
    state.set_meta("documents", record)
    state.commit()
