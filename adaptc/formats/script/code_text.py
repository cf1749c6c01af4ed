"""A script's code without comments and in one spelling, to search with regular expressions.

Strings are part of it: ``a["currentScript"]`` and ``setAttribute("src", b)`` are code as well.
"""

from __future__ import annotations

import re
from functools import lru_cache

from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.tokens import Token, tokenize

_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|([0-3]?[0-7]{1,2})|(\r\n|[\s\S]))")
_SINGLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}
_CONTINUED = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])


def unescape(text: str) -> str:
    """Return a string literal or identifier without escapes (ECMA-262, sections 12.7 and 12.9.4).

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


_WORDLIKE = (Kind.WORD, Kind.NUMBER)


@lru_cache(maxsize=8)  # several checks of a script follow each other
def code_text(text: str) -> str:
    """Return the code without comments and escapes, with strings in ``"`` and spaces only between words.

    A text that does not lex is returned with its comments, so that nothing is missed.
    """
    tokens = tokenize(text)
    if tokens is None:
        return unescape(text).replace("'", '"')
    pieces: list[str] = []
    previous = None
    for token in tokens:
        if token.kind is Kind.COMMENT:
            continue
        if previous in _WORDLIKE and token.kind in _WORDLIKE:
            pieces.append(" ")
        pieces.append(_normalise(token))
        previous = token.kind
    return "".join(pieces)


def _normalise(token: Token) -> str:
    if token.kind is Kind.STRING or (token.kind is Kind.TEMPLATE and token.text[0] == token.text[-1] == "`"):
        return f'"{unescape(token.text[1:-1])}"'
    return unescape(token.text) if token.kind in (Kind.WORD, Kind.TEMPLATE) else token.text
