"""Style sheet text inside a ``<style>`` element (WHATWG HTML, 13.2.5.14: raw text ends at ``</style``)."""

from __future__ import annotations

import re

from adaptc.formats.css.balance import is_balanced
from adaptc.formats.css.scanner import SPARSE, Kind, tokens

__all__ = ["for_style_element", "is_balanced"]

_END_TAG = re.compile(r"</(?=style)", re.IGNORECASE | re.ASCII)
_HARMLESS = {Kind.STRING: r"<\\/", Kind.URL: r"<\\/", Kind.COMMENT: "< /"}


def for_style_element(text: str) -> str | None:
    r"""Return ``text`` so that it can stand in a ``<style>`` element and means the same, or ``None``.

    ``</style`` becomes ``<\/style`` in strings and URLs and ``< /style`` in comments; elsewhere it is
    malformed and cannot be written. ``<!--`` needs nothing: raw text knows no comments, and the CSS
    parser ignores the mark as it does in a file. What is open at the end is closed by the end of the
    element, as by the end of a file.
    """
    if not _END_TAG.search(text):
        return text
    pieces, done = [], 0
    for token in tokens(text, 0, SPARSE):
        if token.kind in _HARMLESS and _END_TAG.search(text, token.start, token.end + 5):
            pieces += [
                text[done : token.start],
                _END_TAG.sub(_HARMLESS[token.kind], text[token.start : token.end]),
            ]
            done = token.end
    escaped = "".join([*pieces, text[done:]])
    return None if _END_TAG.search(escaped) else escaped
