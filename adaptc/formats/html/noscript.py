"""A page as browsers show it that run no scripts: what ``<noscript>`` holds stands in its place.

The work is done on the text and on the tree that a browser with scripting builds, where a ``<noscript>`` holds text.
Without scripting, one in the head that holds more than links and styles (the pixel of a tracker) ends the head early.
"""

from __future__ import annotations

import re

from turbohtml import Element, parse_fragment

from adaptc.formats.html.document import parse

__all__ = ["show_noscript"]

# What may stand in a head; a <meta> may not: a refresh to "the page without scripts" leads away from this one.
_IN_HEAD = frozenset({"link", "style"})
# Pixels and frames of trackers, which count visitors who run no scripts
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_COUNTING = frozenset({"img", "iframe"})


def show_noscript(text: str) -> str:
    """Return the page's text with the content of each ``<noscript>`` in its place, trackers' pixels left out."""
    if "<noscript" not in text.lower():
        return text
    pieces, done = [], 0
    for element in parse(text, scripting=True).find_all("noscript"):
        place = element.source_location
        if place is None or place.start_tag.start_offset < done:
            continue
        close, end = (place.end_tag.start_offset, place.end_tag.end_offset) if place.end_tag else (len(text), len(text))
        pieces += [text[done : place.start_tag.start_offset], _shown(element, text[place.start_tag.end_offset : close])]
        done = end
    return "".join([*pieces, text[done:]])


def _shown(element: Element, content: str) -> str:
    parent = element.parent
    top = [child for child in parse_fragment(content, "div").children if isinstance(child, Element)]
    if isinstance(parent, Element) and parent.tag == "head":
        return "".join(child.html for child in top if child.tag in _IN_HEAD)
    return "" if top and all(map(_counts_visitors, top)) else content


def _counts_visitors(element: Element) -> bool:
    """Whether nothing can be seen of an element but an image or frame that is fetched."""
    found = [element, *element.select("img, iframe")]
    fetched = [each for each in found if each.tag in _COUNTING]
    return bool(fetched) and not element.text.strip() and all(map(_is_unseen, fetched))


def _is_unseen(element: Element) -> bool:
    around = [element, *(each for each in element.ancestors if isinstance(each, Element))]
    is_dot = any((element.attr(side) or "").strip() in ("0", "1") for side in ("width", "height"))
    return is_dot or any(_HIDDEN.search(each.attr("style") or "") for each in around)
