"""A script's code without its comments, spelled in one way, to search in.

Strings count as code: ``a["currentScript"]`` and ``setAttribute("src", b)`` are how such things are said.
"""

from __future__ import annotations

import re
from functools import lru_cache

from adaptc.formats.script.tokens import Kind, Token, tokenize

_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|([0-3]?[0-7]{1,2})|(\r\n|[\s\S]))")
_SINGLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}
_CONTINUED = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])


def unescape(text: str) -> str:
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


_WORDLIKE = (Kind.WORD, Kind.NUMBER)


@lru_cache(maxsize=8)  # two questions are asked of each script, one after the other
def code_text(text: str) -> str:
    """Return the code: no comments, no space but between words, strings in ``"``, escapes resolved.

    A text that does not lex is returned whole, comments and all, so that nothing in it is overlooked.
    """
    tokens = tokenize(text)
    if tokens is None:
        return unescape(text).replace("'", '"')
    pieces: list[str] = []
    before = None
    for token in tokens:
        if token.kind is Kind.COMMENT:
            continue
        if before in _WORDLIKE and token.kind in _WORDLIKE:
            pieces.append(" ")
        pieces.append(_said(token))
        before = token.kind
    return "".join(pieces)


def _said(token: Token) -> str:
    if token.kind is Kind.STRING or (token.kind is Kind.TEMPLATE and token.text[0] == token.text[-1] == "`"):
        return f'"{unescape(token.text[1:-1])}"'
    return unescape(token.text) if token.kind in (Kind.WORD, Kind.TEMPLATE) else token.text
