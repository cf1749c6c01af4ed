"""Cards: boxes whose height is that of an image, with text that lies over it, or is drawn up to it.

Without the image such a box has no height, and its text lies over what follows or goes before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turbohtml import Document, Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.visible_text import content_texts

_POSITIONED = frozenset({"relative", "absolute", "fixed", "sticky"})
_WIDTHS = (412, 1280)
_LEVELS = 5  # from an image up to its card
_MARGINS = ("margin", "margin-top")
_UP = re.compile(r"-([\d.]+)(px|r?em)(?:\s|$)")
_LEAST = 20  # CSS pixels that text is drawn up, at least; less only closes a gap
_CONTROLS = "a[href], button, input, select"


class Cards:
    """The cards of one page."""

    def __init__(self, tree: Document, sheets: Iterable[str]) -> None:
        sheets = tuple(sheets)
        self._cascade = Cascade(tree, sheets)
        self._margins = Cascade(tree, sheets, frozenset(_MARGINS))
        over = [each for each in self._cascade.elements_with("position", "absolute") if _shows_something(each)]
        self._texts: dict[Element, list[Element]] = {}
        for each in over:
            container = self._container(each) if self._is_over(each) else None
            if container is not None:
                self._texts.setdefault(container, []).append(each)

    def holds(self, image: Element) -> bool:
        """Whether an image gives a card its height."""
        texts = (text for box in _boxes_around(image) for text in self._texts.get(box, ()))
        has_text_over = any(text not in image.ancestors for text in texts)
        return (has_text_over or self._is_before_drawn_up(image)) and not self._is_over(image)

    def _is_before_drawn_up(self, image: Element) -> bool:
        """Whether the next text after an image is drawn up by a negative margin: over it, or up to it."""
        for box in (image, *_boxes_around(image)):
            following = next((each for each in box.next_siblings if isinstance(each, Element)), None)
            if following is not None:
                return _shows_something(following) and any(self._is_drawn_up(following, width) for width in _WIDTHS)
        return False

    def _is_drawn_up(self, element: Element, width: int) -> bool:
        found = (_UP.match(self._margins.value(element, name, width)) for name in _MARGINS)
        return any(float(each[1]) * (1 if each[2] == "px" else 16) >= _LEAST for each in found if each is not None)

    def _is_over(self, element: Element) -> bool:
        return any(self._position(element, width) in ("absolute", "fixed") for width in _WIDTHS)

    def _container(self, element: Element) -> Element | None:
        """Return the box that an element is positioned in."""
        ancestors = (each for each in element.ancestors if isinstance(each, Element))
        return next((each for each in ancestors if self._position(each, _WIDTHS[-1]) in _POSITIONED), None)

    def _position(self, element: Element, width: int) -> str:
        return self._cascade.value(element, "position", width)


def _boxes_around(image: Element) -> Iterator[Element]:
    for level, each in enumerate(image.ancestors):
        if level == _LEVELS or not isinstance(each, Element) or each.tag in ("body", "main", "article"):
            return
        yield each


def _shows_something(element: Element) -> bool:
    return next(content_texts(element), None) is not None or element.matches(_CONTROLS)
