"""Boxes that need scripts: those that scripts would draw in keep no room, and what lies over the page goes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.passes.remove_scripts.added_rules import WIDTHS
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_names, class_words
from adaptc.formats.html.consent import consent_bars
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.shown import VIEWPORTS
from adaptc.formats.html.visible_text import content_length

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from adaptc.compile.page.context import PageContext

__all__ = ["remove_covers", "seen_covers", "shrink_drawings"]

_BOXES = ("div", "figure", "section", "span")
_SHOWN = "*:not(script)"
_HEIGHTS = ("height", "min-height")
_BACKGROUNDS = ("background", "background-color", "background-image")
_LENGTH = re.compile(r"([\d.]+)(px|r?em|[sld]?vh)")
# In CSS pixels; a window counts as 800 high
_PIXELS = {"px": 1.0, "em": 16.0, "rem": 16.0}
_WINDOW = 8.0
_LEAST = 80  # CSS pixels: what is lower may be a bar or a line
_UNPAINTED = re.compile(r"(?:|none|transparent|inherit|initial|unset|0(?: 0)?)(?:\s*!important)?")
_SHRUNK = "height:auto!important;min-height:0!important"


def shrink_drawings(editor: Editor, page: PageContext, sheets: Iterable[str]) -> int:
    """Take the height from boxes that hold nothing but a canvas, or nothing at all where a script names them.

    A box with a background of its own is a decoration and stays. Returns the number of boxes.
    """
    shrunk = dict.fromkeys(box for canvas in editor.tree.iter_elements("canvas") for box in _boxes_around(canvas))
    mounts = list(_mounts(editor.tree, page))
    cascade = Cascade(editor.tree, tuple(sheets), frozenset((*_HEIGHTS, *_BACKGROUNDS))) if mounts else None
    for mount in mounts:
        boxes = [mount, *_boxes_around(mount)]
        if cascade is not None and _has_room(boxes, cascade) and not _is_painted(mount, cascade):
            shrunk |= dict.fromkeys(boxes)
    for box in shrunk:
        style = (box.attr("style") or "").rstrip("; ")
        editor.set_attribute(box, "style", f"{style};{_SHRUNK}" if style else _SHRUNK)
    return len(shrunk)


def _mounts(tree: Document, page: PageContext) -> Iterator[Element]:
    """Yield the boxes without content that a script names by their id, a class, or an attribute for scripts."""
    words = frozenset[str]()
    for facts in page.scripts.values():
        handles = facts.handles
        words = words.union(facts.names.words, handles.ids, handles.classes, handles.attributes)
    for element in tree.iter_elements(_BOXES):
        if not content_length(element) and element.select_one(_SHOWN) is None and not words.isdisjoint(_names(element)):
            yield element


def _names(element: Element) -> Iterator[str]:
    yield element.attr("id") or ""
    yield from class_names(element)
    yield from (name for name in element.attrs if name.startswith("data-"))


def _boxes_around(element: Element) -> Iterator[Element]:
    """Yield the boxes that hold nothing but an element, as high as its drawing would be."""
    from turbohtml import Element

    own = {element, *element.ancestors, *element.select("*")}
    for box in (each for each in element.ancestors if isinstance(each, Element)):
        if box.tag not in _BOXES or content_length(box) or not own.issuperset(box.select(_SHOWN)):
            return
        yield box


def _has_room(boxes: Iterable[Element], cascade: Cascade) -> bool:
    values = (cascade.value(box, name, width) for box in boxes for name in _HEIGHTS for width in VIEWPORTS)
    return any(_pixels(value) >= _LEAST for value in values)


def _pixels(value: str) -> float:
    match = _LENGTH.fullmatch(value)
    return float(match[1]) * _PIXELS.get(match[2], _WINDOW) if match is not None else 0.0


def _is_painted(box: Element, cascade: Cascade) -> bool:
    values = (cascade.value(box, name, width) for name in _BACKGROUNDS for width in VIEWPORTS)
    return not all(map(_UNPAINTED.fullmatch, values))


# ---- What lies over a page until a script removes it: preloaders, bars for consent, what a browser saw there

_NAMES = frozenset({"preloader", "preload", "loader", "loading", "spinner", "splash", "pageloader", "siteloader"})
_SMALL = 40  # characters of text in a preloader, at most: "Loading, please wait"
_CONTENT = "a[href], form, input, p, h1, h2, h3, table, ul, main, article"


_LEAST_COVERED = 0.25  # share of the text of a window under a cover; a header hides a line
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
            element = tree.select_one(cover.selector) if cover.share >= _LEAST_COVERED else None
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
