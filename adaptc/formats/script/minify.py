"""Minifying scripts: white space, comments and superfluous punctuation go; every name and value stays.

The work is turbohtml's, with ``mangle`` and ``fold`` off. ``fold`` rewrites statements into expressions and
drops dead code for 1 % more (0.25 % after gzip; 3.7 MB of libraries). Without it the result can be checked,
and is: it must have the words, values and operators of the source, in their order. A script that fails is
left alone.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise, zip_longest

from adaptc.formats.script.code_text import unescape
from adaptc.formats.script.tokens import OPERATOR_WORDS, Kind, Token, tokenize

_MODULE_WORDS = frozenset(["import", "export"])
_BEHIND_MODULE_WORD = frozenset([".", "{", "*"])
_KEPT_COMMENT = re.compile(r"\A/\*!|@license|@preserve")
_LICENCE = re.compile(r"@licen[cs]e|copyright|\(c\)\s|licen[cs]ed\s+under|SPDX-License", re.IGNORECASE)


def minify_script(text: str) -> str | None:
    """Return a smaller script that does the same, or ``None`` where there is none or it is not certain.

    Left alone are modules, what does not parse, scripts with conditional compilation, and those that read a
    comment in their own text (``function(){/* text */}.toString()``). Comments that state a licence stay, in
    front; a source map's address goes, since the map no longer fits.
    """
    tokens = tokenize(text)
    if tokens is None or _is_module(tokens) or _reads_comments(tokens):
        return None
    body = _turbohtml(text)
    if body is None or not _same_meaning(text, tokens, body):
        return None
    smaller = _with_licences(tokens, body)
    return smaller if len(smaller) < len(text) else None


def is_module(text: str) -> bool:
    """Whether ``text`` can only be a module: it has an ``import`` or ``export`` declaration, ``import.meta``.

    A module may also lack all three: whether a script is one is for ``type=module`` to say.
    """
    if "import" not in text and "export" not in text:
        return False
    tokens = tokenize(text)
    return tokens is not None and _is_module(tokens)


def _is_module(tokens: list[Token]) -> bool:
    # Both are reserved words; as names of properties they follow a point or precede ``:`` or ``(``.
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return any(
        word.text in _MODULE_WORDS
        and word.kind is Kind.WORD
        and (before is None or before.text not in (".", "?."))
        and (behind.kind in (Kind.WORD, Kind.STRING) or behind.text in _BEHIND_MODULE_WORD)
        for before, (word, behind) in zip([None, *code], pairwise(code), strict=False)
    )


def _reads_comments(tokens: list[Token]) -> bool:
    """Whether a comment means something: a function's whole body near ``toString``, or a word to IE."""
    comments = [token.text for token in tokens if token.kind is Kind.COMMENT]
    if any("@cc_on" in comment for comment in comments):
        return True
    lone = any(
        (first.text, middle.kind, last.text) == ("{", Kind.COMMENT, "}") and middle.text.startswith("/*")
        for first, middle, last in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )
    return lone and any(token.text == "toString" for token in tokens)


def _turbohtml(text: str) -> str | None:
    from turbohtml.clean import JSMinify, minify_js

    try:
        return minify_js(text, JSMinify(mangle=False, fold=False))
    except ValueError:  # its parse error, the only one it documents for text
        return None


def _same_meaning(text: str, tokens: list[Token], smaller: str) -> bool:
    result = tokenize(smaller)
    return result is not None and significant_tokens(text, tokens) == significant_tokens(smaller, result)


def _with_licences(tokens: list[Token], body: str) -> str:
    """Put the licence comments in front that turbohtml does not keep (no ``!`` and no ``@license``)."""
    lost = [
        token.text
        for token in tokens
        if token.kind is Kind.COMMENT
        and token.text.startswith("/*")
        and _LICENCE.search(token.text)
        and not _KEPT_COMMENT.search(token.text)
    ]
    return "\n".join([*lost, body])


_NAME = re.compile(r"[^\W\d][\w$]*|[$_][\w$]*")
_LEGACY_OCTAL = re.compile(r"0\d")
_LINE_END = re.compile("[\n\r\u2028\u2029]")
_GROUPING = frozenset(";(){}[].")
_CLOSING = frozenset(")}]")

# ECMA-262 12.10: a line end behind these words ends the statement; one before these operators makes prefixes.
_RESTRICTED_WORDS = frozenset(["return", "break", "continue", "throw", "yield"])
_RESTRICTED_OPERATORS = frozenset(["++", "--"])


def significant_tokens(text: str, tokens: list[Token]) -> list[object]:
    """Return all but comments and grouping punctuation, names and values whatever their spelling.

    Two scripts with the same significant_tokens may differ in brackets and semicolons only. ``tokens`` are the text's.
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
        said = unescape(token.text[1:-1])
        return said if _NAME.fullmatch(said) else _number(said)
    if token.kind is Kind.NUMBER:
        return _number(token.text)
    return unescape(token.text) if token.kind is Kind.WORD else token.text


def _number(digits: str) -> float | str:
    """Return a decimal literal's value; other spellings (0x1f, 017, 1n) and texts must stay as they are."""
    try:
        return digits if _LEGACY_OCTAL.match(digits) else float(digits)
    except ValueError:
        return digits


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
