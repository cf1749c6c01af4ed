"""What style sheets hide until a script shows it: shown at once, by rules for just these elements.

Nothing is shown that was hidden for good. An element is shown if a control of the page or a library points at it, if
it is there but for its opacity or visibility, or if it holds links that are nowhere else on the page; and if no
``:hover``, ``:checked`` or the like shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.html.cascade import Cascade
from adaptc.html.edit import Editor
from adaptc.html.labels import is_followed
from adaptc.html.landmarks import in_content
from adaptc.passes.scriptless.targets import script_targets

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["MARK", "show_hidden"]

MARK = "data-adaptc-shown"
# Widths of windows, CSS pixels: below each usual breakpoint (Bootstrap's, and 600, 800 and 1024), and a desktop
_WIDTHS = (412, 575, 599, 639, 767, 799, 991, 1023, 1199, 1280)
_SHOWING = {
    "display": "display:revert",
    "visibility": "visibility:visible",
    "opacity": "opacity:1;transform:none",
    "max-height": "max-height:none",
    "height": "height:auto",
    "transform": "transform:none",
    "left": "left:auto",
}
# Of a menu that opens from the side
_MENU = ("display", "transform", "left", "visibility", "opacity")
_FEWEST = 3  # links that make a menu
# A dialogue that stands over the page stands in it then; so do menus.
_OVER = frozenset({"fixed", "absolute"})
_DROPDOWNS = "[data-toggle=dropdown],[data-bs-toggle=dropdown],[data-mdb-toggle=dropdown]"
_DROPDOWN_RULE = (
    ":hover>.dropdown-menu,:focus-within>.dropdown-menu{display:block!important;visibility:visible!important;"
    "opacity:1!important;transform:none!important;pointer-events:auto!important}"
)
# Slides stand side by side, to be moved by hand.
_CAROUSEL_RULE = (
    ".carousel-inner{display:flex!important;overflow-x:auto!important;scroll-snap-type:x mandatory}"
    ".carousel-inner>*{display:block!important;flex:0 0 100%;margin-right:0!important;scroll-snap-align:start;"
    "position:relative!important;left:0!important;transform:none!important;opacity:1!important}"
)
_PICTURES = "img, video, audio, iframe, object, svg, input, select, textarea, button"


def show_hidden(editor: Editor, sheets: Iterable[str]) -> int:
    """Show what only scripts would show; returns how many elements that are."""
    cascade = Cascade(editor.tree, tuple(sheets))
    rules: dict[str, int] = {}
    count = 0
    for element, names in _to_show(cascade):
        rule = _rule(cascade, element, names)
        if rule:
            editor.set_attribute(element, MARK, str(rules.setdefault(rule, len(rules) + 1)))
            count += 1
    for opener in editor.tree.select(_DROPDOWNS):
        editor.set_attribute(opener, "tabindex", "0")  # a focus opens the menu: on a telephone nothing hovers
    text = "".join(rule.replace("&", f'[{MARK}="{number}"]') for rule, number in rules.items())
    text += "".join(rule for selector, rule in _LIBRARY_RULES if editor.tree.select_one(selector) is not None)
    head = editor.tree.select_one("head")
    if text and head is not None:
        editor.append(head, f"<style>{text}</style>")
    return count


_LIBRARY_RULES = ((_DROPDOWNS, _DROPDOWN_RULE), (".carousel-inner", _CAROUSEL_RULE))


def _to_show(cascade: Cascade) -> Iterator[tuple[Element, tuple[str, ...]]]:
    """Yield elements with the properties by which they may be hidden."""
    seen: set[Element] = set()
    for element in script_targets(cascade.tree):
        seen.add(element)
        yield element, tuple(_SHOWING)
    for element in cascade.hidden_by("opacity", "visibility"):
        if element not in seen and _has_content(element):
            seen.add(element)
            yield element, ("opacity", "visibility")
    for element in hidden_menus(cascade):
        if element not in seen:
            yield element, _MENU


def _has_content(element: Element) -> bool:
    return next(in_content(element), None) is not None or element.select_one(_PICTURES) is not None


def hidden_menus(cascade: Cascade) -> Iterator[Element]:
    """Yield what hides at the narrowest width and holds links that a visitor finds nowhere else, outermost first."""
    hidden = list(dict.fromkeys(each for each in cascade.hidden_by("display", "transform", "left") if _is_menu(each)))
    closed = [each for each in hidden if cascade.hiding(each, _WIDTHS[0])]
    inside = {link for each in closed for link in each.select("a[href]")}
    open_links = {link.attr("href") for link in cascade.tree.select("a[href]") if link not in inside}
    for element in closed:
        lost = {link.attr("href") for link in element.select("a[href]") if is_followed(link.attr("href"))} - open_links
        if len(lost) >= _FEWEST:
            yield element


def _is_menu(element: Element) -> bool:
    return len(element.select("a[href]")) >= _FEWEST


def _rule(cascade: Cascade, element: Element, names: tuple[str, ...]) -> str:
    """Return the rule that shows an element at the widths at which it is hidden, ``""`` where it needs none."""
    hidden = {width: [name for name in cascade.hiding(element, width) if name in names] for width in _WIDTHS}
    found = tuple(dict.fromkeys(name for names in hidden.values() for name in names))
    if not found or any(cascade.is_shown_by_state(element, name) for name in found):
        return ""
    widest = max(width for width, names in hidden.items() if names)
    showing = ";".join(_SHOWING[name] for name in found) + _in_place(cascade, element, found)
    rule = "&{" + showing.replace(";", "!important;") + "!important}"
    return rule if widest == _WIDTHS[-1] else f"@media(max-width:{widest}.98px){{{rule}}}"


def _in_place(cascade: Cascade, element: Element, found: tuple[str, ...]) -> str:
    """Return what puts a box that would cover others into the flow."""
    if _OPENED.isdisjoint(found) or cascade.value(element, "position", _WIDTHS[0]) not in _OVER:
        return ""
    return ";position:static;width:auto;height:auto"


_OPENED = frozenset({"display", "transform", "left"})
