"""The names by which a script may look up an element for its address: words of its strings, ``dataset`` properties."""

from __future__ import annotations

import re
from itertools import chain

from adaptc.formats.script.escapes import unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.script import Script

__all__ = ["lookup_names"]

_WORD = re.compile(r"[\w-]+")
_DATASET = re.compile(r'\bdataset(?:\.|\[")([\w$]+)')
_ADDRESS = re.compile(r"""\.(?:src|href|sheet|onload|attributes|outerHTML)\b|["'](?:src|href|load|onload)["']""")
_CAPITAL = re.compile(r"[A-Z]")


def lookup_names(script: Script) -> frozenset[str]:
    """Return the words of a script's strings and templates, and the ``data-`` attributes that it reads.

    Among them is every id, class or attribute that the script writes out, in a selector as well. A script that asks
    for no address and no load event cannot tell an inline element from one with a file: it has none. A text that does
    not lex counts as one string.
    """
    if not script.lexes:
        return frozenset(_WORD.findall(script.text))
    if not _ADDRESS.search(script.code):
        return frozenset()
    strings = map(unescape, script.texts_of(Kind.STRING, Kind.TEMPLATE))
    words = chain.from_iterable(map(_WORD.findall, strings))
    return frozenset(chain(words, map(_attribute, _DATASET.findall(script.code))))


def _attribute(name: str) -> str:
    """Return the attribute that a ``dataset`` property stands for (HTML, 3.2.6.6)."""
    return "data-" + _CAPITAL.sub(lambda match: f"-{match[0].lower()}", name)
