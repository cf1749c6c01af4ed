"""What style sheets say of a page that level text has to know: what never shows, and where words are apart.

A form holds what it says once it is sent or filled in wrongly. Words that no white space separates, as those of a label
and its figure, are apart because one is a box of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turbohtml import Document, Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.shown import VIEWPORTS

__all__ = ["Layout"]

_PROPERTIES = frozenset({"display", "float"})
_INLINE = frozenset({"", "inline", "contents", "none", "revert", "initial", "unset", "inherit"})
_BOX_INLINE = "inline-block"
_SPREADING = frozenset({"flex", "inline-flex", "grid", "inline-grid"})
_FLOATING = frozenset({"left", "right", "inline-start", "inline-end"})
_LIVE = "form, [role=alert], [role=status], [aria-live]"
_CONTROLS = "input, select, textarea, button"


class Layout:
    """The layout of one page; ``sheets`` are its style sheets in order, ``text`` is its source."""

    def __init__(self, tree: Document, sheets: Sequence[str], text: str) -> None:
        self._cascade, self._text = Cascade(tree, tuple(sheets), _PROPERTIES), text

    def messages(self) -> Iterator[Element]:
        """Yield what is hidden in forms and alerts until a script shows it; not what the page refers to by its id."""
        for element in self._cascade.hidden_by("display"):
            is_hidden = all("display" in self._cascade.hiding(element, width) for width in VIEWPORTS)
            is_named = bool(element.attr("id")) and self._text.count(element.attr("id") or "") > 1
            is_opened = is_named or self._cascade.is_shown_by_state(element, "display")
            if is_hidden and not is_opened and element.closest(_LIVE) is not None and not _has_controls(element):
                yield element

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


def _has_controls(element: Element) -> bool:
    return element.matches(_CONTROLS) or element.select_one(_CONTROLS) is not None
