"""Icons of fonts that are not loaded: they are hidden, and links that were only an icon show their name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.formats.css.fonts import has_private_use
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import text_markup
from adaptc.formats.html.visible_text import content_texts, is_followable, link_label

if TYPE_CHECKING:
    from turbohtml import Element, Text


# Fonts that draw a whole word as one picture: without them the word is visible ("keyboard_arrow_right")
_LIGATURES = re.compile(r"(?:^|\s)(?:material-icons|material-symbols)[\w-]*(?:\s|$)")
_PICTURES = "img, svg, picture, video, object, input, canvas"


# Words for screen readers; the picture that they name is gone
_UNSEEN_WORDS = frozenset({"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden", "assistive-text"})
_SEEN = (
    "display:inline!important;visibility:visible!important;position:static!important;width:auto!important;"
    "height:auto!important;margin:0!important;clip:auto!important;clip-path:none!important;overflow:visible!important"
)
_WIDTHS = (412, 1280)


def hide_icons(editor: Editor, sheets: Iterable[str]) -> int:
    """Hide icons of fonts, and give links that were only an icon a text; returns the number of these links.

    ``sheets`` are those of the page: at some widths they may hide the text next to an icon.
    """
    for element in editor.tree.select("i, span, a, em, b, div"):
        if _is_icon(element):
            style = (element.attr("style") or "").rstrip("; ")
            editor.set_attribute(element, "style", f"{style};display:none" if style else "display:none")
    cascade = Cascade(editor.tree, tuple(sheets))
    return sum(_name_link(editor, link, cascade) for link in _links(editor))


def _links(editor: Editor) -> Iterator[Element]:
    for link in editor.tree.select("a[href]"):
        leads = is_followable(link.attr("href")) and not (link.attr("href") or "").startswith("#")
        if leads and len(link.children) and link.select_one(_PICTURES) is None:
            yield link


def _name_link(editor: Editor, link: Element, cascade: Cascade) -> bool:
    """Give a link that shows nothing its name, or show the text in it that is hidden."""
    texts = [text for text in content_texts(link) if any(map(_is_character, text.data))]
    if not texts:
        label = link_label(link)
        if any(map(str.isalnum, label)):
            editor.append(link, text_markup(label))
        return any(map(str.isalnum, label))
    hidden = [element for text in texts if (element := _hidden_around(text, link, cascade)) is not None]
    if len(hidden) < len(texts) or all(each.text.strip() for each in link.select("*") if not _is_icon(each)):
        return False
    for element in dict.fromkeys(hidden):
        style = (element.attr("style") or "").rstrip("; ")
        editor.set_attribute(element, "style", f"{style};{_SEEN}" if style else _SEEN)
    return True


def _is_character(character: str) -> bool:
    return not character.isspace() and not has_private_use(character)


def _hidden_around(text: Text, link: Element, cascade: Cascade) -> Element | None:
    """Return what hides a text of a link at some width."""
    from turbohtml import Element

    for each in text.ancestors:
        if each is link or not isinstance(each, Element):
            return None
        is_unseen = not _UNSEEN_WORDS.isdisjoint((each.attr("class") or "").split())
        hiding = (name for width in _WIDTHS for name in cascade.hiding(each, width))
        if is_unseen or any(name in ("display", "visibility") for name in hiding):
            return each
    return None


def _is_icon(element: Element) -> bool:
    text = element.text.strip() if len(element.children) == 1 else ""
    if not text:
        return False
    is_ligature = _LIGATURES.search(element.attr("class") or "") is not None
    return is_ligature or (element.tag != "a" and all(has_private_use(c) or c.isspace() for c in text))
