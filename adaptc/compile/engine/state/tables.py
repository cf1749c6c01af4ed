"""The file of a state: its tables, and how it is opened.

What follows when a part of it changes is done by triggers, in the same transaction. Each path of which a source, its
facts or a unit is stored or removed is noted in ``touched``: manifest and report are written from these paths, and not
from the whole site. The sums of facts are forgotten when facts change, durations with their source.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from adaptc.compile.engine.state.damage import DamagedState, check_values, has_schema

# Incremented when the tables or their contents change; a state of another version is discarded and all is rebuilt.
SCHEMA = 22

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE sources (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode INTEGER, media_type TEXT,
                      alias_of BLOB, is_executable INTEGER, digest TEXT) WITHOUT ROWID;
CREATE TABLE facts (path BLOB PRIMARY KEY, facts BLOB, targets BLOB, digests TEXT) WITHOUT ROWID;
CREATE TABLE units (level TEXT, path BLOB, recipe TEXT, outputs TEXT, notes TEXT,
                    PRIMARY KEY (path, level)) WITHOUT ROWID;
CREATE INDEX units_by ON units (level, recipe);
CREATE TABLE dependencies (key BLOB, level TEXT, path BLOB, PRIMARY KEY (key, level, path)) WITHOUT ROWID;
CREATE INDEX dependencies_of ON dependencies (level, path);
CREATE TABLE extras (level TEXT, path BLOB, owner BLOB, PRIMARY KEY (level, path, owner)) WITHOUT ROWID;
CREATE INDEX extras_of ON extras (level, owner);
CREATE TABLE decisions (key BLOB PRIMARY KEY, choice INTEGER, figures TEXT) WITHOUT ROWID;
CREATE TABLE directories (path BLOB PRIMARY KEY, mtime_ns INTEGER, sizes TEXT, fingerprint TEXT) WITHOUT ROWID;
CREATE TABLE touched (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE versions (level TEXT, name BLOB, versions TEXT, PRIMARY KEY (level, name)) WITHOUT ROWID;
CREATE TABLE durations (path BLOB, level TEXT, seconds REAL, PRIMARY KEY (path, level)) WITHOUT ROWID;
CREATE TRIGGER durations_delete AFTER DELETE ON sources BEGIN DELETE FROM durations WHERE path = OLD.path; END;
"""

_WATCHED = ("sources", "facts", "units")
_EVENTS = (("INSERT", "NEW"), ("DELETE", "OLD"))

_TRIGGERS = "".join(
    f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} "
    f"BEGIN INSERT OR IGNORE INTO touched VALUES ({row}.path); END;"
    for table in _WATCHED
    for event, row in _EVENTS
) + "".join(
    f"CREATE TRIGGER sums_{event.lower()} AFTER {event} ON facts BEGIN DELETE FROM meta WHERE key = 'sums'; END;"
    for event, _ in _EVENTS
)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def open_existing(path: Path) -> sqlite3.Connection | None:
    """Open a file; ``None`` for one that is damaged or of another schema."""
    return _check(_connect(path))


def open_read_only(path: Path) -> sqlite3.Connection | None:
    """Open a file for reading; ``None`` also where there is none."""
    if not path.is_file():
        return None
    # Without a log no process writes, and SQLite needs no files of its own next to the state. On a full disk it can
    # create an empty log and no more
    log = Path(f"{path}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return _check(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None))


def _check(db: sqlite3.Connection) -> sqlite3.Connection | None:
    if has_schema(db, SCHEMA):
        return _tune(db)
    db.close()
    return None


def _tune(db: sqlite3.Connection) -> sqlite3.Connection:
    """Set options that the file does not store; 16 MB of cache save a fifth of the time for 134,000 dependencies."""
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA cache_size = -16000")
    return db


def create(path: Path) -> sqlite3.Connection:
    """Make a new file."""
    db = _connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    _tune(db).executescript(f"BEGIN; {_TABLES} {_TRIGGERS} PRAGMA user_version = {SCHEMA}; COMMIT;")
    return db


# ---- values

_TYPES = {
    "meta": "key text, value text",
    "sources": "path path, size integer, mtime_ns integer, inode integer, media_type text, alias_of path?, "
    "is_executable integer, digest text",
    "facts": "path path, facts blob, targets blob, digests text",
    "units": "level level, path path, recipe text, outputs text, notes text",
    "extras": "level level, path path, owner path",
    "decisions": "key blob, choice integer, figures text",
    "directories": "path path, mtime_ns integer, sizes text, fingerprint text",
    "touched": "path path",
    "versions": "level level, name path, versions text",
}


def check_state(db: sqlite3.Connection) -> None:
    """Raise ``DamagedState`` for values in a state of other types than adaptc wrote."""
    check_values(db, _TYPES)
    _check_dependencies(db)


def _check_dependencies(db: sqlite3.Connection) -> None:
    """Look at the ends of the indexes of dependencies, as there are some twenty for each unit.

    Values are sorted by type, numbers before text before blobs. The paths and levels lead to nothing but known units.
    """
    wrong: list[tuple[str, tuple[str, ...]]] = [("key < x''", ()), ("level < ''", ()), ("level >= x''", ())]
    level = ""
    while level is not None:
        wrong.append(("level = ? AND path < x''", (level,)))
        (level,) = db.execute("SELECT MIN(level) FROM dependencies WHERE level > ?", (level,)).fetchone()
    for condition, values in wrong:
        if db.execute(f"SELECT 1 FROM dependencies WHERE {condition} LIMIT 1", values).fetchone() is not None:
            raise DamagedState("the table dependencies has values that adaptc did not write")
