"""Selectors by which a script finds links and scripts by their files: ``[href$='theme.css']``, ``[src*="main.js"]``.

An element without a file is not found that way. Selectors with the name of another element (``a[href="…"]``) do not
count, and those that name no file are of links to pages, as a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from adaptc.formats.script.escapes import unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.script import Script

__all__ = ["file_selectors", "selects_file"]

_SELECTOR = re.compile(
    r"""(?<![\w.#:-])([\w-]*+)(?:[.#:]++[\w-]*+)*+\[\s*+(href|src)\s*+([~*^|$]?=)\s*+["']?([^"'\]]{0,300})(["'\]])?"""
)
_ELEMENTS = frozenset({"", "link", "script"})
_ENDINGS = {"href": re.compile(r"\.css\b"), "src": re.compile(r"\.m?js\b")}
# Selectors 4, section 6: what a value does to an attribute
_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "=": str.__eq__,
    "~=": lambda text, value: value in text.split(),
    "|=": lambda text, value: text == value or text.startswith(f"{value}-"),
    "^=": str.startswith,
    "$=": str.endswith,
    "*=": str.__contains__,
}


def file_selectors(script: Script) -> frozenset[str]:
    """Return the selectors by addresses in a script's strings, as ``href$=theme.css``.

    Of a value that is put together (``'[href$="' + name + '.css"]'``) the file's ending counts, wherever it is written.
    """
    texts = [unescape(text) for text in script.texts_of(Kind.STRING, Kind.TEMPLATE)] if script.lexes else [script.text]
    found = {each for text in texts for each in _selectors(text)}
    composed = {
        f"{name}*={ending[0]}"
        for name, pattern in _ENDINGS.items()
        for ending in (map(pattern.search, texts) if name in found else ())
        if ending is not None
    }
    return frozenset(found - _ENDINGS.keys() | composed)


def _selectors(text: str) -> Iterator[str]:
    """Yield the selectors of a string; of those whose value is put together, the name of the attribute."""
    for element, name, operator, value, end in _SELECTOR.findall(text):
        if element.lower() in _ELEMENTS:
            yield f"{name}{operator}{value}" if value and end and "${" not in value else name


def selects_file(selectors: Iterable[str], name: str, address: str) -> bool:
    """Whether one of the ``selectors`` of scripts finds an element by its attribute ``name`` with this value."""
    for selector in selectors:
        found = _PARTS.fullmatch(selector)
        if found is not None and found[1] == name and _OPERATORS[found[2]](address, found[3]):
            return True
    return False


_PARTS = re.compile(r"(href|src)([~*^|$]?=)([\s\S]+)")
