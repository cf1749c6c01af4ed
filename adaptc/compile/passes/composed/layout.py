"""What style sheets say of a page that is written anew: what never shows, what stands in a row, the site's colour.

A form holds what it says once it is sent or filled in wrongly. Words that no white space separates, as those of a
label and its figure, are apart because one is a box of its own.
"""

from __future__ import annotations

import colorsys
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from tinycss2 import parse_component_value_list
from turbohtml import Document, Element

from adaptc.formats.css.colours import as_hex, contrast, opaque_colour
from adaptc.formats.css.visibility import visibility_rules
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.idle import consent_bars
from adaptc.formats.html.shown import VIEWPORTS

_COLOURS = frozenset({"color", "background-color", "background"})
_VARIABLE = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,\s*([^()]+))?\)$")
_ROOTS = frozenset({":root", "html", "body", "*", ":host", ""})
_MOST_VARIABLES = 4  # that refer to each other
_MOVED = ("left", "margin-left")  # out of the window
_PROPERTIES = frozenset({"display", "float", "visibility", "height", "max-height", "flex-direction", *_MOVED})
_STRUCK = frozenset({"text-decoration", "text-decoration-line"})
_INLINE = frozenset({"", "inline", "contents", "none", "revert", "initial", "unset", "inherit"})
_BOX_INLINE = "inline-block"
_ROWS = frozenset({"flex", "inline-flex"})
_SPREADING = _ROWS | {"grid", "inline-grid"}
_FLOATING = frozenset({"left", "right", "inline-start", "inline-end"})
_LIVE = "form, [role=alert], [role=status], [aria-live]"
_PHRASES = frozenset({"span", "small", "i", "em", "b", "strong"})
_CONTROLS = "input, select, textarea, button"
_WORD = re.compile(r"[\w-]+")  # of which ids are made


class Layout:
    """The layout of one page; ``sheets`` are its style sheets in order, ``text`` is its source."""

    def __init__(self, tree: Document, sheets: Sequence[str], text: str) -> None:
        self.sheets, self._text, self._tree = tuple(sheets), text, tree
        self._cascade = Cascade(tree, self.sheets, _PROPERTIES)

    @cached_property
    def _hidden(self) -> dict[Element, frozenset[float]]:
        """The elements that some rule hides, with the widths at which it does."""
        found = {each: self.hiding_widths(each) for each in self._cascade.hidden_by("display", "visibility")}
        return {each: widths for each, widths in found.items() if widths}

    def hiding_widths(self, element: Element) -> frozenset[float]:
        """Return the widths of the window at which a rule hides an element."""
        return frozenset(width for width in VIEWPORTS if self._cascade.hiding(element, width))

    def messages(self) -> Iterator[Element]:
        """Yield what is hidden in forms and alerts until a script shows it; not what the page refers to by its id.

        The words of a tooltip within a line of text are hidden, too, until a reader points at it.
        """
        hidden = (each for each, widths in self._hidden.items() if len(widths) == len(VIEWPORTS))
        moved = (each for each in self._cascade.hidden_by(*_MOVED) if self._is_shown_by_state(each, _MOVED))
        for element in (*hidden, *moved):
            if element.tag in _PHRASES and element.closest("a, p, li, label") is not None:
                yield element
        for element in self.unseen():
            has_controls = element.matches(_CONTROLS) or element.select_one(_CONTROLS) is not None
            if element.closest(_LIVE) is not None and not has_controls and not self._is_named(element):
                yield element

    def unseen(self) -> Iterator[Element]:
        """Yield the elements that are hidden in every window, whatever a reader points at."""
        for element, widths in self._hidden.items():
            if len(widths) == len(VIEWPORTS) and not self._is_shown_by_state(element):
                yield element

    def consent_bars(self) -> list[Element]:
        """Return what asks for consent to what a page without scripts does not do."""
        return consent_bars(Cascade(self._tree, self.sheets))

    def _is_shown_by_state(self, element: Element, names: Sequence[str] = ("display", "visibility")) -> bool:
        return any(self._cascade.is_shown_by_state(element, name) for name in names)

    def _is_named(self, element: Element) -> bool:
        """Whether the page names an element's id elsewhere; ids that are there twice, as in two forms, name nothing."""
        name = element.attr("id") or ""
        said = min((self._words[word] for word in _WORD.findall(name)), default=0)
        return said > self._ids[name]

    @cached_property
    def _words(self) -> Counter[str]:
        return Counter(_WORD.findall(self._text))

    @cached_property
    def _ids(self) -> Counter[str]:
        return Counter(each.attr("id") or "" for each in self._tree.select("[id]"))

    @cached_property
    def struck(self) -> frozenset[Element]:
        """The elements through whose words a line goes: a price that is no more."""
        if not any("line-through" in each for each in (self._text, *self.sheets)):
            return frozenset()
        cascade = Cascade(self._tree, self.sheets, _STRUCK)
        found = (each for name in _STRUCK for each in cascade.elements_with(name, "line-through"))
        return frozenset(each for each in found if each.tag not in ("s", "del", "strike"))

    def is_hidden_somewhere(self, element: Element) -> bool:
        """Whether an element, or one around it, is hidden in some window."""
        return element in self._hidden or any(each in self._hidden for each in element.ancestors)

    def is_row(self, element: Element) -> bool:
        """Whether the children of an element stand next to each other in every window."""
        for width in VIEWPORTS:
            direction = self._cascade.value(element, "flex-direction", width)
            if self._cascade.value(element, "display", width) not in _ROWS or direction.startswith("column"):
                return False
        return True

    def is_spread(self, element: Element, child: Element) -> bool:
        """Whether the children of an element, ``child`` one of them, stand next to each other in a wide window."""
        width = max(VIEWPORTS)
        if self._cascade.value(child, "float", width) in _FLOATING:
            return True
        is_column = self._cascade.value(element, "flex-direction", width).startswith("column")
        return self._cascade.value(element, "display", width) in _SPREADING and not is_column

    def colour(self, element: Element, name: str) -> str:
        """Return the value of a property that has a colour, variables resolved where the root declares them."""
        value = self._colours.value(element, name, max(VIEWPORTS))
        for _ in range(_MOST_VARIABLES):
            match = _VARIABLE.match(value)
            if match is None:
                return value
            value = self._variable(match[1]) or match[2] or ""
        return ""

    @cached_property
    def _colours(self) -> Cascade:
        return Cascade(self._tree, self.sheets, _COLOURS)

    def _variable(self, name: str) -> str:
        rules = (rule for text in self.sheets for rule in visibility_rules(text, frozenset({name})))
        values = [value for rule in rules if rule.selector in _ROOTS for _, value, _ in rule.values]
        return values[0] if values else ""

    def is_apart(self, element: Element) -> bool:
        """Whether an element of a line of text is a box of its own, so that space is around it."""
        parent = element.parent
        if isinstance(parent, Element) and any(each in _SPREADING for each in self._values(parent, "display")):
            return True
        if any(each in _FLOATING for each in self._values(element, "float")):
            return True
        displays = set(self._values(element, "display")) - _INLINE
        return bool(displays) and (displays != {_BOX_INLINE} or len(element.text.strip()) > 1)

    def _values(self, element: Element, name: str) -> Iterator[str]:
        return (self._cascade.value(element, name, width) for width in VIEWPORTS)


# The site's accent colour, as it can be read: in light and in dark.
#
# It is what the page declares for the browser (``theme-color``), what its links have, or the background of its header.
# A colour without hue says nothing; one without contrast is made darker or lighter until it has 4.5 (WCAG 2.2, 1.4.3).


_Colour = tuple[int, int, int]

_LIGHT, _DARK = (255, 255, 255), (18, 18, 18)  # browsers' own pages
_LEAST_CONTRAST = 4.5
_LEAST_SATURATION = 0.25
_STEPS = 40
_DEFAULT = ((11, 87, 208), (138, 180, 248))
_PLACES = (
    ("main a[href], article a[href], p a[href]", ("color",)),
    ("header, .header, #header, .navbar, nav", ("background-color", "background")),
    ("button, .btn, .button", ("background-color", "background")),
    ("a[href]", ("color",)),
)


def accents(tree: Document, layout: Layout, chosen: str = "") -> tuple[str, str]:
    """Return the accent colour for a light and for a dark page, as CSS; ``chosen`` is one that the user sets."""
    colour = _parsed(chosen) or next(filter(_has_hue, _candidates(tree, layout)), None)
    pair = _DEFAULT if colour is None else (_readable(colour, _LIGHT), _readable(colour, _DARK))
    light, dark = map(as_hex, pair)
    return light, dark


def _candidates(tree: Document, layout: Layout) -> Iterator[_Colour]:
    for meta in tree.select("meta[name=theme-color i][content]"):
        if (colour := _parsed(meta.attr("content") or "")) is not None:
            yield colour
    for selector, properties in _PLACES:
        element = tree.select_one(selector)
        values = (layout.colour(element, name) for name in properties) if element is not None else ()
        yield from filter(None, map(_parsed, values))


def _parsed(value: str) -> _Colour | None:
    return opaque_colour(parse_component_value_list(value)) if value else None


def _has_hue(colour: _Colour) -> bool:
    _, lightness, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in colour))
    return saturation >= _LEAST_SATURATION and 0.1 < lightness < 0.9


def _readable(colour: _Colour, ground: _Colour) -> _Colour:
    """Return the nearest colour of the same hue that can be read on a ground."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in colour))
    end = 0.0 if ground == _LIGHT else 1.0
    for step in range(_STEPS + 1):
        shade = lightness + (end - lightness) * step / _STEPS
        red, green, blue = (round(channel * 255) for channel in colorsys.hls_to_rgb(hue, shade, saturation))
        if contrast((red, green, blue), ground) >= _LEAST_CONTRAST:
            return red, green, blue
    return (0, 0, 0) if ground == _LIGHT else (255, 255, 255)
