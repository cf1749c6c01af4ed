"""The state of an output directory: what was read, what was built of it, and what each unit depends on (SQLite).

One process writes it, under the output's lock. A unit has a row only while its files in the tree are complete and up
to date; a build that is killed may lose rows, but never leaves a wrong one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptc.compile.engine.state.damage import discard, discard_foreign, is_as_left, leave, reason_of_damage
from adaptc.compile.engine.state.results import (
    StoredFile,
    UnitResult,
    pack_notes,
    pack_outputs,
    pack_source,
    unpack_files,
    unpack_result,
    unpack_source,
)
from adaptc.compile.engine.state.tables import check_state, create, open_existing, open_read_only
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import PRIVATE, Resource
from adaptc.site.source_table import KnownFiles

if TYPE_CHECKING:
    from adaptc.compile.analyse.facts import Facts

STATE_FILE = "state.sqlite"
# Bytes of a path that SQLite opens: of its 512 it needs some for the names of its own files
LONGEST_PATH = 500

Unit = tuple[str, str]  # (level, path)


class TreeDirectory(NamedTuple):
    """A directory of the trees: its time in ns since 1970, and digests of its files (``directories``)."""

    mtime_ns: int
    sizes: str
    fingerprint: str


TreeDirectories = Mapping[str, TreeDirectory]
"""Directories of the trees by their paths below the output; none at all where the trees may hold anything."""

SCANNED = "scanned"
"""The key of what a scan found of each directory of the docroot when the sources became what they are."""

_MEMORY = ":memory:"
_NOTE_DURATION = (
    "INSERT INTO durations VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seconds = max(excluded.seconds, seconds / 2)"
)
_UNREADABLE = "it is damaged, or of another version of adaptc"


def state_path(output: Path) -> Path:
    """Return where the state of an output directory is."""
    return output / PRIVATE / STATE_FILE


def no_build(output: Path) -> UsageError:
    """Return the error of whoever needs a build in ``output`` when there is none."""
    return UsageError(f"there is no build in {output}; run adaptc build first, or name it with --output")


@contextlib.contextmanager
def last_build(output: Path) -> Iterator[State]:
    """Open the state of the last build in ``output`` for reading. Raises ``UsageError`` when there is none."""
    path = state_path(output)
    if not path.exists():
        raise no_build(output)
    try:
        with contextlib.closing(State(path, read_only=True)) as state:
            if state.discarded is not None:
                raise UsageError(
                    f"the state of the build in {output} cannot be used: {state.discarded}; build the site again"
                )
            yield state
    except sqlite3.DatabaseError as error:
        reason = reason_of_damage(error, path)
        raise UsageError(f"the state of the build in {output} is damaged ({reason}); build the site again") from None


class State:
    """The state file of an output directory; created if missing, replaced if damaged or of another schema.

    With ``read_only`` nothing is written, and an unusable state counts as empty. Raises
    ``sqlite3.DatabaseError`` here and in every method: see ``adaptc.compile.engine.state.damage``. ``discarded`` says
    why a state was replaced, or counts as empty.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.discarded: str | None = None
        self._is_known = False  # that all values are adaptc's
        self._known_files: StoredFiles | None = None
        if read_only:
            opened = open_read_only(path)
            self.discarded = _UNREADABLE if opened is None and path.is_file() else None
            self.db = opened or create(Path(_MEMORY))
        else:
            self.db = self._open_or_replace()

    def _open_or_replace(self) -> sqlite3.Connection:
        self.discarded = discard_foreign(self.path)
        opened = open_existing(self.path) if self.path.exists() else None
        if opened is None and self.path.exists():
            self.discarded = _UNREADABLE
        if opened is None:
            discard(self.path)
        return opened or create(self.path)

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def recognize(self) -> None:
        """Find out whether the file is as ``leave`` left it, before anything is written."""
        self._is_known = is_as_left(self.db, self.path)

    def check(self) -> None:
        """Raise ``DamagedState`` for values of other types than adaptc wrote."""
        if not self._is_known:
            check_state(self.db)
            self._is_known = True

    def leave(self) -> None:
        """Close the file; if its values were checked and nobody else writes to it, the next build need not."""
        if self._is_known and self.db.total_changes:
            leave(self.db, self.path)
        self.close()

    def copy_to_memory(self) -> State:
        """Return a copy in memory, for a dry run."""
        copy = State(Path(_MEMORY))
        self.db.backup(copy.db)
        return copy

    def begin(self) -> None:
        """Begin a transaction."""
        self.db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit the transaction."""
        self.db.execute("COMMIT")

    def rollback(self) -> None:
        """Roll back the transaction, if there is one."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    # ---- meta

    def meta(self, key: str) -> Any:
        """Return a JSON value by key, or ``None``."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def set_meta(self, key: str, value: Any) -> None:
        """Store a JSON value; ``None`` removes it."""
        if value is None:
            self.db.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    # ---- sources and facts

    def resources(self) -> dict[str, tuple[Resource, str]]:
        """Return every source of the last build with its digest."""
        return dict(self._sources())

    def _sources(self, path: str | None = None) -> Iterator[tuple[str, tuple[Resource, str]]]:
        """Yield the sources of the last build by path in the order of bytes, or one of them."""
        only = () if path is None else (os.fsencode(path),)
        rows = self.db.execute(f"SELECT * FROM sources {'WHERE path = ?' if only else 'ORDER BY path'}", only)
        naming = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
        for key, size, mtime_ns, inode, kind, alias_of, is_executable, digest in rows:
            name, alias = key.decode(*naming), None if alias_of is None else os.fsdecode(alias_of)
            yield name, (Resource(name, size, mtime_ns, inode, sys.intern(kind), alias, is_executable == 1), digest)

    def known_files(self) -> StoredFiles:
        """Return the sources as they are now: each is read when it is looked up, and stays so when others follow."""
        self._known_files = StoredFiles(self)
        return self._known_files

    def source(self, path: str) -> tuple[Resource, str] | None:
        """Return a source with its digest."""
        return next((source for _, source in self._sources(path)), None)

    def paths(self) -> list[bytes]:
        """Return the paths of all sources in the order of bytes."""
        return [path for (path,) in self.db.execute("SELECT path FROM sources ORDER BY path")]

    def totals(self, media_type: str) -> tuple[int, int, int]:
        """Return how many sources there are, their bytes, and how many are of a media type."""
        query = "SELECT COUNT(*), IFNULL(SUM(size), 0), IFNULL(SUM(media_type = ?), 0) FROM sources"
        count, size, of_type = self.db.execute(query, (media_type,)).fetchone()
        return count, size, of_type

    def aliases(self) -> frozenset[str]:
        """Return the sources that are symbolic links."""
        rows = self.db.execute("SELECT path FROM sources WHERE alias_of IS NOT NULL")
        return frozenset(os.fsdecode(path) for (path,) in rows)

    def set_source(self, resource: Resource, digest: str) -> None:
        """Store a source."""
        self._begin_change(resource.path)
        alias = None if resource.alias_of is None else os.fsencode(resource.alias_of)
        status = (resource.size, resource.mtime_ns, resource.inode)
        row = (os.fsencode(resource.path), *status, resource.media_type, alias, resource.is_executable, digest)
        self.db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def invalidate_source(self, path: str) -> None:
        """Forget the time of a source, so that the next build reads it."""
        self._begin_change(path)
        self.db.execute("UPDATE sources SET mtime_ns = -1 WHERE path = ?", (os.fsencode(path),))
        self.set_meta("scan", None)

    def forget_source(self, path: str) -> None:
        """Remove a source and its facts."""
        self._begin_change(path)
        for table in ("sources", "facts"):
            self.db.execute(f"DELETE FROM {table} WHERE path = ?", (os.fsencode(path),))

    def _begin_change(self, path: str) -> None:
        self.set_meta(SCANNED, None)
        if self._known_files is not None:
            self._known_files.get(path)  # and so remembers it

    def set_facts(self, path: str, facts: Facts) -> None:
        """Store the facts of a source."""
        targets = zlib.compress(_join(facts.targets), 1)
        row = (os.fsencode(path), pack_source(facts), targets, facts.checks.digests)
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)", row)

    def facts(self, path: str | None = None) -> Iterator[tuple[str, Facts]]:
        """Yield (path, facts) of every source in order of paths, or of one; ``targets`` are left out."""
        only = () if path is None else (os.fsencode(path),)
        where = "WHERE path = ?" if only else "ORDER BY path"
        for name, packed in self.db.execute(f"SELECT path, facts FROM facts {where}", only):
            yield os.fsdecode(name), unpack_source(packed)

    def digests(self) -> Iterator[tuple[str, str]]:
        """Yield (path, digests) of every source, as ``adaptc.core.digest.content_digests`` has them."""
        for name, digests in self.db.execute("SELECT path, digests FROM facts ORDER BY path"):
            yield os.fsdecode(name), digests

    def affected_by_targets(self, affected: frozenset[str]) -> list[str]:
        """Return the sources that refer to one of the URL paths ``affected``."""
        wanted = {os.fsencode(target) for target in affected}
        rows = self.db.execute("SELECT path, targets FROM facts")
        return [os.fsdecode(path) for path, packed in rows if not wanted.isdisjoint(_split(packed))]

    def linked_paths(self) -> frozenset[str]:
        """Return the URL paths that any source refers to."""
        rows = self.db.execute("SELECT targets FROM facts")
        return frozenset(os.fsdecode(target) for (packed,) in rows for target in _split(packed))

    # ---- units

    def set_unit(self, result: UnitResult, recipe: str) -> None:
        """Store a unit whose files are in the tree."""
        path = os.fsencode(result.path)
        self.forget_unit((result.level, result.path))
        outputs, notes = pack_outputs(result), pack_notes(result)
        self.db.execute("INSERT INTO units VALUES (?, ?, ?, ?, ?)", (result.level, path, recipe, outputs, notes))
        rows = [(os.fsencode(key), result.level, path) for key in result.dependencies]
        self.db.executemany("INSERT OR IGNORE INTO dependencies VALUES (?, ?, ?)", rows)
        self._set_extras(result)

    def forget_unit(self, unit: Unit) -> None:
        """Remove a unit."""
        key = (unit[0], os.fsencode(unit[1]))
        if not self.db.execute("DELETE FROM units WHERE level = ? AND path = ?", key).rowcount:
            return  # rows of a unit are added and removed together, in one transaction
        self.db.execute("DELETE FROM dependencies WHERE level = ? AND path = ?", key)
        self.db.execute("DELETE FROM extras WHERE level = ? AND owner = ?", key)

    def extras_of(self, unit: Unit) -> list[Unit]:
        """Return (level, path) of the extra files that belong to a unit."""
        return _extras_of(self.db, unit)

    def has_extra(self, level: str, path: str) -> bool:
        """Whether some unit of the level has an extra file of this path."""
        return self.extra_owner(level, path) is not None

    def extra_owner(self, level: str, path: str) -> str | None:
        """Return the path of a unit of the level that has an extra file of this path."""
        query = "SELECT owner FROM extras WHERE level = ? AND path = ? LIMIT 1"
        row = self.db.execute(query, (level, os.fsencode(path))).fetchone()
        return None if row is None else os.fsdecode(row[0])

    def recipes(self) -> dict[Unit, str]:
        """Return every stored unit with the recipe that it was built by."""
        rows = self.db.execute("SELECT level, path, recipe FROM units")
        return {(sys.intern(level), os.fsdecode(path)): sys.intern(recipe) for level, path, recipe in rows}

    def has_just(self, recipes: Mapping[str, str]) -> bool:
        """Whether each source has a unit at each level, by its recipe of ``recipes``, and there are no others."""
        (sources,) = self.db.execute("SELECT COUNT(*) FROM sources").fetchone()
        (units,) = self.db.execute("SELECT COUNT(*) FROM units").fetchone()
        query = "SELECT COUNT(*) FROM units JOIN sources USING (path) WHERE level = ? AND recipe = ?"
        return units == sources * len(recipes) and all(
            self.db.execute(query, each).fetchone() == (sources,) for each in recipes.items()
        )

    @property
    def has_facts(self) -> bool:
        """Whether anything was read."""
        return self.db.execute("SELECT 1 FROM facts LIMIT 1").fetchone() is not None

    @property
    def has_units(self) -> bool:
        """Whether anything was built."""
        return self.db.execute("SELECT 1 FROM units LIMIT 1").fetchone() is not None

    def levels(self) -> list[str]:
        """Return the levels that have units, without a look at each of these."""
        levels: list[str] = []
        level: str | None = ""
        while level is not None:
            (level,) = self.db.execute("SELECT MIN(level) FROM units WHERE level > ?", (level,)).fetchone()
            levels += [] if level is None else [level]
        return levels

    def files(self) -> Iterator[tuple[Unit, list[StoredFile]]]:
        """Yield every unit with its files, by level: the fastest way to read all of them."""
        for level, path, outputs in self.db.execute("SELECT level, path, outputs FROM units ORDER BY level"):
            name = os.fsdecode(path)
            yield (level, name), unpack_files(name, outputs)

    def units_of(self, key: str) -> list[Unit]:
        """Return the units that depend on ``key``."""
        return _units_of(self.db, key)

    def result(self, level: str, path: str, recipe: str, *, notes: bool = False) -> UnitResult | None:
        """Return a unit with its dependencies, if it was built by this recipe; without ``notes`` only the outputs."""
        key = (level, os.fsencode(path))
        columns = "outputs, notes" if notes else "outputs"
        query = f"SELECT {columns} FROM units WHERE level = ? AND path = ? AND recipe = ?"
        row = self.db.execute(query, (*key, recipe)).fetchone()
        if row is None:
            return None
        keys = self.db.execute("SELECT key FROM dependencies WHERE level = ? AND path = ?", key)
        dependencies = tuple(os.fsdecode(dependency) for (dependency,) in keys)
        return replace(unpack_result(level, path, *row), dependencies=dependencies)

    def results(self, path: str | None = None, *, notes: bool = True) -> Iterator[UnitResult]:
        """Yield the stored results by path and level, or those of one path; without ``notes`` only the outputs."""
        query = f"SELECT level, path, outputs{', notes' if notes else ''} FROM units"
        if path is None:
            rows = self.db.execute(f"{query} ORDER BY path, level")
        else:
            rows = self.db.execute(f"{query} WHERE path = ? ORDER BY level", (os.fsencode(path),))
        for level, name, *packed in rows:
            yield unpack_result(level, os.fsdecode(name), *packed)

    def replace_outputs(self, result: UnitResult) -> None:
        """Store other files of a unit that has a row; its notes and dependencies stay."""
        key = (result.level, os.fsencode(result.path))
        self.db.execute("UPDATE units SET outputs = ? WHERE level = ? AND path = ?", (pack_outputs(result), *key))
        self.db.execute("DELETE FROM extras WHERE level = ? AND owner = ?", key)
        self._set_extras(result)
        self.db.execute("INSERT OR IGNORE INTO touched VALUES (?)", key[1:])

    def _set_extras(self, result: UnitResult) -> None:
        rows = [(result.level, os.fsencode(extra.path), os.fsencode(result.path)) for extra in result.extras]
        self.db.executemany("INSERT OR IGNORE INTO extras VALUES (?, ?, ?)", rows)

    def units_in(self, directory: str) -> Iterator[tuple[Unit, list[StoredFile]]]:
        """Yield the units of a directory of the docroot with their files, without those below it."""
        prefix = os.fsencode(f"{directory}/") if directory else b""
        start: bytes | None = prefix
        while start is not None:
            rows = self.db.execute("SELECT level, path, outputs FROM units WHERE path >= ? ORDER BY path", (start,))
            start = None
            for level, path, outputs in rows:
                if not path.startswith(prefix):
                    return
                inner, slash, _ = path.removeprefix(prefix).partition(b"/")
                if slash:
                    start = prefix + inner + b"0"  # the next character: whatever is below is skipped
                    break
                name = os.fsdecode(path)
                yield (level, name), unpack_files(name, outputs)

    def extra_files(self) -> list[tuple[str, StoredFile]]:
        """Return (level, file) of the files of the trees that come of no file of the docroot, each once."""
        query = (
            "SELECT level, extras.path, outputs FROM (SELECT level, path, MIN(owner) AS owner FROM extras "
            "GROUP BY level, path) AS extras JOIN units USING (level) WHERE units.path = owner"
        )
        return [
            (level, file)
            for level, packed, outputs in self.db.execute(query)
            for file in unpack_files("", outputs)
            if file[0] == os.fsdecode(packed)
        ]

    # ---- durations

    @property
    def has_durations(self) -> bool:
        """Whether it is known of any unit how long it took."""
        return self.db.execute("SELECT 1 FROM durations LIMIT 1").fetchone() is not None

    def duration(self, unit: Unit) -> float | None:
        """Return the seconds of CPU time that a unit took; ``None`` for one that was never built."""
        query = "SELECT seconds FROM durations WHERE path = ? AND level = ?"
        row = self.db.execute(query, (os.fsencode(unit[1]), unit[0])).fetchone()
        return None if row is None else row[0]

    def note_duration(self, result: UnitResult) -> None:
        """Record how long a unit took, or half of what it took before if that is longer.

        What comes from the cache takes no time, and tells nothing about how long the next version of it takes.
        """
        self.db.execute(_NOTE_DURATION, (os.fsencode(result.path), result.level, result.seconds))

    # ---- what the documents are to follow

    def touched_paths(self) -> list[str]:
        """Return the paths that changed since ``note_documents``, in the order of their bytes."""
        return [os.fsdecode(path) for (path,) in self.db.execute("SELECT path FROM touched ORDER BY path")]

    def note_documents(self, record: dict[str, str]) -> None:
        """Store what identifies the documents that were written of this state, and forget what was touched before."""
        self.begin()
        self.db.execute("DELETE FROM touched")
        self.set_meta("documents", record)
        self.commit()

    # ---- decisions, versions, directories

    def decisions(self) -> dict[str, tuple[int, str]]:
        """Return the decisions of the last build, with the figures that explain them, by dependency key."""
        rows = self.db.execute("SELECT key, choice, figures FROM decisions")
        return {os.fsdecode(key): (choice, figures) for key, choice, figures in rows}

    def set_decisions(self, decisions: Mapping[str, tuple[int, str]]) -> None:
        """Replace all decisions."""
        self.db.execute("DELETE FROM decisions")
        rows = [(os.fsencode(key), choice, figures) for key, (choice, figures) in decisions.items()]
        self.db.executemany("INSERT INTO decisions VALUES (?, ?, ?)", rows)

    def versions(self) -> dict[tuple[str, str], list[list[str]]]:
        """Return the versions of files that browsers may hold, by level and name, as JSON values."""
        rows = self.db.execute("SELECT level, name, versions FROM versions")
        return {(level, os.fsdecode(name)): json.loads(packed) for level, name, packed in rows}

    def set_versions(self, versions: Mapping[tuple[str, str], Iterable[Iterable[str]]]) -> None:
        """Replace all versions."""
        self.db.execute("DELETE FROM versions")
        rows = [(level, os.fsencode(name), json.dumps(list(map(list, of)))) for (level, name), of in versions.items()]
        self.db.executemany("INSERT INTO versions VALUES (?, ?, ?)", rows)

    def directories(self) -> dict[str, TreeDirectory]:
        """Return the directories of the trees by their paths below the output, as the last build left them."""
        rows = self.db.execute("SELECT path, mtime_ns, sizes, fingerprint FROM directories")
        return {os.fsdecode(path): TreeDirectory(*values) for path, *values in rows}

    def set_directories(self, directories: TreeDirectories) -> None:
        """Replace the directories. None at all means that the trees may be incomplete."""
        self.db.execute("DELETE FROM directories")
        rows = [(os.fsencode(path), *directory) for path, directory in directories.items()]
        self.db.executemany("INSERT INTO directories VALUES (?, ?, ?, ?)", rows)


class StoredFiles(KnownFiles):
    """The sources of a state as they are when this is made: the state looks one up before it changes it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._looked_up: dict[str, tuple[Resource, str] | None] = {}
        self._count: int = state.db.execute("SELECT COUNT(*) FROM sources").fetchone()[0]
        self._all: dict[str, tuple[Resource, str]] | None = None

    def __getitem__(self, path: str) -> tuple[Resource, str]:
        if self._all is not None:
            return self._all[path]
        if path not in self._looked_up:
            self._looked_up[path] = self._state.source(path)
        source = self._looked_up[path]
        if source is None:
            raise KeyError(path)
        return source

    def __iter__(self) -> Iterator[str]:
        return iter(self.read_all())

    def read_all(self) -> Mapping[str, tuple[Resource, str]]:
        """Read all of them at once, for a caller that will ask for many; return them."""
        if self._all is None:
            current = {**self._state.resources(), **self._looked_up}
            self._all = {path: source for path, source in current.items() if source is not None}
        return self._all

    def __len__(self) -> int:
        return self._count

    def has_below(self, directory: str) -> bool:
        """Whether there is a source below a directory now."""
        query = "SELECT 1 FROM sources WHERE path > ? AND path < ?"
        return self._state.db.execute(query, _bounds_of(directory)).fetchone() is not None

    def of_type(self, media_types: Collection[str]) -> Iterator[str]:
        """Yield the paths of the sources that are of these media types now."""
        query = f"SELECT path FROM sources WHERE media_type IN ({', '.join('?' * len(media_types))})"
        return (os.fsdecode(path) for (path,) in self._state.db.execute(query, tuple(media_types)))


def _bounds_of(directory: str) -> tuple[bytes, bytes]:
    """Return between which keys paths below a directory are: 0 is the character after the slash."""
    return os.fsencode(f"{directory}/"), os.fsencode(f"{directory}0")


class Dependents:
    """What depends on what, by the state file ``path``, for a thread other than that which writes it.

    It sees what was committed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None

    def units_of(self, key: str) -> list[Unit]:
        """Return the units that depend on ``key``."""
        return _units_of(self._open(), key)

    def extras_of(self, unit: Unit) -> list[Unit]:
        """Return (level, path) of the extra files that belong to a unit."""
        return _extras_of(self._open(), unit)

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        return self._db

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
        self._db = None


def _units_of(db: sqlite3.Connection, key: str) -> list[Unit]:
    rows = db.execute("SELECT level, path FROM dependencies WHERE key = ?", (os.fsencode(key),))
    return [(level, os.fsdecode(path)) for level, path in rows]


def _extras_of(db: sqlite3.Connection, unit: Unit) -> list[Unit]:
    rows = db.execute("SELECT path FROM extras WHERE level = ? AND owner = ?", (unit[0], os.fsencode(unit[1])))
    return [(unit[0], os.fsdecode(path)) for (path,) in rows]


def _join(targets: Iterable[str]) -> bytes:
    return b"\0".join(os.fsencode(target) for target in targets)


def _split(packed: bytes) -> list[bytes]:
    return zlib.decompress(packed).split(b"\0")
