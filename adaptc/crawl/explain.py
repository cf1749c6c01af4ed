"""Why the last crawl fetched a URL, or did not."""

from __future__ import annotations

from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.crawl.frontier import Frontier
from adaptc.crawl.mirror import STATE
from adaptc.crawl.rows import Row, State
from adaptc.crawl.weburl import start_url

_SENTENCES = {
    State.FOUND: "{url} waits to be fetched: the crawl was interrupted",
    State.QUEUED: "{url} waits to be fetched: the crawl was interrupted",
    State.STORED: "{url} was fetched ({status}, {type}) and is {name}",
    State.REDIRECTED: "{url} was fetched and redirects ({status}) to {target}",
    State.FAILED: "{url} was asked for and {reason}",
    State.REFUSED: "{url} was not fetched ({rule}): {reason}",
    State.CHECKED: "{url} was fetched ({status}, {type}) and not kept: {reason}",
    State.GONE: "{url} was removed: it is no longer there",
}


def explain_url(output: Path, typed: str) -> str:
    """Return what the crawl into ``output`` did with a URL, and what led to it. Raises ``UsageError``."""
    path = output / STATE / "crawl.sqlite"
    if not path.is_file():
        raise UsageError(f"{output} holds no crawl")
    url = start_url(typed)
    frontier = Frontier(path)
    try:
        row = frontier.row(url) if url is not None else None
        if row is None:
            return f"{typed} was never met: no page, sitemap or redirect of the crawl leads to it"
        return f"{_said(frontier, row)}; {_met(frontier, row)}"
    finally:
        frontier.close()


def _said(frontier: Frontier, row: Row) -> str:
    target = frontier.by_id(row.target) if row.target is not None else None
    fields = {**row._asdict(), "target": target.url if target is not None else "nowhere"}
    return _SENTENCES[State(row.state)].format(**fields)


def _met(frontier: Frontier, row: Row) -> str:
    parent = frontier.by_id(row.parent) if row.parent is not None else None
    if parent is None:
        return "it was named as a start" if row.place == "start" else f"met as {row.place} of robots.txt"
    if (row.place or "").startswith("redirect"):
        return f"met as {row.place}, depth {row.depth}"
    return f"met first in {parent.url}, line {row.line} ({row.place}), depth {row.depth}"
