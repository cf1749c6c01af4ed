"""What a crawl reports.

A JSON line for every request and refused link, broken links, and why a URL was fetched or not.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import IO, Any

from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.fs import open_private
from adaptc.core.quantities import written_bytes, written_plural
from adaptc.core.values import dataclass
from adaptc.crawl.body_job import UNPARSED
from adaptc.crawl.discover.content import Kind, most_parsed
from adaptc.crawl.frontier import Frontier, Row, State
from adaptc.crawl.http import Response
from adaptc.crawl.mirror import STATE
from adaptc.crawl.scope import REPEATS
from adaptc.crawl.store import unpack_to
from adaptc.crawl.weburl import parts_of, start_url


def broken_links(frontier: Frontier) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each place that leads to a URL that could not be fetched.

    What was not asked for since the origin's robots.txt failed is reported once, for the origin.
    """
    closed = {origin: failure for origin, failure in robots_failures(frontier) if not failure.is_host_down}
    for origin, failure in closed.items():
        yield diagnose("robots-failed", None, origin=origin, reason=failure.message)
    failed = {row.url: row for row in frontier.rows(State.FAILED) if not _is_closed(row, closed)}
    if not failed:
        return
    met = set[str]()
    for row in frontier.rows(State.STORED, State.CHECKED):
        known = frontier.links(row.id)
        for link in unpack_to(known.links, failed) if known is not None else ():
            met.add(link.url)
            place = Location(row.url, link.line)
            yield diagnose("broken-link", place, where=link.place, url=link.url, reason=failed[link.url].reason)
    for url, row in failed.items():
        if url not in met:
            yield diagnose("crawl-failed", None, url=url, reason=row.reason, place=_origin(frontier, row))


def unread_files(frontier: Frontier) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each file that is too large to be read for its links."""
    for row in frontier.noted(UNPARSED):
        bound = written_bytes(most_parsed(Kind(row.kind)))
        yield diagnose("links-unread", Location(row.name or row.url), size=written_bytes(row.disk or 0), bound=bound)


def repeating_paths(frontier: Frontier) -> Iterator[Diagnostic]:
    """Yield a diagnostic for all links that lead deeper into a path that repeats."""
    url = frontier.first_refused(REPEATS)
    if url is not None:
        links = written_plural(frontier.refusals()[REPEATS], "link")
        yield diagnose("paths-repeat", None, links=links, url=url)


def _is_closed(row: Row, origins: Container[str]) -> bool:
    return row.status is None and row.place != "start" and parts_of(row.url).origin in origins


def _origin(frontier: Frontier, row: Row) -> str:
    parent = frontier.by_id(row.parent) if row.parent is not None else None
    if parent is None:
        return ""
    return f" ({row.place})" if (row.place or "").startswith("redirect") else f" (found in {parent.url})"


# ---- the log

_FLUSH_INTERVAL = 1.0  # seconds that lines may wait in memory: a killed crawl loses them
_string = json.encoder.encode_basestring_ascii


_WRITERS: dict[type, Callable[[Any], str]] = {str: _string, int: repr, float: repr}


def _encoded(value: Any) -> str:
    return _WRITERS.get(type(value), json.dumps)(value)


class Journal:
    """Writes the log ``path``; a resumed run appends to the same file."""

    def __init__(self, path: Path, *, anew: bool) -> None:
        mode, flags = ("w", os.O_TRUNC) if anew else ("a", os.O_APPEND)
        descriptor = open_private(path, os.O_WRONLY | flags)
        self._file: IO[str] = open(descriptor, mode, encoding="utf-8", buffering=1 << 16)  # noqa: SIM115
        self._flushed = time.monotonic()

    def write(self, decision: str, url: str, **fields: Any) -> None:
        """Write a line: what was decided on a URL, and what is known of it."""
        # json.dumps of the whole takes twice the time: it makes an encoder for each call
        known = "".join(f', "{name}": {_encoded(value)}' for name, value in fields.items() if value is not None)
        self._file.write(f'{{"url": {_string(url)}, "decision": "{decision}"{known}}}\n')
        now = time.monotonic()
        if now - self._flushed > _FLUSH_INTERVAL:
            self._file.flush()
            self._flushed = now

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# ---- why a URL was fetched or not

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
        return f"{_decision_sentence(frontier, row)}; {_origin_phrase(frontier, row)}"
    finally:
        frontier.close()


def _decision_sentence(frontier: Frontier, row: Row) -> str:
    target = frontier.by_id(row.target) if row.target is not None else None
    fields = {**row._asdict(), "target": target.url if target is not None else "nowhere"}
    return _SENTENCES[State(row.state)].format(**fields)


def _origin_phrase(frontier: Frontier, row: Row) -> str:
    parent = frontier.by_id(row.parent) if row.parent is not None else None
    if parent is None:
        return "it was named as a start" if row.place == "start" else f"met as {row.place} of robots.txt"
    if (row.place or "").startswith("redirect"):
        return f"met as {row.place}, depth {row.depth}"
    return f"met first in {parent.url}, line {row.line} ({row.place}), depth {row.depth}"


# A robots.txt that cannot be fetched: a failure of its origin, where nothing else is asked for (RFC 9309, 2.3.1.4).


NO_RESPONSE = 599  # the status stored for an origin whose robots.txt got no complete response


@dataclass(frozen=True, slots=True)
class RobotsFailure:
    """``kind`` is the class of the error; ``is_host_down`` says that no connection could be made at all."""

    kind: str
    message: str
    is_host_down: bool = False

    @property
    def reason(self) -> str:
        """Why a URL of the origin is not asked for; of a host that is down, what any request would get."""
        if self.is_host_down:
            return f"could not be fetched: {self.message}"
        return f"is not asked for: robots.txt {self.message} (RFC 9309, 2.3.1.4)"


def failure_of(status: int, content: bytes) -> RobotsFailure:
    """Return the failure that ``failure_bytes`` wrote for a status."""
    if status == NO_RESPONSE:
        return RobotsFailure(*json.loads(content)) if content else RobotsFailure("network", "could not be fetched")
    return RobotsFailure("server", f"is answered with {status}")


def failure_bytes(origin: str, response: Response) -> bytes:
    """Return what a response without a status says, for the frontier; nothing for any other."""
    if not response.error:
        return b""
    is_own = parts_of(response.request.url).origin == origin  # not where its robots.txt was redirected to
    if response.is_unreachable and is_own:
        return json.dumps([response.error, response.message, True]).encode()
    return json.dumps([response.error, f"could not be fetched: {response.message}", False]).encode()


def robots_failures(frontier: Frontier) -> Iterator[tuple[str, RobotsFailure]]:
    """Yield the origins of this run whose robots.txt could not be fetched."""
    for origin, status, content in frontier.robots_errors():
        yield origin, failure_of(status, content)
