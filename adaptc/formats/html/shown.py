"""What a reader sees of a page at some width of the window: its texts, links and controls, as the style sheets show it.

An element is hidden by its attributes (``hidden``, a closed dialogue) or by the cascade (``cascade.HIDING``). What only
a pointer or a focus shows counts as hidden, the content of closed ``<details>`` as visible: a click shows it. Bars that
ask for consent do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from adaptc.formats.html.cascade import HIDING, Cascade
from adaptc.formats.html.consent import consent_bars
from adaptc.formats.html.forms import Forms, find_forms
from adaptc.formats.html.visible_text import is_followable, walk

if TYPE_CHECKING:
    from turbohtml import Document

__all__ = ["VIEWPORTS", "ShownPage", "hidden_from_reader"]

# Widths of windows, CSS pixels: a telephone and a desktop
VIEWPORTS = (412, 1280)
_MAY_HIDE = re.compile(r"none|hidden|collapse|opacity|height|left|translate", re.IGNORECASE)
_UNSHOWN = frozenset({
    "script", "style", "template", "noscript", "title", "head", "noframes", "noembed", "datalist", "param", "source",
    "track", "colgroup", "area",
})  # fmt: skip
_CONTROLS = frozenset({"input", "select", "textarea", "button"})
_PICTURES = frozenset({"img", "svg", "picture", "video", "audio", "iframe", "object", "embed", "canvas", "math"})


class ShownPage:
    """A page with its style sheets in order."""

    def __init__(self, tree: Document, sheets: Sequence[str]) -> None:
        self.body, self._tree = tree.select_one("body"), tree
        self._cascade = Cascade(tree, sheets)
        self._bars = set(consent_bars(self._cascade))
        styled = (each for each in tree.select("[style]") if _MAY_HIDE.search(each.attr("style") or ""))
        self._suspects = {*self._cascade.hidden_by(*HIDING), *styled, *tree.select("[hidden], dialog:not([open])")}

    def nodes(self, width: float) -> Iterator[Text | Element]:
        """Return the visible text nodes and elements at a width."""
        if self.body is None:
            return iter(())
        hidden = {each for each in self._suspects if self._is_hidden(each, width)} | self._bars
        if not hidden.isdisjoint((self.body, *self.body.ancestors)):
            return iter(())
        return walk(self.body, lambda each: each not in hidden and not _is_unshown(each))

    def is_blank(self, width: float) -> bool:
        """Whether there is nothing to see at a width."""
        return not any(map(_is_content, self.nodes(width)))

    def text_length(self, width: float) -> int:
        """Return the count of visible characters, white space left out."""
        return sum(len("".join(node.data.split())) for node in self.nodes(width) if isinstance(node, Text))

    def links(self, width: float) -> set[str]:
        """Return the ``href`` of the links that show something, of those that lead anywhere without scripts."""
        links, showing = list[Element](), set[Element]()
        for node in self.nodes(width):
            if isinstance(node, Element) and node.tag == "a" and is_followable(node.attr("href")):
                links.append(node)
            if _shows(node):
                showing.update(_links_around(node))
        return {link.attr("href") or "" for link in links if link in showing}

    def control_names(self, width: float) -> set[str]:
        """Return what the visible controls send that belong to a form that works."""
        nodes = self.nodes(width)
        controls = (each for each in nodes if isinstance(each, Element) and each.tag in _CONTROLS and _is_usable(each))
        return {each.attr("name") or "" for each in controls if self._forms.is_working(each)} - {""}

    @cached_property
    def hrefs(self) -> frozenset[str]:
        """The ``href`` of all links, hidden ones included."""
        return frozenset(link.attr("href") or "" for link in self._tree.select("a[href]"))

    @cached_property
    def _forms(self) -> Forms:
        return find_forms(self._tree)

    def _is_hidden(self, element: Element, width: float) -> bool:
        if element.tag == "dialog" and "open" not in element.attrs:
            return True
        return bool(self._cascade.hiding(element, width))


def _is_unshown(element: Element) -> bool:
    return element.tag in _UNSHOWN and "shadowrootmode" not in element.attrs


def _links_around(node: Text | Element) -> Iterator[Element]:
    """Yield the links that a click on a node follows: a disabled button takes it."""
    for each in (node, *node.ancestors):
        if isinstance(each, Element):
            if each.tag == "button" and "disabled" in each.attrs:
                return
            if each.tag == "a":
                yield each


def _shows(node: Text | Element) -> bool:
    """Whether a node by itself shows something: text, a picture, a control, or a box without content, as an icon."""
    if isinstance(node, Text):
        return bool(node.data.strip())
    if node.tag in _CONTROLS:
        return _is_usable(node)
    return node.tag in _PICTURES or not any(True for _ in node.children)


def _is_usable(control: Element) -> bool:
    return "disabled" not in control.attrs and (control.attr("type") or "").lower() != "hidden"


def _is_content(node: Text | Element) -> bool:
    """Whether a node by itself is something to read, to look at or to fill in."""
    if isinstance(node, Text):
        return bool(node.data.strip())
    if node.tag == "svg":
        return any(isinstance(child, Element) and child.tag in _DRAWING for child in node.children)
    if node.tag == "img":
        return len(node.attr("src") or "") > _LONGEST_BLANK or not (node.attr("src") or "data:").startswith("data:")
    return node.tag in _PICTURES or node.tag in _CONTROLS or node.tag == "template"  # of a shadow root


_DRAWING = frozenset({"path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "g", "use", "image"})
_LONGEST_BLANK = 200  # characters of the data URI of an empty picture


def hidden_from_reader(before: ShownPage, after: ShownPage) -> list[str]:
    """Return what a page still holds but hides now, as sentences: text, links, controls of forms that work."""
    return [sentence for width in VIEWPORTS for sentence in _hidden(before, after, width)]


def _hidden(before: ShownPage, after: ShownPage, width: int) -> Iterator[str]:
    lost = [href for href in sorted(before.links(width) - after.links(width)) if href in after.hrefs]
    if lost:
        yield f"links are hidden at {width} pixels: {', '.join(lost[:_NAMED])}"
    controls = before.control_names(width) - after.control_names(width)
    if controls:
        yield f"controls are hidden or disabled at {width} pixels: {', '.join(sorted(controls)[:_NAMED])}"
    old, new = before.text_length(width), after.text_length(width)
    if new < _LEAST_SHARE * old and old - new > _FEWEST_LOST:
        yield f"{new:,} of {old:,} characters are visible at {width} pixels"


_NAMED = 3  # items that a sentence names
_FEWEST_LOST = 200  # characters, more than a note that the page loads has
_LEAST_SHARE = 0.5  # of the visible text: a level may leave out advertisements and repeated navigation
