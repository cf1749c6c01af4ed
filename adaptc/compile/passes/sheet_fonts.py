"""sheet-fonts: fonts of style sheets as WOFF2, which every browser of today reads, in front of what the sheet has.

A WOFF2 holds the same font for 20 to 60 % fewer bytes than WOFF, TrueType and OpenType. Pages that preload the file
which browsers chose before preload the other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.inlining import transfer_size
from adaptc.compile.page.sheets import sheet_in_utf8, sheets_with_bases
from adaptc.compile.view import WOFF2, Asset, DerivedFile, DerivingView, Options, Outcome
from adaptc.core.model import Action
from adaptc.core.urls import relative_url
from adaptc.formats.css.font_faces import offer_fonts, set_font_display
from adaptc.formats.css.references import css_references
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["offer_sheet_fonts", "preload_fonts"]

NAME = "sheet-fonts"
KEEP = "keep"
# Bytes of the choice in the sheet, about: what a copy must save
_MARKUP = 100


def offer_sheet_fonts(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Offer the fonts of a sheet as WOFF2, and say when text is drawn until they come (``display``)."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(NAME, KEPT, asset.path, "it is not in UTF-8"),))
    actions: list[Action] = []

    def copy(url: str) -> str | None:
        found = _smaller_font(view, view.url_of(asset.path), url)
        if found is None:
            return None
        path, file, saved = found
        actions.append(Action(NAME, "offered", path, f"{saved:,} bytes fewer"))
        return relative_url(asset.path, file.path)

    offered = offer_fonts(text, copy) if options["woff2"] else text
    if options["display"] != KEEP and (shown := set_font_display(offered, options["display"])) != offered:
        actions.append(Action(NAME, "set", "font-display", options["display"]))
        offered = shown
    return Outcome(None if offered == text else offered.encode(), tuple(actions))


def _smaller_font(view: DerivingView, base: str, url: str) -> tuple[str, DerivedFile, int] | None:
    """Return a font's path, its copy, and the bytes that the copy saves; ``None`` if there is none worth it."""
    destination = view.follow(base, url)
    path = destination.path
    if path is None or "#" in destination.target.suffix or not path.lower().endswith((".woff", ".ttf", ".otf")):
        return None
    file = view.derive(path, WOFF2, {})
    saved = 0 if isinstance(file, str) else transfer_size(path, view) - file.size
    return None if isinstance(file, str) or saved <= _MARKUP else (path, file, saved)


def preload_fonts(editor: Editor, page: PageContext, view: DerivingView, _options: Options) -> Report:
    """Preload the WOFF2 of a font in its place, where a sheet of the page offers it."""
    report = Report()
    links = [link for link in editor.tree.iter_elements("link") if _preloads_font(link)]
    offered = _offered(editor, page, view) if links else frozenset()
    for link in links:
        found = None if is_isolated(link, editor.text) else _smaller_font(view, page.base, link.attr("href") or "")
        if found is not None and found[1].path in offered and page.base_path is not None:
            editor.set_attribute(link, "href", relative_url(page.base_path, found[1].path))
            editor.set_attribute(link, "type", found[1].media_type)
            report.actions.append(Action(NAME, "preloaded", found[0], "as WOFF2"))
    return report


def _preloads_font(link: Element) -> bool:
    return "preload" in (link.attr("rel") or "").lower().split() and (link.attr("as") or "").lower() == "font"


def _offered(editor: Editor, page: PageContext, view: DerivingView) -> frozenset[str]:
    """Return the paths of all files that the sheets of a page name."""
    sheets = sheets_with_bases(editor.tree, page.base, view)
    return frozenset(
        view.follow(base, each.url).target.path
        for text, base in sheets
        for each in css_references(text, declarations=False)
    )
