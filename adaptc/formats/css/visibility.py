"""The rules of a style sheet that decide whether an element is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.selectors import asked_selectors
from adaptc.formats.css.widths import EVERY, Widths, both, widths_of

__all__ = ["PROPERTIES", "Said", "said_by", "said_inline"]

PROPERTIES = frozenset({"display", "visibility", "opacity", "max-height", "height", "position", "transform", "left"})

_STRINGS = re.compile(r"\[[^\]]*\]|\"[^\"]*\"|'[^']*'")
_WHERE = re.compile(r":where\([^()]*\)")
_FUNCTION = re.compile(r":(?:is|not|has|matches|-webkit-any)\(|:nth-[a-z-]+\([^()]*\)")
_IDS, _CLASSES, _TYPES = re.compile(r"#[\w\\-]+"), re.compile(r"\.[\w\\-]+|\[\]|:[\w-]+"), re.compile(r"[a-zA-Z][\w-]*")
_PSEUDO_ELEMENT = re.compile(r"::|:(?:before|after|first-line|first-letter)\b", re.IGNORECASE)
_STATE = re.compile(
    r":(?:hover|focus|focus-within|focus-visible|active|target|target-within|checked|open|popover-open|modal|"
    r"placeholder-shown|valid|invalid|indeterminate|fullscreen)\b|\[open\]",
    re.IGNORECASE,
)
_INLINE = 1 << 30  # a style attribute beats every selector


@dataclass(frozen=True, slots=True)
class Said:
    """What one selector says: its values by property, with ``!important``, at some widths.

    ``selector`` can be asked of a page; ``is_state`` tells that it only holds in a state like ``:hover``.
    """

    selector: str
    is_state: bool
    specificity: int
    widths: Widths
    values: tuple[tuple[str, str, bool], ...]


@lru_cache(maxsize=128)
def said_by(text: str) -> tuple[Said, ...]:
    """Return what a sheet says of ``PROPERTIES``, in order; nested rules and layers are not told apart."""
    return tuple(_said(text, sheet_items(text), EVERY))


def said_inline(style: str) -> Said:
    """Return what a style attribute says."""
    return Said("", False, _INLINE, EVERY, _values(style, declaration_items(style)))


def _said(text: str, items: Sequence[Item], widths: Widths) -> Iterator[Said]:
    for item in items:
        if item.is_rule:
            values = _values(text, item.items)
            if values:
                yield from _selected(text[item.start : item.prelude], widths, values)
        elif item.name == "@media":
            inner = both(widths, widths_of(text[item.start + len(item.name) : item.prelude]))
            yield from _said(text, item.items, inner) if inner else ()
        elif item.name in GROUPS:
            yield from _said(text, item.items, widths)


def _selected(prelude: str, widths: Widths, values: tuple[tuple[str, str, bool], ...]) -> Iterator[Said]:
    for selector in _split(prelude):
        bare = _STRINGS.sub("[]", selector)
        asked = () if _PSEUDO_ELEMENT.search(bare) else asked_selectors(selector)
        for each in asked:
            yield Said(each, _STATE.search(selector) is not None, _specificity(bare), widths, values)


def _values(text: str, items: Sequence[Item]) -> tuple[tuple[str, str, bool], ...]:
    return tuple(
        (item.name, value.replace("!important", "").strip(), "!important" in value)
        for item in items
        if item.is_declaration and item.name in PROPERTIES
        for value in (text[item.body : item.close].strip().lower().replace("! important", "!important"),)
    )


def _split(prelude: str) -> list[str]:
    """Split a selector list at the commas outside of brackets."""
    pieces, depth = [""], 0
    for character in prelude:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces]


def _specificity(bare: str) -> int:
    """Return a number in the order of specificities (Selectors 4, section 15); alternatives all count here."""
    plain = _FUNCTION.sub(" ", _WHERE.sub("", bare))
    ids, rest = len(_IDS.findall(plain)), _IDS.sub(" ", plain)
    classes, rest = len(_CLASSES.findall(rest)), _CLASSES.sub(" ", rest)
    return (ids << 20) + (classes << 10) + len(_TYPES.findall(rest))
