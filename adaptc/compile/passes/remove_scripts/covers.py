"""What covers a page until a script takes it away: preloaders, splash screens, spinners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor
from adaptc.formats.html.landmarks import content_length, words

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["uncover"]

_NAMES = frozenset({"preloader", "preload", "loader", "loading", "spinner", "splash", "pageloader", "siteloader"})
_SMALL = 40  # characters that a cover says at most: "Loading, please wait"
_CONTENT = "a[href], form, input, p, h1, h2, h3, table, ul, main, article"


def uncover(editor: Editor) -> int:
    """Take covers away, or hide those that have a name or say something ("Loading"); returns how many there were."""
    found = [each for each in editor.tree.select("body *") if _is_cover(each)]
    for element in found:
        if element.text.strip() or "id" in element.attrs or element.select_one("[id]") is not None:
            editor.set_attribute(element, "style", "display:none!important")
        else:
            editor.remove_element(element)
    return len(found)


def _is_cover(element: Element) -> bool:
    if element.tag not in ("div", "section", "span", "aside", "figure") or _NAMES.isdisjoint(words(element)):
        return False
    return content_length(element) <= _SMALL and element.select_one(_CONTENT) is None
