"""Redirects that lead nowhere."""

from __future__ import annotations

from adaptc.crawl.frontier import Frontier
from adaptc.crawl.rows import Row, State


def bad_redirect(frontier: Frontier, row: Row, target: str, limit: int) -> str:
    """Return what is wrong with a redirect: too many of them, or a loop."""
    hops, one = 1, row
    while one.parent is not None:
        parent = frontier.by_id(one.parent)
        if parent is None or parent.target != one.id or parent.state != State.REDIRECTED:
            break
        if parent.url == target:
            return "redirects in a loop"
        hops, one = hops + 1, parent
    if target == row.url:
        return "redirects to itself"
    return "redirects more often than --max-redirect" if hops > limit else ""
