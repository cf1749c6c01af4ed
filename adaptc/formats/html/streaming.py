"""Parts of a page that React streams after the rest: at its end, with a script that moves each to its place.

A part that comes late has a placeholder (``<template id="B:0">``) with a fallback after it, up to the comment ``/$``.
The part itself follows as ``<div hidden id="S:0">``, and ``$RC("B:0","S:0")`` moves it. Pages that are rendered when
a site is built have such parts, too (Next.js).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from turbohtml import Comment, Document, Element

from adaptc.formats.html.document import parse

__all__ = ["has_streamed_parts", "place_streamed_parts", "streamed_parts"]

_MOVES = re.compile(r"""\$R[CRS]\(\s*["']([^"']+)["']\s*,\s*["']([^"']+)["']""")
_OPENING, _CLOSING = ("$", "$?", "$!", "$~"), "/$"


def has_streamed_parts(text: str) -> bool:
    """Whether scripts of a page move parts of it to their places."""
    return "$RC(" in text or "$RS(" in text


def place_streamed_parts(text: str) -> str:
    """Return the page's text with each streamed part in its place; what was shown until it came is hidden."""
    if not has_streamed_parts(text):
        return text
    tree = parse(text)
    splices = sorted(_splices(tree), key=lambda splice: splice.start)
    return _Splicer(text, splices).render(0, len(text))


@dataclass(frozen=True, slots=True)
class _Splice:
    """The text from ``start`` to ``end`` becomes ``insert``, and the text between ``content``, spliced too."""

    start: int
    end: int
    insert: str = ""
    content: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Splicer:
    text: str
    splices: list[_Splice]

    def render(self, start: int, end: int) -> str:
        pieces, position = [], start
        for splice in self.splices:
            if position <= splice.start and splice.end <= end:
                part = self.render(*splice.content) if splice.content is not None else ""
                pieces += [self.text[position : splice.start], splice.insert, part]
                position = splice.end
        return "".join([*pieces, self.text[position:end]])


def streamed_parts(tree: Document) -> frozenset[Element]:
    """Return the elements that hold streamed parts until they are moved."""
    return frozenset(part for _, part in _moves(tree))


def _moves(tree: Document) -> Iterator[tuple[Element, Element]]:
    """Yield each placeholder with the element that holds its part."""
    by_id = {each.attr("id"): each for each in tree.select("[id]")}
    for pair in dict.fromkeys(move for script in tree.iter_elements("script") for move in _MOVES.findall(script.text)):
        first, second = (by_id.get(name) for name in pair)
        if first is None or second is None:
            continue
        place, part = (first, second) if first.tag == "template" else (second, first)
        if place.tag == "template" and "hidden" in part.attrs:
            yield place, part


def _splices(tree: Document) -> Iterator[_Splice]:
    for place, part in _moves(tree):
        span, part_span, content = _span(place), _span(part), _content(part)
        if span and part_span and content:
            yield _Splice(*span, content=content)
            yield _Splice(*part_span)
            yield from map(_hiding, _fallback(place))


def _span(element: Element) -> tuple[int, int] | None:
    location = element.source_location
    if location is None or location.end_tag is None:
        return None
    return location.start_tag.start_offset, location.end_tag.end_offset


def _content(element: Element) -> tuple[int, int] | None:
    location = element.source_location
    if location is None or location.end_tag is None:
        return None
    return location.start_tag.end_offset, location.end_tag.start_offset


def _fallback(place: Element) -> Iterator[Element]:
    """Yield the elements between a placeholder and the end of its boundary."""
    depth = 0
    for node in place.next_siblings:
        if isinstance(node, Comment):
            if node.data == _CLOSING and depth == 0:
                return
            depth += (node.data in _OPENING) - (node.data == _CLOSING)
        elif isinstance(node, Element) and node.source_location is not None and "hidden" not in node.attrs:
            yield node


def _hiding(element: Element) -> _Splice:
    location = element.source_location
    assert location is not None
    start = location.start_tag.start_offset + 1 + len(element.tag)
    return _Splice(start, start, " hidden")
