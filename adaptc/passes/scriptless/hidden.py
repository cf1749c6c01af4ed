"""What style sheets hide until a script shows it: shown at once, by rules for just these elements.

Nothing is shown that was hidden for good: an element is only shown if a control of the page or a library points at it,
or if it is there but for its opacity or visibility, and no ``:hover``, ``:checked`` or the like shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.html.cascade import Cascade
from adaptc.html.edit import Editor
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
}
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
            yield element, ("opacity", "visibility")


def _has_content(element: Element) -> bool:
    return next(in_content(element), None) is not None or element.select_one(_PICTURES) is not None


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
    is_over = "display" in found and cascade.value(element, "position", _WIDTHS[0]) in _OVER
    return ";position:static" if is_over else ""
