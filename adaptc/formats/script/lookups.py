"""The names by which a script may look up an element for its address: words of its strings, ``dataset`` properties."""

from __future__ import annotations

import re

from adaptc.formats.script.code_text import code_text, unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.tokens import tokenize

__all__ = ["lookup_names"]

_WORD = re.compile(r"[\w-]+")
_DATASET = re.compile(r'\bdataset(?:\.|\[")([\w$]+)')
_ADDRESS = re.compile(r"""\.(?:src|href|sheet|onload|attributes|outerHTML)\b|["'](?:src|href|load|onload)["']""")
_CAPITAL = re.compile(r"[A-Z]")


def lookup_names(text: str) -> frozenset[str]:
    """Return the words of a script's strings and templates, and the ``data-`` attributes that it reads.

    Among them is every id, class or attribute that the script writes out, in a selector as well. A script that asks
    for no address and no load event cannot tell an inline element from one with a file: it has none. A text that does
    not lex counts as one string.
    """
    tokens = tokenize(text)
    if tokens is None:
        return frozenset(_WORD.findall(text))
    if not _ADDRESS.search(code_text(text)):
        return frozenset()
    strings = (unescape(token.text) for token in tokens if token.kind in (Kind.STRING, Kind.TEMPLATE))
    words = {word for string in strings for word in _WORD.findall(string)}
    return frozenset(words | set(map(_attribute, _DATASET.findall(code_text(text)))))


def _attribute(name: str) -> str:
    """Return the attribute that a ``dataset`` property stands for (HTML, 3.2.6.6)."""
    return "data-" + _CAPITAL.sub(lambda match: f"-{match[0].lower()}", name)
