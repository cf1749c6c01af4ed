"""Counts of the requests of each pane since its page was opened, which the preview shows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

ROWS = 250  # rows that are shown; all are counted


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its answer: path, status, the level and coding of the file, and its sizes."""

    path: str
    status: int
    level: str
    coding: str
    sent: int
    decoded: int


@dataclass(frozen=True, slots=True)
class Count:
    """A page and its requests: ``opened`` counts the pages of this side, ``sent`` and ``decoded`` are body bytes."""

    opened: int = 0
    page: str = ""
    requests: int = 0
    missing: int = 0
    sent: int = 0
    decoded: int = 0
    rows: tuple[Request, ...] = ()

    def with_page(self, page: str) -> Count:
        """Return the count of a page that is just opened."""
        return Count(opened=self.opened + 1, page=page)

    def with_request(self, request: Request) -> Count:
        """Return the count with one more request."""
        return replace(
            self,
            requests=self.requests + 1,
            missing=self.missing + (request.status >= 400),
            sent=self.sent + request.sent,
            decoded=self.decoded + request.decoded,
            rows=(*self.rows, request)[-ROWS:],
        )


def opens_page(headers: Mapping[str, str]) -> bool:
    """Whether a request opens a page in a pane (Fetch Metadata): frames inside the page are a part of it.

    A frame of the page and a link that was followed look alike but for the mark of a click, ``Sec-Fetch-User``.
    """
    if headers.get("Sec-Fetch-Dest") == "document":
        return True
    is_frame = headers.get("Sec-Fetch-Dest") == "iframe"
    return is_frame and (headers.get("Sec-Fetch-Site") != "same-origin" or headers.get("Sec-Fetch-User") == "?1")


@dataclass(slots=True)
class Board:
    """The counts of both sides. Threads that answer requests write them, threads that show them wait for changes."""

    counts: dict[str, Count] = field(default_factory=dict)
    version: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def open_page(self, side: str, page: str) -> None:
        """Start a new count."""
        self._put(side, self.counts.get(side, Count()).with_page(page))

    def add(self, side: str, request: Request) -> None:
        """Count a request."""
        with self.changed:
            self._put(side, self.counts.get(side, Count()).with_request(request))

    def newer(self, version: int, patience: float) -> tuple[int, Mapping[str, Count]]:
        """Return the version and the counts when they are newer than ``version``, or after ``patience`` seconds."""
        with self.changed:
            self.changed.wait_for(lambda: self.version > version, patience)
            return self.version, dict(self.counts)

    def _put(self, side: str, count: Count) -> None:
        with self.changed:
            self.counts[side] = count
            self.version += 1
            self.changed.notify_all()


def record(count: Count) -> dict[str, Any]:
    """Return a count for JSON."""
    rows = [[row.path, row.status, row.level, row.coding, row.sent, row.decoded] for row in count.rows]
    return {
        "opened": count.opened,
        "page": count.page,
        "requests": count.requests,
        "missing": count.missing,
        "sent": count.sent,
        "decoded": count.decoded,
        "rows": rows,
    }
