"""One exchange over libcurl: the head and the body of a response as they arrive."""

from __future__ import annotations

from typing import IO

import pycurl

from adaptc.crawl.fetch import Request
from adaptc.crawl.head import Head, parse_head
from adaptc.crawl.scope import Refusal

SPOOLED = 1 << 20  # bytes of a body that are kept in memory; the rest goes to a file


class Transfer:
    """What one libcurl handle has under way: collects head and body as libcurl hands them over.

    ``lines`` are those of every head: libcurl may send several requests for one (100 Continue, 401 before a Digest,
    CONNECT to a proxy), and hands over the body of the last. ``asked`` are the method and the fields that the handle
    is set to.
    """

    __slots__ = ("asked", "chunks", "file", "head", "lines", "received", "refused", "request", "sent")

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.chunks: list[bytes] = []
        self.sent: list[bytes] = []
        self.asked: tuple[str, tuple[str, ...]] | None = None

    def begin(self, request: Request) -> None:
        """Get ready for a request."""
        self.request = request
        self.lines.clear()
        self.chunks.clear()
        self.sent.clear()
        self.head: Head | None = None
        self.file: IO[bytes] | None = None
        self.received = 0
        self.refused: Refusal | None = None

    def parsed(self) -> Head:
        """Return the last head."""
        if self.head is None:
            self.head = parse_head(b"".join(self.lines[self._last_head() :]))
        return self.head

    def _last_head(self) -> int:
        """Return the line that begins the last head."""
        first = len(self.lines) - 1
        while first > 0 and not self.lines[first].startswith(b"HTTP/"):
            first -= 1
        return max(first, 0)

    @property
    def challenged(self) -> bool:
        """Whether an earlier head asked for Basic, and not for Digest too."""
        fields = b"".join(self.lines[: self._last_head()]).lower()
        return b"www-authenticate: basic" in fields and b"www-authenticate: digest" not in fields

    def on_body(self, chunk: bytes) -> int | None:
        """Take a piece of the body; -1 makes libcurl stop: the head says that it is not wanted."""
        if self.head is None:
            self.refused = self.request.admit(self.parsed())
        if self.refused is not None:
            return -1
        self.received += len(chunk)
        if self.file is not None:
            self.file.write(chunk)
        else:
            self.chunks.append(chunk)
            if self.received > SPOOLED and self.request.spool is not None:
                self._spill(self.request.spool)
        return None

    def _spill(self, path: str) -> None:
        """Go on in a file; the rest of one that was cut off goes behind what there is."""
        self.file = open(path, "ab" if self.parsed().status == 206 else "wb")  # noqa: SIM115
        self.file.write(b"".join(self.chunks))
        self.chunks.clear()

    def on_debug(self, kind: int, text: bytes) -> None:
        """Keep the heads of requests as they go out."""
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            self.sent.append(text)
