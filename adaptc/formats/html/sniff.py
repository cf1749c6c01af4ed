"""Which encoding a browser takes for a page (WHATWG HTML, "encoding sniffing algorithm").

The byte order mark first, then the ``<meta>`` prescan of the first 1,024 bytes, then the XML declaration,
then a ``<meta>`` that only the tree builder finds, then windows-1252.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import turbohtml

PRESCANNED = 1024  # bytes the prescan looks at
FALLBACK = "windows-1252"

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
# Without a mark only an XML declaration gives UTF-16 away.
_WIDE_STARTS = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))
_MARK_STARTS, _XML_STARTS = tuple(mark for mark, _ in _MARKS), (b"<?", b"<\0", b"\0<")
# "get an XML encoding": the declaration ends at the first ">", the label holds no byte above the space.
_XML_LABEL = re.compile(rb"<\?xml[^>]*?encoding[\0-\x20]*=[\0-\x20]*([\"'])([^\"'>]*)\1[^>]*>")


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the bytes alone say: a WHATWG name in lower case, whether the page declares it, and whether early.

    ``early`` is true when the declaration stands in the first 1,024 bytes, where every browser finds it
    before it decodes anything.
    """

    encoding: str
    declared: bool
    early: bool


def sniff(content: bytes) -> Sniffed:
    """Sniff the encoding of a page's bytes, without a transport-level charset."""
    early = declared_early(content)
    if early is not None:
        return Sniffed(early, declared=True, early=True)
    late = _declared_by_meta(content)
    return Sniffed(late or FALLBACK, declared=late is not None, early=False)


def declared_early(content: bytes) -> str | None:
    """Return the encoding that the first 1,024 bytes declare, or ``None``."""
    return _declared_in(content[:PRESCANNED])


@lru_cache(maxsize=4)  # a page's head is looked at when it is read, and when it is written
def _declared_in(head: bytes) -> str | None:
    return _marked(head) or _declared_by_meta(head) or _declared_by_xml(head)


def byte_order_mark(content: bytes) -> bytes:
    """Return the byte order mark that ``content`` starts with, or ``b""``."""
    return next(mark for mark in _MARK_STARTS if content.startswith(mark)) if content.startswith(_MARK_STARTS) else b""


def canonical(label: str) -> str | None:
    """Return the WHATWG name, in lower case, for a label ("latin1" is "windows-1252"), or ``None``."""
    try:
        encoding = turbohtml.parse(b"", encoding=label).encoding
    except LookupError:
        return None
    return encoding.lower() if encoding else None


def _marked(head: bytes) -> str | None:
    return dict(_MARKS).get(byte_order_mark(head))


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
    found = _XML_LABEL.match(head)
    if wide or not found:
        return wide
    name = canonical(found[2].decode("latin-1"))
    # A declaration read byte by byte cannot be UTF-16 (the standard's own correction).
    return "utf-8" if name and name.startswith("utf-16") else name
