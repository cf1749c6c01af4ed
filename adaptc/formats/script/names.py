"""Which names (of classes, ids, attributes, elements) a page's scripts may bring into it.

Every word of a script counts, wherever it stands. So do names that a script may put together: of a string that ends or
begins with a hyphen or underscore (``"fa-" + icon``), of words with a number behind them, and of words that it has
with hyphens between them (`${block}-${state}`).
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

# Pieces of pages that are fetched hold names of which nothing is known
_MARKUP_FILE = re.compile(r"[^<>\s]+\.(?:html?|xhtml|php|aspx?|jsp|shtml|cfm)(?![\w.])", re.IGNORECASE)
_FETCHES = re.compile(r"\bfetch\(|\.(?:load|get|post)\(|\bajax\(|\bXMLHttpRequest\b")
_SCRIPT_FILE = re.compile(r"[^<>\s]+\.m?js(?![\w.])[^<>\s]*|https?://[^<>\s]+|//[^<>\s/]+/[^<>\s]*")
_MAKES_SCRIPT = re.compile(r'createElement\("script"\)|\bimportScripts\b|\b(?:require|define)\(\[|\bgetScript\(')


class ScriptNames:
    """The names that scripts may bring in: ``name in names``."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = [_names(text) for text in texts]
        self._words = frozenset().union(*(words for words, _, _ in found))
        self._beginnings = tuple(sorted({name for _, names, _ in found for name in names}))
        self._ends = tuple(sorted({name for _, _, names in found for name in names}))
        self._known: dict[object, bool] = {}

    def __contains__(self, name: object) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._may_bring(str(name))
        return known

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
    """Whether a script may fetch pieces of pages, whose names are not in it."""
    return any(map(_MARKUP_FILE.fullmatch, _strings(text))) and _FETCHES.search(code_text(text)) is not None


@lru_cache(maxsize=512)
def loadable_scripts(text: str) -> tuple[str, ...]:
    """Return the addresses of scripts that a script may load, ``""`` for modules and what cannot be told."""
    tokens = tokenize(text)
    if tokens is None or _imports(tokens):
        return ("",)
    if not _MAKES_SCRIPT.search(code_text(text)):
        return ()
    return tuple(string for string in _strings(text) if _SCRIPT_FILE.fullmatch(string))


def _strings(text: str) -> tuple[str, ...]:
    tokens = tokenize(text)
    if tokens is None:
        return (text,)
    return tuple(unescape(token.text[1:-1]) for token in tokens if token.kind in (Kind.STRING, Kind.TEMPLATE))


def _imports(tokens: Sequence[Token]) -> bool:
    """Whether there is an import declaration or expression, and not just a property of that name."""
    return any(
        token.text == "import"
        and token.kind is Kind.WORD
        and (before is None or before.text not in (".", "?."))
        and (behind.text in ("(", "{", "*") or behind.kind in (Kind.STRING, Kind.WORD))
        for before, token, behind in zip((None, *tokens), tokens, tokens[1:], strict=False)
    )
