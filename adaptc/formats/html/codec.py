"""Text to bytes in the encodings of the web (WHATWG Encoding).

Decoding is turbohtml's (its ``whatwg-*`` codecs). Python's own codecs differ from browsers in places
(windows-1252 has five undefined bytes where browsers have C1 controls; euc-kr, shift_jis and big5 are
smaller), so the encoders of the table-driven encodings are made by turning the decoder's table round.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from functools import lru_cache

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
# Where an ASCII byte may stand for something else
_BEYOND_ASCII = frozenset({"utf-16le", "utf-16be", "iso-2022-jp"})
_DOUBLE_BYTE = frozenset({"shift_jis", "euc-jp", "euc-kr", "big5"})
_LEADS, _TRAILS = range(0x81, 0xFF), range(0x40, 0xFF)
# Byte pairs that decode but that an encoder never writes, since another pair stands for the same character.
_NEVER_WRITTEN = {
    "shift_jis": range(0xED40, 0xEEFD),  # NEC's selection of the IBM extensions (index pointers 8272 to 8835)
    "big5": range(0x8140, 0xA100),  # the Hong Kong supplement
}
_LAST_WINS = {"big5": "\u2550\u255e\u2561\u256a\u5341\u5345"}


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
    """Encode so that a browser decodes to ``text`` again; ``None`` when a character has no place there."""
    try:
        encoded = _encode(text, encoding)
    except UnicodeEncodeError:
        return None
    if encoding.startswith("utf-") or text.isascii():
        return encoded
    return encoded if decode(encoded, encoding) == text else None


def outside(text: str, encoding: str) -> frozenset[str]:
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
    never = _NEVER_WRITTEN.get(encoding, range(0))
    yield from (pair.to_bytes(2, "big") for pair in _pairs(_LEADS, _TRAILS) if pair not in never)
    if encoding == "euc-jp":
        yield from (b"\x8e" + bytes([trail]) for trail in range(0xA1, 0xE0))
        yield from (b"\x8f" + pair.to_bytes(2, "big") for pair in _pairs(range(0xA1, 0xFF), range(0xA1, 0xFF)))


def _pairs(leads: Iterable[int], trails: range) -> Iterator[int]:
    return (lead << 8 | trail for lead in leads for trail in trails)
