"""What the server says of itself: Apache's mod_status (``?auto``) and nginx's stub_status.

mod_status counts idle workers, requests and kB; stub_status counts connections and requests, and knows no idle
workers: an event loop is never out of them.
"""

from __future__ import annotations

import re
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException

TIMEOUT = 1.0  # seconds; a status page that takes longer is a lost sensor
_LARGEST = 1 << 20  # bytes; a scoreboard of 20,000 workers is 20 kB


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Counters since the server started, and idle workers now; None for what the page does not say."""

    requests: int | None = None
    kilobytes: int | None = None
    connections: int | None = None
    idle: int | None = None


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
        """Fetch and parse the page. Raises ``OSError`` and ``ValueError``."""
        try:
            with urllib.request.urlopen(self.url, timeout=TIMEOUT) as answer:
                return parse_status(answer.read(_LARGEST).decode("utf-8", "replace"))
        except HTTPException as error:
            raise ValueError(f"the answer is no HTTP: {error!r}") from error
