"""fonts, page-fonts and icon-fonts: text in fonts of the reader's system; of icon fonts the glyphs that a page uses.

Those are in the page. A browser asks for each format of a missing font in turn: such fonts go.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.inlining import data_uri
from adaptc.compile.page.sheets import page_sheets
from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.core.urls import Reach
from adaptc.core.values import dataclass
from adaptc.formats.css.fonts import (
    chosen_source,
    drop_font_imports,
    drop_fonts,
    drop_missing_fonts,
    is_font_service,
    is_icon_service,
    replace_font_sources,
)
from adaptc.formats.font import FontGlyphs, font_glyphs, subset_font
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["inline_icon_fonts", "reduce_page_fonts", "reduce_sheet_fonts"]

_WOFF2 = "font/woff2"


def reduce_sheet_fonts(asset: Asset, view: View, options: Options) -> Outcome:
    """Remove the fonts for text from a style sheet: all, or those of other sites, without the families of ``keep``."""
    try:
        text = asset.content.decode("utf-8")
    except UnicodeDecodeError:
        return Outcome(None, (Action("fonts", KEPT, asset.path, "it is not UTF-8"),))
    reduced = _reduced(text, options)
    if reduced == text:
        return Outcome(None)
    count = text.count("@font-face") - reduced.count("@font-face")
    return Outcome(reduced.encode("utf-8"), (Action("fonts", "dropped", asset.path, f"{count} faces for text"),))


def reduce_page_fonts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove the fonts for text from the page's own style elements, and the links that load them."""
    report = Report()
    if page.has_policy or page.looks_for_sheets():
        reason = (
            "a Content-Security-Policy restricts the page" if page.has_policy else "a script looks for style sheets"
        )
        report.actions.append(Action("page-fonts", KEPT, "fonts", reason))
        return report
    elements = [each for each in editor.tree.iter_elements(("style", "link")) if not is_isolated(each, editor.text)]
    for element in elements:
        if element.tag == "style":
            _style(element, editor, options, report)
        elif is_font_service(element.attr("href") or "") and not is_icon_service(element.attr("href") or ""):
            _remove(element, editor, report)
    _drop_preloads(elements, editor, page, view, options, report)
    return report


def _reduced(text: str, options: Options) -> str:
    keep = frozenset(family.lower() for family in options["keep"])
    foreign = options["which"] == "foreign"
    return drop_font_imports(drop_fonts(text, keep.__contains__, foreign=foreign), icons_too=False)


def _style(element: Element, editor: Editor, options: Options, report: Report) -> None:
    reduced = _reduced(element.text, options)
    if reduced != element.text and not is_compared(element, editor.text):
        editor.set_raw_text(element, reduced)
        report.actions.append(Action("page-fonts", "dropped", "<style>", "faces for text"))


def _remove(element: Element, editor: Editor, report: Report) -> None:
    editor.remove_element(element)
    report.actions.append(Action("page-fonts", "removed", element.attr("href") or "", "fonts for text"))


def _drop_preloads(
    elements: list[Element], editor: Editor, page: PageContext, view: View, options: Options, report: Report
) -> None:
    """Drop the preloads of fonts that no sheet names any more."""
    preloads = [each for each in elements if (each.attr("as") or "").lower() == "font"]
    if not preloads:
        return
    texts = [_reduced(text, options) for text in page_sheets(editor.tree, page.base, view).texts]
    for element in preloads:
        name = (element.attr("href") or "").partition("?")[0].rpartition("/")[2]
        if not any(name in text for text in texts):
            _remove(element, editor, report)


# ---- Fonts that draw icons: the characters that a page may show are those of its markup, its sheets and its scripts,
# escapes included. So a page whose sheets have all rules of an icon font keeps the whole of it, in its file.


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
            report.actions.append(Action("icon-fonts", "dropped", "<style>", "fonts whose files are missing"))
        text = replace_font_sources(present, glyphs.replacement)
        if text != style.text:
            editor.set_raw_text(style, text)
    report.absorbed = sum(len(view.read(path)) for path in glyphs.sizes)
    report.actions += [
        Action("icon-fonts", "inlined", path, f"{size:,} bytes of glyphs are used")
        for path, size in glyphs.sizes.items()
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
