"""What the server says of itself: Apache's mod_status (``?auto``) and nginx's stub_status.

mod_status counts idle workers, requests and kB; stub_status counts connections and requests, and knows no idle
workers: an event loop is never out of them.
"""

from __future__ import annotations

import re
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Protocol

from adaptc.core.values import dataclass, field, replace

TIMEOUT = 5.0  # seconds after which an answer is given up; nobody waits for it
_LARGEST = 1 << 20  # bytes; a scoreboard of 20,000 workers is 20 kB


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Counters since the server started, and idle workers now; None for what the page does not say.

    ``at`` is the time of the answer, in seconds on a clock that only goes forward, ``seconds`` how long it took.
    """

    requests: int | None = None
    kilobytes: int | None = None
    connections: int | None = None
    idle: int | None = None
    at: float = 0.0
    seconds: float = 0.0


_STUB = re.compile(r"Active connections:\s*\d+\s+server accepts handled requests\s+(\d+) (\d+) (\d+)")


def parse_status(text: str) -> ServerStatus:
    """Parse the text of either page, whichever it is. Raises ``ValueError``."""
    stub = _STUB.match(text.strip())
    if stub:
        return ServerStatus(requests=int(stub[3]), connections=int(stub[1]))
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if "IdleWorkers" not in fields:
        raise ValueError("this is neither a page of mod_status?auto nor one of stub_status")
    return ServerStatus(_number(fields, "Total Accesses"), _number(fields, "Total kBytes"), None,
                        _number(fields, "IdleWorkers"))  # fmt: skip


def _number(fields: dict[str, str], name: str) -> int | None:
    """ExtendedStatus may be off; then Apache leaves the totals out."""
    return int(fields[name]) if name in fields else None


@dataclass(frozen=True, slots=True)
class StatusPage:
    """A status page under its URL, such as ``http://127.0.0.1/server-status?auto``."""

    url: str

    def read(self) -> ServerStatus:
        """Fetch and parse the page.

        Raises ``OSError`` and ``ValueError``, and ``Unanswered`` for a server that waits.
        """
        begun = time.monotonic()
        try:
            with urllib.request.urlopen(self.url, timeout=TIMEOUT) as answer:
                status = parse_status(answer.read(_LARGEST).decode("utf-8", "replace"))
        except HTTPException as error:
            raise ValueError(f"the answer is no HTTP: {error!r}") from error
        except (TimeoutError, urllib.error.URLError) as error:
            if isinstance(getattr(error, "reason", error), TimeoutError):
                raise Unanswered(f"no answer within {TIMEOUT:g} s") from error
            raise
        now = time.monotonic()
        return replace(status, at=now, seconds=now - begun)


class Unanswered(OSError):
    """The server took the connection, or would, and does not answer: it is busy, not gone."""


class StatusReader(Protocol):
    """A status page; ``url`` is for people."""

    @property
    def url(self) -> str:
        """The page's URL."""

    def read(self) -> ServerStatus:
        """Return the page. Raises ``OSError`` and ``ValueError``, and ``Unanswered`` for a server that waits."""


@dataclass(slots=True)
class BackgroundPage:
    """A page that is read in a thread of its own, so that a server that does not answer never stops a daemon.

    A page that is not there after ``deadline`` seconds is ``Unanswered``, and the next call waits for it again.
    """

    page: StatusReader
    deadline: float
    _thread: threading.Thread | None = None
    _found: list[ServerStatus | Exception] = field(default_factory=list)
    _begun: float = 0.0

    @property
    def url(self) -> str:
        """The page's URL."""
        return self.page.url

    @property
    def waited(self) -> float:
        """How long the page has not been answered, in seconds; 0 when nobody waits for it."""
        return time.monotonic() - self._begun if self._thread is not None else 0.0

    def read(self) -> ServerStatus:
        """Return the page. Raises ``OSError`` and ``ValueError`` as the page does, and ``Unanswered``."""
        if self._thread is None:
            self._begun = time.monotonic()
            self._thread = threading.Thread(target=self._fetch, daemon=True)
            self._thread.start()
        self._thread.join(self.deadline)
        if self._thread.is_alive():
            raise Unanswered(f"no answer after {time.monotonic() - self._begun:.2g} s")
        self._thread = None
        found = self._found.pop()
        if isinstance(found, Exception):
            raise found
        return found

    def _fetch(self) -> None:
        try:
            self._found.append(self.page.read())
        except (OSError, ValueError) as error:
            self._found.append(error)
