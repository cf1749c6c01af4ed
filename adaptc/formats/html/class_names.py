"""The names that authors give elements: their classes, and the words of which classes and ids are made."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.formats.html.syntax import split_tokens

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["class_names", "class_words", "words"]

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def class_names(element: Element) -> list[str]:
    """Return the classes of an element, in their order."""
    return split_tokens(element.attr("class") or "")


def class_words(element: Element) -> tuple[str, ...]:
    """Return the words of an element's classes and id, in lower case: ``mainNav`` has "main" and "nav"."""
    return words(f"{element.attr('class') or ''} {element.attr('id') or ''}")


@lru_cache(maxsize=4096)
def words(names: str) -> tuple[str, ...]:
    """Return the words of names in lower case: ``siteLogo-small2`` is site, logo, small, 2."""
    return tuple(word.lower() for word in _WORD.findall(names))
