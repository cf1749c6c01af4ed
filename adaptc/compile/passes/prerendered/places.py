"""Where elements of a page are shown: in its flow or over it, and what has to make room for one that grows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turbohtml import Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_words

_OVER = frozenset({"fixed", "absolute"})
_STICKING = _OVER | {"sticky", "-webkit-sticky"}
_BARS = frozenset({"header", "nav", "footer"})
_BAR_WORDS = frozenset({"header", "masthead", "navbar", "nav", "topbar", "navigation", "footer", "toolbar"})
_COLUMN_WORDS = frozenset({"sidebar", "sidenav", "aside", "drawer"})
_CONTENT = frozenset({"main", "article", "section", "figure"})
_LENGTH = re.compile(r"(?:[\d.]+(?:px|r?em)|(?:var|calc)\((?!.*(?:%|v[hwib]\b)).*\))$")
_FULL_HEIGHT = re.compile(r"(?:calc\()?(?:[6-9]\d|100)(?:[sld]?vh|%)")
_UNLIMITED = {"max-height": "max-height:none", "height": "height:auto;min-height:{}"}
_FLEX = frozenset({"flex", "inline-flex"})
# An ancestor returns to the flow where it is, and holds what is positioned in it.
RELEASED = "position:relative;inset:auto;transform:none"


class Places:
    """The positions of the elements of one page."""

    def __init__(self, cascade: Cascade) -> None:
        self._cascade = cascade

    def is_over(self, element: Element, width: int) -> bool:
        """Whether an element is not in the flow of the page."""
        return self._position(element, width) in _OVER

    def is_fixed(self, element: Element, width: int) -> bool:
        """Whether an element stays in the window."""
        return self._position(element, width) == "fixed"

    def has_moved_parts(self, element: Element, widths: Iterable[int]) -> bool:
        """Whether something in an element is drawn elsewhere than where it is laid out."""
        parts = [each for each in element.children if isinstance(each, Element)]
        values = {self._cascade.value(each, "transform", width) for each in parts for width in widths}
        return not values <= {"", "none"}

    def is_in_tight_bar(self, element: Element, width: int) -> bool:
        """Whether an element that grows would lie over the page: a bar around it has its own place or height."""
        for each in _ancestors(element):
            is_sticking = self._position(each, width) in _STICKING
            if self._is_column(each, width):
                return False
            if is_bar(each) and (is_sticking or self._height(each, width)):
                return True
        return False

    def room(self, element: Element, widths: Iterable[int], *, is_moved: bool) -> Iterator[tuple[Element, str]]:
        """Yield what has to make room for an element that grows, with declarations: ancestors that cover the page or
        have a height of their own and, for one that moves into the flow, bars next to it that would lie over it, and
        what comes before it and is as high as the window, whose content may reach below that."""
        widths = tuple(widths)
        parent = element.parent
        is_link = element.tag == "a"
        if isinstance(parent, Element) and any(self._display(parent, width) in _FLEX for width in widths):
            yield parent, "flex-wrap:wrap;align-content:flex-start"
            yield element, "flex:none" if is_link else "flex:1 0 100%"
        for ancestor in _ancestors(element):
            if any(self._is_column(ancestor, width) for width in widths):
                break
            if not is_link and any(self._position(ancestor, width) in _STICKING for width in widths):
                yield ancestor, RELEASED
            yield from self._heightened(ancestor, widths)
        for before in _elements_before(element) if is_moved else ():
            declarations = self._unlimited(before, widths) if self._is_in_flow(before, widths) else ""
            if declarations:
                yield before, declarations
        if is_moved and self._begins_page(element, widths):
            bars_after = filter(is_bar, _elements_after(element))  # other boxes there leave the top of the page alone
            around = (*_elements_before(element), *bars_after)
            yield from ((each, RELEASED) for each in around if self._stays_over(each, widths))

    def _begins_page(self, element: Element, widths: tuple[int, ...]) -> bool:
        """Whether nothing in the flow of the page comes before an element."""
        return not any(self._is_in_flow(each, widths) for each in _elements_before(element))

    def _is_in_flow(self, element: Element, widths: tuple[int, ...]) -> bool:
        is_apart = all(self.is_over(element, width) or self._cascade.hiding(element, width) for width in widths)
        return not is_apart and element.text.strip() != "" and element.tag not in ("script", "style", "noscript")

    def _stays_over(self, element: Element, widths: tuple[int, ...]) -> bool:
        """Whether an element would lie over one that moves next to it: a bar, or what stays in the window."""
        if element.tag == "footer" or any(self._is_column(element, width) for width in widths):
            return False
        positions = {self._position(element, width) for width in widths if not self._cascade.hiding(element, width)}
        return (is_bar(element) and "absolute" in positions) or ("fixed" in positions and element.text.strip() != "")

    def _heightened(self, ancestor: Element, widths: tuple[int, ...]) -> Iterator[tuple[Element, str]]:
        """Yield a bar, or a box in a bar, that has a height of its own: it becomes at least as high as that."""
        heights = [height for width in widths if (height := self._height(ancestor, width))]
        if heights and any(map(is_bar, (ancestor, *_ancestors(ancestor)))):
            is_block = all(self._display(ancestor, width) in ("", "block") for width in widths)
            floats = ";display:flow-root" if is_block else ""
            yield ancestor, f"height:auto;max-height:none;min-height:{heights[0]}{floats}"

    def _unlimited(self, element: Element, widths: tuple[int, ...]) -> str:
        """Return declarations for an element as high as the window whose content may reach below it.

        A height of which children take shares stays: there are none of a height that is not set (CSS 2, 10.5).
        """
        children = [each for each in element.children if isinstance(each, Element)]
        has_shares = any("%" in self._cascade.value(each, "height", width) for each in children for width in widths)
        found = [
            (name, value)
            for name in (_UNLIMITED if not has_shares else ["max-height"])
            for width in widths
            if _FULL_HEIGHT.match(value := self._cascade.value(element, name, width))
        ]
        return ";".join(dict.fromkeys(_UNLIMITED[name].format(value) for name, value in found))

    def _position(self, element: Element, width: int) -> str:
        return self._cascade.value(element, "position", width)

    def _is_column(self, element: Element, width: int) -> bool:
        """Whether an element is a column next to the content, which scrolls by itself or with the page."""
        is_named = element.tag == "aside" or not _COLUMN_WORDS.isdisjoint(class_words(element))
        return is_named or _FULL_HEIGHT.match(self._cascade.value(element, "height", width)) is not None

    def _display(self, element: Element, width: int) -> str:
        return self._cascade.value(element, "display", width)

    def _height(self, element: Element, width: int) -> str:
        """Return the height that an element always has, ``""`` if that follows from its content."""
        values = (self._cascade.value(element, name, width) for name in ("height", "max-height"))
        return next(filter(_LENGTH.match, values), "")


def is_of_page_frame(element: Element) -> bool:
    """Whether an element is part of the frame of a page: its header, navigation or footer, or next to all of these."""
    for each in _ancestors(element):
        if each.tag in _CONTENT:
            return False
        if is_bar(each) or each.tag == "aside":
            return True
    return getattr(element.parent, "tag", None) == "body"


def is_bar(element: Element) -> bool:
    """Whether an element is a bar of a page: its header, navigation or footer."""
    is_landmark = element.tag in _BARS or element.attr("role") in ("banner", "navigation")
    return is_landmark or not _BAR_WORDS.isdisjoint(class_words(element))


def _ancestors(element: Element) -> Iterator[Element]:
    return (each for each in element.ancestors if isinstance(each, Element) and each.tag not in ("html", "body"))


def _elements_before(element: Element) -> Iterator[Element]:
    """Yield the siblings before an element and before its ancestors."""
    before = (sibling for each in (element, *_ancestors(element)) for sibling in each.previous_siblings)
    return (each for each in before if isinstance(each, Element))


def _elements_after(element: Element) -> Iterator[Element]:
    """Yield the siblings after an element and after its ancestors."""
    after = (sibling for each in (element, *_ancestors(element)) for sibling in each.next_siblings)
    return (each for each in after if isinstance(each, Element))
