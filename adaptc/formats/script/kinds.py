"""The kinds of lexical elements of a script, known by how the text of one begins (ECMA-262, chapter 12)."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """The kinds of tokens. A template is several tokens, one for each piece of text between substitutions."""

    COMMENT = "comment"
    STRING = "string"
    TEMPLATE = "template"
    REGEX = "regex"
    WORD = "word"
    NUMBER = "number"
    PUNCTUATOR = "punctuator"


def kind_of(piece: str) -> Kind | None:
    """Return the kind of a piece of a script, as ``adaptc.formats.script.lexer.scan`` has them; ``None``: white space.

    No two kinds begin alike, once a slash is known to be that of a division or of a regular expression.
    """
    first = piece[0]
    kind = _BY_FIRST.get(first)
    if kind is not None:
        return kind
    if first in _LONGER:
        longer = _LONGER[first]
        return longer if len(piece) > 1 else Kind.PUNCTUATOR
    if first == "/":
        return _kind_after_slash(piece)
    if first == ".":
        return Kind.NUMBER if piece[1:2].isdecimal() else Kind.PUNCTUATOR
    if piece.startswith(_COMMENTS):
        return Kind.COMMENT
    return _kind_by_category(piece)


def _kind_after_slash(piece: str) -> Kind:
    if piece in ("/", "/="):
        return Kind.PUNCTUATOR
    return Kind.COMMENT if piece[1] in "/*" else Kind.REGEX


def _kind_by_category(piece: str) -> Kind | None:
    first = piece[0]
    if first.isspace() or first == "\ufeff":
        return None
    if first == "#":
        return Kind.WORD if len(piece) > 1 else Kind.PUNCTUATOR
    if first.isdecimal():
        return Kind.NUMBER
    return Kind.WORD if first.isalnum() or first in "\u200c\u200d" else Kind.PUNCTUATOR


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BY_FIRST = {
    **dict.fromkeys(_LETTERS + _LETTERS.upper() + "_$", Kind.WORD),
    **dict.fromkeys("0123456789", Kind.NUMBER),
    **dict.fromkeys("\"'", Kind.STRING),
    **dict.fromkeys("()[]{,;:~=!&|?*+%^>@", Kind.PUNCTUATOR),
    "`": Kind.TEMPLATE,
}
# Alone they are punctuators: the end of a substitution, and an escape in a name
_LONGER = {"}": Kind.TEMPLATE, "\\": Kind.WORD}
_COMMENTS = ("<!--", "-->", "#!")

# After these words an expression starts, so a slash starts a regular expression and a brace an object.
OPERATOR_WORDS = frozenset(
    [
        "return",
        "typeof",
        "instanceof",
        "in",
        "of",
        "new",
        "delete",
        "void",
        "throw",
        "case",
        "yield",
        "await",
        "extends",
    ]
)
# After these a statement starts
STATEMENT_WORDS = frozenset(["do", "else"])
