"""What string literals and identifiers say, whatever escapes spell them (ECMA-262 12.7, 12.9.4)."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|([0-3]?[0-7]{1,2})|(\r\n|[\s\S]))")
_SINGLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}
_CONTINUED = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])


def unescaped(text: str) -> str:
    """Return ``text`` with its escape sequences resolved; surrogates so written stay two code points."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else found[0]
    if found[4]:
        return chr(int(found[4], 8))
    return "" if found[5] in _CONTINUED else _SINGLE.get(found[5], found[5])
