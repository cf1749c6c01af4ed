"""A tree as markup (WHATWG HTML, "serialising HTML fragments"), the doctype as it was written.

The standard's serialisation drops the doctype's public and system id, which turns pages from quirks to
standards mode (10 of 130 real ones).
"""

from __future__ import annotations

from turbohtml import Doctype, Document, TokenType, tokenize


def serialise(tree: Document, source: str) -> str:
    """Write a tree; ``source`` is the text it once was parsed from, whose doctype is taken over."""
    return "".join(doctype_source(source) if isinstance(child, Doctype) else child.html for child in tree.children)


def doctype_source(text: str) -> str:
    """Return the doctype as written in a page, or ``""``; only comments and space may stand before it."""
    for token in tokenize(text, capture_source=True):
        if token.type is TokenType.DOCTYPE:
            return token.source or ""
        if token.type in (TokenType.START_TAG, TokenType.END_TAG):
            return ""
    return ""


def is_forced_quirks(text: str) -> bool:
    """Whether the doctype is so malformed that browsers take quirks mode, which the tree does not show."""
    for token in tokenize(text):
        if token.type is TokenType.DOCTYPE:
            return token.force_quirks
        if token.type in (TokenType.START_TAG, TokenType.END_TAG):
            return False
    return False
