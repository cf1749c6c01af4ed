"""The text of a page as those read it who run no scripts.

Parts that a script moves are in their places, counters have arrived at their numbers, and the year of today is left
out. Shadow roots are opened for readers of text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from turbohtml import Comment, Document, Element

from adaptc.formats.html.document import parse

__all__ = ["has_streamed_parts", "open_shadow_roots", "place_streamed_parts", "static_text", "streamed_parts"]


def static_text(text: str) -> str:
    """Return the page's text with streamed parts in their places, numbers counted up, and no written years."""
    return write_counted_numbers(leave_out_written_years(place_streamed_parts(text)))


# ---- The year of today that a script writes into a text, mostly after a copyright sign

_WRITES_YEAR = re.compile(r"\s*document\.write\(\s*\(?\s*new\s+Date(?:\(\))?\s*\)?\s*\.getFullYear\(\)\s*\)\s*;?\s*")
# The sign that joins the year to one before it (2015-2026), and the one between it and what follows
_BEFORE = re.compile(r"(?:\s*(?:[-\u2013\u2014]|&[nm]dash;))?\s*\Z")
_AFTER = re.compile(r"(?:\s*,)?")
_LONGEST_SIGN = 20


def leave_out_written_years(text: str) -> str:
    """Return the page's text without scripts that write the year of today, and without the punctuation around them.

    Without scripts "\u00a9 <script>\u2026</script>, made by" would read "\u00a9 , made by". The year itself cannot be
    written: equal sites have equal trees, whenever they are built.
    """
    if "getFullYear" not in text:
        return text
    pieces, position = [], 0
    for start, end in _spans(text):
        pieces.append(text[position:start])
        position = end
    return "".join([*pieces, text[position:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for script in parse(text).iter_elements("script"):
        location = script.source_location
        if location is None or location.end_tag is None or not _WRITES_YEAR.fullmatch(script.text):
            continue
        start, end = location.start_tag.start_offset, location.end_tag.end_offset
        before, after = _BEFORE.search(text, max(0, start - _LONGEST_SIGN), start), _AFTER.match(text, end)
        yield before.start() if before else start, after.end() if after else end


# ---- Numbers up to which a script counts once they are scrolled into view: the markup holds a zero and the number

# Attributes of CountUp, PureCounter and their kind
_NUMBERS = (
    "countto", "data-count", "data-count-to", "data-counter", "data-countto", "data-countup", "data-end", "data-final",
    "data-number", "data-purecounter-end", "data-target", "data-to",
)  # fmt: skip
_NAMED = re.compile("|".join(_NUMBERS), re.IGNORECASE)
_SHOWS = "span, div, p, h1, h2, h3, h4, h5, h6, strong, b, em, i, li, dt, dd, td, small, data"
_ZERO = re.compile(r"\s*(0(?:\.0+)?)\s*")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,4})?")


def write_counted_numbers(text: str) -> str:
    """Return the page's text with the numbers at which its scripts arrive, in place of the zeros that they begin with.

    Without scripts "0+ users" would stay what it says.
    """
    if _NAMED.search(text) is None or "<script" not in text.lower():
        return text
    pieces, position = [], 0
    for start, end, number in _counters(text):
        pieces += [text[position:start], number]
        position = end
    return "".join([*pieces, text[position:]])


def _counters(text: str) -> Iterator[tuple[int, int, str]]:
    for element in parse(text).select(_SHOWS):
        location = element.source_location
        if location is None or location.end_tag is None:
            continue
        zero = _ZERO.fullmatch(text, location.start_tag.end_offset, location.end_tag.start_offset)
        numbers = {value for name in _NUMBERS if _NUMBER.fullmatch(value := element.attr(name) or "")}
        if zero and len(numbers) == 1:
            yield zero.start(1), zero.end(1), numbers.pop()


# ---- Parts of a page that React streams after the rest: at its end, with a script that moves each to its place
# A part that comes late has a placeholder (``<template id="B:0">``) with a fallback after it, up to the comment ``/$``.
# The part itself follows as ``<div hidden id="S:0">``, and ``$RC("B:0","S:0")`` moves it. Pages that are rendered when
# a site is built have such parts, too (Next.js).

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


# ---- Declarative shadow roots (WHATWG HTML, ``<template shadowrootmode>``), which a parser keeps apart from the page

_TAG = re.compile(r"""<(?P<end>/?)template\b(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""", re.IGNORECASE)


def open_shadow_roots(text: str) -> str:
    """Return the page's text with the content of each shadow root in a ``<div>``, in front of its host's own content.

    That is for those who read the text: style sheets of a shadow root would apply to the whole page.
    """
    if "shadowrootmode" not in text:
        return text
    opened: list[bool] = []

    def replace(tag: re.Match[str]) -> str:
        if not tag["end"]:
            opened.append("shadowrootmode" in tag["attributes"].lower())
            return "<div>" if opened[-1] else tag[0]
        return "</div>" if opened and opened.pop() else tag[0]

    return _TAG.sub(replace, text)
