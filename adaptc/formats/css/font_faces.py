"""The ``@font-face`` rules of a style sheet with the files that browsers choose from (CSS Fonts 4, section 4.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adaptc.formats.css.fonts import font_face_items
from adaptc.formats.css.references import CssReference, css_references, quote_url
from adaptc.formats.css.rules import Item, declaration_items

__all__ = ["chosen_source", "offer_fonts", "replace_font_sources", "set_font_display"]

_FORMAT = re.compile(r"\s*format\(\s*[\"']?([\w-]+)[\"']?\s*\)", re.IGNORECASE)
_LOCAL = re.compile(r"local\([^()]*\)", re.IGNORECASE)
# What every browser of today reads, by format and by the ending of an address without one
_FORMATS = frozenset({"woff2", "woff", "truetype", "opentype", "woff2-variations", "truetype-variations"})
_ENDINGS = (".woff2", ".woff", ".ttf", ".otf")


@dataclass(frozen=True, slots=True)
class _Face:
    """An ``@font-face`` rule: its ``src`` declarations with their spans in the sheet; the last one wins."""

    sources: tuple[Item, ...]
    start: int  # of the declarations in the sheet


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


def offer_fonts(text: str, copy: Callable[[str], str | None]) -> str:
    """Return the sheet with WOFF2 files offered first; ``copy`` gets the URL that browsers choose, and returns theirs.

    Local fonts stay before them, all other files after them.
    """
    pieces, position = [], 0
    for face in _faces(text):
        last = face.sources[-1]
        value = text[face.start + last.body : face.start + last.close]
        reference = _chosen_reference(value)
        url = None if reference is None else copy(reference.url)
        if reference is not None and url is not None:
            place = face.start + last.body + reference.start - len("src:")
            pieces += [text[position:place], f'{quote_url(url)} format("woff2"),']
            position = place
    return "".join([*pieces, text[position:]])


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
        last = face.sources[-1]
        value = text[face.start + last.body : face.start + last.close]
        url = replace(value)
        if url is None:
            continue
        for source in face.sources[:-1]:
            pieces.append(text[position : face.start + source.start])
            position = face.start + source.end
        written = ",".join([*_LOCAL.findall(value), f'url({url}) format("woff2")'])
        pieces += [text[position : face.start + last.body], written]
        position = face.start + last.close
    return "".join([*pieces, text[position:]])


def _faces(text: str) -> Iterator[_Face]:
    for item in font_face_items(text):
        body = text[item.body : item.close]
        sources = tuple(each for each in declaration_items(body) if each.name == "src")
        if sources:
            yield _Face(sources, item.body)
