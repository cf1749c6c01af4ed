"""A page and its files in one file: MHTML (RFC 2557), ``multipart/related`` with a ``Content-Location`` for each part.

Equal parts give equal bytes: there is no date, and the boundary is made of the parts' digest.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from adaptc.core.digest import digest_bytes, digest_parts

__all__ = ["MEDIA_TYPE", "Part", "write_mhtml"]

MEDIA_TYPE = "multipart/related"
_LINE = b"\r\n"
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Part:
    """A file at an absolute URL (ASCII)."""

    location: str
    media_type: str
    content: bytes


def write_mhtml(parts: Sequence[Part]) -> bytes:
    """Return the parts as one message; the first is the page, to which the others belong.

    Text is quoted-printable where that is shorter than base64, which keeps what compresses: both give every byte back.
    """
    boundary = _boundary(parts)
    kind = f'Content-Type: {MEDIA_TYPE};\r\n\ttype="{parts[0].media_type}";\r\n\tboundary="{boundary}"\r\n'
    head = f"MIME-Version: 1.0\r\n{kind}"
    mark = b"--" + boundary.encode("ascii")
    pieces = [head.encode("ascii") + _LINE]
    for part in parts:
        pieces += [mark, _LINE, _written(part), _LINE]
    return b"".join([*pieces, mark, b"--", _LINE])


def _boundary(parts: Sequence[Part]) -> str:
    digest = digest_parts(*(digest_parts(one.location, digest_bytes(one.content)) for one in parts))
    # "=_" stands neither in quoted-printable nor in base64 (RFC 2045, section 6.7)
    return f"----=_{digest[:_DIGITS]}"


def _written(part: Part) -> bytes:
    encoding, body = min(
        (("quoted-printable", _quoted(part.content)), ("base64", _base64(part.content))), key=lambda one: len(one[1])
    )
    head = (
        f"Content-Type: {part.media_type}\r\nContent-Transfer-Encoding: {encoding}\r\n"
        f"Content-Location: {part.location}\r\n\r\n"
    )
    return head.encode("ascii") + body


def _quoted(content: bytes) -> bytes:
    # newlines of the content are written as =0A, so that those of the result are all soft breaks
    return binascii.b2a_qp(content, istext=False).replace(b"\n", _LINE)


def _base64(content: bytes) -> bytes:
    return base64.encodebytes(content).replace(b"\n", _LINE)
