"""Minifying scripts: white space, comments and superfluous punctuation go; every name and value stays.

The work is turbohtml's, with ``mangle`` and ``fold`` off. ``fold`` rewrites statements into expressions and
drops dead code for 1 % more (0.25 % after gzip; 3.7 MB of libraries). Without it the result can be checked,
and is: it must have the words, values and operators of the source, in their order. A script that fails is
left alone.
"""

from __future__ import annotations

import re
from itertools import pairwise

from adaptc.formats.script.essence import essence
from adaptc.formats.script.tokens import Kind, Token, tokenize

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
    return result is not None and essence(text, tokens) == essence(smaller, result)


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
