"""Edits as values, and their two meanings: a mutation of the tree, and splices of the source text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from turbohtml import Document, DocumentFragment, Element, Namespace, Node, SourceLocation, Text, parse_fragment

from adaptc.core.values import dataclass, field
from adaptc.formats.html.syntax import (
    DROPS_NEWLINE,
    IMPLIED_END,
    IMPLIED_START,
    RAW_TEXT,
    VOID,
    attribute_markup,
    text_markup,
)


class ImpossibleEdit(Exception):
    """The tree has no place for this edit."""


@dataclass(frozen=True, slots=True)
class AttributeRemoval:
    """Marks an attribute that is to be removed."""


REMOVED: Final = AttributeRemoval()


@dataclass(slots=True)
class ElementEdits:
    """The edits of one element; markup inserted at one place is in the order of the calls.

    ``replacement`` replaces the element with its content; ``raw`` its content alone.
    """

    attributes: dict[str, str | AttributeRemoval | None] = field(default_factory=dict)
    raw: str | None = None
    replacement: str | None = None
    before: str = ""
    after: str = ""
    appended: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is no edit."""
        texts = (self.before, self.after, self.appended)
        return not (self.attributes or any(texts)) and self.raw is None and self.replacement is None


Edits = dict[Element, ElementEdits]


def effective_edits(edits: Edits) -> Edits:
    """Drop edits that do nothing, and those inside of an element that is removed or gets other content."""
    replaced = {element for element, edit in edits.items() if edit.replacement is not None or edit.raw is not None}
    return {
        element: edit
        for element, edit in edits.items()
        if not edit.is_empty and not (replaced and any(ancestor in replaced for ancestor in element.ancestors))
    }


def mutate(edits: Edits, counterpart: Callable[[Element], Element | None], *, scripting: bool) -> None:
    """Apply edits to the tree of the elements that ``counterpart`` returns; ``None`` leaves an edit out.

    Raises ``ImpossibleEdit``.
    """
    targets = [(counterpart(element), edit) for element, edit in edits.items()]
    changed = [
        parent for target, edit in targets if target is not None for parent in _mutate_element(target, edit, scripting)
    ]
    for parent in dict.fromkeys(changed):  # once each: a list may lose a thousand items
        merge_texts(parent)


def _mutate_element(target: Element, edit: ElementEdits, scripting: bool) -> Iterator[Node]:
    """Do the edits of one element; yield the nodes whose children changed."""
    yield from _mutate_content(target, edit, scripting)
    parent = target.parent
    if not (edit.before or edit.after or edit.replacement is not None):
        return
    if parent is None or isinstance(parent, Document):
        raise ImpossibleEdit("nothing can be inserted next to the root element")
    _insert(parent, edit.before, target.insert_before, scripting)
    if edit.replacement is not None:
        _insert(parent, edit.replacement, target.insert_before, scripting)
    _insert(parent, edit.after, target.insert_after, scripting)
    if edit.replacement is not None:
        target.decompose()
    yield parent


def _mutate_content(target: Element, edit: ElementEdits, scripting: bool) -> Iterator[Node]:
    for name, value in edit.attributes.items():
        if isinstance(value, AttributeRemoval):
            target.attrs.pop(name, None)
        else:
            target.attrs[name] = value or ""
    if edit.raw is not None:
        target.clear()
        if edit.raw:
            target.append(Text(edit.raw))
        return
    if edit.appended:
        content = content_node(target)
        for node in _nodes(edit.appended, content, scripting):
            content.append(node)
        yield content


def content_node(element: Element) -> Element | DocumentFragment:
    """Return the node that holds an element's content: for a template its fragment."""
    first = element.children[0] if element.tag == "template" and element.children else None
    return first if isinstance(first, DocumentFragment) else element


def _insert(parent: Node, html: str, put: Callable[..., None], scripting: bool) -> None:
    if html:
        put(*_nodes(html, parent, scripting))


def _nodes(html: str, context: Node, scripting: bool) -> list[Node]:
    """Parse markup as the content of ``context`` and return its nodes, detached."""
    if not html:
        return []
    if isinstance(context, Element) and context.namespace is not Namespace.HTML:
        return _foreign_nodes(html, context)
    tag = _fragment_context(context.tag) if isinstance(context, Element) else "template"
    holder = parse_fragment(html, tag, scripting=scripting, allow_declarative_shadow_roots=False)
    return _detached(holder.children)


@lru_cache(maxsize=256)
def _fragment_context(tag: str) -> str:
    """Return a context in which turbohtml parses fragments as in ``tag``: it refuses a name that it does not know.

    The fragment parsing algorithm treats such an element (``my-app``, ``o:p``) as it treats a div (WHATWG HTML,
    "reset the insertion mode appropriately").
    """
    try:
        parse_fragment("", tag)
    except ValueError:
        return "div"
    return tag


def _foreign_nodes(html: str, context: Element) -> list[Node]:
    """Parse in an SVG or MathML element: ``foreignObject`` and the like hold HTML, others their own names."""
    root = "svg" if context.namespace is Namespace.SVG else "math"
    markup = f"<{root}>" if context.tag == root else f"<{root}><{context.tag}>"
    holder = parse_fragment(markup).children[0]
    if context.tag != root:
        holder = holder.children[0]
    if not isinstance(holder, Element) or holder.tag != context.tag:
        raise ImpossibleEdit(f"<{context.tag}> cannot be written again")
    holder.insert_adjacent_html("beforeend", html)
    return _detached(holder.children)


def _detached(nodes: Iterable[Node]) -> list[Node]:
    return [node.extract() for node in list(nodes)]


def merge_texts(parent: Node) -> None:
    """Join neighbouring text nodes, as the parser does, and drop empty ones."""
    previous: Text | None = None
    for child in list(parent.children):
        if not isinstance(child, Text):
            previous = None
        elif previous is not None or not child.data:
            if previous is not None:
                previous.data += child.data
            child.decompose()
        else:
            previous = child


# ---- Edits as splices of the source text, every byte between them kept
# The result is a guess: ``edit.py`` parses it and compares it with the mutated tree, so an offset that is wrong here
# leads to serialisation instead, never to a wrong page.

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
