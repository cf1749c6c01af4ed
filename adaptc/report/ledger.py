"""The ledger: the figures of every file and page at every level, from which manifest and report are written.

An SQLite file in the output's private directory. A build replaces the rows of what changed, and sums are left to
SQLite: of a site of 32,000 pages the documents are then written in a tenth of the time that reading every unit takes.
It holds nothing that the state does not have; one that is missing, damaged or of another time is made anew.

What files weigh at each level, and what sheets import, is read from the state when it is asked for (``Weights``).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from json.encoder import encode_basestring
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from adaptc.compile.analyse.styling import Background
from adaptc.compile.engine.state.damage import check_values, discard, discard_foreign, has_schema, is_as_left, leave
from adaptc.compile.engine.state.results import Extra, Output, UnitResult, pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.state.state import State
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, printable
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, Action, Resource, is_dictionary_coding
from adaptc.core.values import astuple, dataclass
from adaptc.report.figures import GROUPS, CodingFigures, PageFigures, TypeFigures

SCHEMA = 4

_CODINGS = (IDENTITY, *CODINGS, *FORMATS)
_SIZES = ", ".join(f'"{coding}"' for coding in _CODINGS)
_COSTS = ("requests", "identity", "transfer", "own", "own_transfer")
# What the files of a level and a group come to: by column, what a row adds to it. So with the pages of a level
_TOTALS = {
    "files": "1",
    **{name: f"{{row}}.{name}" for name in ("source", "identity", "transfer")},
    **{f"{coding}_files": f'{{row}}."{coding}" IS NOT NULL' for coding in _CODINGS},
    **{f"{coding}_bytes": f'IFNULL({{row}}."{coding}", 0)' for coding in _CODINGS},
}


_PAGE_TOTALS = {
    "pages": "1",
    "built": "{row}.is_built",
    "views": "{row}.views",
    **{name: f"{{row}}.{name}" for name in _COSTS},
    **{f"viewed_{name}": f"{{row}}.{name} * {{row}}.views" for name in _COSTS},
}


def _totalling(source: str, target: str, keys: Mapping[str, str], amounts: Mapping[str, str]) -> str:
    """Return a table of sums over the rows of another that have the same ``keys``, by name and type of column."""
    table = f"CREATE TABLE {target} ({', '.join(map(' '.join, keys.items()))}, {', '.join(amounts)},"
    triggers = (
        _trigger(source, target, keys, amounts, *each) for each in (("insert", "NEW", "+"), ("delete", "OLD", "-"))
    )
    return f"{table} PRIMARY KEY ({', '.join(keys)})) WITHOUT ROWID;{''.join(triggers)}"


def _trigger(
    source: str, target: str, keys: Iterable[str], amounts: Mapping[str, str], event: str, row: str, sign: str
) -> str:
    sums = ", ".join(f"{name} = {name} {sign} ({value.format(row=row)})" for name, value in amounts.items())
    return f"""
CREATE TRIGGER {target}_{event} AFTER {event} ON {source} BEGIN
    INSERT OR IGNORE INTO {target} VALUES ({", ".join(f"{row}.{key}" for key in keys)}{", 0" * len(amounts)});
    UPDATE {target} SET {sums} WHERE {" AND ".join(f"{key} = {row}.{key}" for key in keys)};
END;"""


_POINTS = {"level": "TEXT", "requests": "INTEGER", "transfer": "INTEGER"}
_TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files (path BLOB, level TEXT, kind TEXT, source INTEGER, identity INTEGER, transfer INTEGER, {_SIZES},
                    PRIMARY KEY (path, level)) WITHOUT ROWID;
{_totalling("files", "totals", {"level": "TEXT", "kind": "TEXT"}, _TOTALS)}
CREATE TABLE extras (path BLOB, level TEXT, media_type TEXT, outputs TEXT, PRIMARY KEY (path, level)) WITHOUT ROWID;
CREATE TABLE pages (path BLOB, level TEXT, is_built INTEGER, requests INTEGER, identity INTEGER, transfer INTEGER,
                    own INTEGER, own_transfer INTEGER, actions INTEGER, demoted INTEGER, views INTEGER, objects INTEGER,
                    PRIMARY KEY (path, level)) WITHOUT ROWID;
{_totalling("pages", "page_totals", {"level": "TEXT"}, _PAGE_TOTALS)}
{_totalling("pages", "shown", {"level": "TEXT", "objects": "INTEGER"}, {"pages": "1", "views": "{row}.views"})}
{_totalling("pages", "points", _POINTS, {"pages": "{row}.is_built"})}
CREATE INDEX heaviest ON pages (level, transfer DESC, path) WHERE is_built;
CREATE INDEX foremost ON pages (level, views DESC, transfer * is_built DESC, path);
CREATE TABLE rows (path BLOB PRIMARY KEY, row TEXT) WITHOUT ROWID;
CREATE TABLE lists (number INTEGER PRIMARY KEY, items TEXT UNIQUE);
CREATE TABLE diagnostics (origin INTEGER, path BLOB, packed TEXT, PRIMARY KEY (origin, path)) WITHOUT ROWID;
"""
_KINDS = "|".join(GROUPS)
_TYPES = {
    "files": f"path path, level level, kind {_KINDS}, source integer, identity integer, transfer integer, "
    + ", ".join(f"{coding} integer?" for coding in _CODINGS),
    "totals": f"level level, kind {_KINDS}, " + ", ".join(f"{name} integer" for name in _TOTALS),
    "extras": "path path, level level, media_type text, outputs text",
    "pages": "path path, level level, is_built integer, requests integer, identity integer, transfer integer, "
    "own integer, own_transfer integer, actions integer, demoted integer, views integer, objects integer",
    "page_totals": "level level, " + ", ".join(f"{name} integer" for name in _PAGE_TOTALS),
    "shown": "level level, objects integer, pages integer, views integer",
    "points": "level level, requests integer, transfer integer, pages integer",
    "rows": "path path, row row",
    "lists": "number integer, items text",
    "diagnostics": "origin integer, path path, packed text",
}
_OF_PATHS = ("files", "pages", "rows", "diagnostics")
# In the row of a page, the numbers of its actions and demoted passes are between two of these: JSON escapes them
MARK = "\x1f"
# The origins of diagnostics, in the order in which they are reported
_SOURCE, _UNITS = 0, 1


@dataclass(frozen=True, slots=True)
class LevelSums:
    """Sums over the files of a level, and over its pages or their views."""

    files: int
    codings: tuple[CodingFigures, ...]
    kinds: Mapping[str, TypeFigures]
    pages: int = 0
    requests: int = 0
    identity: int = 0
    transfer: int = 0
    own_transfer: int = 0


class Ledger:
    """The ledger in the file ``path``. Raises ``sqlite3.DatabaseError`` in every method."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = _open(path) or _create(path)
        self._is_known = is_as_left(self.db, path)  # that all values are adaptc's
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def leave(self) -> None:
        """Close the file; if its values were checked and nobody else writes to it, ``begin`` need not next time."""
        if self._is_known and self.db.total_changes:
            leave(self.db, self.path)
        self.close()

    @property
    def record(self) -> Any:
        """What identifies the documents that the ledger describes: equal to what the state has, or of another time."""
        row = self.db.execute("SELECT value FROM meta WHERE key = 'documents'").fetchone()
        return None if row is None else json.loads(row[0])

    def begin(self) -> None:
        """Begin a transaction; the ledger is of no time until it ends. Raises ``DamagedState`` for malformed values."""
        if not self._is_known:
            check_values(self.db, _TYPES)
            self._is_known = True
        self.db.execute("BEGIN IMMEDIATE")

    def commit(self, record: dict[str, str]) -> None:
        """Commit the transaction: the ledger describes the documents of ``record``."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('documents', ?)", (json.dumps(record),))
        self.db.execute("COMMIT")

    # ---- rows

    def clear(self) -> None:
        """Remove all rows."""
        for table in (*_OF_PATHS, "extras", "page_totals", "shown", "points", "lists"):
            self.db.execute(f"DELETE FROM {table}")
        self._numbers.clear()

    def remove(self, path: str) -> None:
        """Remove the rows of a path."""
        for table in _OF_PATHS:
            self.db.execute(f"DELETE FROM {table} WHERE path = ?", (os.fsencode(path),))

    def add_file(
        self, level: str, path: str, kind: str, source: int, weight: Weight, outputs: Iterable[Output]
    ) -> None:
        """Add a file of a level: the group of its media type, and the size of its source in bytes."""
        sizes = {output.coding: output.size for output in outputs}
        row = (os.fsencode(path), level, kind, source, *weight, *(sizes.get(coding) for coding in _CODINGS))
        self.db.execute("DELETE FROM files WHERE path = ? AND level = ?", row[:2])  # REPLACE would tell no trigger
        self.db.execute(f"INSERT INTO files VALUES ({_places(row)})", row)

    def add_extra(self, level: str, extra: Extra, kind: str, weight: Weight) -> None:
        """Add a file that comes of no file of the docroot; several units may refer to it."""
        self.add_file(level, extra.path, kind, 0, weight, extra.outputs)
        row = (os.fsencode(extra.path), level, extra.media_type, json.dumps(extra.outputs))
        self.db.execute("INSERT OR REPLACE INTO extras VALUES (?, ?, ?, ?)", row)

    def remove_extra(self, level: str, path: str) -> None:
        """Remove a file that no unit refers to any more."""
        for table in ("files", "extras"):
            self.db.execute(f"DELETE FROM {table} WHERE path = ? AND level = ?", (os.fsencode(path), level))

    def add_page(self, page: PageFigures, objects: Iterable[str], *, is_built: bool) -> None:
        """Add a page at a level and what it embeds; one that the level does not have is served in another version."""
        actions, demoted = self._number([astuple(action) for action in page.actions]), self._number(page.demoted)
        embedded = self._number(sorted(objects))
        costs = (page.requests, page.identity_bytes, page.transfer_bytes, page.page_bytes, page.page_transfer)
        row = (os.fsencode(page.path), page.level, is_built, *costs, actions, demoted, page.views, embedded)
        self.db.execute(f"INSERT INTO pages VALUES ({_places(row)})", row)

    def add_row(self, path: str, levels: Sequence[str]) -> None:
        """Add the row that the report has of a page, after its figures: ``[path, cost of each level, views]``.

        Raises ``KeyError`` for a level that is not one of ``levels``.
        """
        costs, place = ["null"] * len(levels), {level: index for index, level in enumerate(levels)}
        query = f"SELECT level, views, actions, demoted, {', '.join(_COSTS)} FROM pages WHERE is_built AND path = ?"
        for level, views, actions, demoted, *sizes in self.db.execute(query, (os.fsencode(path),)):
            costs[place[level]] = f"[{','.join(map(str, sizes))},{MARK}{actions} {demoted}{MARK}]"
            row = f"[{encode_basestring(printable(path))},{','.join(costs)},{views}]"
            self.db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (os.fsencode(path), row))

    def _number(self, items: Sequence[Any]) -> int:
        """Return the number of a list, which many pages have in common."""
        text = json.dumps(items)
        if text not in self._numbers:
            self.db.execute("INSERT OR IGNORE INTO lists (items) VALUES (?)", (text,))
            (number,) = self.db.execute("SELECT number FROM lists WHERE items = ?", (text,)).fetchone()
            self._numbers[text] = number
        return self._numbers[text]

    def add_diagnostics(self, path: str, source: tuple[Diagnostic, ...], units: tuple[Diagnostic, ...]) -> None:
        """Add the diagnostics of a source and of its units."""
        for origin, diagnostics in ((_SOURCE, source), (_UNITS, units)):
            if diagnostics:
                row = (origin, os.fsencode(path), json.dumps(pack_diagnostics(diagnostics)))
                self.db.execute("INSERT INTO diagnostics VALUES (?, ?, ?)", row)

    # ---- what documents ask for

    def weights(self, path: str) -> dict[str, tuple[int, int, int]]:
        """Return the sizes of a file by level: of its source, as it is, and in the best coding."""
        rows = self.db.execute(
            "SELECT level, source, identity, transfer FROM files WHERE path = ?", (os.fsencode(path),)
        )
        return {level: (source, identity, transfer) for level, source, identity, transfer in rows}

    def may_embed(self, path: str) -> bool:
        """Whether some page may embed a file; where not, no page's figures depend on it."""
        query = "SELECT 1 FROM lists WHERE instr(items, ?) LIMIT 1"
        return self.db.execute(query, (json.dumps(path),)).fetchone() is not None

    def transfer(self, path: str, levels: Iterable[str]) -> int:
        """Return the bytes of a file in the best coding at the first of ``levels`` that has it; 0 where none has."""
        weights = self.weights(path)
        return next((weights[level][2] for level in levels if level in weights), 0)

    def sums(self, weighs_views: bool) -> dict[str, LevelSums]:
        """Return the sums of each level; with ``weighs_views`` a page counts as often as it was viewed."""
        kinds, codings = dict[str, dict[str, TypeFigures]](), dict[str, list[int]]()
        for level, kind, *amounts in self.db.execute("SELECT * FROM totals WHERE files"):
            kinds.setdefault(level, {})[kind] = TypeFigures(kind, *amounts[:4])
            codings[level] = list(map(add, codings.get(level, repeat(0)), amounts[4:]))
        pages = self._page_sums("viewed_" if weighs_views else "")
        counts = {level: sum(kind.files for kind in groups.values()) for level, groups in kinds.items()}
        return {
            level: LevelSums(counts[level], _coding_figures(codings[level]), groups, *pages.get(level, ()))
            for level, groups in kinds.items()
        }

    def _page_sums(self, prefix: str) -> dict[str, list[int]]:
        sums = ", ".join(f"{prefix}{amount}" for amount in ("requests", "identity", "transfer", "own_transfer"))
        query = f"SELECT level, built, {sums} FROM page_totals WHERE pages"
        return {level: amounts for level, *amounts in self.db.execute(query)}

    def embedding(self, *, weighs_views: bool) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """Yield a level, files that pages of it embed, and how many pages or views of them embed just these."""
        times = "views" if weighs_views else "pages"
        query = f"SELECT level, items, {times} FROM shown JOIN lists ON objects = number WHERE pages"
        for level, items, times in self.db.execute(query):
            yield level, tuple(json.loads(items)), times

    def times(self, weighs_views: bool) -> int:
        """Return the number of pages, or with ``weighs_views`` of their views."""
        query = f"SELECT MAX({'views' if weighs_views else 'pages'}) FROM page_totals"  # each level has all pages
        return self.db.execute(query).fetchone()[0] or 0

    def pages(self) -> Iterator[PageFigures]:
        """Yield the pages that levels have, in order of paths; equal lists are shared."""
        used = self.db.execute("SELECT actions FROM pages UNION SELECT demoted FROM pages")
        actions, names = self.lists({number for (number,) in used})
        columns = f"path, level, {', '.join(_COSTS)}, actions, demoted, views"
        query = f"SELECT {columns} FROM pages WHERE is_built ORDER BY path, level"
        for path, level, *sizes, done, demoted, views in self.db.execute(query):
            yield PageFigures._make((os.fsdecode(path), level, *sizes, actions[done], names[demoted], views))

    def page_rows(self) -> list[str]:
        """Return the rows of ``add_row`` in order of paths: of a site of 100,000 pages in a tenth of a second."""
        return [row for (row,) in self.db.execute("SELECT row FROM rows ORDER BY path")]

    def page_points(self) -> Counter[tuple[str, int, int]]:
        """Count the pages of a level that take so many requests and bytes as sent."""
        rows = self.db.execute("SELECT level, requests, transfer, pages FROM points WHERE pages")
        return Counter({(level, requests, transfer): pages for level, requests, transfer, pages in rows})

    def heaviest_pages(self, level: str, count: int) -> list[tuple[str, int]]:
        """Return the ``count`` pages that take the most bytes at a level, with these bytes as sent."""
        query = "SELECT path, transfer FROM pages WHERE is_built AND level = ? ORDER BY transfer DESC, path LIMIT ?"
        return [(os.fsdecode(path), transfer) for path, transfer in self.db.execute(query, (level, count))]

    def foremost_pages(self, level: str, count: int) -> list[tuple[str, int]]:
        """Return the ``count`` pages with the most views, with these, and of those the heaviest at a level first."""
        query = (
            "SELECT path, views FROM pages WHERE level = ? ORDER BY views DESC, transfer * is_built DESC, path LIMIT ?"
        )
        return [(os.fsdecode(path), views) for path, views in self.db.execute(query, (level, count))]

    def page_at(self, path: str, level: str) -> PageFigures | None:
        """Return a page at a level without its actions, ``None`` where the level lacks it."""
        query = (
            f"SELECT {', '.join(_COSTS)}, items, views FROM pages JOIN lists ON demoted = number "
            "WHERE is_built AND path = ? AND level = ?"
        )
        row = self.db.execute(query, (os.fsencode(path), level)).fetchone()
        if row is None:
            return None
        *sizes, demoted, views = row
        return PageFigures._make((path, level, *sizes, (), tuple(json.loads(demoted)), views))

    def lists(self, used: Container[int]) -> tuple[dict[int, tuple[Action, ...]], dict[int, tuple[str, ...]]]:
        """Return the actions and the demoted passes by the ``used`` numbers; equal actions are one object."""
        lists = self._lists(used)
        return _shared_actions(lists), {number: tuple(items) for number, items in lists.items()}

    def _lists(self, used: Container[int]) -> dict[int, list[Any]]:
        rows = [row for row in self.db.execute("SELECT number, items FROM lists") if row[0] in used]
        items: list[list[Any]] = json.loads(f"[{','.join(text for _, text in rows)}]")
        return {number: each for (number, _), each in zip(rows, items, strict=True)}

    def extras(self) -> Iterator[tuple[str, str, str, list[Output]]]:
        """Yield path, media type, level and files of what comes of no file of the docroot, by path and media type."""
        rows = self.db.execute("SELECT path, media_type, level, outputs FROM extras ORDER BY path, media_type, level")
        for path, media_type, level, outputs in rows:
            yield os.fsdecode(path), media_type, level, list(map(Output._make, json.loads(outputs)))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics: those of sources, then those of units, each by path."""
        rows = self.db.execute("SELECT packed FROM diagnostics ORDER BY origin, path")
        packed = json.loads(f"[{','.join(text for (text,) in rows)}]")
        return unpack_diagnostics([item for items in packed for item in items])


def _shared_actions(lists: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Action, ...]]:
    """Return the actions of lists by number; equal ones are one object."""
    known: dict[tuple[Any, ...], Action] = {}

    def action_of(item: list[Any]) -> Action:
        fields = tuple(item)
        action = known.get(fields)
        if action is None:
            action = known[fields] = Action(*fields)
        return action

    return {number: tuple(action_of(item) for item in items if type(item) is list) for number, items in lists.items()}


def _places(row: Sequence[Any]) -> str:
    return ", ".join("?" * len(row))


def _coding_figures(amounts: Sequence[int]) -> tuple[CodingFigures, ...]:
    counts, sizes = amounts[: len(_CODINGS)], amounts[len(_CODINGS) :]
    rows = zip(_CODINGS, counts, sizes, strict=True)
    return tuple(CodingFigures(coding, count, size) for coding, count, size in sorted(rows) if count)


def _open(path: Path) -> sqlite3.Connection | None:
    """Open a ledger; ``None`` when there is none, or it is damaged or of another schema, and was removed."""
    discard_foreign(path)
    if not path.exists():
        return None
    db = sqlite3.connect(path, isolation_level=None)
    if has_schema(db, SCHEMA):
        return _tune(db)
    db.close()
    discard(path)
    return None


def _tune(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _create(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    _tune(db).executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")
    return db


class Weight(NamedTuple):
    """Bytes of a resource at a level: as they are, and in the best coding."""

    identity: int
    transfer: int


def weight_of(outputs: Iterable[Output], source: int) -> Weight:
    """Return the weight of a file with these outputs; ``source`` is the size of the original, sent without any.

    Only visitors who have a dictionary receive what is encoded with it: that does not count.
    """
    sizes = {output.coding: output.size for output in outputs if not is_dictionary_coding(output.coding)}
    identity = sizes.get(IDENTITY, source)
    return Weight(identity, min((*sizes.values(), identity)))


class Weights:
    """The weights of files of ``state``, of which ``resources`` are the sources."""

    def __init__(self, state: State, resources: Mapping[str, Resource]) -> None:
        self.state, self.resources = state, resources
        self._weights: dict[tuple[str, str], Weight | None] = {}
        self._imports: dict[tuple[str, str], tuple[str, ...]] = {}
        self._backgrounds: dict[tuple[str, str], tuple[Background, ...]] = {}
        self._has_all = False

    def read_all(self) -> None:
        """Read every unit at once, for a caller that will ask for most of them."""
        for result in self.state.results(notes=False):
            self._add(result)
        self._has_all = True

    def at(self, level: str, path: str) -> Weight | None:
        """Return the weight of a file at a level, ``None`` where it has none."""
        key = (level, path)
        if key not in self._weights and not self._has_all:
            self._weights[key] = None
            self._read(level, path)
        return self._weights.get(key)

    def backgrounds(self, level: str, path: str) -> tuple[Background, ...]:
        """Return the images that a sheet loads with pages at a level."""
        self.at(level, path)
        return self._backgrounds.get((level, path), ())

    def imports(self, level: str, path: str) -> tuple[str, ...]:
        """Return the sheets that a sheet imports at a level."""
        self.at(level, path)
        return self._imports.get((level, path), ())

    def _read(self, level: str, path: str) -> None:
        owner = path if path in self.resources else self.state.extra_owner(level, path)
        for result in self.state.results(owner, notes=False) if owner is not None else ():
            self._add(result)

    def _add(self, result: UnitResult) -> None:
        level, path = result.level, result.path
        if path in self.resources:
            self._weights[level, path] = weight_of(result.outputs, self.resources[path].size)
        for extra in result.extras:
            self._weights[level, extra.path] = self.of_extra(extra)
        if result.embeds is not None and result.media_type == media.CSS:
            self._imports[level, path] = result.embeds
            self._backgrounds[level, path] = result.backgrounds

    @staticmethod
    def of_extra(extra: Extra) -> Weight:
        """Return the weight of a file that comes of no file of the docroot."""
        return weight_of(extra.outputs, 0)
