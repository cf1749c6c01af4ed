"""inline-styles and late-styles: sheets move into the page, and those that come late apply from the start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.inlining import (
    CROWD,
    FRAMED,
    INLINED,
    MISMATCH,
    NAMED,
    POLICY,
    PRELOADED,
    SHARED,
    carried_markup,
    first_unusual,
    framed_files,
    meets_integrity,
    should_inline,
)
from adaptc.compile.page.sheets import (
    declares_encoding,
    has_relative_property_urls,
    page_sheets,
    rebase_sheet,
    sheet_references,
    sheet_text,
)
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action, Role
from adaptc.core.values import dataclass
from adaptc.formats.css.sheet_text import escape_for_style_element, is_balanced
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import is_style_sheet, preloads, rel_tokens
from adaptc.formats.script.introspection import MEDIUM_SWITCH

if TYPE_CHECKING:
    from turbohtml import Element

# Any other attribute gives the element a meaning, or is a name by which scripts know it.
_ALLOWED = frozenset({"rel", "href", "type", "media", "charset", "integrity", "crossorigin", "referrerpolicy"})


def inline_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Replace ``<link rel=stylesheet>`` by ``<style>`` where the cost model says so and nothing can notice."""
    report = Report()
    links = [link for link in editor.tree.iter_elements("link") if _is_plain_sheet(link)]
    repeated = _find_repeated(links, editor.text, page, view) if options["readers"] == CROWD else []
    for link in repeated:
        editor.remove_element(link)
        report.actions.append(Action("inline-styles", "dropped", link.attr("href") or "", "it is linked again below"))
    framed, imported = framed_files(editor.tree, page, view), _imported_too(links, page, view)
    for link in links:
        path = view.follow(page.base, link.attr("href") or "").path
        if path is not None and (path in framed or path in imported):
            reason = FRAMED if path in framed else "another sheet of the page imports it, and would load it later"
            report.actions.append(Action("inline-styles", KEPT, path, reason))
        elif link not in repeated:
            _consider(link, editor, page, view, options, report)
    return report


def _find_repeated(links: list[Element], text: str, page: PageContext, view: View) -> list[Element]:
    """Return the links to sheets that are linked again below under the same conditions, where they win anyway."""
    if page.has_scripts and page.looks_for_sheets():
        return []
    last: dict[tuple[str | None, ...], Element] = {}
    repeated = []
    for link in reversed(links):
        path = view.follow(page.base, link.attr("href") or "").path
        if path is None or is_isolated(link, text) or set(link.attrs) - _ALLOWED:
            continue
        key = (path, *(link.attr(name) for name in ("media", "type", "charset", "integrity")))
        if key not in last:
            last[key] = link
        elif "@layer" not in sheet_text(view.artifact(path)):
            repeated.append(link)
    return repeated


def _imported_too(links: list[Element], page: PageContext, view: View) -> frozenset[str]:
    """Return the linked sheets that others of the page import: browsers load them in any case, first for the link.

    Sheets are read only where one is imported at all, so that pages do not depend on the content of sheets that stay.
    """
    linked = [view.follow(page.base, link.attr("href") or "").path for link in links]
    pending, imported = list(linked), set[str]()
    if not any(path is not None and view.is_loaded_twofold(path) for path in linked):
        return frozenset()
    while pending:
        path = pending.pop()
        if path is not None and view.media_type(path) == media.CSS:
            references = sheet_references(sheet_text(view.artifact(path)))
            urls = [each.url for each in references if each.role is Role.IMPORT]
            found = {view.follow(view.url_of(path), url).path for url in urls}
            pending += sorted(found - imported - {None})  # type: ignore[type-var]
            imported |= {each for each in found if each is not None}
    return frozenset(imported & set(linked))


def _is_plain_sheet(link: Element) -> bool:
    return is_style_sheet(link) and rel_tokens(link) <= {"stylesheet", "preload"}


def _consider(link: Element, editor: Editor, page: PageContext, view: View, options: Options, report: Report) -> None:
    reference = link.attr("href") or ""
    path = view.follow(page.base, reference).path
    if path is None:
        return
    reason = next(_reasons_against(link, path, editor.text, page, view, options), None)
    sheet = reason or _reason_to_stay(path, editor, page, view) or _text(path, reference, page, view, options)
    if isinstance(sheet, str):
        report.actions.append(Action("inline-styles", KEPT, path, sheet))
        return
    medium = link.attr("media")
    condition = f' media="{_attribute(medium)}"' if medium is not None else ""
    editor.replace_element(link, f"<style{carried_markup(link)}{condition}>{sheet.text}</style>")
    report.actions.append(Action("inline-styles", "inlined", path, INLINED))


@dataclass(frozen=True, slots=True)
class _SheetText:
    """The text of a sheet for a style element of the page; a plain ``str`` is the reason why there is none."""

    text: str


def _reasons_against(
    link: Element, path: str, text: str, page: PageContext, view: View, options: Options
) -> Iterator[str]:
    """Yield the reasons in page and link why this link stays."""
    unusual = first_unusual(link, page, _ALLOWED, None if options["readers"] == CROWD else _ALLOWED)
    if unusual is not None:
        yield f"the link has the attribute {unusual}"
    if view.media_type(path) != media.CSS:
        yield "it is not served as CSS"
    if (link.attr("charset") or "utf-8").strip().lower() != "utf-8":
        yield "the link names an encoding"
    if is_isolated(link, text):
        yield "the link is in a noscript, template or foreign element"
    if not should_inline(path, view, options):
        yield SHARED
    if page.selects("href", link.attr("href") or ""):
        yield "a script of the page looks for it by its address"
    yield from _reasons_of_page(path, page, options)
    if not page.policy.allows_inlining("style", link.attr("nonce")):
        yield POLICY
    if problem := _integrity_problem(link, path, view):
        yield problem


def _reasons_of_page(path: str, page: PageContext, options: Options) -> Iterator[str]:
    if path in page.preloaded:
        yield PRELOADED
    if page.base_path is None:
        yield "the page's base URL is on another site"
    if page.looks_for_sheets():
        yield "a script of the page looks for style sheets"
    if options["readers"] == CROWD and page.names_file(path):
        yield NAMED


def _integrity_problem(link: Element, path: str, view: View) -> str | None:
    integrity = link.attr("integrity")
    return None if integrity is None or meets_integrity(view.read(path), integrity) else MISMATCH


def _reason_to_stay(path: str, editor: Editor, page: PageContext, view: View) -> str | None:
    """Return why a sheet cannot move to another directory, because of custom properties."""
    assert page.base_path is not None
    if path.rpartition("/")[0] == page.base_path.rpartition("/")[0]:
        return None
    text = sheet_text(view.artifact(path))
    if has_relative_property_urls(text):
        return "a custom property of it holds a URL"
    if "var(" in text and _page_has_relative_property_urls(editor, page, view):
        return "it may use a custom property that holds a URL"
    return None


def _page_has_relative_property_urls(editor: Editor, page: PageContext, view: View) -> bool:
    sheets = page_sheets(editor.tree, page.base, view)
    return has_relative_property_urls(page.page.text) or any(map(has_relative_property_urls, sheets.texts))


def _text(path: str, reference: str, page: PageContext, view: View, options: Options) -> _SheetText | str:
    content = view.artifact(path)
    sheet, is_utf8 = sheet_text(content), page.page.encoding.lower() == "utf-8"
    if not sheet.isascii() and not (declares_encoding(content) or is_utf8):
        return "without a declaration its encoding is that of the page"
    # the encoding of the importing sheet is that of an imported one without a declaration (CSS Syntax 3, 3.2)
    reason = _unfit(sheet, may_import=options["readers"] == CROWD and is_utf8)
    if reason is not None:
        return reason
    moved = rebase_sheet(path, _CHARSET.sub("", sheet), page, view, reference)
    if moved is None:
        return "its URLs lead elsewhere from the page"
    safe = _for_style_element(moved)
    if safe is None or not page.can_hold(safe):
        return "its text cannot be written in the page"
    return _SheetText(safe)


# It means nothing in a style element.
_CHARSET = re.compile(r'\A@charset "[^"]*";')

# The same sheets go into every page of a site.
_for_style_element = lru_cache(maxsize=64)(escape_for_style_element)


@lru_cache(maxsize=64)
def _unfit(sheet: str, *, may_import: bool) -> str | None:
    if not may_import and any(reference.role is Role.IMPORT for reference in sheet_references(sheet)):
        return "it imports another sheet"
    return None if is_balanced(sheet) else "it ends inside an open block"


def _attribute(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;")


# late-styles: style sheets that a handler applies once they are loaded apply from the start.
#
# Three patterns are in wide use: ``media=print onload="this.media='all'"``, ``rel=preload as=style
# onload="this.rel='stylesheet'"``, and a script that gives links the medium that an attribute holds (Beasties, in
# Angular 22). They spare the reader a wait for a request. A sheet in the page costs none, and the passes that move
# sheets into the page know plain links only.


LATE = "late-styles"
# this.onload=null; this.media='all' and the like: nothing else may be in such a handler
_STATEMENT = re.compile(
    r"""(?:this\.)?onload\s*=\s*null|this\.removeAttribute\((?P<q>['"])onload(?P=q)\)"""
    r"""|(?:if\s*\(\s*(?:this\.)?media\s*!==?\s*(?P<q1>['"])[\w ]*(?P=q1)\s*\)\s*)?"""
    r"""(?:this\.)?media\s*=\s*(?P<q2>['"])(?P<medium>[\w ]*)(?P=q2)"""
    r"""|(?P<rel>(?:this\.)?rel\s*=\s*(?P<q3>['"])stylesheet(?P=q3))"""
)


def apply_late_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Turn links to sheets of the site that apply when they are loaded into links that apply at once."""
    report = Report()
    if page.has_policy:
        return report
    for link in editor.tree.iter_elements("link"):
        medium = None if is_isolated(link, editor.text) else late_medium(link)
        path = None if medium is None else _sheet_path(link, page, view)
        if medium is not None and path is not None:
            _apply(link, medium, editor, ("onload", "as"))
            report.actions.append(Action(LATE, "applied", path, "its handler would apply it when it is loaded"))
    for script, name, links in _switches(editor):
        paths = [None if is_isolated(link, editor.text) else _sheet_path(link, page, view) for link in links]
        if None not in paths:
            for link in links:
                _apply(link, link.attr(name) or "", editor, (name,))
            editor.remove_element(script)
            report.actions += [Action(LATE, "applied", path, "a script would apply it") for path in paths if path]
    return report


def _sheet_path(link: Element, page: PageContext, view: View) -> str | None:
    path = view.follow(page.base, link.attr("href") or "").path
    return path if path is not None and view.media_type(path) == media.CSS else None


def _switches(editor: Editor) -> Iterator[tuple[Element, str, list[Element]]]:
    """Yield each script that only gives links the medium that an attribute holds, that attribute, and those links."""
    before: list[Element] = []
    for element in editor.tree.iter_elements(("link", "script")):
        match = None if element.tag == "link" or element.attrs else MEDIUM_SWITCH.fullmatch(element.text.strip())
        if element.tag == "link":
            before.append(element)
        elif match is not None:
            yield element, match["name"], [link for link in before if link.attr(match["name"]) is not None]


def late_medium(link: Element) -> str | None:
    """Return the medium of a sheet once its load handler ran; ``None`` if that is not all that the handler does."""
    handler, rel = link.attr("onload"), rel_tokens(link)
    matches = [_STATEMENT.fullmatch(part.strip()) for part in (handler or "").split(";") if part.strip()]
    if not matches:
        return None
    mediums, is_switched = [], False
    for match in matches:
        if match is None:
            return None
        is_switched = is_switched or match["rel"] is not None
        mediums += [match["medium"]] if match["medium"] is not None else []
    if not ("stylesheet" in rel or (is_switched and preloads(link, "style"))):
        return None
    return mediums[-1] if mediums else link.attr("media") or ""


def _apply(link: Element, medium: str, editor: Editor, needless: tuple[str, ...]) -> None:
    editor.set_attribute(link, "rel", "stylesheet")
    for name in needless:
        editor.remove_attribute(link, name)
    if medium and medium != "all":
        editor.set_attribute(link, "media", medium)
    else:
        editor.remove_attribute(link, "media")
