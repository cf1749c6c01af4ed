"""Which files of the site changed in the state since manifest and report were written.

Triggers of the state note each path of which a source, its facts or a unit is stored or removed, in the same
transaction. The documents are written from these paths, and not from the whole site.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptc.compile.engine.state import State

_WATCHED = ("sources", "facts", "units")

TABLES = "CREATE TABLE touched (path BLOB PRIMARY KEY) WITHOUT ROWID;\n" + "\n".join(
    f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} "
    f"BEGIN INSERT OR IGNORE INTO touched VALUES ({row}.path); END;"
    for table in _WATCHED
    for event, row in (("INSERT", "NEW"), ("DELETE", "OLD"))
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
