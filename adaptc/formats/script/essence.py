"""What of a script must not change when it is minified: its words, values and operators in their order."""

from __future__ import annotations

import re
from itertools import zip_longest

from adaptc.formats.script.spelling import unescaped
from adaptc.formats.script.tokens import OPERATOR_WORDS, Kind, Token

_NAME = re.compile(r"[^\W\d][\w$]*|[$_][\w$]*")
_LEGACY_OCTAL = re.compile(r"0\d")
_LINE_END = re.compile("[\n\r\u2028\u2029]")
_GROUPING = frozenset(";(){}[].")
_CLOSING = frozenset(")}]")

# ECMA-262 12.10: a line end behind these words ends the statement; one before these operators makes prefixes.
_RESTRICTED_WORDS = frozenset(["return", "break", "continue", "throw", "yield"])
_RESTRICTED_OPERATORS = frozenset(["++", "--"])


def essence(text: str, tokens: list[Token]) -> list[object]:
    """Return all but comments and grouping punctuation, names and values whatever their spelling.

    Two scripts with the same essence may differ in brackets and semicolons only. ``tokens`` are the text's.
    """
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return [
        _part(text, before, token, behind)
        for before, token, behind in zip_longest([None, *code[:-1]], code, code[1:])
        if token and token.text not in _GROUPING and not _is_trailing_comma(token, behind)
    ]


def _is_trailing_comma(token: Token, behind: Token | None) -> bool:
    return token.text == "," and behind is not None and behind.text in _CLOSING


def _part(text: str, before: Token | None, token: Token, behind: Token | None) -> object:
    if token.text in _RESTRICTED_WORDS:
        return token.text, behind is None or behind.text in ";}" or _line_ends(text, token, behind)
    if token.text in _RESTRICTED_OPERATORS and before and _is_operand(before):
        return token.text, _line_ends(text, before, token) or "postfix"
    return (token.text, True) if token.text in _RESTRICTED_OPERATORS else _value(token)


def _line_ends(text: str, first: Token, second: Token) -> bool:
    return _LINE_END.search(text, first.end, second.start) is not None


def _is_operand(token: Token) -> bool:
    return token.text == "]" or (token.kind is Kind.WORD and token.text not in OPERATOR_WORDS)


def _value(token: Token) -> object:
    if token.kind is Kind.STRING:
        said = unescaped(token.text[1:-1])
        return said if _NAME.fullmatch(said) else _number(said)
    if token.kind is Kind.NUMBER:
        return _number(token.text)
    return unescaped(token.text) if token.kind is Kind.WORD else token.text


def _number(digits: str) -> float | str:
    """Return a decimal literal's value; other spellings (0x1f, 017, 1n) and texts must stay as they are."""
    try:
        return digits if _LEGACY_OCTAL.match(digits) else float(digits)
    except ValueError:
        return digits
