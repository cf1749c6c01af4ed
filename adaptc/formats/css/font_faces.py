"""The ``@font-face`` rules of a style sheet with the files that browsers choose from (CSS Fonts 4, section 4.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Protocol

from adaptc.formats.css.fonts import font_face_items
from adaptc.formats.css.references import CssReference, css_references, quote_url
from adaptc.formats.css.rules import Item, declaration_items

__all__ = [
    "FontCopies",
    "OfferedFont",
    "chosen_source",
    "face_sources",
    "idle_sources",
    "offer_fonts",
    "replace_font_sources",
    "set_font_display",
    "unicode_ranges",
]

_FORMAT = re.compile(r"\s*format\(\s*[\"']?([\w-]+)[\"']?\s*\)", re.IGNORECASE)
_LOCAL = re.compile(r"local\([^()]*\)", re.IGNORECASE)
# What every browser of today reads, by format and by the ending of an address without one
_FORMATS = frozenset({"woff2", "woff", "truetype", "opentype", "woff2-variations", "truetype-variations"})
_ENDINGS = (".woff2", ".woff", ".ttf", ".otf")


@dataclass(frozen=True, slots=True)
class _Face:
    """An ``@font-face`` rule: its ``src`` declarations with their spans in the sheet; the last one wins."""

    item: Item
    sources: tuple[Item, ...]
    value: str  # of the one that wins

    @property
    def start(self) -> int:
        """Where the declarations begin in the sheet."""
        return self.item.body

    def place_of(self, reference: CssReference) -> int:
        """Return where a reference of the value begins in the sheet."""
        return self.start + self.sources[-1].body + reference.start - len("src:")


def chosen_source(value: str) -> str | None:
    """Return the URL of the first file of a ``src`` that browsers read, ``None`` if there is none."""
    reference = _chosen_reference(value)
    return None if reference is None else reference.url


def _chosen_reference(value: str) -> CssReference | None:
    for reference in css_references(f"src:{value}", declarations=True):
        end = reference.end - len("src:")
        match = _FORMAT.match(value, end)
        path = reference.url.lower().partition("?")[0].partition("#")[0]
        if match[1].lower() in _FORMATS if match else path.endswith(_ENDINGS):
            return reference
    return None


@dataclass(frozen=True, slots=True)
class OfferedFont:
    """Copies of a font as WOFF2 by their URLs: the ``whole``, and a ``subset`` for the code points ``inside``.

    Other code points that the font draws are ``outside``.
    """

    whole: str | None = None
    subset: str | None = None
    inside: frozenset[int] = frozenset()
    outside: frozenset[int] = frozenset()


class FontCopies(Protocol):
    """What makes copies of fonts."""

    def __call__(self, url: str, *, may_split: bool) -> OfferedFont | None:
        """Return the copies of the font at ``url``, with a subset only if its rule may become two."""


def offer_fonts(text: str, copy: FontCopies) -> str:
    """Return the sheet with WOFF2 files offered first; ``copy`` gets the URL that browsers choose.

    Local fonts stay before them, all other files after them. A subset gets a rule of its own before that of the whole,
    which browsers load where a page has other characters (``unicode-range``, CSS Fonts 4, section 4.5).
    """
    pieces, position = [], 0
    for face in _faces(text):
        reference = _chosen_reference(face.value)
        if reference is None:
            continue
        font = copy(reference.url, may_split=_may_split(text[face.item.body : face.item.close]))
        if font is None:
            continue
        place = face.place_of(reference)
        whole = f'{quote_url(font.whole)} format("woff2"),' if font.whole is not None else ""
        pieces.append(text[position : face.item.start])
        if font.subset is not None:
            inside, outside = unicode_ranges(font.inside, font.outside)
            subset = f'{quote_url(font.subset)} format("woff2"),'
            pieces += [_with_range(text, face, place, subset, inside), _with_range(text, face, place, whole, outside)]
        else:
            pieces += [text[face.item.start : place], whole, text[place : face.item.end]]
        position = face.item.end
    return "".join([*pieces, text[position:]])


def _may_split(body: str) -> bool:
    """Whether the declarations of an ``@font-face`` are of a font for all characters."""
    return all(each.name != "unicode-range" for each in declaration_items(body))


def _with_range(text: str, face: _Face, place: int, source: str, characters: str) -> str:
    item = face.item
    parts = (text[item.start : item.body], f"unicode-range:{characters};", text[item.body : place], source)
    return "".join((*parts, text[place : item.end]))


def unicode_ranges(inside: Set[int], outside: Set[int]) -> tuple[str, str]:
    """Return two values of ``unicode-range`` that divide Unicode; each other code point is in that of the one before.

    So a font of the reader's system, which may have more characters, draws what it would without the division.
    """
    runs = [(is_inside, next(codes)) for is_inside, codes in groupby(sorted(inside | outside), key=inside.__contains__)]
    starts = [0, *(start for _, start in runs[1:]), _END]
    ranges: dict[bool, list[str]] = {True: [], False: []}
    for (is_inside, _), (start, end) in zip(runs, pairwise(starts), strict=True):
        ranges[is_inside].append(f"U+{start:X}" if end == start + 1 else f"U+{start:X}-{end - 1:X}")
    return ",".join(ranges[True]), ",".join(ranges[False])


_END = 0x110000


def face_sources(text: str) -> Iterator[list[str]]:
    """Yield the URLs of the files of each ``@font-face`` that count, in the order in which browsers try them."""
    for face in _faces(text):
        yield [reference.url for reference in css_references(f"src:{face.value}", declarations=True)]


def idle_sources(text: str) -> frozenset[int]:
    """Return where the sheet has the URLs of fonts that browsers do not load, most of the time.

    They choose one of a rule's files. Of two rules with a file in common the second is for other characters.
    """
    idle, known = set[int](), set[str]()
    for face in _faces(text):
        chosen = _chosen_reference(face.value)
        if chosen is None:
            continue
        found: dict[int, str] = {}
        for source in face.sources:
            place, value = face.start + source.body, text[face.start + source.body : face.start + source.close]
            references = css_references(f"src:{value}", declarations=True)
            found |= {place + each.start - len("src:"): each.url for each in references}
        if known.isdisjoint(found.values()):
            known.update(found.values())
            found.pop(face.place_of(chosen))
        idle.update(found)
    return frozenset(idle)


def set_font_display(text: str, display: str) -> str:
    """Return the sheet with ``font-display`` in the rules of fonts that have none (CSS Fonts 4, 11.1)."""
    pieces, position = [], 0
    for item in font_face_items(text):
        names = {each.name for each in declaration_items(text[item.body : item.close])}
        if "src" in names and "font-display" not in names:
            pieces += [text[position : item.body], f"font-display:{display};"]
            position = item.body
    return "".join([*pieces, text[position:]])


def replace_font_sources(text: str, replace: Callable[[str], str | None]) -> str:
    """Return the sheet with other fonts: ``replace`` gets the value of ``src``, and returns the address of a WOFF2.

    Local fonts of the value stay before it. With ``None`` the rule stays as it is.
    """
    pieces, position = [], 0
    for face in _faces(text):
        last, url = face.sources[-1], replace(face.value)
        if url is None:
            continue
        for source in face.sources[:-1]:
            pieces.append(text[position : face.start + source.start])
            position = face.start + source.end
        written = ",".join([*_LOCAL.findall(face.value), f'url({url}) format("woff2")'])
        pieces += [text[position : face.start + last.body], written]
        position = face.start + last.close
    return "".join([*pieces, text[position:]])


def _faces(text: str) -> Iterator[_Face]:
    for item in font_face_items(text):
        body = text[item.body : item.close]
        sources = tuple(each for each in declaration_items(body) if each.name == "src")
        if sources:
            yield _Face(item, sources, body[sources[-1].body : sources[-1].close])
