"""Decodes response bodies: content codings (RFC 9110, section 8.4.1) and chunks (RFC 9112, section 7.1)."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from adaptc.core.model import TOKENS
from adaptc.crawl.http import Head, Response
from adaptc.formats import codings
from adaptc.formats.codings import CodingError, TooLarge

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
