"""The handles by which a script may take hold of elements of its page: ids, classes and attributes in selectors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from adaptc.formats.script.code_text import code_text, unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.tokens import tokenize

__all__ = ["Handles", "handles"]

_NAME = re.compile(r"[A-Za-z_][\w-]*\Z")
_MARKED = re.compile(r"([#.\[])([A-Za-z_][\w-]*)")
_CLASS_NAMES = re.compile(r'getElementsByClassName\("([^"]*)"\)')
# $("img"), $(".gallery > img:first"), document.querySelectorAll("img[alt]")
_IMAGES = re.compile(
    r'(?:\$|jQuery|\bdocument\.(?:querySelector(?:All)?|getElementsByTagName))\("((?:[^"<]*[\s>,])?img(?:[.:\[#,\s][^"<]*)?)"'
)
_ALL_IMAGES = re.compile(r"\bdocument\.images\b")


@dataclass(frozen=True, slots=True)
class Handles:
    """Names in selectors, and the ``selectors`` for images by their tag. A whole string may be an id."""

    ids: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    selectors: frozenset[str] = frozenset()


def handles(texts: Iterable[str]) -> Handles:
    """Return the handles that the scripts have together."""
    parts = [_handles(text) for text in texts]
    return Handles(
        frozenset().union(*(part.ids for part in parts)),
        frozenset().union(*(part.classes for part in parts)),
        frozenset().union(*(part.attributes for part in parts)),
        frozenset().union(*(part.selectors for part in parts)),
    )


@lru_cache(maxsize=512)
def _handles(text: str) -> Handles:
    tokens = tokenize(text) or ()
    strings = [unescape(token.text[1:-1]) for token in tokens if token.kind in (Kind.STRING, Kind.TEMPLATE)]
    code = code_text(text)
    marked = {
        mark: {name for each in strings or [code] for sign, name in _MARKED.findall(each) if sign == mark}
        for mark in "#.["
    }
    classes = {name for names in _CLASS_NAMES.findall(code) for name in names.split()}
    selectors = {*_IMAGES.findall(code), *(["img"] if _ALL_IMAGES.search(code) else [])}
    return Handles(
        frozenset(marked["#"] | set(filter(_NAME.match, strings))),
        frozenset(marked["."] | classes),
        frozenset(marked["["]),
        frozenset(selectors),
    )
