"""The year of today that a script writes into a text, mostly after a copyright sign."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptc.formats.html.document import parse

__all__ = ["leave_out_written_years"]

_WRITES_YEAR = re.compile(r"\s*document\.write\(\s*\(?\s*new\s+Date(?:\(\))?\s*\)?\s*\.getFullYear\(\)\s*\)\s*;?\s*")
# The sign that joins the year to one before it (2015-2026), and the one between it and what follows
_BEFORE = re.compile(r"(?:\s*(?:[-\u2013\u2014]|&[nm]dash;))?\s*\Z")
_AFTER = re.compile(r"(?:\s*,)?")
_LONGEST_SIGN = 20


def leave_out_written_years(text: str) -> str:
    """Return the page's text without scripts that write the year of today, and without the punctuation around them.

    Without scripts "\u00a9 <script>\u2026</script>, made by" would read "\u00a9 , made by". The year itself cannot be
    written: equal sites have equal trees, whenever they are built.
    """
    if "getFullYear" not in text:
        return text
    pieces, position = [], 0
    for start, end in _spans(text):
        pieces.append(text[position:start])
        position = end
    return "".join([*pieces, text[position:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for script in parse(text).iter_elements("script"):
        location = script.source_location
        if location is None or location.end_tag is None or not _WRITES_YEAR.fullmatch(script.text):
            continue
        start, end = location.start_tag.start_offset, location.end_tag.end_offset
        before, after = _BEFORE.search(text, max(0, start - _LONGEST_SIGN), start), _AFTER.match(text, end)
        yield before.start() if before else start, after.end() if after else end
