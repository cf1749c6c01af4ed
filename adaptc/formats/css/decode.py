"""From bytes to the text of a style sheet (CSS Syntax 3, sections 3.2 and 3.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tinycss2.bytes import decode_stylesheet_bytes

_NEWLINES = re.compile(r"\r\n|[\r\f]")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A decoded style sheet. ``encoding`` is the WHATWG name of what it was decoded from."""

    text: str
    encoding: str


def decode_sheet(content: bytes, environment: str) -> Sheet:
    """Decode a style sheet: byte order mark, ``@charset``, ``environment`` (the encoding of the page), UTF-8.

    Bytes that are not of the encoding become U+FFFD, as browsers show them; an unknown ``environment``
    counts as none. Newlines are LF and NUL is U+FFFD.
    """
    try:
        text, encoding = decode_stylesheet_bytes(content, environment_encoding=environment or None)
    except LookupError:
        text, encoding = decode_stylesheet_bytes(content)
    return Sheet(preprocess(text), encoding.name)


def preprocess(text: str) -> str:
    """Filter code points (section 3.3): CRLF, CR and FF become LF, NUL becomes U+FFFD."""
    if "\r" in text or "\f" in text:
        text = _NEWLINES.sub("\n", text)
    return text.replace("\0", "\ufffd")
