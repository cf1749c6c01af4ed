"""What a crawl has to say: links that are broken, with the place of each; files that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.crawl.claims import Claims
from adaptc.crawl.frontier import Frontier
from adaptc.crawl.mirror import Mirror
from adaptc.crawl.packing import unpack_to
from adaptc.crawl.rows import Row, State


def broken_links(frontier: Frontier) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each place that leads to a URL that could not be had."""
    failed = {row.url: row for row in frontier.rows(State.FAILED)}
    if not failed:
        return
    met = set[str]()
    for row in frontier.rows(State.STORED, State.CHECKED):
        known = frontier.links(row.id)
        for link in unpack_to(known[1], failed) if known is not None else ():
            met.add(link.url)
            place = Location(row.url, link.line)
            yield diagnose("broken-link", place, where=link.place, url=link.url, reason=failed[link.url].reason)
    for url, row in failed.items():
        if url not in met:
            yield diagnose("crawl-failed", None, url=url, reason=row.reason, place=_origin(frontier, row))


def _origin(frontier: Frontier, row: Row) -> str:
    parent = frontier.by_id(row.parent) if row.parent is not None else None
    if parent is None:
        return ""
    return f" ({row.place})" if (row.place or "").startswith("redirect") else f" (found in {parent.url})"


def gone_files(frontier: Frontier, mirror: Mirror, claims: Claims, *, purge: bool) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each file of a former crawl whose URL this one did not meet, or that is answered 404.

    With ``purge`` such files are removed.
    """
    for row in list(_gone(frontier)):
        if row.name is None or mirror.size(row.name) is None:
            continue
        if purge:
            mirror.remove(row.name)
            with frontier:
                claims.release(row.name)
                frontier.forget(row.id)
        yield diagnose("file-purged" if purge else "file-outdated", None, file=row.name, url=row.url)


_GONE = (404, 410)


def _gone(frontier: Frontier) -> Iterator[Row]:
    yield from (row for row in frontier.rows(State.FAILED) if row.status in _GONE)
    if _looked_everywhere(frontier):
        yield from frontier.rows(State.STORED, of_this_run=False)


def _looked_everywhere(frontier: Frontier) -> bool:
    """Whether what was not met is gone: behind a page that could not be had, or a start, there may be anything."""
    return all(row.status in _GONE and row.place != "start" for row in frontier.rows(State.FAILED))
