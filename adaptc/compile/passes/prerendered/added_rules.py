"""The rules that are written into a page: at some widths, for single elements, for what libraries show by script."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count, groupby
from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

# ---- The widths of windows at which a page is examined, and media queries for some of them

# CSS pixels: below each usual breakpoint (Bootstrap's, and 600, 800 and 1024), and a desktop
WIDTHS = (412, 575, 599, 639, 767, 799, 991, 1023, 1199, 1280)
NARROW = frozenset(WIDTHS[:-1])


def media_rules(rule: str, widths: Collection[int]) -> Iterator[str]:
    """Yield a rule for windows of some of ``WIDTHS``, each width standing for those down to the one before it."""
    for is_in, group in groupby(range(len(WIDTHS)), lambda index: WIDTHS[index] in widths):
        if is_in:
            run = list(group)
            lowest = f"(min-width:{WIDTHS[run[0] - 1] + 1}px)" if run[0] else ""
            highest = f"(max-width:{WIDTHS[run[-1]]}.98px)" if run[-1] < len(WIDTHS) - 1 else ""
            query = " and ".join(filter(None, (lowest, highest)))
            yield f"@media{query}{{{rule}}}" if query else rule


# ---- Rules for single elements: numbered, with an attribute that lists the numbers of an element's rules

MARK = "data-adaptc-shown"
# Two ids in specificity, so that no "!important" of the page's wins
_STRONG = ":not(#_):not(#_)"


class Marks:
    """The rules that a pass adds to a page, each for the elements that it concerns."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self._next = count(1)
        self._rules: dict[str, int] = {}
        self._names: dict[Element, int] = {}
        self._numbers: dict[Element, list[int]] = {}

    def add(self, element: Element, rule: str) -> None:
        """Apply a rule to an element, which it calls ``&``."""
        number = self._rules.get(rule)
        if number is None:
            number = self._rules[rule] = next(self._next)
        numbers = self._numbers.setdefault(element, [])
        if number not in numbers:
            numbers.append(number)

    def selector_of(self, element: Element) -> str:
        """Return a selector for an element alone, which rules of others may name."""
        number = self._names.get(element)
        if number is None:
            number = self._names[element] = next(self._next)
            self._numbers.setdefault(element, []).append(number)
        return _selector(number)

    def write(self, others: str) -> None:
        """Write the rules, and ``others``, at the end of the head."""
        for element, numbers in self._numbers.items():
            self.editor.set_attribute(element, MARK, " ".join(map(str, numbers)))
        own = (rule.replace("&", f"{_selector(number)}{_STRONG}") for rule, number in self._rules.items())
        text = "".join(own) + others
        head = self.editor.tree.select_one("head")
        if text and head is not None:
            self.editor.append(head, f"<style>{text}</style>")


def _selector(number: int) -> str:
    return f'[{MARK}~="{number}"]'


# ---- Rules for what libraries show or hide by script: drop-downs of Bootstrap and UIkit, carousels, slides

DROP_DOWN_MENUS = ".dropdown-menu"
_DROPDOWNS = "[data-toggle=dropdown],[data-bs-toggle=dropdown],[data-mdb-toggle=dropdown]"
_DROPDOWN_RULE = (
    ":hover>.dropdown-menu,:focus-within>.dropdown-menu{display:block!important;visibility:visible!important;"
    "opacity:1!important;transform:none!important;pointer-events:auto!important}"
)
# Slides are next to each other, to be scrolled by hand.
_CAROUSEL_RULE = (
    ".carousel-inner{display:flex!important;overflow-x:auto!important;scroll-snap-type:x mandatory}"
    ".carousel-inner>*{display:block!important;flex:0 0 100%;margin-right:0!important;scroll-snap-align:start;"
    "position:relative!important;left:0!important;transform:none!important;opacity:1!important}"
)
# UIkit hides these by a class that its script sets.
_UIKIT = "[uk-dropdown],[uk-drop],.uk-navbar-dropdown"
_UIKIT_RULE = (
    ":is([uk-dropdown],[uk-drop],.uk-navbar-dropdown){display:none!important;position:absolute!important;z-index:1020}"
    ":is(:hover,:focus-within)>.uk-navbar-dropdown,:is(:hover,:focus)+:is([uk-dropdown],[uk-drop]),"
    ":is([uk-dropdown],[uk-drop]):is(:hover,:focus-within){display:block!important}"
)
# The slides of reveal.js are one above the other, as in print; its script would set the class with the background.
_SLIDES = ".reveal>.slides>section"
_SLIDES_RULE = (
    "html,body{height:auto!important;overflow:auto!important}.reveal{background:var(--r-background-color)}"
    ".reveal,.reveal>.slides,.reveal .slides section{display:block!important;position:static!important;"
    "width:auto!important;height:auto!important;margin:0!important;overflow:visible!important;transform:none!important;"
    "opacity:1!important;visibility:visible!important;perspective:none!important;pointer-events:auto!important}"
    ".reveal .slides section:not(:has(>section)){padding:2em 1em!important}"
    ".reveal .fragment{opacity:1!important;visibility:visible!important;transform:none!important}"
)
_RULES = (
    (_SLIDES, _SLIDES_RULE),
    (_UIKIT, _UIKIT_RULE),
    (_DROPDOWNS, _DROPDOWN_RULE),
    (".carousel-inner", _CAROUSEL_RULE),
)


def library_rules(editor: Editor) -> tuple[str, list[Element]]:
    """Return the rules that a page needs, and the controls that open its drop-downs."""
    openers = editor.tree.select(f"{_DROPDOWNS},.uk-button:has(+[uk-dropdown],+[uk-drop])")
    for opener in openers:
        editor.set_attribute(opener, "tabindex", "0")  # a focus opens the menu: on a telephone nothing hovers
    rules = (rule for selector, rule in _RULES if editor.tree.select_one(selector) is not None)
    return "".join(rules), openers
