"""Adaptation tags: what the author of a page says about one of its elements.

``data-adapt="keep"`` and ``data-adapt="drop"`` hold at every level, ``data-adapt="drop extreme"`` at those named. The
element's own tag beats that of what stands around it. Several statements are separated by ``;``.
"""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Element

from adaptc.compile.analyse.decorations.evidence import Tag

ATTRIBUTE = "data-adapt"
VERDICTS = ("keep", "drop")


def read_tags(value: str) -> Iterator[Tag]:
    """Yield the statements of a ``data-adapt`` attribute. What begins with another word is not for us."""
    for statement in value.split(";"):
        verdict, *levels = statement.lower().replace(",", " ").split() or [""]
        if verdict in VERDICTS:
            yield Tag(verdict, tuple(levels), f'{ATTRIBUTE}="{" ".join(value.split())}"')


def tags_around(element: Element) -> tuple[Tag, ...]:
    """Return the statements that concern an element, its own first, then those of what stands around it."""
    line = (element, *(one for one in element.ancestors if isinstance(one, Element)))
    return tuple(tag for one in line for tag in read_tags(one.attr(ATTRIBUTE) or ""))
