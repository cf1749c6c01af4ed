"""The text of pages and sheets whose bytes may be broken, so that it can be had back byte by byte.

``adaptc.formats.html`` refuses pages that do not survive decoding and encoding. A crawler has to read them all the
same: broken UTF-8 is decoded with one surrogate a byte (PEP 383), which gives the same bytes again.
"""

from __future__ import annotations

from typing import NamedTuple

from adaptc.formats.html.encoding import (
    BYTE_ORDER_MARKS,
    byte_order_mark,
    canonical_name,
    decode,
    encode,
    sniff_encoding,
)

_SURROGATES = dict.fromkeys(range(56448, 56576), "�")


class Decoded(NamedTuple):
    """A file's text with the newlines that it has; ``body`` is what it was decoded from, without the mark."""

    text: str
    encoding: str
    bom: bytes
    body: bytes

    @property
    def is_reversible(self) -> bool:
        """Whether ``encoded`` gives the file's bytes again."""
        return self.encoding == "utf-8" or encode(self.text, self.encoding) == self.body

    @property
    def readable(self) -> str:
        """The text as a browser reads it: one U+FFFD for each byte that is none of the encoding."""
        return self.text if self.encoding != "utf-8" or _is_whole(self.text) else self.text.translate(_SURROGATES)

    def encoded(self, text: str) -> bytes | None:
        """Return ``text`` in the file's encoding, ``None`` where it has no place there."""
        if self.encoding == "utf-8":
            return self.bom + text.encode("utf-8", "surrogateescape")
        content = encode(text, self.encoding)
        return None if content is None else self.bom + content


def _is_whole(text: str) -> bool:
    """Whether text holds no surrogate: to encode it takes a fiftieth of the time to look for each."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode_page(content: bytes, transport: str | None) -> Decoded:
    """Decode a page: byte order mark, charset of the transport, what the page says, windows-1252."""
    bom = byte_order_mark(content)
    declared = BYTE_ORDER_MARKS.get(bom) or (canonical_name(transport) if transport else None)
    return _decoded(content[len(bom) :], declared or sniff_encoding(content).name, bom)


def decode_sheet(content: bytes, transport: str | None, encoding: str) -> Decoded:
    """Decode a style sheet: mark, transport, ``@charset``, the ``encoding`` of who refers to it (CSS Syntax, 3.2)."""
    from adaptc.formats.css import sheet_text

    bom = byte_order_mark(content)
    named = BYTE_ORDER_MARKS.get(bom) or (canonical_name(transport) if transport else None)
    return _decoded(content[len(bom) :], named or sheet_text.decode_sheet(content[:1024], encoding).encoding, bom)


def _decoded(body: bytes, name: str, bom: bytes) -> Decoded:
    if name == "utf-8":
        return Decoded(body.decode("utf-8", "surrogateescape"), name, bom, body)
    text = decode(body, name)
    if text is None:
        return Decoded(body.decode("latin-1"), name, bom, body)
    return Decoded(text, name, bom, body)
