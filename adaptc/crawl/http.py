"""Requests, responses and their header fields, and where responses come from."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from adaptc.crawl.scope import Refusal


@dataclass(slots=True)
class Request:
    """What to ask for. ``key`` comes back with the response.

    ``admit`` sees the head before the body is loaded and returns why it is not wanted, or ``None``. A body of more than
    ``most`` bytes, as received, is refused for the reason ``excess``. Bodies too large for memory go to the file
    ``spool``; with status 206 they are appended.
    """

    key: Any
    url: str
    method: str = "GET"
    headers: tuple[str, ...] = ()
    admit: Callable[[Head], Refusal | None] = field(default=lambda _head: None)
    spool: str | None = None
    most: int = sys.maxsize
    excess: Refusal | None = None


@dataclass(slots=True)
class Response:
    """What came of a request.

    ``error`` is why there is no complete response, as wget's exit codes tell errors apart: ``network``, ``tls``,
    ``protocol``; ``message`` is libcurl's description, ``is_final`` says that a retry would fail too, and
    ``is_unreachable`` that there was no connection, ``is_dropped`` that the server closed one that was open.
    ``refused`` is the result of ``admit``. The body as received (with its content coding) is in memory, or in ``file``
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
    is_unreachable: bool = False
    is_dropped: bool = False
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


_CHARSET = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"|([^;\s]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Head:
    """A response without its body. Names of ``fields`` are in lower case; ``raw`` is what came over the wire.

    ``media_type`` is in lower case, without parameters; empty when there is none.
    """

    status: int
    fields: tuple[tuple[str, str], ...] = field(default=())
    raw: bytes = b""
    media_type: str = field(init=False, repr=False, compare=False)
    _first: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the fields: they are looked up a dozen times for each response."""
        first = dict(reversed(self.fields))
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "media_type", first.get("content-type", "").partition(";")[0].strip().lower())

    def get(self, name: str) -> str | None:
        """Return the first field of that name."""
        return self._first.get(name)

    def all(self, name: str) -> list[str]:
        """Return every field of that name."""
        return [value for known, value in self.fields if known == name] if name in self._first else []

    @property
    def closes(self) -> bool:
        """Whether the server keeps no connection (RFC 9112, section 9.3)."""
        tokens = (self._first.get("connection") or "").lower()
        return "close" in tokens or (self.raw.startswith(b"HTTP/1.0") and "keep-alive" not in tokens)

    @property
    def charset(self) -> str | None:
        """The charset that Content-Type names."""
        content_type = self._first.get("content-type") or ""
        match = _CHARSET.search(content_type) if ";" in content_type else None
        return (match[1] or match[2]) if match else None

    @property
    def length(self) -> int | None:
        """The number of bytes that Content-Length announces."""
        written = (self.get("content-length") or "").strip()
        return int(written) if written.isascii() and written.isdigit() else None


def parse_head(raw: bytes) -> Head:
    """Parse status line and fields; a line that is no field is ignored, a folded one continues the last."""
    first, _, rest = raw.partition(b"\n")
    words = first.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    fields: list[tuple[str, str]] = []
    for line in rest.decode("utf-8", "replace").splitlines():
        if line[:1] in (" ", "\t") and fields:
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields.append((name.strip().lower(), value.strip()))
    return Head(status, tuple(fields), raw)
