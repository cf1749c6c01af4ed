"""Edits as splices of the source text, every byte between them kept.

The result is a guess: ``edit.py`` parses it and compares it with the mutated tree, so an offset that is wrong here
leads to serialisation instead, never to a wrong page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turbohtml import Element, Namespace, SourceLocation

from adaptc.formats.html.mutate import AttributeRemoval, Edits, ElementEdits, content_node
from adaptc.formats.html.syntax import (
    DROPS_NEWLINE,
    IMPLIED_END,
    IMPLIED_START,
    RAW_TEXT,
    VOID,
    attribute_markup,
    text_markup,
)

_SPACE = "\t\n\f "
_ENDS_NAME = "\t\n\f />"


class UnspliceableEdit(Exception):
    """The source has no place for an edit (an element without tags, overlapping constructs)."""


# Splices at one offset are ordered by phase: what opens a parent's content, what closes or follows the
# elements before (inner ones first), what starts with the next element.
_OPENING, _CLOSING, _STARTING = range(3)
_APPENDED, _END_TAG, _AFTER = range(3)


class Splice(NamedTuple):
    """``text[start:end]`` becomes ``html``; the fields between order splices at one offset.

    A tuple because a page may have thousands, sorted and deduplicated: twice as fast as a dataclass.
    """

    start: int
    phase: int
    inward: int
    step: int
    end: int
    html: str


def splice(text: str, edits: Edits) -> str:
    """Return the text with the edits spliced in. Raises ``UnspliceableEdit``."""
    splices: set[Splice] = set()
    for element, edit in edits.items():
        if element.source_location is None and element.tag == "head":
            splices.update(_into_implied_head(text, element, edit))
        else:
            splices.update(_Splicer(text, element).splices(edit))
    return _join(text, sorted(splices))


def _into_implied_head(text: str, head: Element, edit: ElementEdits) -> Iterator[Splice]:
    """Append to a head that has no tag: before the first element of the body."""
    if edit != ElementEdits(appended=edit.appended):
        raise UnspliceableEdit("<head> has no tag in the source")
    following = (_start(node) for node in head.following if isinstance(node, Element))
    end = next((start for start in following if start >= 0), len(text))
    yield Splice(end, _CLOSING, 0, 0, end, edit.appended)


def _join(text: str, splices: list[Splice]) -> str:
    pieces: list[str] = []
    position = 0
    for each in splices:
        if each.start < position:
            raise UnspliceableEdit("edits overlap in the source")
        pieces += (text[position : each.start], each.html)
        position = each.end
    return "".join([*pieces, text[position:]])


class _Splicer:
    """Finds the places of one element in the source."""

    def __init__(self, text: str, element: Element) -> None:
        location = element.source_location
        if location is None:
            raise UnspliceableEdit(f"<{element.tag}> has no tag in the source")
        self.text, self.element, self.location = text, element, location
        self.start, self.content = location.start_tag.start_offset, location.start_tag.end_offset

    def splices(self, edit: ElementEdits) -> Iterator[Splice]:
        yield from self._outer(edit)
        if edit.replacement is not None:
            return
        yield from self._attributes(edit)
        if edit.raw is not None:
            yield self._raw(edit.raw)
        else:
            yield from self._inner(edit)

    def _outer(self, edit: ElementEdits) -> Iterator[Splice]:
        end = self.end() if edit.after or edit.replacement is not None else self.start
        if edit.replacement is not None:
            yield Splice(self.start, _STARTING, 0, 0, end, edit.before + edit.replacement)
        elif edit.before:
            yield Splice(self.start, _STARTING, 0, 0, self.start, edit.before)
        if edit.before or edit.replacement is not None:
            yield from self._close_previous(edit, end)
        if edit.after:
            yield Splice(end, _CLOSING, -_depth(self.element), _AFTER, end, edit.after)
            if edit.replacement is None:
                yield from _end_tag(self.element, end)

    def _close_previous(self, edit: ElementEdits, end: int) -> Iterator[Splice]:
        """Write the end tag of the element before, if only our start tag implied it."""
        previous = self.element.previous_sibling
        if isinstance(previous, Element) and not self._needs_no_end_tag(edit, end):
            yield from _end_tag(previous, self.start)

    def _needs_no_end_tag(self, edit: ElementEdits, end: int) -> bool:
        """Whether what comes next implies the same end tag as we did."""
        if edit.before or edit.replacement:
            return False
        following = self.element.next_sibling
        if isinstance(following, Element):
            return following.tag == self.element.tag and _start(following) == end
        parent = self.element.parent
        if following is not None or self.element.tag == "p" or not isinstance(parent, Element):
            return False
        location = parent.source_location
        return bool(location and location.end_tag and location.end_tag.start_offset == end)

    def _inner(self, edit: ElementEdits) -> Iterator[Splice]:
        if not edit.appended:
            return
        if _self_closed(self.text, self.element, self.location):
            raise UnspliceableEdit(f"<{self.element.tag}/> closes itself")
        end = self.content_end()
        yield Splice(end, _CLOSING, -_depth(self.element), _APPENDED, end, edit.appended)
        children = content_node(self.element).children
        last = children[-1] if children else None
        if isinstance(last, Element):
            yield from _end_tag(last, end)

    def _raw(self, raw: str) -> Splice:
        tag = self.element.tag
        is_raw = tag in RAW_TEXT and self.element.namespace is Namespace.HTML
        html = raw if is_raw else text_markup(raw)
        if html.startswith("\n") and tag in DROPS_NEWLINE:
            html = "\n" + html
        return Splice(self.content, _OPENING, 0, 0, self.content_end(), html)

    def _attributes(self, edit: ElementEdits) -> Iterator[Splice]:
        for order, (name, value) in enumerate(edit.attributes.items()):
            span = self.location.attrs.get(name.lower())
            if span is None:
                yield from self._new_attribute(name, value, order)
            elif isinstance(value, AttributeRemoval):
                start = self._attribute_start(span.start_offset, span.end_offset)
                # after new attributes, which are inserted where the first attribute is removed
                yield Splice(start, 0, 0, len(edit.attributes), span.end_offset, "")
            else:
                yield self._changed_attribute(span.start_offset, span.end_offset, value)

    def _new_attribute(self, name: str, value: str | AttributeRemoval | None, order: int) -> Iterator[Splice]:
        if isinstance(value, AttributeRemoval):  # it is from a second <body> or <html> tag
            raise UnspliceableEdit(f"attribute {name} is in another tag")
        end = self._name_end(self.start + 1, _ENDS_NAME)
        html = " " + attribute_markup(name, value, self.text[end : end + 1])
        yield Splice(end, 0, 0, order, end, html)

    def _changed_attribute(self, start: int, end: int, value: str | None) -> Splice:
        name = self.text[start : self._name_end(start + 1, _ENDS_NAME + "=")]
        return Splice(start, 0, 0, 0, end, attribute_markup(name, value, self.text[end : end + 1]))

    def _attribute_start(self, start: int, end: int) -> int:
        """Include the space before the attribute, unless it has to separate what remains."""
        if self.text[end : end + 1] in _ENDS_NAME:
            while self.text[start - 1] in _SPACE:
                start -= 1
        return start

    def _name_end(self, position: int, ends: str) -> int:
        while position < self.content and self.text[position] not in ends:
            position += 1
        return position

    def end(self) -> int:
        """Return the offset after the element."""
        if self.location.end_tag is not None:
            return self.location.end_tag.end_offset
        return self.content_end()

    def content_end(self) -> int:
        """Return the offset after the element's content."""
        if self.location.end_tag is not None:
            return self.location.end_tag.start_offset
        if _is_void(self.element) or _self_closed(self.text, self.element, self.location):
            return self.content
        return min(self._next_start(), self._parent_end())

    def _next_start(self) -> int:
        """Return where the next element after this one starts, or the text's end."""
        starts = (_start(node) for node in self.element.following if isinstance(node, Element))
        return next((start for start in starts if start >= self.content), len(self.text))

    def _parent_end(self) -> int:
        """Return where the end tag of the nearest ancestor that has one starts, or the text's end."""
        locations = (a.source_location for a in self.element.ancestors if isinstance(a, Element))
        ends = (each.end_tag.start_offset for each in locations if each and each.end_tag)
        return next((end for end in ends if end >= self.content), len(self.text))


def _end_tag(element: Element, offset: int) -> Iterator[Splice]:
    """Write the end tag that the source omits; once, however many edits need it."""
    location = element.source_location
    has_none = location.end_tag is None if location else element.tag in IMPLIED_START
    if has_none and element.tag in IMPLIED_END and element.namespace is Namespace.HTML:
        yield Splice(offset, _CLOSING, -_depth(element), _END_TAG, offset, f"</{element.tag}>")


def _start(element: Element) -> int:
    location = element.source_location
    return -1 if location is None else location.start_tag.start_offset


def _is_void(element: Element) -> bool:
    return element.tag in VOID and element.namespace is Namespace.HTML


def _self_closed(text: str, element: Element, location: SourceLocation) -> bool:
    """Whether a foreign element's start tag ends in ``/>`` (HTML elements ignore the slash)."""
    return element.namespace is not Namespace.HTML and text[location.start_tag.end_offset - 2] == "/"


def _depth(element: Element) -> int:
    return sum(1 for _ in element.ancestors)
