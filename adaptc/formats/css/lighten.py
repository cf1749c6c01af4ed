"""A style sheet that loads nothing: no fonts, no images but small ones that stand in it.

What would be shown in a missing font or image's place goes too: characters of icon fonts, boxes that a mask cuts to a
shape, the value that lost its image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adaptc.formats.css.references import css_references
from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import unescape

__all__ = ["LONGEST_DATA", "holds_private_use", "lighten"]

# Characters of a data URI that may stay: the arrow of a select, the tick of a checkbox. Photographs are longer.
LONGEST_DATA = 1024
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
# What takes the place of an image, by how the property begins; None drops the whole declaration
_TRANSPARENT = "linear-gradient(#0000,#0000)"
_INSTEAD: tuple[tuple[str, str | None], ...] = (
    ("mask", _TRANSPARENT), ("-webkit-mask", _TRANSPARENT), ("list-style", ""), ("cursor", None), ("content", '""'),
    ("src", None),
)  # fmt: skip
_NOTHING = "none"

_Splice = tuple[int, int, str]


def lighten(text: str, *, keep_images: bool = False, declarations: bool = False) -> str:
    """Return a sheet, or the ``declarations`` of a style attribute, without fonts and, but for small ones, images."""
    items = declaration_items(text) if declarations else sheet_items(text)
    pieces, done = [], 0
    for start, end, instead in _splices(text, items, keep_images):
        pieces += [text[done:start], instead]
        done = end
    return "".join([*pieces, text[done:]])


def holds_private_use(text: str) -> bool:
    """Whether a text holds characters that only a font of icons has a picture for."""
    return _PRIVATE_USE.search(text) is not None


def _splices(text: str, items: Sequence[Item], keep_images: bool) -> Iterator[_Splice]:
    for item in items:
        if item.name == "@font-face" and item.body >= 0:
            yield item.gap, item.end, ""
        elif item.is_declaration:
            yield from _of_declaration(text, item, keep_images)
        elif item.is_rule or item.name in GROUPS:
            yield from _splices(text, item.items, keep_images)


def _of_declaration(text: str, item: Item, keep_images: bool) -> Iterator[_Splice]:
    value = text[item.body : item.close]
    if item.name == "content" and holds_private_use(unescape(value)):
        yield item.body, item.close, '""'
    elif not keep_images and "(" in value:
        yield from _without_images(text, item)


def _without_images(text: str, item: Item) -> Iterator[_Splice]:
    value = text[item.body : item.close]
    gone = [each for each in css_references("x:" + value, declarations=True) if not _stays(each.url)]
    if not gone:
        return
    instead = next((instead for start, instead in _INSTEAD if item.name.startswith(start)), _NOTHING)
    left, done = [], 0
    for each in gone:
        left += [value[done : each.start - 2], instead or ""]
        done = each.end - 2
        if value[done : done + 1].isalnum():  # a minifier leaves no space behind ")"
            left.append(" ")
    shorter = "".join([*left, value[done:]])
    if instead is None or not shorter.strip():
        yield item.start, item.end, ""
    else:
        yield item.body, item.close, shorter


def _stays(url: str) -> bool:
    return url.startswith("#") or (url[:5].lower() == "data:" and len(url) <= LONGEST_DATA)
