"""Show what style sheets hide until a script shows it, by rules for single elements.

What is hidden for good stays hidden. An element is shown if a control of the page or a library refers to it, if only
its opacity or visibility hides it, or if it contains links that are nowhere else on the page; and if no ``:hover``,
``:checked`` or the like shows it.

Nothing that is shown lies over the page: where an element is positioned over it, its control opens it by ``:hover`` and
``:focus-within``, or it moves into the flow, at once or when a link to it is followed (``:target``), or it stays
closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from adaptc.compile.passes.prerendered.added_rules import (
    DROP_DOWN_MENUS,
    NARROW,
    WIDTHS,
    Marks,
    library_rules,
    media_rules,
)
from adaptc.compile.passes.prerendered.controls import script_targets
from adaptc.compile.passes.prerendered.menus import MENU_HIDING, Menus, is_menu
from adaptc.compile.passes.prerendered.openers import Openers, add_choice, choice_panels
from adaptc.compile.passes.prerendered.places import RELEASED, Places, is_bar, is_of_page_frame
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.forms import Forms, find_forms
from adaptc.formats.html.visible_text import content_length, content_texts

if TYPE_CHECKING:
    from turbohtml import Element


_SHOWING = {
    "display": "display:revert",
    "visibility": "visibility:visible",
    "opacity": "opacity:1;transform:none",
    "max-height": "max-height:none",
    "height": "height:auto",
    "transform": "transform:none",
    "left": "left:auto",
    "right": "right:auto",
}
_EFFECTS = ("opacity", "visibility")
_HEIGHTS = frozenset({"height", "max-height"})
# Of a menu that opens from the side, mostly in front of the page
_MENU_HEIGHT = "max-height:40vh;min-height:0;overflow:auto"
_BOXES = frozenset({"div", "nav", "aside", "section", "header", "footer", "article", "form", "ul", "ol", "dl"})
# Of a box that moves into the flow: it holds what is positioned in it, and nothing sticks out of it.
_IN_FLOW = (
    "position:relative;inset:auto;float:none;width:auto;height:auto;min-height:0;margin:0;transform:none;"
    "contain:content;z-index:auto"
)
# Of what a link leads to: what opens it, and how far it stays below the edge of the window
_FOLLOWED, _BELOW_BAR = "&:is(:target,:has(:target))", "scroll-margin-top:4rem"
# Of a drop-down that a script would position
_DROPPED = "position:absolute;z-index:99"
# Colours for text that was over a picture, white on dark, and now is in front of it
_PLAIN = "color:#222!important;background:#fff!important"
_PICTURES = "img, video, audio, iframe, object, svg, input, select, textarea, button"
_CONTROLS = "input, select, textarea, button"
_MEDIA = "a[href], img, video, audio, iframe, object"
_FORM_CONTROLS = "input:not([type=hidden]), select, textarea"
_MOST = 0.5  # share of a navigation's text in the element that holds its links
_LARGE = 0.3  # share of the page's text in an element that is no overlay but the page


class Kind(Enum):
    """Why an element may be shown."""

    TARGET = auto()  # a control or a library refers to it
    EFFECT = auto()  # it has content, and only its opacity or visibility hides it
    MENU = auto()  # its links are nowhere else, and a control opens menus
    DROP_DOWN = auto()  # its links are nowhere else


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An element, and the properties by which it may be hidden, at the widths at which each does."""

    element: Element
    kind: Kind
    hiding: dict[int, tuple[str, ...]]

    def properties(self, widths: Iterable[int]) -> tuple[str, ...]:
        """Return what hides it at some widths."""
        return tuple(dict.fromkeys(name for width in widths for name in self.hiding[width]))


@dataclass(frozen=True, slots=True)
class Shown:
    """How many elements are shown or can be opened, and the controls that open some of them."""

    count: int
    openers: frozenset[Element]


def show_hidden(
    editor: Editor,
    sheets: Iterable[str],
    is_served: Callable[[Element], bool] = lambda _: True,
) -> Shown:
    """Show what only scripts would show, where ``is_served`` says that these were removed."""
    cascade, marks = Cascade(editor.tree, tuple(sheets)), Marks(editor)
    menus, openers = Menus(cascade, WIDTHS), Openers(editor.tree, marks)
    choices = {panel: radio for panel, radio in choice_panels(cascade).items() if is_served(panel)}
    candidates = [
        each for each in _candidates(cascade, menus) if each.element not in choices and is_served(each.element)
    ]
    shows = _Show(cascade, marks, openers, frozenset(each.element for each in candidates))
    plans = [(each, plan) for each in candidates if (plan := shows.plan(each)) is not None]
    closed = {each.element for each, plan in plans if plan.is_closed}
    count = 0
    for candidate, plan in plans:
        if plan.rules and closed.isdisjoint(candidate.element.ancestors):
            count += 1
            for element, rule in plan.rules:
                marks.add(element, rule)
    for panel, radio in choices.items():
        add_choice(marks, panel, radio)
    rules, own_openers = library_rules(editor)
    marks.write(rules)
    return Shown(count + len(choices), frozenset((*openers.used, *own_openers)))


def _candidates(cascade: Cascade, menus: Menus) -> Iterator[_Candidate]:
    """Yield each element that may be shown once."""
    seen: set[Element] = set()
    for element, kind, names in _by_kind(cascade, menus):
        if element in seen:
            continue
        seen.add(element)
        needed = [width for width in WIDTHS if menus.is_needed(element, width)]
        if kind is Kind.EFFECT:  # what has no height as well is hidden for good
            needed = [width for width in needed if _HEIGHTS.isdisjoint(cascade.hiding(element, width))]
        hiding = {
            width: undone
            for width in needed
            if (undone := tuple(name for name in cascade.hiding(element, width) if name in names))
        }
        is_opened = any(cascade.is_shown_by_state(element, name) for names in hiding.values() for name in names)
        if hiding and not is_opened:
            yield _Candidate(element, kind, hiding)


def _by_kind(cascade: Cascade, menus: Menus) -> Iterator[tuple[Element, Kind, tuple[str, ...]]]:
    targets = script_targets(cascade.tree)
    for element in targets:
        yield element, Kind.TARGET, tuple(_SHOWING)
    for element in menus.unreachable(targets):
        yield element, Kind.MENU, (*MENU_HIDING, "opacity")
    for element in menus.links_of_bars():
        yield element, Kind.MENU, MENU_HIDING
    for element in menus.drop_downs():
        if not element.matches(DROP_DOWN_MENUS):
            yield element, Kind.DROP_DOWN, (*MENU_HIDING, "opacity")
    for element in cascade.hidden_by(*_EFFECTS):
        if _has_content(element):
            yield element, Kind.EFFECT, _EFFECTS


def _is_idle(element: Element, forms: Forms) -> bool:
    """Whether an element holds nothing but controls that only scripts listen to: an overlay for a search, say."""
    controls = element.select(_CONTROLS)
    has_words = content_length(element) > sum(map(content_length, element.select("button")))
    has_more = has_words or element.select_one(_MEDIA) is not None
    return bool(controls) and not has_more and not any(map(forms.is_working, controls))


def _has_content(element: Element) -> bool:
    return next(content_texts(element), None) is not None or element.select_one(_PICTURES) is not None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The rules that show an element, each with the element that it is for.

    ``is_closed`` says that it stays closed, and that what is visible in it would be seen.
    """

    rules: tuple[tuple[Element, str], ...]
    is_closed: bool = False


class _Show:
    """Decides how the candidates of one page are shown."""

    def __init__(self, cascade: Cascade, marks: Marks, openers: Openers, hidden: frozenset[Element]) -> None:
        self._cascade, self._marks, self._openers, self._hidden = cascade, marks, openers, hidden
        self._places, self._forms = Places(cascade), find_forms(cascade.tree)
        self._page_length = content_length(cascade.tree)

    def plan(self, candidate: _Candidate) -> _Plan | None:
        """Return how an element is shown, ``None`` if it stays as it is."""
        over = [width for width in candidate.hiding if self._lies_over(candidate, width)]
        rules = [] if candidate.kind is Kind.DROP_DOWN else self._in_place(candidate, set(candidate.hiding) - set(over))
        if not over:
            return _Plan(tuple(rules)) if rules else None
        opened = self._opened(candidate, over)
        if opened is None and candidate.kind in (Kind.TARGET, Kind.MENU):
            moved = self._moved(candidate, over)
            if moved is not None:
                return _Plan((*rules, *moved))
        is_inherited = all("visibility" in candidate.hiding.get(width, ()) for width in WIDTHS)
        return _Plan((*rules, *(opened or ())), is_inherited)

    def _lies_over(self, candidate: _Candidate, width: int) -> bool:
        """Whether an element would lie over the page if it were shown where it is."""
        element = candidate.element
        if not self._places.is_over(element, width):
            is_grown = candidate.kind is Kind.TARGET and width not in NARROW
            return is_grown and self._places.is_in_tight_bar(element, width)
        if candidate.kind is not Kind.EFFECT:
            return True
        if element.select_one("main, h1") is not None or content_length(element) > _LARGE * self._page_length:
            return False
        is_inert = self._cascade.value(element, "pointer-events", width) == "none"
        is_overlay = is_inert or "visibility" in candidate.hiding[width] or self._places.is_fixed(element, width)
        return is_overlay or is_of_page_frame(element) or element.select_one(_FORM_CONTROLS) is not None

    def _in_place(self, candidate: _Candidate, widths: set[int]) -> list[tuple[Element, str]]:
        """Return the rules that show an element where it is."""
        if not widths:
            return []
        element, wanted = candidate.element, self._showing(candidate, widths)
        is_of_menu = candidate.kind is Kind.MENU or _is_navigation(element)
        is_low = element.tag != "a" and max(widths) < WIDTHS[-1]
        is_linked = is_low and (is_of_menu or element.closest("nav") is not None)
        if is_linked and (state := self._openers.link_to(element, self._hidden)):
            return [*self._rules(element, wanted, widths, _FOLLOWED), *self._room(candidate, widths, state=state)]
        rules = self._rules(element, [*wanted, *([_MENU_HEIGHT] if is_low and is_of_menu else [])], widths)
        return [*rules, *self._room(candidate, widths)]

    def _opened(self, candidate: _Candidate, widths: list[int]) -> list[tuple[Element, str]] | None:
        """Return the rules by which a control opens an element where it is, ``None`` if none does."""
        selector = self._opener(candidate, widths)
        if selector is None:
            return None
        is_over = all(self._places.is_over(candidate.element, width) for width in widths)
        wanted = [*self._showing(candidate, widths), "pointer-events:auto", *([] if is_over else [_DROPPED])]
        return self._rules(candidate.element, wanted, widths, selector)

    def _opener(self, candidate: _Candidate, widths: list[int]) -> str | None:
        element, by_focus = candidate.element, candidate.kind is Kind.EFFECT
        if any(self._places.is_fixed(element, width) for width in widths) and not by_focus:
            return None
        if candidate.kind is Kind.MENU:  # the navigation of the page is shown rather than opened
            return self._openers.in_own_box(element, self._hidden)
        return self._openers.selector(element, self._hidden, by_focus=by_focus)

    def _moved(self, candidate: _Candidate, widths: list[int]) -> list[tuple[Element, str]] | None:
        """Return the rules that show an element in the flow of the page, ``None`` if it stays closed."""
        element = candidate.element
        is_list = is_menu(element)
        wide = set(widths) - NARROW  # in narrow windows the bar makes room
        if _is_idle(element, self._forms):
            return None
        if not (candidate.kind is Kind.MENU and is_list) and self._is_in_tight_bar(element, wide):
            return None
        wanted = [*self._showing(candidate, widths), _IN_FLOW]
        if candidate.kind is Kind.MENU or is_list:
            wanted.append(_MENU_HEIGHT)
        if self._is_linked(candidate):
            return self._rules(element, [*wanted, _BELOW_BAR], widths, _FOLLOWED)
        rules = [*self._rules(element, wanted, widths), *self._room(candidate, set(widths), is_moved=True)]
        if self._places.has_moved_parts(element, widths):  # an effect that a script ends, and the box would cut
            rules += self._rules(element, ["transform:none"], widths, "&>*")
        for part in element.select("*:has(a[href])"):  # as the foot of a sidebar, which would lie over its links
            if any(self._places.is_over(part, width) for width in widths):
                rules += self._rules(part, ["position:static"], widths)
        return rules

    def _is_linked(self, candidate: _Candidate) -> bool:
        """Whether a link leads to a dialogue, which stays closed until it is followed."""
        element, identity = candidate.element, candidate.element.attr("id")
        if candidate.kind is not Kind.TARGET or not identity or is_menu(element) or element.select_one("nav"):
            return False
        links = (link for link in self._cascade.tree.select("a[href^='#']") if link.attr("href") == f"#{identity}")
        return any(element not in link.ancestors for link in links)

    def _is_in_tight_bar(self, element: Element, widths: Iterable[int]) -> bool:
        return any(self._places.is_in_tight_bar(element, width) for width in widths)

    def _room(
        self, candidate: _Candidate, widths: set[int], *, is_moved: bool = False, state: str = ""
    ) -> Iterator[tuple[Element, str]]:
        """Yield the rules by which the page makes room for an element that grows, while its root matches ``state``."""
        if candidate.kind is Kind.EFFECT or not (candidate.kind is Kind.MENU or is_moved or widths <= NARROW):
            return
        element = candidate.element
        released: list[Element] = []
        for other, declarations in self._places.room(element, widths, is_moved=is_moved):
            if declarations == RELEASED and other in element.ancestors:
                released.append(other)
            yield from self._rules(other, [declarations], widths, f"{state}&")
        if released:  # a bar over a picture is written in white as a whole
            plain = next(filter(is_bar, reversed(released)), element)
            yield from ((plain, rule) for rule in media_rules(f"{state}&,{state}& *{{{_PLAIN}}}", widths))

    def _showing(self, candidate: _Candidate, widths: Iterable[int]) -> list[str]:
        return [_showing_declarations(candidate.element, name) for name in candidate.properties(widths)]

    def _rules(
        self, element: Element, wanted: list[str], widths: Iterable[int], selector: str = "&"
    ) -> list[tuple[Element, str]]:
        important = _important(";".join(wanted))
        return [(element, rule) for rule in media_rules(f"{selector}{{{important}}}", set(widths))]


def _is_navigation(element: Element) -> bool:
    """Whether an element is most of a navigation, which may be longer than a small window is high."""
    around = element.closest("nav")
    return around is not None and content_length(element) > _MOST * content_length(around)


def _important(declarations: str) -> str:
    return ";".join(f"{each}!important" for each in dict.fromkeys(declarations.split(";")))


def _showing_declarations(element: Element, name: str) -> str:
    """Return the declarations against a property that hides; a box keeps its floats inside."""
    return "display:flow-root" if name == "display" and element.tag in _BOXES else _SHOWING[name]
