"""One page under two URLs: ``/a/`` and ``/a/index.html`` are both fetched, and usually have the same bytes."""

from __future__ import annotations

from adaptc.crawl.frontier import Frontier, Row, State
from adaptc.crawl.mirror import Mirror
from adaptc.crawl.names import Claims


def merge_twins(frontier: Frontier, mirror: Mirror, claims: Claims, default_page: str) -> None:
    """Keep one file for a directory and its default page where their bytes are equal; links to both lead to it."""
    for number in frontier.stored_ending(f"/{default_page}"):
        page = frontier.by_id(number)
        directory = frontier.row(page.url.removesuffix(default_page)) if page is not None else None
        if page is not None and directory is not None and directory.state == State.STORED:
            survivor, twin = (page, directory) if _has_name(page, default_page) else (directory, page)
            _merge(frontier, mirror, claims, survivor, twin)


def _has_name(row: Row, default_page: str) -> bool:
    return row.name is not None and (row.name == default_page or row.name.endswith(f"/{default_page}"))


def _merge(frontier: Frontier, mirror: Mirror, claims: Claims, survivor: Row, twin: Row) -> None:
    if survivor.name is None or twin.name is None or mirror.size(survivor.name) != mirror.size(twin.name):
        return
    if mirror.original(survivor.id, survivor.name) != mirror.original(twin.id, twin.name):
        return
    with frontier:
        claims.release(twin.name)
        frontier.update(twin.id, State.REDIRECTED, target=survivor.id, name=None, reason=f"the same as {survivor.url}")
    mirror.remove(twin.name)
    mirror.forget_original(twin.id)
