"""Escapes in string literals and names (ECMA-262, sections 12.7 and 12.9.4)."""

from __future__ import annotations

import re

__all__ = ["unescape"]

_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|([0-3]?[0-7]{1,2})|(\r\n|[\s\S]))")
_SINGLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}
_CONTINUED = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])


def unescape(text: str) -> str:
    """Return a string literal or identifier without escapes.

    A surrogate pair written as two escapes stays two code points.
    """
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else match[0]
    if match[4]:
        return chr(int(match[4], 8))
    return "" if match[5] in _CONTINUED else _SINGLE.get(match[5], match[5])
