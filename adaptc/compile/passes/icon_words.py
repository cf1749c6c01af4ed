"""Icons of fonts that a page no longer has: hidden, and where a link was nothing but its icon, words instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.formats.css.fonts import has_private_use
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.labels import is_followed, link_label
from adaptc.formats.html.landmarks import in_content
from adaptc.formats.html.quoting import text_markup

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["hide_icons"]

# Fonts that draw a whole word as one picture: without them the word stands there ("keyboard_arrow_right")
_LIGATURES = re.compile(r"(?:^|\s)(?:material-icons|material-symbols)[\w-]*(?:\s|$)")
_PICTURES = "img, svg, picture, video, object, input, canvas"


def hide_icons(editor: Editor) -> int:
    """Hide icons that are written as text, and give links their words; returns how many links had none."""
    for element in editor.tree.select("i, span, a, em, b, div"):
        if _is_icon(element):
            style = (element.attr("style") or "").rstrip("; ")
            editor.set_attribute(element, "style", f"{style};display:none" if style else "display:none")
    count = 0
    for link in editor.tree.select("a[href]"):
        leads = is_followed(link.attr("href")) and not (link.attr("href") or "").startswith("#")
        if not (leads and len(link.children) and _is_empty(link)):
            continue
        label = link_label(link)
        if any(map(str.isalnum, label)):
            editor.append(link, text_markup(label))
            count += 1
    return count


def _is_icon(element: Element) -> bool:
    text = element.text.strip() if len(element.children) == 1 else ""
    if not text:
        return False
    is_ligature = _LIGATURES.search(element.attr("class") or "") is not None
    return is_ligature or (element.tag != "a" and all(has_private_use(c) or c.isspace() for c in text))


def _is_empty(link: Element) -> bool:
    """Whether nothing of a link is seen once its icons are gone."""
    shown = "".join(text.data for text in in_content(link)).strip()
    return not any(not has_private_use(c) for c in shown) and link.select_one(_PICTURES) is None
