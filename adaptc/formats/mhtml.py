"""A page and its files in one file: MHTML (RFC 2557), ``multipart/related`` with a ``Content-Location`` for each part.

Equal parts give equal bytes: there is no date, and the boundary is a digest of the parts.
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
    """Return the parts as one message; the first is the page, the others are its files.

    A part is quoted-printable if that is shorter than base64; text then still compresses well. Both restore every byte.
    """
    boundary = _boundary(parts)
    kind = f'Content-Type: {MEDIA_TYPE};\r\n\ttype="{parts[0].media_type}";\r\n\tboundary="{boundary}"\r\n'
    head = f"MIME-Version: 1.0\r\n{kind}"
    mark = b"--" + boundary.encode("ascii")
    pieces = [head.encode("ascii") + _LINE]
    for part in parts:
        pieces += [mark, _LINE, _encode_part(part), _LINE]
    return b"".join([*pieces, mark, b"--", _LINE])


def _boundary(parts: Sequence[Part]) -> str:
    digest = digest_parts(*(digest_parts(part.location, digest_bytes(part.content)) for part in parts))
    # "=_" occurs neither in quoted-printable nor in base64 (RFC 2045, section 6.7).
    return f"----=_{digest[:_DIGITS]}"


def _encode_part(part: Part) -> bytes:
    bodies = {"quoted-printable": _quoted_printable(part.content), "base64": _base64(part.content)}
    encoding, body = min(bodies.items(), key=lambda item: len(item[1]))
    head = (
        f"Content-Type: {part.media_type}\r\nContent-Transfer-Encoding: {encoding}\r\n"
        f"Content-Location: {part.location}\r\n\r\n"
    )
    return head.encode("ascii") + body


def _quoted_printable(content: bytes) -> bytes:
    # Newlines of the content become =0A, so that all those of the result are soft breaks.
    return binascii.b2a_qp(content, istext=False).replace(b"\n", _LINE)


def _base64(content: bytes) -> bytes:
    return base64.encodebytes(content).replace(b"\n", _LINE)
