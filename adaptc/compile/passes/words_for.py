"""Words in the place of an image that goes: its alternative text, or what else is known of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.compile.page.image_labels import LabelledImage
from adaptc.formats.html.quoting import attribute_markup, text_markup

if TYPE_CHECKING:
    from turbohtml import Element

# Kept on what takes the place: links and scripts name it, and the language of the words stays known
_KEPT = ("id", "lang", "dir")
_SEPARATORS = re.compile(r"[-_.+]+|%20")


def words_for(image: Element, one: LabelledImage) -> str:
    """Return markup for the place of an image: a ``<span>`` with its words, or nothing.

    Decorations and advertisements have no words. In a link of which nothing else can be seen some are needed: the
    title of image or link, else the name of the file.
    """
    words = "" if one.is_decoration or one.is_ad else _name(image)
    if not words and one.is_all_of_a_link:
        words = _name(image) or _link_name(image) or _file_name(one)
    kept = [attribute_markup(name, image.attr(name)) for name in _KEPT if image.attr(name)]
    if not words and not kept:
        return ""
    return f"<span{''.join(f' {one}' for one in kept)}>{text_markup(words)}</span>"


def _name(image: Element) -> str:
    """Return the accessible name of an image (HTML-AAM): label, alternative text, title."""
    names = ((image.attr(name) or "").strip() for name in ("aria-label", "alt", "title"))
    return next((name for name in names if any(map(str.isalnum, name))), "")


def _link_name(image: Element) -> str:
    link = next((one for one in image.ancestors if getattr(one, "tag", None) in ("a", "button")), None)
    attributes = getattr(link, "attrs", {})
    return str(attributes.get("aria-label") or attributes.get("title") or "").strip()


def _file_name(one: LabelledImage) -> str:
    """Return ``team photo`` for ``img/team-photo.jpg``."""
    stem = (one.path or one.use.ref.partition("?")[0]).rpartition("/")[2].rpartition(".")[0]
    return _SEPARATORS.sub(" ", stem).strip()
