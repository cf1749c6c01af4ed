"""The file of a crawl's state (SQLite), apart from the URLs: facts, names, links, parts of files, robots.txt.

In WAL mode a commit takes 36 us and needs no sync; after a power cut the last commits may be gone, never half of one.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import open_private
from adaptc.crawl.discover.link import Link

SCHEMA = 2
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE urls (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, state INTEGER NOT NULL, depth INTEGER NOT NULL,
  parent_rank INTEGER NOT NULL, position INTEGER NOT NULL, rank INTEGER, parent INTEGER, requisite INTEGER NOT NULL,
  place TEXT, line INTEGER, run INTEGER NOT NULL,
  name TEXT, status INTEGER, type TEXT, charset TEXT, size INTEGER, etag TEXT, modified TEXT, target INTEGER,
  disk INTEGER, kind TEXT,
  rule TEXT, reason TEXT);
CREATE INDEX urls_found ON urls (depth) WHERE state = 0;
CREATE INDEX urls_queued ON urls (rank) WHERE state = 1;
CREATE TABLE names (key TEXT PRIMARY KEY, is_file INTEGER) WITHOUT ROWID;
CREATE TABLE links (url INTEGER PRIMARY KEY, base TEXT, links BLOB, nofollow INTEGER NOT NULL DEFAULT 0);
CREATE TABLE partial (url INTEGER PRIMARY KEY, validator TEXT);
CREATE TABLE robots (origin TEXT PRIMARY KEY, status INTEGER, rules BLOB, run INTEGER) WITHOUT ROWID;
"""

_DIRECTORIES = 200_000  # remembered in memory


class KnownLinks(NamedTuple):
    """The links of a file, as ``pack`` wrote them; ``base`` and ``nofollow`` are as in ``Discovery``."""

    base: str
    links: bytes
    nofollow: bool


class Store:
    """The file ``path`` (``:memory:`` for tests). ``run`` is the number of the crawl.

    Raises ``UsageError`` when the file is damaged or cannot be opened.
    """

    def __init__(self, path: Path | str) -> None:
        try:
            self._open(path)
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{path} is no state of a crawl ({error}): remove it to begin anew") from None

    def _open(self, path: Path | str) -> None:
        if isinstance(path, Path):  # SQLite gives the files next to it the same mode
            os.close(open_private(path, os.O_RDWR))
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._depth = 0
        self._claimed_directories: set[str] = set()
        if not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._db.executescript(TABLES)
            self.set_meta("schema", str(SCHEMA))
        elif self.meta("schema") == "1":
            self._db.execute("ALTER TABLE links ADD COLUMN nofollow INTEGER NOT NULL DEFAULT 0")
            self.set_meta("schema", str(SCHEMA))
        self.run = int(self.meta("run") or 0)
        self._partial = {row[0] for row in self._db.execute("SELECT url FROM partial")}  # large files: few

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        """Begin a transaction, or go on in the one that is under way: a response and all that follows from it."""
        if not self._depth:
            self._db.execute("BEGIN")
        self._depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._db.execute("COMMIT" if kind is None else "ROLLBACK")

    def meta(self, key: str) -> str | None:
        """Return a fact about the crawl."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Remember a fact about the crawl."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # ---- names that are taken

    def is_file(self, key: str) -> bool:
        """Whether a URL has claimed this name."""
        return self._db.execute("SELECT 1 FROM names WHERE key = ? AND is_file", (key,)).fetchone() is not None

    def claim_key(self, key: str) -> bool:
        """Claim a name's key for a file; return whether it was free: neither a file's nor a directory's."""
        if not self._db.execute("INSERT OR IGNORE INTO names VALUES (?, 1)", (key,)).rowcount:
            return False
        directory = key.rpartition("/")[0]
        while directory and directory not in self._claimed_directories:
            self._db.execute("INSERT OR IGNORE INTO names VALUES (?, 0)", (directory,))
            if len(self._claimed_directories) > _DIRECTORIES:
                self._claimed_directories.clear()
            self._claimed_directories.add(directory)
            directory = directory.rpartition("/")[0]
        return True

    def release_key(self, key: str) -> None:
        """Release a claimed name."""
        self._db.execute("DELETE FROM names WHERE key = ? AND is_file", (key,))

    # ---- files that may be cut off

    def remember_partial(self, number: int, validator: str | None) -> None:
        """Note under which validator the rest of a large file may be asked for, ``None`` when it may not."""
        self._db.execute("INSERT OR REPLACE INTO partial VALUES (?, ?)", (number, validator))
        self._partial.add(number)

    def is_partial(self, number: int) -> bool:
        """Whether a partial file can be continued."""
        return number in self._partial

    def partial(self, number: int) -> str | None:
        """Return the validator of a file that was begun."""
        row = self._db.execute("SELECT validator FROM partial WHERE url = ?", (number,)).fetchone()
        return row[0] if row else None

    # ---- links of a file

    def remember_links(self, number: int, base: str, links: bytes, nofollow: bool) -> None:
        """Keep what a file leads to, for reports and for the crawl after a 304."""
        self._db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", (number, base, links, nofollow))

    def links(self, number: int) -> KnownLinks | None:
        """Return what a file leads to."""
        row = self._db.execute("SELECT base, links, nofollow FROM links WHERE url = ?", (number,)).fetchone()
        return KnownLinks(row[0], row[1], bool(row[2])) if row else None

    # ---- robots.txt

    def robots(self, origin: str) -> tuple[int, bytes] | None:
        """Return status and content of an origin's robots.txt, if this run has read it."""
        row = self._db.execute(
            "SELECT status, rules FROM robots WHERE origin = ? AND run = ?", (origin, self.run)
        ).fetchone()
        return (row[0], row[1]) if row else None

    def robots_errors(self) -> list[tuple[str, int, bytes]]:
        """Return the origins of this run whose robots.txt failed, with status and content."""
        return self._db.execute(
            "SELECT origin, status, rules FROM robots WHERE status >= 500 AND run = ? ORDER BY origin", (self.run,)
        ).fetchall()

    def remember_robots(self, origin: str, status: int, rules: bytes) -> None:
        """Keep an origin's robots.txt for this run."""
        self._db.execute("INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)", (origin, status, rules, self.run))


# ---- links as bytes

_WORTHWHILE = 1000  # bytes from which on compressing pays
_ZLIB = b"\x78"  # how a zlib stream begins (RFC 1950); no URL does


def pack(links: Iterable[Link]) -> bytes:
    """Return links as lines of URL, place, line and flags, compressed where there are many."""
    text = "\n".join([_written(*link) for link in links]).encode("utf-8", "surrogatepass")
    return zlib.compress(text, 1) if len(text) > _WORTHWHILE else text


def unpack(blob: bytes) -> Iterator[Link]:
    """Yield the links that ``pack`` wrote."""
    return map(_read, _lines(blob))


def unpack_to(blob: bytes, urls: Container[str]) -> Iterator[Link]:
    """Yield the links that lead to one of ``urls``."""
    return (_read(line) for line in _lines(blob) if line.partition("\t")[0] in urls)


def _lines(blob: bytes) -> list[str]:
    content = zlib.decompress(blob) if blob.startswith(_ZLIB) else blob
    return content.decode("utf-8", "surrogatepass").split("\n") if content else []


def _read(line: str) -> Link:
    url, place, number, flags = line.split("\t")
    return Link(url, flags[0] == "1", place, int(number), flags[1] == "1", flags[2] == "1")


def _written(url: str, requisite: bool, place: str, line: int, is_relative: bool, nofollow: bool) -> str:
    flags = f"{'1' if requisite else '0'}{'1' if is_relative else '0'}{'1' if nofollow else '0'}"
    return f"{url}\t{place}\t{line}\t{flags}"
