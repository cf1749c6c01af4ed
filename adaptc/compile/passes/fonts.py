"""fonts and page-fonts: text in fonts of the reader's system; icon fonts stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.sheets import page_sheets
from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.model import Action
from adaptc.formats.css.fonts import drop_font_imports, drop_fonts, is_font_service, is_icon_service
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["reduce_page_fonts", "reduce_sheet_fonts"]


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
