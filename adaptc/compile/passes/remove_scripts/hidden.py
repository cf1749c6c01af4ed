"""Show what style sheets hide until a script shows it, by rules for single elements.

What is hidden for good stays hidden. An element is shown if a control of the page or a library refers to it, if only
its opacity or visibility hides it, or if it contains links that are nowhere else on the page; and if no ``:hover``,
``:checked`` or the like shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adaptc.compile.passes.remove_scripts.controls import script_targets
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.landmarks import class_words
from adaptc.formats.html.visible_text import content_length, content_texts, is_followable

if TYPE_CHECKING:
    from turbohtml import Element


MARK = "data-adaptc-shown"
# Two ids in specificity, so that no "!important" of the page's wins
_STRONG = ":not(#_):not(#_)"
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
# Of a menu that opens from the side, mostly in front of the page
_MENU_HEIGHT = "max-height:40vh;overflow:auto"
_BOXES = frozenset({"div", "nav", "aside", "section", "header", "footer", "article", "form", "ul", "ol", "dl"})
_MENU = ("display", "transform", "left", "visibility", "opacity")
# Dialogues and menus over the page move into its flow.
_OVER = frozenset({"fixed", "absolute"})
# Colours for text that was over a picture, white on dark, and now is in front of it
_PLAIN = "color:#222!important;background:#fff!important"
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
_PICTURES = "img, video, audio, iframe, object, svg, input, select, textarea, button"


def show_hidden(editor: Editor, sheets: Iterable[str], is_served: Callable[[Element], bool] = lambda _: True) -> int:
    """Show what only scripts would show, where ``is_served`` says that these were removed.

    Returns the number of elements.
    """
    cascade = Cascade(editor.tree, tuple(sheets))
    menus = Menus(cascade, _WIDTHS)
    marks = _Marks(editor)
    count = 0
    for element, names in _candidates(cascade, menus):
        rule = _show_rule(cascade, menus, element, names)
        if rule is None or not is_served(element):
            continue
        count += 1
        marks.add(element, rule.rule())
        _move_into_flow(marks, element, rule, list(_covering(cascade, element, rule)))
    marks.write(_library_rules(editor))
    return count


def _move_into_flow(marks: _Marks, element: Element, rule: _ShowRule, covering: list[Element]) -> None:
    """Move the ancestors that cover the page into its flow, and make the text of the element readable there."""
    for ancestor in covering:
        marks.add(ancestor, replace(rule, declarations="position:static!important").rule())
    if covering:
        plain = replace(rule, declarations=_PLAIN)
        marks.add(element, plain.rule())
        marks.add(element, plain.rule("& *"))


class _Marks:
    """Rules for single elements, numbered; an attribute of an element lists the numbers of its rules."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.rules: dict[str, int] = {}
        self.numbers: dict[Element, list[int]] = {}

    def add(self, element: Element, rule: str) -> None:
        """Apply a rule to an element, which it calls ``&``."""
        number = self.rules.setdefault(rule, len(self.rules) + 1)
        numbers = self.numbers.setdefault(element, [])
        if number not in numbers:
            numbers.append(number)

    def write(self, others: str) -> None:
        """Write the rules, and ``others``, at the end of the head."""
        for element, numbers in self.numbers.items():
            self.editor.set_attribute(element, MARK, " ".join(map(str, numbers)))
        own = (rule.replace("&", f'[{MARK}~="{number}"]{_STRONG}') for rule, number in self.rules.items())
        text = "".join(own) + others
        head = self.editor.tree.select_one("head")
        if text and head is not None:
            self.editor.append(head, f"<style>{text}</style>")


def _library_rules(editor: Editor) -> str:
    for opener in editor.tree.select(_DROPDOWNS):
        editor.set_attribute(opener, "tabindex", "0")  # a focus opens the menu: on a telephone nothing hovers
    return "".join(rule for selector, rule in _LIBRARY_RULES if editor.tree.select_one(selector) is not None)


_LIBRARY_RULES = ((_DROPDOWNS, _DROPDOWN_RULE), (".carousel-inner", _CAROUSEL_RULE))


def _candidates(cascade: Cascade, menus: Menus) -> Iterator[tuple[Element, tuple[str, ...]]]:
    """Yield elements with the properties by which they may be hidden."""
    seen: set[Element] = set()
    for element in script_targets(cascade.tree):
        seen.add(element)
        yield element, tuple(_SHOWING)
    for element in cascade.hidden_by("opacity", "visibility"):
        if element not in seen and _has_content(element):
            seen.add(element)
            yield element, ("opacity", "visibility")
    for element in menus.unreachable():
        if element not in seen:
            yield element, _MENU


def _has_content(element: Element) -> bool:
    return next(content_texts(element), None) is not None or element.select_one(_PICTURES) is not None


def _showing_declarations(element: Element, name: str) -> str:
    """Return the declarations against one that hides; a box keeps its floats inside."""
    return "display:flow-root" if name == "display" and element.tag in _BOXES else _SHOWING[name]


@dataclass(frozen=True, slots=True)
class _ShowRule:
    """Declarations that show an element, up to a width of the window; 0 means any width."""

    declarations: str
    widest: int = 0

    def rule(self, subject: str = "&") -> str:
        """Return the rule, with ``&`` for the element."""
        rule = f"{subject}{{{self.declarations}}}"
        return f"@media(max-width:{self.widest}.98px){{{rule}}}" if self.widest else rule


def _show_rule(cascade: Cascade, menus: Menus, element: Element, names: tuple[str, ...]) -> _ShowRule | None:
    """Return the rule that shows an element at the widths that hide it, ``None`` if it needs none."""
    needed = [width for width in _WIDTHS if menus.is_needed(element, width)]
    hidden = {width: [name for name in cascade.hiding(element, width) if name in names] for width in needed}
    hiding = tuple(dict.fromkeys(name for names in hidden.values() for name in names))
    if not hiding or any(cascade.is_shown_by_state(element, name) for name in hiding):
        return None
    widest = max(width for width, names in hidden.items() if names)
    wanted = [*(_showing_declarations(element, name) for name in hiding), *_in_place(cascade, element, hiding)]
    if names is _MENU and widest < _WIDTHS[-1]:
        wanted.append(_MENU_HEIGHT)
    important = ";".join(
        f"{declaration}!important" for declarations in wanted for declaration in declarations.split(";")
    )
    return _ShowRule(important, 0 if widest == _WIDTHS[-1] else widest)


def _in_place(cascade: Cascade, element: Element, hiding: tuple[str, ...]) -> Iterator[str]:
    """Yield declarations that move a box into the flow that would cover others."""
    if _OPENED.isdisjoint(hiding) or not _is_over(cascade, element):
        return
    yield "position:static;float:none;width:auto;height:auto"


_OPENED = frozenset({"display", "transform", "left"})


def _is_over(cascade: Cascade, element: Element) -> bool:
    return cascade.value(element, "position", _WIDTHS[0]) in _OVER


def _covering(cascade: Cascade, element: Element, rule: _ShowRule) -> Iterator[Element]:
    """Yield the ancestors that would cover the page when an element is shown in narrow windows."""
    from turbohtml import Element

    if rule.widest and "display" in rule.declarations:
        around = (each for each in element.ancestors if isinstance(each, Element))
        yield from (each for each in around if _is_over(cascade, each))


_FEWEST = 3  # links that make a menu
_LINKED = 0.8  # share of a menu's characters in links
_HIDING = ("display", "visibility", "transform", "left")
# Most controls that open a menu have a name that says so: "menu_toggle", "hamburger", "sidebar-trigger"
_OPENERS = (
    "button, [role=button], label, a:not([href]), a[href='#'], a[href^='javascript:'], div[onclick], span[onclick]"
)
_OPENING = frozenset({"toggle", "toggler", "toggles", "hamburger", "burger", "trigger", "opener", "menubtn", "navbtn"})


class Menus:
    """The menus of one page, and which links are visible at which width of the window."""

    def __init__(self, cascade: Cascade, widths: tuple[int, ...]) -> None:
        hiding = [each for each in cascade.hidden_by(*_HIDING) if not _opens_by_itself(cascade, each)]
        self._closed = {width: {each for each in hiding if _is_hidden(cascade, each, width)} for width in widths}
        links = cascade.tree.select("a[href]")
        self._links = [(link, link.attr("href")) for link in links if is_followable(link.attr("href"))]
        self._open = {width: self._seen(closed) for width, closed in self._closed.items()}
        self._has_opener = any(not _OPENING.isdisjoint(class_words(each)) for each in cascade.tree.select(_OPENERS))
        self._narrowest = widths[0]

    def _seen(self, closed: set[Element]) -> set[str | None]:
        return {href for link, href in self._links if link not in closed and closed.isdisjoint(link.ancestors)}

    def unreachable(self) -> list[Element]:
        """Return what is hidden in narrow windows and has links that are nowhere else; a control must open it."""
        if not self._has_opener:
            return []
        closed = self._closed[self._narrowest]
        return [each for each in closed if len(self._only_in(each, self._narrowest)) >= _FEWEST]

    def is_needed(self, element: Element, width: int) -> bool:
        """Whether an element shows what is not visible elsewhere at some width: anything except repeated links."""
        return not _is_menu(element) or bool(self._only_in(element, width))

    def _only_in(self, element: Element, width: int) -> set[str | None]:
        own = {link.attr("href") for link in element.select("a[href]") if is_followable(link.attr("href"))}
        return own - self._open[width]


def _is_menu(element: Element) -> bool:
    links = element.select("a[href]")
    linked = sum(map(content_length, links))
    return len(links) >= _FEWEST and linked >= _LINKED * content_length(element)


def _is_hidden(cascade: Cascade, element: Element, width: int) -> bool:
    return any(name in _HIDING for name in cascade.hiding(element, width))


def _opens_by_itself(cascade: Cascade, element: Element) -> bool:
    return any(cascade.is_shown_by_state(element, name) for name in _HIDING)
