"""Requests, responses and their header fields, and where responses come from.

Bodies are decoded: content codings (RFC 9110, section 8.4.1) and chunks (RFC 9112, section 7.1).
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from adaptc.core.model import TOKENS
from adaptc.core.values import dataclass, field
from adaptc.crawl.scope import Refusal
from adaptc.formats import codings
from adaptc.formats.codings import CodingError, TooLarge


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


# ---- bodies decoded

LARGEST = 1 << 28  # bytes of a decoded body: the limit against decompression bombs


class DecodeError(Exception):
    """A body is not what its ``Content-Encoding`` says."""


class BodyTooLarge(DecodeError):
    """A body is larger when it is decoded than is accepted."""


def decode_body(body: bytes, head: Head, url: str, most: int = LARGEST) -> bytes:
    """Return the content of a response, of ``most`` bytes at the most. Raises ``DecodeError``.

    A coding that was not requested is an error. An archive that the server declares as gzip-coded stays compressed (as
    in wget).
    """
    for token in reversed(_tokens(head)):
        if token == "gzip" and _is_archive(head, url):
            continue
        decode = _DECODERS.get(token)
        if decode is None:
            raise DecodeError(f"Content-Encoding {token} was not asked for")
        try:
            body = decode(body, most) if body else body
        except TooLarge as error:
            raise BodyTooLarge(str(error)) from None
        except (CodingError, zlib.error) as error:
            raise DecodeError(f"the body is not {token}: {error}") from None
    return body


def received_content(response: Response, *, is_raw: bool) -> bytes:
    """Return the content of a response in memory or in a file, as ``decoded_or_as_is`` does."""
    body = response.body if response.file is None else response.file.read_bytes()
    return decoded_or_as_is(body, response.head, response.request.url, is_raw=is_raw)


def decoded_or_as_is(body: bytes, head: Head, url: str, *, is_raw: bool) -> bytes:
    """Return the decoded content of a response, or its bytes as received where they cannot be decoded.

    ``is_raw`` says that bodies still have their chunks.
    """
    try:
        return decode_body(dechunked(body) if is_raw and is_chunked(head) else body, head, url)
    except DecodeError:
        return body


def dechunked(body: bytes) -> bytes:
    """Undo ``Transfer-Encoding: chunked`` (RFC 9112, section 7.1) of a body as received. Raises ``DecodeError``."""
    content, position = bytearray(), 0
    while True:
        end = body.find(b"\n", position)
        try:
            size = int(body[position:end].partition(b";")[0], 16)
        except ValueError:
            raise DecodeError("a chunk has no size") from None
        if end < 0 or len(body) < end + 1 + size:
            raise DecodeError("the chunks are cut off")
        if not size:
            return bytes(content)
        content += body[end + 1 : end + 1 + size]
        position = body.find(b"\n", end + 1 + size) + 1


def is_chunked(head: Head) -> bool:
    """Whether the body came in chunks."""
    fields = head.all("transfer-encoding")
    return bool(fields) and any("chunked" in value.lower() for value in fields)


def is_coded(head: Head) -> bool:
    """Whether a body has a content coding at all."""
    return bool(_tokens(head))


def _tokens(head: Head) -> list[str]:
    fields = head.all("content-encoding")
    if not fields:
        return []
    tokens = [token.strip().removeprefix("x-") for token in ",".join(fields).lower().split(",")]
    return [token for token in tokens if token and token != "identity"]


def _is_archive(head: Head, url: str) -> bool:
    """Whether the gzip is the file itself: ``x.tar.gz``, which many servers send as coded."""
    gzipped = ("application/gzip", "application/x-gzip", "application/x-tgz", "application/x-compressed")
    path = url.partition("?")[0].lower()
    return path.endswith((".gz", ".tgz", ".svgz")) and head.media_type in (*gzipped, "application/x-tar")


def _inflate(body: bytes, most: int) -> bytes:
    """Undo ``deflate``: zlib's format (RFC 1950), or the bare stream that some servers send."""
    wrapped = (body[0] & 0x0F) == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    decoder = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
    content = decoder.decompress(body, most + 1)
    if len(content) > most:
        raise TooLarge(f"the decoded content is larger than {most} bytes")
    if not decoder.eof:
        raise CodingError("the stream is cut off")
    return content


def _by(coding: str) -> Callable[[bytes, int], bytes]:
    return lambda body, most: codings.decode(body, coding, most)


_DECODERS = {**{token: _by(coding) for coding, token in TOKENS.items()}, "deflate": _inflate}
