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

from adaptc.core.values import dataclass
from adaptc.formats.html.cascade import HIDING, Cascade
from adaptc.formats.html.forms import Forms, control_type, find_forms
from adaptc.formats.html.idle import consent_bars
from adaptc.formats.html.landmarks import find_landmarks
from adaptc.formats.html.visible_text import TextLengths, is_followable, walk

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
# As a query; the content of a template is not in the page, its declarative shadow root neither
_UNSHOWN_ELEMENTS = ", ".join(sorted(_UNSHOWN))
_CONTROLS = frozenset({"input", "select", "textarea", "button"})
_CONTROL_ELEMENTS = ", ".join(sorted(_CONTROLS))
_PICTURES = frozenset({"img", "svg", "picture", "video", "audio", "iframe", "object", "embed", "canvas", "math"})


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is visible of a page: links, controls, and how many characters."""

    links: frozenset[str]
    control_names: frozenset[str]
    text_length: int


_NOTHING = _Sight(frozenset(), frozenset(), 0)


class ShownPage:
    """A page with its style sheets in order."""

    def __init__(self, tree: Document, sheets: Sequence[str]) -> None:
        self.body, self._tree = tree.select_one("body"), tree
        self._cascade = Cascade(tree, sheets)
        self._bars = frozenset(consent_bars(self._cascade))
        styled = (each for each in tree.select("[style]") if _MAY_HIDE.search(each.attr("style") or ""))
        self._suspects = {*self._cascade.hidden_by(*HIDING), *styled, *tree.select("[hidden], dialog:not([open])")}
        self._hidden_at: dict[float, frozenset[Element]] = {}
        self._sights: dict[frozenset[Element], _Sight] = {}

    def nodes(self, width: float) -> Iterator[Text | Element]:
        """Return the visible text nodes and elements at a width."""
        if self.body is None:
            return iter(())
        hidden = self._hidden(width)
        if not hidden.isdisjoint((self.body, *self.body.ancestors)):
            return iter(())
        return walk(
            self.body,
            lambda each: each not in hidden and not (each.tag in _UNSHOWN and "shadowrootmode" not in each.attrs),
        )

    def is_blank(self, width: float) -> bool:
        """Whether there is nothing to see at a width."""
        return not any(map(_is_content, self.nodes(width)))

    def text_length(self, width: float) -> int:
        """Return the count of visible characters, white space left out."""
        return self._sight(width).text_length

    def content_length(self, width: float) -> int:
        """Return the count of visible characters outside of the navigation, of which levels leave parts out."""
        if self.body is None:
            return 0
        unseen = self._hidden(width).union(self.body.select(_UNSHOWN_ELEMENTS))
        return TextLengths(self.body, unseen.union(find_landmarks(self._tree).navigation)).of(self.body)

    def links(self, width: float) -> frozenset[str]:
        """Return the ``href`` of the links that show something, of those that lead anywhere without scripts."""
        return self._sight(width).links

    def control_names(self, width: float) -> frozenset[str]:
        """Return what the visible controls send that belong to a form that works."""
        return self._sight(width).control_names

    def _hidden(self, width: float) -> frozenset[Element]:
        known = self._hidden_at.get(width)
        if known is None:
            hidden = (each for each in self._suspects if self._is_hidden(each, width))
            known = self._hidden_at[width] = self._bars.union(hidden)
        return known

    def _sight(self, width: float) -> _Sight:
        """Return what is visible at a width; most pages hide the same at all."""
        hidden = self._hidden(width)
        known = self._sights.get(hidden)
        if known is None:
            known = self._sights[hidden] = self._look(hidden)
        return known

    def _look(self, hidden: frozenset[Element]) -> _Sight:
        """Find what is visible by queries from the outside in: looking at each node takes ten times as long."""
        body = self.body
        if body is None or not hidden.isdisjoint((body, *body.ancestors)):
            return _NOTHING
        unseen = hidden.union(body.select(_UNSHOWN_ELEMENTS))
        controls = (
            each for each in body.select(_CONTROL_ELEMENTS) if _is_usable(each) and self._forms.has_effect(each)
        )
        sent = (each.attr("name") or "" for each in controls if not _is_in(each, unseen))
        names = {name.removesuffix(".x") for name in sent} - {""}  # as an image that is a button sends it
        links = (each for each in body.select("a[href]") if is_followable(each.attr("href")))
        hrefs = {each.attr("href") or "" for each in links if not _is_in(each, unseen) and _shows_within(each, unseen)}
        return _Sight(frozenset(hrefs), frozenset(names), TextLengths(body, unseen).of(body))

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


def _is_in(element: Element, unseen: frozenset[Element]) -> bool:
    return element in unseen or not unseen.isdisjoint(element.ancestors)


def _shows_within(link: Element, unseen: frozenset[Element]) -> bool:
    """Whether a link or something in it shows; a disabled button in it takes the click."""

    def enters(element: Element) -> bool:
        return element not in unseen and not (element.tag == "button" and "disabled" in element.attrs)

    return _shows(link) or any(map(_shows, walk(link, enters)))


def _shows(node: Text | Element) -> bool:
    """Whether a node by itself shows something: text, a picture, a control, or a box without content, as an icon."""
    if isinstance(node, Text):
        return bool(node.data.strip())
    if node.tag in _CONTROLS:
        return _is_usable(node)
    return node.tag in _PICTURES or not any(True for _ in node.children)


def _is_usable(control: Element) -> bool:
    return "disabled" not in control.attrs and control_type(control) != "hidden"


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
    lengths = before.text_length(width), after.text_length(width)
    if _is_lost(*lengths) and _is_lost(before.content_length(width), after.content_length(width)):
        yield f"{lengths[1]:,} of {lengths[0]:,} characters are visible at {width} pixels"


def _is_lost(before: int, after: int) -> bool:
    return after < _LEAST_SHARE * before and before - after > _FEWEST_LOST


_NAMED = 3  # items that a sentence names
_FEWEST_LOST = 200  # characters, more than a note that the page loads has
_LEAST_SHARE = 0.5  # of the visible text: a level may leave out advertisements and repeated navigation
