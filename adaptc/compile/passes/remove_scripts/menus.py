"""Menus that a script would open, and whether a visitor needs them: their links may stand elsewhere on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.labels import is_followed
from adaptc.formats.html.landmarks import content_length, words

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["Menus"]

_FEWEST = 3  # links that make a menu
_LINKED = 0.8  # share of a menu's characters that stand in links
_HIDING = ("display", "visibility", "transform", "left")
# A control that opens a menu says so by its name, mostly: "menu_toggle", "hamburger", "sidebar-trigger"
_OPENERS = (
    "button, [role=button], label, a:not([href]), a[href='#'], a[href^='javascript:'], div[onclick], span[onclick]"
)
_OPENING = frozenset({"toggle", "toggler", "toggles", "hamburger", "burger", "trigger", "opener", "menubtn", "navbtn"})


class Menus:
    """The menus of one page, and which links can be seen at which width of the window."""

    def __init__(self, cascade: Cascade, widths: tuple[int, ...]) -> None:
        hiding = [each for each in cascade.hidden_by(*_HIDING) if not _opens_by_itself(cascade, each)]
        self._closed = {width: {each for each in hiding if _is_hidden(cascade, each, width)} for width in widths}
        links = cascade.tree.select("a[href]")
        self._links = [(link, link.attr("href")) for link in links if is_followed(link.attr("href"))]
        self._open = {width: self._seen(closed) for width, closed in self._closed.items()}
        self._has_opener = any(not _OPENING.isdisjoint(words(each)) for each in cascade.tree.select(_OPENERS))
        self._narrowest = widths[0]

    def _seen(self, closed: set[Element]) -> set[str | None]:
        return {href for link, href in self._links if link not in closed and closed.isdisjoint(link.ancestors)}

    def lost(self) -> list[Element]:
        """Return what hides in narrow windows, with links that a visitor finds nowhere else; a control must open it."""
        if not self._has_opener:
            return []
        closed = self._closed[self._narrowest]
        return [each for each in closed if len(self._only_in(each, self._narrowest)) >= _FEWEST]

    def is_needed(self, element: Element, width: int) -> bool:
        """Whether an element says what cannot be seen elsewhere at some width: anything but the links of a menu."""
        return not _is_menu(element) or bool(self._only_in(element, width))

    def _only_in(self, element: Element, width: int) -> set[str | None]:
        own = {link.attr("href") for link in element.select("a[href]") if is_followed(link.attr("href"))}
        return own - self._open[width]


def _is_menu(element: Element) -> bool:
    links = element.select("a[href]")
    linked = sum(map(content_length, links))
    return len(links) >= _FEWEST and linked >= _LINKED * content_length(element)


def _is_hidden(cascade: Cascade, element: Element, width: int) -> bool:
    return any(name in _HIDING for name in cascade.hiding(element, width))


def _opens_by_itself(cascade: Cascade, element: Element) -> bool:
    return any(cascade.is_shown_by_state(element, name) for name in _HIDING)
