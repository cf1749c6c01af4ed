"""What lies over a page until a script removes it: preloaders, bars that ask for consent to cookies, and what a browser
saw there: dialogues, drawers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.passes.remove_scripts.widths import WIDTHS
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_words
from adaptc.formats.html.consent import consent_bars
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.visible_text import content_length

if TYPE_CHECKING:
    from turbohtml import Document, Element


_NAMES = frozenset({"preloader", "preload", "loader", "loading", "spinner", "splash", "pageloader", "siteloader"})
_SMALL = 40  # characters of text in a preloader, at most: "Loading, please wait"
_CONTENT = "a[href], form, input, p, h1, h2, h3, table, ul, main, article"


_LEAST = 0.25  # share of the text of a window under a cover; a header hides a line
_MOST = 0.5  # share of the page's text in a cover
_PAGE = "main, [role=main], article, h1"
# A window of this width, CSS pixels, stands for those up to a tablet, another one for the rest
_PHONE, _LARGEST_PHONE = 412, 767


def seen_covers(evidence: PageEvidence | None, tree: Document) -> dict[Element, frozenset[int]]:
    """Return the elements that a browser saw over the text of the page, with the ``WIDTHS`` at which they are there."""
    covers: dict[Element, frozenset[int]] = {}
    for seen in evidence.widths if evidence is not None else ():
        widths = frozenset(width for width in WIDTHS if (width <= _LARGEST_PHONE) == (seen.width <= _PHONE))
        for cover in seen.covers:
            element = tree.select_one(cover.selector) if cover.share >= _LEAST else None
            if element is not None and (element.attr("class") or "") == cover.classes and _is_apart(element, tree):
                covers[element] = covers.get(element, frozenset()) | widths
    return covers


def _is_apart(element: Element, tree: Document) -> bool:
    """Whether an element is no part of what the page is about."""
    if element.matches(_PAGE) or element.select_one(_PAGE) is not None:
        return False
    return content_length(element) <= _MOST * content_length(tree)


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
