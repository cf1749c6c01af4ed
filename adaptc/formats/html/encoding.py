"""The encodings of the web: which one a page has, and text to bytes and back (WHATWG Encoding and HTML).

Sniffing follows WHATWG HTML, "encoding sniffing algorithm": the byte order mark first, then the ``<meta>`` prescan of
the first 1,024 bytes, then the XML declaration, then a ``<meta>`` that only the tree builder finds, then windows-1252.

Decoding is turbohtml's (its ``whatwg-*`` codecs). Python's own codecs differ from browsers in places
(windows-1252 has five undefined bytes where browsers have C1 controls; euc-kr, shift_jis and big5 are
smaller), so the encoders of the table-driven encodings are the inverted tables of the decoders.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import turbohtml

from adaptc.core.values import dataclass

PRESCANNED = 1024  # bytes that the prescan reads
FALLBACK = "windows-1252"
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xfe\xff": "utf-16be", b"\xff\xfe": "utf-16le"}

# Without a mark only an XML declaration gives UTF-16 away.
_WIDE_STARTS = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))
_MARK_STARTS, _XML_STARTS = tuple(BYTE_ORDER_MARKS), (b"<?", b"<\0", b"\0<")
# "get an XML encoding": the declaration ends at the first ">", the label holds no byte above the space.
_XML_LABEL = re.compile(rb"<\?xml[^>]*?encoding[\0-\x20]*=[\0-\x20]*([\"'])([^\"'>]*)\1[^>]*>")

REPLACEMENT = "\ufffd"
# Algorithms instead of tables: Python's codecs do what the standard says, as far as they go.
_BY_PYTHON = {
    "utf-8": "utf-8",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "gb18030": "gb18030",
    "gbk": "gb18030",
    "iso-2022-jp": "iso2022_jp",
}
# Where an ASCII byte may mean another character
_BEYOND_ASCII = frozenset({"utf-16le", "utf-16be", "iso-2022-jp"})
_DOUBLE_BYTE = frozenset({"shift_jis", "euc-jp", "euc-kr", "big5"})
_LEADS, _TRAILS = range(0x81, 0xFF), range(0x40, 0xFF)
# Byte pairs that decode but that an encoder never writes, since another pair encodes the same character.
_NEVER_WRITTEN = {
    "shift_jis": range(0xED40, 0xEEFD),  # NEC's selection of the IBM extensions (index pointers 8272 to 8835)
    "big5": range(0x8140, 0xA100),  # the Hong Kong supplement
}
_LAST_WINS = {"big5": "\u2550\u255e\u2561\u256a\u5341\u5345"}


@dataclass(frozen=True, slots=True)
class SniffedEncoding:
    """What the bytes alone declare: a WHATWG name in lower case, and whether every browser finds the declaration."""

    name: str
    is_declared: bool


def sniff_encoding(content: bytes) -> SniffedEncoding:
    """Sniff the encoding of a page's bytes, without a transport-level charset."""
    early = early_encoding(content)
    declared = early or _declared_by_meta(content)
    return SniffedEncoding(declared or FALLBACK, early is not None or (declared is not None and _is_in_head(content)))


def early_encoding(content: bytes) -> str | None:
    """Return the encoding that the first 1,024 bytes declare, where every browser finds it, or ``None``."""
    return _declared_in(content[:PRESCANNED])


@lru_cache(maxsize=4)  # the head of a page is sniffed when the page is read, and when it is written
def _declared_in(head: bytes) -> str | None:
    return BYTE_ORDER_MARKS.get(byte_order_mark(head)) or _declared_by_meta(head) or _declared_by_xml(head)


def byte_order_mark(content: bytes) -> bytes:
    """Return the byte order mark that ``content`` starts with, or ``b""``."""
    return next(mark for mark in _MARK_STARTS if content.startswith(mark)) if content.startswith(_MARK_STARTS) else b""


def canonical_name(label: str) -> str | None:
    """Return the WHATWG name, in lower case, for a label ("latin1" is "windows-1252"), or ``None``."""
    try:
        encoding = turbohtml.parse(b"", encoding=label).encoding
    except LookupError:
        return None
    return encoding.lower() if encoding else None


def declared_label(charset: str | None, http_equiv: str | None, content: str | None) -> str | None:
    """Return the encoding label that a ``<meta>`` with these attributes declares, or ``None``."""
    if charset is None and (http_equiv or "").strip().lower() == "content-type":
        match = _CONTENT_LABEL.search(content or "")
        charset = match and match[1]
    return charset if charset and canonical_name(charset) is not None else None


_CONTENT_LABEL = re.compile(r"charset\s*=\s*[\"']?([^\s\"';]+)", re.IGNORECASE)
# Chromium looks for a <meta> after the first 1,024 bytes only until it sees a tag that is not one of these.
_HEAD_TAGS = frozenset({"script", "noscript", "style", "link", "meta", "object", "title", "base"})


def _is_in_head(content: bytes) -> bool:
    """Whether Chromium finds the declaration of an encoding after the first 1,024 bytes.

    It does not find one in the body, or after a ``<template>``, or after the ``<img>`` in a ``<noscript>``.
    """
    for token in _tags(content.decode("latin-1")):
        is_start, attrs = token.type is turbohtml.TokenType.START_TAG, dict(token.attrs or ())
        if is_start and token.tag == "meta":
            if declared_label(attrs.get("charset"), attrs.get("http-equiv"), attrs.get("content")) is not None:
                return True
        elif token.tag not in _HEAD_TAGS and not (is_start and token.tag in ("html", "head")):
            return False
    return False


def _tags(text: str) -> Iterator[turbohtml.Token]:
    """Yield the tags of a page, those in a ``<noscript>`` too."""
    is_noscript = False
    for token in turbohtml.tokenize(text):
        if token.type in (turbohtml.TokenType.START_TAG, turbohtml.TokenType.END_TAG):
            is_noscript = token.tag == "noscript" and token.type is turbohtml.TokenType.START_TAG
            yield token
        elif is_noscript and token.type is turbohtml.TokenType.TEXT:
            yield from _tags(token.data or "")


def _declared_by_meta(content: bytes) -> str | None:
    if b"charset" not in content.lower():
        return None
    document = turbohtml.parse(content, positions=False)
    encoding = (document.encoding or "").lower()
    # turbohtml calls the "replacement" encoding tentative, but only a declaration leads to it.
    return encoding if document.encoding_confidence == "certain" or encoding == "replacement" else None


def _declared_by_xml(head: bytes) -> str | None:
    if not head.startswith(_XML_STARTS):
        return None
    wide = next((name for start, name in _WIDE_STARTS if head.startswith(start)), None)
    label = _XML_LABEL.match(head)
    if wide or not label:
        return wide
    name = canonical_name(label[2].decode("latin-1"))
    # A declaration read byte by byte cannot be UTF-16 (the standard's own correction).
    return "utf-8" if name and name.startswith("utf-16") else name


def decode(content: bytes, encoding: str) -> str | None:
    """Decode as a browser does; ``None`` when bytes are malformed or the encoding is "replacement"."""
    if encoding == "replacement":
        return None
    if content.isascii() and encoding not in _BEYOND_ASCII:
        return content.decode("ascii")  # ten times as fast as a table
    if encoding.startswith("utf-"):
        return _decode_unicode(content, encoding)
    if encoding == "x-user-defined":
        return "".join(map(_USER_DEFINED.__getitem__, content))
    import turbohtml.detect  # noqa: F401  registers the whatwg-* codecs

    text = content.decode(f"whatwg-{encoding}")
    return None if REPLACEMENT in text and encoding != "gb18030" else text


def encode(text: str, encoding: str) -> bytes | None:
    """Encode so that a browser decodes to ``text`` again; ``None`` when the encoding lacks a character."""
    try:
        encoded = _encode(text, encoding)
    except UnicodeEncodeError:
        return None
    if encoding.startswith("utf-") or text.isascii():
        return encoded
    return encoded if decode(encoded, encoding) == text else None


def unencodable(text: str, encoding: str) -> frozenset[str]:
    """Return the characters of ``text`` that the encoding does not have."""
    return frozenset(character for character in set(text) if encode(character, encoding) is None)


_USER_DEFINED = [chr(byte if byte < 0x80 else 0xF700 + byte) for byte in range(0x100)]


def _decode_unicode(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(_BY_PYTHON[encoding])
    except UnicodeDecodeError:
        return None


def _encode(text: str, encoding: str) -> bytes:
    if encoding in _BY_PYTHON:
        return text.encode(_BY_PYTHON[encoding])
    if text.isascii() and encoding not in _BEYOND_ASCII:
        return text.encode("ascii")  # ten times as fast as a table
    return codecs.charmap_encode(text, "strict", _table(encoding))[0]


@lru_cache(maxsize=4)
def _table(encoding: str) -> dict[int, bytes]:
    """Return code point -> bytes. A double-byte table takes 30 ms to build and 2 MB to keep."""
    table: dict[int, bytes] = {}
    for sequence in _sequences(encoding):
        character = decode(sequence, encoding)
        if character is None or len(character) != 1:
            continue
        if ord(character) not in table or character in _LAST_WINS.get(encoding, ""):
            table[ord(character)] = sequence
    return table


def _sequences(encoding: str) -> Iterator[bytes]:
    yield from (bytes([byte]) for byte in range(0x100))
    if encoding not in _DOUBLE_BYTE:
        return
    unwritten = _NEVER_WRITTEN.get(encoding, range(0))
    yield from (pair.to_bytes(2, "big") for pair in _pairs(_LEADS, _TRAILS) if pair not in unwritten)
    if encoding == "euc-jp":
        yield from (b"\x8e" + bytes([trail]) for trail in range(0xA1, 0xE0))
        yield from (b"\x8f" + pair.to_bytes(2, "big") for pair in _pairs(range(0xA1, 0xFF), range(0xA1, 0xFF)))


def _pairs(leads: Iterable[int], trails: range) -> Iterator[int]:
    return (lead << 8 | trail for lead in leads for trail in trails)
