"""The names (of classes, ids, attributes, elements) that a page's scripts may bring into it.

They include every word of a script, and names that it may compose: with a string that begins or ends with a hyphen or
underscore (``"fa-" + icon``), of a word and a number, and of words joined with hyphens (`${block}-${state}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from adaptc.formats.script.code_text import code_text, unescape
from adaptc.formats.script.tokens import Kind, Token, tokenize

__all__ = ["ScriptNames", "loadable_scripts", "may_fetch_markup"]

_WORD = re.compile(r"[A-Za-z_][\w-]*")
_BEGINNING = re.compile(r"([A-Za-z][\w-]*[-_])(?=[\"'`$\\ ])")
_END = re.compile(r"(?<=[\"'`}])([-_]+[A-Za-z][\w-]*)")
_JOINTS = re.compile(r"[-_]+")
_DIGITS = "0123456789"

# Fetched markup may have any names
_MARKUP_FILE = re.compile(r"[^<>\s]+\.(?:html?|xhtml|php|aspx?|jsp|shtml|cfm)(?![\w.])", re.IGNORECASE)
_FETCHES = re.compile(r"\bfetch\(|\.(?:load|get|post)\(|\bajax\(|\bXMLHttpRequest\b")
_SCRIPT_FILE = re.compile(r"[^<>\s]+\.m?js(?![\w.])[^<>\s]*|https?://[^<>\s]+|//[^<>\s/]+/[^<>\s]*")
_MAKES_SCRIPT = re.compile(r'createElement\("script"\)|\bimportScripts\b|\b(?:require|define)\(\[|\bgetScript\(')


class ScriptNames:
    """A container of the names that scripts may bring in."""

    def __init__(self, texts: Iterable[str]) -> None:
        names = [_names(text) for text in texts]
        self._words = frozenset().union(*(words for words, _, _ in names))
        self._beginnings = tuple(sorted({beginning for _, beginnings, _ in names for beginning in beginnings}))
        self._ends = tuple(sorted({end for _, _, ends in names for end in ends}))
        self._cache: dict[object, bool] = {}

    def __contains__(self, name: object) -> bool:
        result = self._cache.get(name)
        if result is None:
            result = self._cache[name] = self._may_bring(str(name))
        return result

    def _may_bring(self, name: str) -> bool:
        bare = name.lstrip("-")  # custom properties
        if bare in self._words or bare.rstrip(_DIGITS) in self._words:
            return True
        if name.startswith(self._beginnings) or name.endswith(self._ends):
            return True
        pieces = [piece for piece in _JOINTS.split(name) if piece]
        return len(pieces) > 1 and all(piece in self._words or piece.isdigit() for piece in pieces)


@lru_cache(maxsize=512)
def _names(text: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return frozenset(_WORD.findall(text)), frozenset(_BEGINNING.findall(text)), frozenset(_END.findall(text))


@lru_cache(maxsize=512)
def may_fetch_markup(text: str) -> bool:
    """Whether a script may fetch markup, whose names are unknown."""
    return any(map(_MARKUP_FILE.fullmatch, _strings(text))) and _FETCHES.search(code_text(text)) is not None


@lru_cache(maxsize=512)
def loadable_scripts(text: str) -> tuple[str, ...]:
    """Return the addresses of scripts that a script may load, with ``""`` for unknown ones and imports."""
    tokens = tokenize(text)
    if tokens is None or _has_import(tokens):
        return ("",)
    if not _MAKES_SCRIPT.search(code_text(text)):
        return ()
    return tuple(string for string in _strings(text) if _SCRIPT_FILE.fullmatch(string))


def _strings(text: str) -> tuple[str, ...]:
    tokens = tokenize(text)
    if tokens is None:
        return (text,)
    return tuple(unescape(token.text[1:-1]) for token in tokens if token.kind in (Kind.STRING, Kind.TEMPLATE))


def _has_import(tokens: Sequence[Token]) -> bool:
    """Whether there is an import declaration or expression; a property of that name is none."""
    return any(
        token.text == "import"
        and token.kind is Kind.WORD
        and (previous is None or previous.text not in (".", "?."))
        and (following.text in ("(", "{", "*") or following.kind in (Kind.STRING, Kind.WORD))
        for previous, token, following in zip((None, *tokens), tokens, tokens[1:], strict=False)
    )
