"""icon-fonts: the glyphs of an icon font that a page uses, in the page; and no fonts whose files are missing.

The characters that it may show are those of its markup, its sheets and its scripts, escapes included. So a page whose
sheets have all rules of an icon font keeps the whole of it, in its file. A browser asks for each format of a missing
font in turn.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.inlining import data_uri
from adaptc.compile.page.sheets import page_sheets
from adaptc.compile.view import Options, View
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.core.urls import Reach
from adaptc.core.values import dataclass
from adaptc.formats.css.fonts import chosen_source, drop_missing_fonts, replace_font_sources
from adaptc.formats.font import FontGlyphs, font_glyphs, subset_font
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["inline_icon_fonts"]

NAME = "icon-fonts"
_WOFF2 = "font/woff2"


def inline_icon_fonts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Replace the icon fonts of the page's style elements by their glyphs in use, up to ``largest`` bytes each."""
    report = Report()
    styles = [] if page.has_policy else [each for each in editor.tree.iter_elements("style") if _has_fonts(each)]
    styles = [each for each in styles if not (is_isolated(each, editor.text) or is_compared(each, editor.text))]
    if not styles or page.base_path is None:
        return report
    glyphs = _PageGlyphs(editor, page, view, options["largest"])
    for style in styles:
        present = drop_missing_fonts(style.text, partial(_is_missing, page, view))
        if present != style.text:
            report.actions.append(Action(NAME, "dropped", "<style>", "fonts whose files are missing"))
        text = replace_font_sources(present, glyphs.replacement)
        if text != style.text:
            editor.set_raw_text(style, text)
    report.absorbed = sum(len(view.read(path)) for path in glyphs.sizes)
    report.actions += [
        Action(NAME, "inlined", path, f"{size:,} bytes of glyphs are used") for path, size in glyphs.sizes.items()
    ]
    return report


def _has_fonts(style: Element) -> bool:
    return "@font-face" in style.text.lower()


def _is_missing(page: PageContext, view: View, url: str) -> bool:
    """Whether a relative URL leads to no file; what begins with a slash may be another part of the host."""
    link = view.follow(page.base, url)
    return not url.startswith("/") and link.target.reach is Reach.LOCAL and link.path is None


class _PageGlyphs:
    """The characters and words that a page may show, and the fonts reduced to them."""

    def __init__(self, editor: Editor, page: PageContext, view: View, largest: int) -> None:
        self.page, self.view, self.largest = page, view, largest
        self.sizes: dict[str, int] = {}
        markup, sheets = html.unescape(editor.text), page_sheets(editor.tree, page.base, view).texts
        scripts = [view.facts(_WRITTEN, script) for script in page.scripts]
        written = (_find_written(markup), *(view.facts(_WRITTEN, sheet) for sheet in sheets), *scripts)
        self._characters = frozenset().union(*(each.code_points for each in written))
        self._words = frozenset().union(*(each.words for each in (written[0], *scripts)))
        self._beginnings = tuple(word for word in self._words if word.endswith("_") and len(word) > 1)

    def replacement(self, source: str) -> str | None:
        """Return the data URI for a ``src`` value, ``None`` if that stays."""
        path = self.view.follow(self.page.base, chosen_source(source) or "").path
        content = b"" if path is None else self.view.read(path)
        glyphs = font_glyphs(content)
        if path is None or glyphs is None or not glyphs.are_icons:
            return None
        subset = subset_font(content, self._used(glyphs))
        if subset is None or len(subset) > min(self.largest, len(content) // 2):
            return None
        self.sizes[path] = len(subset)
        return data_uri(subset, _WOFF2)

    def _used(self, glyphs: FontGlyphs) -> FontGlyphs:
        """Return those of a font's glyphs that the page may show; scripts compose words ("arrow_" + side)."""
        words = {word for word in glyphs.words if word in self._words or word.startswith(self._beginnings)}
        letters = {ord(letter) for word in words for letter in word}
        return FontGlyphs(glyphs.characters & (self._characters | letters), frozenset(words))


# A character as CSS, scripts and markup write it: \f015, "\uf015", "\u{f015}", &#xf015;, 0xf015, fromCharCode(61461)
_HEXADECIMAL = re.compile(r"(?:(?<!\\)\\++u?\{?|&#[xX]|0[xX])([0-9a-fA-F]{2,6})")
_DECIMAL = re.compile(r"(?<![\w.])([1-9]\d{3,6})(?![\w.])")
_PAIR = re.compile(r"\\u([dD][89aAbB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_WORD = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class _Written:
    """The characters and words of a text, characters as numbers as well."""

    code_points: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()


def _find_written(text: str) -> _Written:
    return _Written(frozenset((*map(ord, set(text)), *_written_code_points(text))), frozenset(_WORD.findall(text)))


_WRITTEN = FactKind("characters and words", _find_written, _Written())


def _written_code_points(text: str) -> Iterator[int]:
    yield from (int(digits, 16) for digits in set(_HEXADECIMAL.findall(text)))
    yield from map(int, set(_DECIMAL.findall(text)))
    for high, low in set(_PAIR.findall(text)):  # UTF-16 (Unicode, 3.9)
        yield 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
