"""Marks of template engines: a page with them is the source of another page, or a client fills it in.

A finished page may hold the same marks where they mean nothing to a server: in the templates of a script, in a comment,
in an example of code. So a page in which a mark occurs at all is read tag by tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from adaptc.core.values import dataclass

__all__ = ["has_template_attribute", "template_mark"]

# A rare character of each mark, and the mark's pattern. To search for one character takes a tenth of the time of two,
# and a pattern that starts with a literal half of that of a text.
_Marks = tuple[tuple[str, re.Pattern[str]], ...]
# After the short one an expression of PHP begins, or a comment: regular expressions of scripts have <?=? and <?=|
_PHP: _Marks = (("?", re.compile(r"<\?(?:php|=(?=\s*[^\s?|>=)*,;:%^}\]]))")),)
_OTHERS: _Marks = (("%", re.compile(r"<%")), ("%", re.compile(r"\{% (?:extends|block|include)")))
_IN_ATTRIBUTES: _Marks = (("{", re.compile(r"\{[{%]")), ("%", re.compile(r"<%")), ("$", re.compile(r"\$\{")))
_ATTRIBUTE = re.compile(r"""=\s*["'][^"'>]*(?:\{\{|\{%|<%|\$\{)""")

# Elements whose content is code of its own, or an example. Browsers show no PHP in the latter: it is a directive there.
_CODE = frozenset({"script", "style", "textarea", "xmp", "plaintext"})
_EXAMPLES = frozenset({"pre", "code", "samp", "kbd", "tt", "listing"})


def template_mark(text: str) -> str | None:
    """Return the mark that makes a page the source of a template engine, or ``None``."""
    if _first_mark(text, _PHP + _OTHERS) is None:
        return None
    return next((mark for piece in _pieces(text) if (mark := _mark_of(piece)) is not None), None)


def has_template_attribute(text: str) -> bool:
    """Whether a template engine or client-side framework fills an attribute in: its quotes may be needed then."""
    if _first_mark(text, _IN_ATTRIBUTES) is None or _ATTRIBUTE.search(text) is None:
        return False
    return any(piece.kind is _Kind.TAG and _ATTRIBUTE.search(piece.source) for piece in _pieces(text))


def _first_mark(text: str, marks: _Marks) -> str | None:
    for character, pattern in marks:
        if character in text and (match := pattern.search(text)):
            return match[0]
    return None


class _Kind(Enum):
    TAG = "tag"
    COMMENT = "comment"
    TEXT = "text"
    CODE = "code"
    EXAMPLE = "example"


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: _Kind
    source: str


def _mark_of(piece: _Piece) -> str | None:
    if piece.kind is _Kind.COMMENT:
        return None
    return _first_mark(piece.source, _PHP if piece.kind in (_Kind.CODE, _Kind.EXAMPLE) else _PHP + _OTHERS)


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the tags, comments and texts of a page as they are written.

    ``<?php ... ?>`` counts as a tag: a browser takes it for a comment up to the first ``>``.
    """
    from turbohtml import TokenType, tokenize

    position, examples, kind = 0, 0, _Kind.TEXT
    for token in tokenize(text, capture_source=True):
        if not token.source:
            continue
        start = text.find(token.source, position)
        if start < 0:  # the tokenizer wrote it otherwise
            break
        yield _Piece(kind, text[position:start])
        position = start + len(token.source)
        yield _Piece(_Kind.COMMENT if token.source.startswith("<!--") else _Kind.TAG, token.source)
        if token.tag in _EXAMPLES:
            examples = max(0, examples + (1 if token.type is TokenType.START_TAG else -1))
        is_code = token.type is TokenType.START_TAG and token.tag in _CODE
        kind = _Kind.CODE if is_code else _Kind.EXAMPLE if examples else _Kind.TEXT
    yield _Piece(kind, text[position:])
