"""Requests and responses, and where responses come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from adaptc.crawl.head import Head
from adaptc.crawl.scope import Refusal


@dataclass(slots=True)
class Request:
    """What to ask for. ``key`` comes back with the response.

    ``admit`` sees the head before the body is loaded and returns why it is not wanted, or ``None``. Bodies too large
    for memory go to the file ``spool``; with status 206 behind what is there.
    """

    key: Any
    url: str
    method: str = "GET"
    headers: tuple[str, ...] = ()
    admit: Callable[[Head], Refusal | None] = field(default=lambda _head: None)
    spool: str | None = None


@dataclass(slots=True)
class Response:
    """What came of a request.

    ``error`` is why there is no complete response, as wget's exit codes tell errors apart: ``network``, ``tls``,
    ``protocol``; ``message`` says it in libcurl's words, and ``is_final`` that another try would end alike.
    ``refused`` is what ``admit`` said. The body, as it came (with its content coding), is in memory, or in ``file``
    where it is large; ``sent`` is the request as it went out, where that is recorded;
    ``connected`` how many seconds the connection took, 0 for one that was open.
    """

    request: Request
    head: Head
    body: bytes = b""
    file: Path | None = None
    size: int = 0
    error: str = ""
    message: str = ""
    is_final: bool = False
    refused: Refusal | None = None
    sent: bytes = b""
    address: str = ""
    seconds: float = 0.0
    connected: float = 0.0


class Fetcher(Protocol):
    """Where responses come from: the network, or a simulation in benchmarks."""

    @property
    def active(self) -> int:
        """How many requests are under way."""
        ...

    def start(self, request: Request) -> None:
        """Begin a request."""

    def poll(self, timeout: float) -> list[Response]:
        """Wait up to ``timeout`` seconds for something to happen and return what has ended."""

    def close(self) -> None:
        """End every connection."""
