"""A script's code without its comments, spelled in one way, to search in.

Strings count as code: ``a["currentScript"]`` and ``setAttribute("src", b)`` are how such things are said.
"""

from __future__ import annotations

from functools import lru_cache

from adaptc.formats.script.spelling import unescaped
from adaptc.formats.script.tokens import Kind, Token, tokenize

_WORDLIKE = (Kind.WORD, Kind.NUMBER)


@lru_cache(maxsize=8)  # two questions are asked of each script, one after the other
def code_text(text: str) -> str:
    """Return the code: no comments, no space but between words, strings in ``"``, escapes resolved.

    A text that does not lex is returned whole, comments and all, so that nothing in it is overlooked.
    """
    tokens = tokenize(text)
    if tokens is None:
        return unescaped(text).replace("'", '"')
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
        return f'"{unescaped(token.text[1:-1])}"'
    return unescaped(token.text) if token.kind in (Kind.WORD, Kind.TEMPLATE) else token.text
