"""What lies over a page until a script removes it: preloaders, and bars that ask for consent to cookies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.consent import consent_bars
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.landmarks import class_words
from adaptc.formats.html.visible_text import content_length

if TYPE_CHECKING:
    from turbohtml import Element


_NAMES = frozenset({"preloader", "preload", "loader", "loading", "spinner", "splash", "pageloader", "siteloader"})
_SMALL = 40  # characters of text in a preloader, at most: "Loading, please wait"
_CONTENT = "a[href], form, input, p, h1, h2, h3, table, ul, main, article"


def remove_covers(editor: Editor, cascade: Cascade) -> int:
    """Remove covers, or hide those with an id or a text ("Loading"); returns their number."""
    preloaders = (each for each in editor.tree.select("body *") if _is_preloader(each))
    covers = list(dict.fromkeys((*preloaders, *consent_bars(cascade))))
    for element in covers:
        if element.text.strip() or "id" in element.attrs or element.select_one("[id]") is not None:
            editor.set_attribute(element, "style", "display:none!important")
        else:
            editor.remove_element(element)
    return len(covers)


def _is_preloader(element: Element) -> bool:
    if element.tag not in ("div", "section", "span", "aside", "figure") or _NAMES.isdisjoint(class_words(element)):
        return False
    return content_length(element) <= _SMALL and element.select_one(_CONTENT) is None
