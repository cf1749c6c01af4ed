"""The tables of the frontier, and the two statements that carry its rules."""

from __future__ import annotations

from adaptc.crawl.rows import Row, State

SCHEMA = 1
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
CREATE TABLE links (url INTEGER PRIMARY KEY, base TEXT, links BLOB);
CREATE TABLE partial (url INTEGER PRIMARY KEY, validator TEXT);
CREATE TABLE robots (origin TEXT PRIMARY KEY, status INTEGER, rules BLOB, run INTEGER) WITHOUT ROWID;
"""

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
