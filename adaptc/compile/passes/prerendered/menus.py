"""The menus of a page: which of their links a visitor sees, and which only a script would show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from turbohtml import Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_words
from adaptc.formats.html.visible_text import content_length, is_followable

__all__ = ["MENU_HIDING", "Menus", "is_menu"]

_FEWEST_OF_MENU = 3  # links that make a menu
_LINKED = 0.8  # share of a menu's characters in links
# The properties by which menus are hidden
MENU_HIDING = ("display", "visibility", "transform", "left", "right")
# Most controls that open a menu have a name that says so: "menu_toggle", "hamburger", "sidebar-trigger", or their icon
# has ("fa-bars", of which Read the Docs' theme makes a control)
_OPENERS = (
    "button, [role=button], label, a:not([href]), a[href^='#'], a[href^='javascript:'], div[onclick], span[onclick], "
    "i[data-toggle]"
)
_OPENING = frozenset({
    "toggle", "toggler", "toggles", "hamburger", "burger", "trigger", "opener", "menubtn", "navbtn", "sandwich",
    "bars",
})  # fmt: skip


class Menus:
    """The menus of one page, and which links are visible at which width of the window."""

    def __init__(self, cascade: Cascade, widths: tuple[int, ...]) -> None:
        hiding = [each for each in cascade.hidden_by(*MENU_HIDING) if not _opens_by_itself(cascade, each)]
        self._closed = {
            width: dict.fromkeys(each for each in hiding if _is_hidden(cascade, each, width)) for width in widths
        }
        links = cascade.tree.select("a[href]")
        self._links = [(link, link.attr("href")) for link in links if is_followable(link.attr("href"))]
        self._open = {width: self._seen(closed) for width, closed in self._closed.items()}
        self._has_opener = any(map(_opens_menu, cascade.tree.select(_OPENERS)))
        self._widths = widths

    def _seen(self, closed: Mapping[Element, None]) -> set[str | None]:
        hidden = closed.keys()
        return {href for link, href in self._links if link not in hidden and hidden.isdisjoint(link.ancestors)}

    def unreachable(self, shown: Iterable[Element]) -> Iterator[Element]:
        """Yield what is hidden in narrow windows and has links that are nowhere else; a control must open it.

        Of several menus with the same links one is enough: one of ``shown``, which are shown anyway, or the first.
        """
        narrowest, listed = self._widths[0], dict.fromkeys(shown)
        for element in self._closed[narrowest] if self._has_opener else ():
            links = self._only_in(element, narrowest)
            others = (each for each in listed if element not in each.ancestors and each not in element.ancestors)
            if len(links) >= _FEWEST_OF_MENU and not links <= {
                href for each in others for href in self._only_in(each, narrowest)
            }:
                listed[element] = None
                yield element

    def links_of_bars(self) -> Iterator[Element]:
        """Yield links of a navigation that are hidden one by one in narrow windows, and are nowhere else."""
        narrowest = self._widths[0]
        for element in self._closed[narrowest] if self._has_opener else ():
            is_alone = self._closed[narrowest].keys().isdisjoint(element.ancestors)
            is_of_bar = element.tag == "a" and element.closest("nav") is not None
            href = element.attr("href")
            if is_alone and is_of_bar and is_followable(href) and href not in self._open[narrowest]:
                yield element

    def drop_downs(self) -> list[Element]:
        """Return what is hidden at some width and has links that are nowhere else at that width."""
        closed = dict.fromkeys(each for width in self._widths for each in self._closed[width])
        return [each for each in closed if any(self._only_in(each, width) for width in self._widths)]

    def is_needed(self, element: Element, width: int) -> bool:
        """Whether an element shows what is not visible elsewhere at some width: anything except repeated links."""
        return bool(self._only_in(element, width)) or not is_menu(element)

    def _only_in(self, element: Element, width: int) -> set[str | None]:
        own = {link.attr("href") for link in element.select("a[href]") if is_followable(link.attr("href"))}
        return own - self._open[width]


def is_menu(element: Element) -> bool:
    """Whether an element is a list of links."""
    links = element.select("a[href]")
    return len(links) >= _FEWEST_OF_MENU and sum(map(content_length, links)) >= _LINKED * content_length(element)


def _opens_menu(control: Element) -> bool:
    """Whether the names of a control, its text or its target say that it opens a menu."""
    named = {control.text.strip().lower(), (control.attr("href") or "").lower().lstrip("#")}
    return "menu" in named or not _OPENING.isdisjoint(class_words(control))


def _is_hidden(cascade: Cascade, element: Element, width: int) -> bool:
    return any(name in MENU_HIDING for name in cascade.hiding(element, width))


def _opens_by_itself(cascade: Cascade, element: Element) -> bool:
    return any(cascade.is_shown_by_state(element, name) for name in MENU_HIDING)
