"""The handles by which a script may take hold of elements of its page: ids, classes and attributes in selectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from adaptc.formats.script.escapes import unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.script import Script

__all__ = ["Handles", "find_handles", "union_of"]

_NAME = re.compile(r"[A-Za-z_][\w-]*\Z")
_MARKED = re.compile(r"([#.\[])([A-Za-z_][\w-]*)")
_CLASS_NAMES = re.compile(r'getElementsByClassName\("([^"]*)"\)')
# $("img"), list.find(".gallery > img:first"), on("click", "img[alt]", f)
_IMAGES = re.compile(r'(?:(?<!createElement)\(|,)"((?:[^"<]*[\s>,])?img(?:[.:\[#,\s][^"<]*)?)"')
_ALL_IMAGES = re.compile(r"\bdocument\.images\b")


@dataclass(frozen=True, slots=True)
class Handles:
    """Names in selectors, and the ``selectors`` for images by their tag. A whole string may be an id."""

    ids: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    selectors: frozenset[str] = frozenset()


def find_handles(script: Script) -> Handles:
    """Return the handles that a script has."""
    strings = [unescape(text[1:-1]) for text in script.texts_of(Kind.STRING, Kind.TEMPLATE)]
    marked: dict[str, set[str]] = {"#": set(), ".": set(), "[": set()}
    for sign, name in chain.from_iterable(map(_MARKED.findall, strings or [script.code])):
        marked[sign].add(name)
    classes = {name for names in _CLASS_NAMES.findall(script.code) for name in names.split()}
    selectors = {*_IMAGES.findall(script.code), *(["img"] if _ALL_IMAGES.search(script.code) else [])}
    return Handles(
        frozenset(marked["#"] | set(filter(_NAME.match, strings))),
        frozenset(marked["."] | classes),
        frozenset(marked["["]),
        frozenset(selectors),
    )


def union_of(parts: Sequence[Handles]) -> Handles:
    """Return the handles that scripts have together."""
    return Handles(
        frozenset().union(*(part.ids for part in parts)),
        frozenset().union(*(part.classes for part in parts)),
        frozenset().union(*(part.attributes for part in parts)),
        frozenset().union(*(part.selectors for part in parts)),
    )
