"""Every discovered URL, on disk (SQLite): what to fetch next, its result, and its file name.

Memory does not grow with the site: a batch of rows is held, and a bounded memory of URLs seen lately. Responses that
arrive together are one transaction, so a resumed crawl repeats only the requests that were under way.

URLs are fetched level by level, in the order of a sequential breadth-first crawl: a URL's rank is that of the page that
led to it first, then its place there. Depth is therefore that of the shortest path, and names do not depend on timing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from adaptc.crawl.store import Store


class State(IntEnum):
    """What is known of a URL."""

    FOUND = 0  # waits for its level
    QUEUED = 1  # of the level that is being fetched
    STORED = 2  # its file is complete
    REDIRECTED = 3  # leads to another URL (column ``target``)
    FAILED = 4  # was wanted and could not be fetched
    REFUSED = 5  # is out of scope, or forbidden
    CHECKED = 6  # is there; not kept (``--spider``, or deleted after loading)
    GONE = 7  # a former crawl stored it and this one did not meet it, or met an error


class Row(NamedTuple):
    """A URL and what is known of it. Sizes are bytes; ``modified`` is the Last-Modified field as it came."""

    id: int
    url: str
    state: int
    depth: int
    rank: int | None
    parent: int | None
    requisite: int
    place: str | None
    line: int | None
    name: str | None
    status: int | None
    type: str | None
    charset: str | None
    size: int | None
    etag: str | None
    modified: str | None
    target: int | None
    disk: int | None
    kind: str | None
    rule: str | None
    reason: str | None


class UnnamedUrl(NamedTuple):
    """A queued URL without a name: the columns that its name depends on."""

    id: int
    url: str
    place: str | None
    parent: int | None
    rank: int


class MetUrl(NamedTuple):
    """A link that was met and decided on. ``place`` is as ``Reference.where``; a refused one says why."""

    url: str
    depth: int
    requisite: bool
    place: str = ""
    line: int = 0
    rule: str = ""
    reason: str = ""


COLUMNS = ",".join(Row._fields)
SELECT_ROW = f"SELECT {COLUMNS} FROM urls"
# A URL of a former run is entered anew, but keeps its name and validators. One that was refused may be wanted from
# another place; one that waits belongs to the page that a sequential crawl would have met first.
UPSERT = f"""
INSERT INTO urls (url, state, depth, parent_rank, position, parent, requisite, place, line, run, rule, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET
  state = excluded.state, depth = excluded.depth, parent_rank = excluded.parent_rank, position = excluded.position,
  parent = excluded.parent, requisite = excluded.requisite, place = excluded.place, line = excluded.line,
  run = excluded.run, rule = excluded.rule, reason = excluded.reason, rank = NULL, target = NULL
WHERE urls.run < excluded.run
   OR (excluded.state = {State.FOUND} AND (urls.state = {State.REFUSED} OR (urls.state = {State.FOUND}
       AND excluded.depth <= urls.depth
       AND (excluded.parent_rank, excluded.position) < (urls.parent_rank, urls.position))))
"""
RANK = f"""
UPDATE urls SET state = {State.QUEUED}, rank = ranked.rank
FROM (SELECT id, ? + row_number() OVER (ORDER BY parent_rank, position) AS rank
      FROM urls WHERE state = {State.FOUND} AND depth = ?) AS ranked
WHERE urls.id = ranked.id
"""

_IS_FILE = "name IS NOT NULL AND disk IS NOT NULL"
_SEEN = 200_000  # URLs remembered in memory: about 30 MB
_PARENTS = 1_000  # URLs remembered by id


@lru_cache(maxsize=64)  # as many as there are callers
def _update(names: tuple[str, ...]) -> str:
    columns = "".join(f", {name} = ?" for name in names)
    return f"UPDATE urls SET state = ?{columns} WHERE id = ?"


class Frontier(Store):
    """The state of a crawl in the file ``path`` (``:memory:`` for tests)."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self._seen: dict[str, tuple[int, bool]] = {}
        self._urls: dict[int, str] = {}

    # ---- runs

    @property
    def is_unfinished(self) -> bool:
        """Whether the last run was interrupted."""
        return self.meta("finished") == "no"

    def begin_run(self) -> None:
        """Begin a crawl anew; what the last one stored stays known, as do its names."""
        self.run += 1
        self._seen.clear()
        with self:
            self.set_meta("run", str(self.run))
            self.set_meta("finished", "no")
            # what an interrupted run of other URLs left; its files of the run before are still there
            self._db.execute(
                "UPDATE urls SET state = CASE WHEN disk IS NULL THEN ? ELSE ? END, rule = ?, reason = ? "
                "WHERE state < ?",
                (State.REFUSED, State.STORED, "interrupted", "the crawl ended before its turn came", State.STORED),
            )

    def end_run(self) -> None:
        """Note that everything was fetched."""
        self.set_meta("finished", "yes")

    def give_up(self, rule: str, reason: str) -> None:
        """Refuse every URL that still waits."""
        self._db.execute(
            f"UPDATE urls SET state = {State.REFUSED}, rule = ?, reason = ? WHERE state < {State.STORED}",
            (rule, reason),
        )

    def failure_rules(self) -> frozenset[str]:
        """Return the classes of failures of this run."""
        rows = self._db.execute(f"SELECT DISTINCT rule FROM urls WHERE state = {State.FAILED} AND run = ?", (self.run,))
        return frozenset(row[0] for row in rows)

    def first_refused(self, rule: str) -> str | None:
        """Return the first URL of this run that a rule refused."""
        row = self._db.execute(
            f"SELECT url FROM urls WHERE state = {State.REFUSED} AND run = ? AND rule = ? ORDER BY id LIMIT 1",
            (self.run, rule),
        ).fetchone()
        return row[0] if row else None

    def refusals(self) -> dict[str, int]:
        """Return how many URLs of this run were refused by each rule, the most frequent first."""
        rows = self._db.execute(
            f"SELECT rule, COUNT(*) FROM urls WHERE state = {State.REFUSED} AND run = ? GROUP BY rule "
            "ORDER BY COUNT(*) DESC, rule",
            (self.run,),
        )
        return dict(rows.fetchall())

    # ---- finding

    def add_start(self, url: str, position: int) -> None:
        """Enter a URL that the user named, at depth 0."""
        self._db.execute(UPSERT, self._entry(MetUrl(url, 0, requisite=False, place="start"), None, 0, position))

    def add(self, parent: int | None, parent_rank: int, links: Iterable[MetUrl]) -> None:
        """Enter the links of a page in their order; what is known already from an earlier place stays."""
        rows = []
        for position, link in enumerate(links):
            rows.append(self._entry(link, parent, parent_rank, position))
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            # a refused link may be accepted at another place: as a requisite, or without nofollow
            if not link.rule:
                self._seen[link.url] = (parent_rank, link.requisite)
        if rows:
            self._db.executemany(UPSERT, rows)

    def knows(self, url: str, parent_rank: int, requisite: bool) -> bool:
        """Whether a URL is known to wait, or to be done, from an earlier page; a "no" may be wrong, a "yes" never."""
        before = self._seen.get(url)
        return before is not None and before[0] <= parent_rank and (before[1] or not requisite)

    def _entry(self, link: MetUrl, parent: int | None, parent_rank: int, position: int) -> tuple[Any, ...]:
        """Return the values of ``UPSERT``."""
        return (
            link.url, State.REFUSED if link.rule else State.FOUND, link.depth, parent_rank, position, parent,
            link.requisite, link.place, link.line, self.run, link.rule or None, link.reason or None,
        )  # fmt: skip

    # ---- fetching

    def next_level(self) -> int | None:
        """Queue the shallowest URLs that wait, ranked; return their depth, ``None`` when there are none."""
        depth = self._db.execute(f"SELECT MIN(depth) FROM urls WHERE state = {State.FOUND}").fetchone()[0]
        if depth is None:
            return None
        with self:
            first = int(self.meta("ranked") or 0)
            self._db.execute(RANK, (first, depth))
            self.set_meta("ranked", str(first + self._db.execute("SELECT changes()").fetchone()[0]))
        return int(depth)

    def queued(self, after: int, limit: int) -> list[Row]:
        """Return up to ``limit`` queued rows after rank ``after``, in the order of their ranks."""
        # the state is written out: only so does SQLite use the index of waiting URLs
        rows = self._db.execute(
            f"{SELECT_ROW} WHERE state = {State.QUEUED} AND rank > ? ORDER BY rank LIMIT ?", (after, limit)
        )
        return list(map(Row._make, rows))

    def unnamed(self, after: int, limit: int) -> list[UnnamedUrl]:
        """Return up to ``limit`` queued rows without a name after rank ``after``, in the order of their ranks."""
        rows = self._db.execute(
            f"SELECT {','.join(UnnamedUrl._fields)} FROM urls "
            f"WHERE state = {State.QUEUED} AND rank > ? AND name IS NULL ORDER BY rank LIMIT ?",
            (after, limit),
        )
        return list(map(UnnamedUrl._make, rows))

    def count(self, *states: State) -> int:
        """Return how many URLs of this run are in one of ``states``."""
        marks = ",".join("?" * len(states))
        row = self._db.execute(f"SELECT COUNT(*) FROM urls WHERE run = ? AND state IN ({marks})", (self.run, *states))
        return int(row.fetchone()[0])

    def waiting(self) -> int:
        """Return how many URLs wait to be fetched."""
        # the states are written out: only so does SQLite count in the indexes of waiting URLs
        states = (State.FOUND, State.QUEUED)
        counts = (
            self._db.execute(f"SELECT COUNT(*) FROM urls WHERE state = {state}").fetchone()[0] for state in states
        )
        return int(sum(counts))

    def row(self, url: str) -> Row | None:
        """Return what is known of a URL."""
        row = self._db.execute(f"{SELECT_ROW} WHERE url = ?", (url,)).fetchone()
        return Row(*row) if row else None

    def by_id(self, number: int) -> Row | None:
        """Return the row of an id."""
        row = self._db.execute(f"{SELECT_ROW} WHERE id = ?", (number,)).fetchone()
        return Row(*row) if row else None

    def url_of(self, number: int) -> str:
        """Return the URL of an id."""
        url = self._urls.get(number)
        if url is None:
            url = self._db.execute("SELECT url FROM urls WHERE id = ?", (number,)).fetchone()[0]
            if len(self._urls) >= _PARENTS:
                self._urls.clear()
            self._urls[number] = url
        return str(url)

    def rows(self, *states: State, of_this_run: bool = True) -> Iterator[Row]:
        """Yield rows in one of ``states`` in the order of their URLs' ids, a page of rows at a time."""
        marks, last = ",".join("?" * len(states)), -1
        runs = "AND run = ?" if of_this_run else "AND run < ?"
        while True:
            rows = self._db.execute(
                f"{SELECT_ROW} WHERE id > ? AND state IN ({marks}) {runs} ORDER BY id LIMIT 500",
                (last, *states, self.run),
            ).fetchall()
            if not rows:
                return
            yield from map(Row._make, rows)
            last = rows[-1][0]

    def noted(self, rule: str) -> list[Row]:
        """Return the files of this run, kept or not, of which a rule is noted."""
        rows = self._db.execute(
            f"{SELECT_ROW} WHERE state IN ({State.STORED}, {State.CHECKED}) AND run = ? AND rule = ? ORDER BY id",
            (self.run, rule),
        )
        return list(map(Row._make, rows))

    def stored_ending(self, ending: str) -> list[int]:
        """Return the ids of the URLs that this run stored and that end so."""
        rows = self._db.execute(
            f"SELECT id FROM urls WHERE state = {State.STORED} AND run = ? AND substr(url, ?) = ?",
            (self.run, -len(ending), ending),
        )
        return [row[0] for row in rows]

    def file_types(self) -> Iterator[tuple[str, str, str | None, bool]]:
        """Yield URL, name and media type of each file, and whether this run met its URL; those that it met first."""
        yield from self._db.execute(
            f"SELECT url, name, type, run = ? FROM urls WHERE {_IS_FILE} ORDER BY run = ? DESC, id",
            (self.run, self.run),
        )

    def count_files(self) -> int:
        """Return how many files the mirror holds, those of former runs included."""
        return int(self._db.execute(f"SELECT COUNT(*) FROM urls WHERE {_IS_FILE}").fetchone()[0])

    def holds_files(self, origin: str) -> bool:
        """Whether the mirror holds a file of an origin."""
        # from "/" to the character after it: the index of URLs answers
        query = f"SELECT 1 FROM urls WHERE url >= ? AND url < ? AND {_IS_FILE} LIMIT 1"
        return self._db.execute(query, (f"{origin}/", f"{origin}0")).fetchone() is not None

    def update(self, number: int, state: State, **values: Any) -> None:
        """Set the state of a URL and other columns."""
        self._db.execute(_update(tuple(values)), (state, *values.values(), number))

    def redirect(self, row: Row, url: str, refusal: tuple[str, str] | None) -> int:
        """Enter what ``row`` was redirected to, in the same level; return its id."""
        link = MetUrl(url, row.depth, bool(row.requisite), f"redirect from {row.url}", 0, *(refusal or ()))
        self._db.execute(UPSERT, self._entry(link, row.id, row.rank or 0, 0))
        target = self.row(url)
        assert target is not None
        return target.id

    # ---- names

    def named_after(self, row: Row | UnnamedUrl, trusts_server_names: bool) -> str:
        """Return the URL that gives a file its name: a redirected one keeps that of the first request (as in wget).

        Where only a slash was added it does not, since the file would take the name of the directory; nor with
        ``trusts_server_names``.
        """
        origin = row
        is_redirected = (row.place or "").startswith("redirect")
        while is_redirected and not trusts_server_names and origin.parent is not None:
            parent = self.by_id(origin.parent)
            if parent is None or parent.state != State.REDIRECTED or parent.target != origin.id:
                break
            if origin.url == parent.url + "/":
                break
            origin = parent
        return origin.url

    def set_names(self, names: Iterable[tuple[str | None, int]]) -> None:
        """Give names to URLs: pairs of name and id; ``None`` takes one away."""
        self._db.executemany("UPDATE urls SET name = ? WHERE id = ?", names)

    def forget(self, number: int) -> None:
        """Forget that a URL was stored, and its name; what this run could not have stays a failure."""
        self._db.execute(
            f"UPDATE urls SET state = iif(state = {State.FAILED}, state, {State.GONE}), name = NULL, etag = NULL, "
            "modified = NULL WHERE id = ?",
            (number,),
        )
