"""What opens a closed drop-down without scripts: pointing at its control, and the focus in it.

A drop-down that is shown over the page stays closed. Its rule refers to where its control is: in the same small box,
just before it, or anywhere (with ``:has``) where the control names it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from turbohtml import Element

from adaptc.compile.passes.prerendered.added_rules import WIDTHS, Marks
from adaptc.compile.passes.prerendered.controls import words_of
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.forms import pointed_at, script_controls
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.html.visible_text import content_length, is_followable

if TYPE_CHECKING:
    from turbohtml import Document

_PICTURES = "img, svg, i"
# Boxes that may hold nothing but a control and its drop-down
_ITEMS = frozenset({"li", "div", "span", "p", "td", "dd", "dt", "nav"})
_LONGEST = 60  # characters of a control, a badge and the like
_LEVELS = 2  # from a drop-down up to the box of its control
_CONTROLS = "a, button, input, label, [role=button], [tabindex], [aria-haspopup], [aria-expanded]"
_FOCUSABLE = "a[href], button, input, select, summary, [tabindex]"
# What a button that becomes a link keeps, and the sign of one without words
_KEPT = ("class", "id", "title", "aria-label")
# (in the opposite of the colour that it is on: that of the icon before may be an image's)
_MENU_SIGN = '<span style="color:#fff!important;background:none!important;mix-blend-mode:difference">&#9776;</span>'
# Ids that are written alike in an address
_ID = re.compile(r"[\w.:-]+", re.ASCII)
# What a visitor does with the control; a pointer cannot leave what covers the page
_POINTING_OR_FOCUS, _FOCUS = ":is(:hover,:focus-within)", ":focus-within"


class Openers:
    """The controls of one page that open what stays closed; ``used`` are those that a rule refers to."""

    def __init__(self, tree: Document, marks: Marks) -> None:
        self._marks = marks
        self._by_id: dict[str, Element] = {}
        for control in script_controls(tree):
            for identity in pointed_at(control):
                self._by_id.setdefault(identity, control)
        self.used: dict[Element, None] = {}

    def in_own_box(self, closed: Element, hidden: Collection[Element], state: str = _POINTING_OR_FOCUS) -> str | None:
        """Return the selector of a rule that opens an element, called ``&``, by the one control in the box around it.

        ``hidden`` are all elements that are closed: a control is not in them. ``None`` if there is no such control.
        """
        own_box = self._box(closed, frozenset(hidden))
        return None if own_box is None else f"{state}{'>*' * own_box}>&"

    def selector(self, closed: Element, hidden: Collection[Element], *, by_focus: bool = False) -> str | None:
        """Return the selector of a rule that opens an element by its control, wherever that is; ``None`` without one.

        With ``by_focus`` pointing at the control does not open it.
        """
        state = _FOCUS if by_focus else _POINTING_OR_FOCUS
        in_own_box = self.in_own_box(closed, hidden, state)
        if in_own_box is not None:
            return in_own_box
        neighbour = _previous(closed)
        if neighbour is not None and neighbour not in hidden and _is_control(neighbour):
            self._use(neighbour)
            return f"{state}+&,&{state}"
        control = self._by_id.get(closed.attr("id") or "")
        if control is None or control in closed.ancestors or closed in control.ancestors:
            return None
        self._use(control)
        return f":root:has({self._marks.selector_of(control)}{state}) &,&{state}"

    def link_to(self, closed: Element, hidden: Collection[Element]) -> str:
        """Make the control of a closed menu a link to it, in place or next to it.

        Returns the beginning of selectors for the time in which that was followed, ``""`` if there is no such control.
        Telephones point at nothing, and some give buttons no focus.
        """
        identity = closed.attr("id") or ""
        control = self._by_id.get(identity)
        if control is None or control.tag not in ("a", "button") or not _ID.fullmatch(identity):
            return ""
        if not frozenset(hidden).isdisjoint((control, *control.ancestors)) or not self._lead(control, identity):
            return ""
        self.used[control] = None
        return f":root:has({self._marks.selector_of(closed)}:is(:target,:has(:target))) "

    def _lead(self, control: Element, identity: str) -> bool:
        """Make a control a link to an element of the page; returns whether it can be one."""
        href, editor = f"#{identity}", self._marks.editor
        if control.tag == "a":
            if is_followable(control.attr("href")) and control.attr("href") != href:
                return False
            editor.set_attribute(control, "href", href)
            return True
        if control.closest("a, form") is not None:
            return False
        kept = [(name, control.attr(name)) for name in _KEPT if name in control.attrs]
        attributes = "".join(f" {attribute_markup(name, value)}" for name, value in kept)
        style = attribute_markup("style", f"{control.attr('style') or ''};text-decoration:none".lstrip(";"))
        words = text_markup(words_of(control)) or _MENU_SIGN
        editor.replace_element(control, f"<a {attribute_markup('href', href)}{attributes} {style}>{words}</a>")
        return True

    def _box(self, closed: Element, hidden: frozenset[Element]) -> int | None:
        """Return how many elements are between a drop-down and the box that holds it and its one control."""
        inner = closed
        for level in range(_LEVELS):
            box = inner.parent
            if not isinstance(box, Element) or box.tag not in _ITEMS:
                return None
            others = [each for each in _elements(box) if each is not inner]
            if box_length := content_length(box) - content_length(inner) or any(map(_has_picture, others)):
                controls = [each for other in others for each in (other, *other.select(_CONTROLS)) if _is_control(each)]
                is_single = len(_outermost(controls)) <= 1 and hidden.isdisjoint(others)
                if box_length > _LONGEST or not is_single:
                    return None
                self._use((controls or others or [box])[0], is_box=not (controls or others))
                return level
            inner = box
        return None

    def _use(self, control: Element, *, is_box: bool = False) -> None:
        """Take an element as a control, and make it focusable; what is in a box may be closed."""
        self.used[control] = None
        if not control.matches(_FOCUSABLE) and (is_box or control.select_one(_FOCUSABLE) is None):
            self._marks.editor.set_attribute(control, "tabindex", "0")


def _elements(box: Element) -> Iterator[Element]:
    return (each for each in box.children if isinstance(each, Element))


def _has_picture(element: Element) -> bool:
    return element.matches(_PICTURES) or element.select_one(_PICTURES) is not None


def _is_control(element: Element) -> bool:
    return element.matches(_CONTROLS)


def _outermost(controls: list[Element]) -> list[Element]:
    listed = frozenset(controls)
    return [each for each in controls if listed.isdisjoint(each.ancestors)]


def _previous(element: Element) -> Element | None:
    return next((each for each in element.previous_siblings if isinstance(each, Element)), None)


# ---- Panels that radio buttons choose, as the tabs of code blocks in VitePress: they change without scripts, too

_WIDTH = WIDTHS[-1]


def choice_panels(cascade: Cascade) -> dict[Element, Element]:
    """Return the panels that radio buttons choose, each with its radio button."""
    return {panel: radio for radios in _groups(cascade) for radio, panel in _pairs(cascade, radios)}


def add_choice(marks: Marks, panel: Element, radio: Element) -> None:
    """Add the rules by which a radio button shows its panel while it is checked."""
    chosen = marks.selector_of(radio)
    marks.add(panel, f":root:has({chosen}:checked) &{{display:revert!important}}")
    marks.add(panel, f":root:has({chosen}:not(:checked)) &{{display:none!important}}")


def _groups(cascade: Cascade) -> Iterator[list[Element]]:
    """Yield the radio buttons of one parent and name."""
    groups: dict[tuple[object, str], list[Element]] = {}
    for radio in cascade.tree.select("input[type=radio][name]"):
        if radio.parent is not None:
            groups.setdefault((radio.parent, radio.attr("name") or ""), []).append(radio)
    return (radios for radios in groups.values() if len(radios) > 1)


def _pairs(cascade: Cascade, radios: list[Element]) -> list[tuple[Element, Element]]:
    """Pair radio buttons with the panels after them: as many, with only that of the checked button visible."""
    parent = radios[0].parent
    box = next(_elements_of(parent.next_siblings), None) if parent is not None else None
    panels = list(_elements_of(box.children)) if box is not None else []
    if len(panels) != len(radios):
        return []
    pairs = list(zip(radios, panels, strict=True))
    hidden = {panel for panel in panels if "display" in cascade.hiding(panel, _WIDTH)}
    is_chosen = all(("checked" in radio.attrs) == (panel not in hidden) for radio, panel in pairs)
    if len(hidden) != len(panels) - 1 or not is_chosen:
        return []
    return [] if any(cascade.is_shown_by_state(panel, "display") for panel in hidden) else pairs


def _elements_of(nodes: Iterable[object]) -> Iterator[Element]:
    from turbohtml import Element

    return (each for each in nodes if isinstance(each, Element))
