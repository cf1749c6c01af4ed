"""JSON texts (RFC 8259): white space goes, every other character stays."""

from __future__ import annotations

import json
import re

_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]+', re.DOTALL)


def minify_json(text: str) -> str | None:
    """Return ``text`` without insignificant white space, or ``None`` if it is not JSON or nothing is saved.

    Numbers and strings keep their spelling, members their order, and repeated names stay. The result is
    parsed and compared with what the source says; ``NaN`` and ``Infinity``, which RFC 8259 does not have, are
    refused.
    """
    smaller = _STRING_OR_SPACE.sub(lambda found: found[1] or "", text)
    meaning = _meaning(text)
    if meaning is None or len(smaller) >= len(text):
        return None
    return smaller if _meaning(smaller) == meaning else None


def _meaning(text: str) -> tuple[object] | None:
    """Return what a JSON text says, in a tuple (``null`` is a value), or ``None`` if it is no JSON text."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda members: ("object", members),
            parse_float=lambda digits: ("number", digits),
            parse_int=lambda digits: ("number", digits),
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError):
        return None
    return (value,)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
