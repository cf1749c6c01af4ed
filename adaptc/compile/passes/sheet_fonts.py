"""sheet-fonts and style-fonts: fonts of style sheets, and of style elements of pages, as WOFF2, which every browser of
today reads, in front of what the sheet has.

A WOFF2 holds the same font for 20 to 60 % fewer bytes than WOFF, TrueType and OpenType. Of most fonts a site shows few
characters: a subset with the glyphs, hints and layout rules of those comes first, and a browser loads the whole font
where a page has others. Pages that preload the file which browsers chose before preload the new one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set
from dataclasses import replace

from adaptc.compile.page.context import KEPT, PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.inlining import data_uri
from adaptc.compile.page.sheets import sheet_in_utf8, sheets_with_bases, url_like
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.view import WOFF2, Asset, DerivedFile, DerivingView, Options, Outcome
from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.model import OWN_DIRECTORY, Action
from adaptc.formats.css.fonts import ALL_CODES, CodeRanges, OfferedFont, face_sources, offer_fonts, set_font_display
from adaptc.formats.font import FontGlyphs, embedded_font, font_glyphs
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import preloads

__all__ = ["offer_sheet_fonts", "offer_style_fonts", "preload_fonts"]

NAME, STYLE_NAME = "sheet-fonts", "style-fonts"
KEEP = "keep"
# Bytes of the choice in the sheet, about: what a copy must save
_MARKUP = 100
_ENDINGS = (".woff", ".woff2", ".ttf", ".otf")
_Divided = tuple[frozenset[int], frozenset[int]]
# What a subset must save, for a rule of its own and for pages of which a script writes other characters
_LARGEST_PART, _LEAST = 0.75, 2000


def offer_sheet_fonts(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Offer the fonts of a sheet as WOFF2, and those for the characters of the site (``subset``) before them.

    ``display`` says when text is drawn until they come.
    """
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(NAME, KEPT, asset.path, "it is not in UTF-8"),))
    fonts = _Fonts(NAME, asset.path, view.url_of(asset.path), view, options)
    offered = fonts.offered(text)
    return Outcome(None if offered == text else offered.encode(), tuple(fonts.actions))


def offer_style_fonts(editor: Editor, page: PageContext, view: DerivingView, options: Options) -> Report:
    """Offer the fonts of the page's style elements likewise; not under a policy, which may hold their hashes."""
    report = Report()
    if page.has_policy or page.base_path is None:
        return report
    fonts = _Fonts(STYLE_NAME, page.base_path, page.base, view, options)
    for element in editor.tree.iter_elements("style"):
        if is_compared(element, editor.text):
            continue
        if not is_isolated(element, editor.text) and (element.attr("type") or "text/css").lower() == "text/css":
            offered = fonts.offered(element.text)
            if offered != element.text and page.can_hold(offered):
                editor.set_raw_text(element, offered)
    report.actions += fonts.actions
    report.absorbed = fonts.saved
    return report


class _Fonts:
    """The copies of the fonts of one sheet or page: its path, and the URL to which its addresses are relative."""

    def __init__(self, name: str, path: str, base: str, view: DerivingView, options: Options) -> None:
        self.name, self.path, self.base, self.view, self.options = name, path, base, view, options
        self.actions: list[Action] = []
        self.saved = 0

    def offered(self, text: str) -> str:
        """Return CSS with the copies of its fonts, and with ``font-display`` where that is asked for."""
        offered = offer_fonts(text, self.copies) if self.options["woff2"] else text
        display = self.options["display"]
        shown = offered if display == KEEP else set_font_display(offered, display)
        if shown != offered:
            self.actions.append(Action(self.name, "set", "font-display", display))
        return shown

    def copies(self, url: str, within: CodeRanges) -> OfferedFont | None:
        """Return the copies of the font at ``url``, of a rule for some code points, that are worth their bytes."""
        if url[:5].lower() == "data:":
            return self._embedded(url, within)
        destination = self.view.follow(self.base, url)
        path = destination.path
        if path is None or "#" in destination.target.suffix or not path.lower().endswith(_ENDINGS):
            return None
        glyphs = font_glyphs(self.view.read(path))
        if glyphs is not None and glyphs.are_icons and not self.options["icons"]:
            return None
        size, whole = transfer_size(path, self.view), None
        file = self.view.derive(path, WOFF2, {})
        if not isinstance(file, str) and size - file.size > _MARKUP:
            self.actions.append(Action(self.name, "offered", path, f"{size - file.size:,} bytes fewer"))
            self.saved += size - file.size
            size, whole = file.size, url_like(url, self.path, file.path, self.view)
        offered = OfferedFont(whole)
        if self.options["subset"] and glyphs is not None:
            offered = self._with_subset(offered, path, url, size, self._divided(glyphs, within))
        return offered if offered != OfferedFont() else None

    def _embedded(self, url: str, within: CodeRanges) -> OfferedFont | None:
        """Return what takes the place of a font in the sheet: what the site shows of it, and a file of all, or all."""
        content = embedded_font(url) if self.name == NAME else None
        glyphs = None if content is None else font_glyphs(content)
        if content is None or glyphs is None or (glyphs.are_icons and not self.options["icons"]):
            return None
        known, size = {"embedded": digest_bytes(content)}, len(content)
        file = self.view.derive(self.path, WOFF2, known)
        if isinstance(file, str):
            return None
        inside, outside = self._divided(glyphs, within)
        if self.options["subset"] and outside:
            part = self.view.derive(self.path, WOFF2, {**known, **self._part(inside)})
            if not isinstance(part, str) and part.size <= _LARGEST_PART * file.size and file.size - part.size >= _LEAST:
                whole = url_like("x", self.path, file.path, self.view)
                self._note("split", size - part.size)
                return OfferedFont(whole, self._data_uri(part), self.view.shown_characters(), outside, replaces=True)
        if size - file.size < _MARKUP:
            return None
        self._note("converted", size - file.size)
        return OfferedFont(self._data_uri(file), replaces=True)

    def _part(self, characters: Set[int]) -> dict[str, str | bool]:
        """Return the options of the part of a font for these characters, with the features that the site may use."""
        text = "".join(map(chr, sorted(characters)))
        return {"characters": text, "features": self.view.may_use_features()}

    def _note(self, verb: str, saved: int) -> None:
        self.actions.append(Action(self.name, verb, self.path, f"a font in it: {saved:,} bytes fewer"))

    def _data_uri(self, font: DerivedFile) -> str:
        return data_uri(self.view.copy_content(font), font.media_type)

    def _divided(self, glyphs: FontGlyphs, within: CodeRanges) -> _Divided:
        """Return the code points of a rule that a font draws: those that the site has, and others.

        There are no others where browsers do not load the font: the site has no character for which the rule is.
        """
        shown, firsts = self.view.shown_characters(), [first for first, _ in within]
        found = ((code, bisect_right(firsts, code) - 1) for code in glyphs.characters)
        drawn = frozenset(code for code, index in found if index >= 0 and code <= within[index][1])
        inside = drawn & shown
        return inside, drawn - shown if inside or within == ALL_CODES else frozenset()

    def _with_subset(self, offered: OfferedFont, path: str, url: str, size: int, divided: _Divided) -> OfferedFont:
        """Add the part of a font that draws the characters of the site, if browsers then load much less."""
        inside, outside = divided
        subset = self.view.derive(path, WOFF2, self._part(inside)) if outside else ""
        if isinstance(subset, str) or subset.size > _LARGEST_PART * size or size - subset.size < _LEAST:
            return offered
        saved = f"{size - subset.size:,} bytes fewer for the characters of the site"
        self.actions.append(Action(self.name, "split", path, saved))
        self.saved += size - subset.size
        address = url_like(url, self.path, subset.path, self.view)
        return replace(offered, subset=address, inside=self.view.shown_characters(), outside=outside)


def preload_fonts(editor: Editor, page: PageContext, view: DerivingView, _options: Options) -> Report:
    """Preload the WOFF2 of a font in its place, where a sheet of the page offers it first."""
    report = Report()
    links = [link for link in editor.tree.iter_elements("link") if preloads(link, "font")]
    first = _first_choices(editor, page, view) if links else {}
    for link in links:
        url = link.attr("href") or ""
        path = None if is_isolated(link, editor.text) else view.follow(page.base, url).path
        if path in first and path is not None and page.base_path is not None:
            editor.set_attribute(link, "href", url_like(url, page.base_path, first[path], view))
            editor.set_attribute(link, "type", media.BY_EXTENSION["woff2"])
            report.actions.append(Action(NAME, "preloaded", path, "as WOFF2"))
    return report


def _first_choices(editor: Editor, page: PageContext, view: DerivingView) -> dict[str, str]:
    """Return the copy that browsers load first, by the path of the font that the sheets of a page had for it."""
    first: dict[str, str] = {}
    for text, base in sheets_with_bases(editor.tree, page.base, view):
        for urls in face_sources(text):
            paths = [view.follow(base, url).target.path for url in urls]
            if paths and paths[0].startswith(OWN_DIRECTORY):
                for path in paths[1:]:
                    first.setdefault(path, paths[0])
    return first
