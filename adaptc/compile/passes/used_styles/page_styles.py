"""The style sheets of a page in the order of the cascade, as texts for style elements.

Order (CSS Cascade 5, section 6.1): that of the elements in the document. A sheet that cannot be read stays in place
and separates the sheets before it from those after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adaptc.compile.page.context import PageContext, is_compared, is_isolated
from adaptc.compile.page.inlining import (
    FRAMED,
    PRELOADED,
    carried_markup,
    first_unusual,
    framed_files,
    meets_integrity,
)
from adaptc.compile.page.sheets import Rebase, SheetLoader, sheet_references, sheet_text
from adaptc.compile.view import Asset, View
from adaptc.core import media
from adaptc.core.model import Role
from adaptc.core.urls import is_rooted
from adaptc.core.values import dataclass
from adaptc.formats.css.flatten import flatten
from adaptc.formats.css.sheet_text import at_keywords, ends_between_rules, is_balanced
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import applied_sheets, is_style_sheet
from adaptc.formats.html.syntax import attribute_markup

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["PageStyle", "group_styles", "handles_markup", "page_styles"]

_CHARSET = re.compile(r'\A\ufeff?@charset "[^"]*";')
_HEAD_STATEMENTS = frozenset({"import", "namespace"})


@dataclass(frozen=True, slots=True)
class PageStyle:
    """A style sheet of a page.

    ``text`` is ``None`` if the sheet must stay, for ``reason``, and empty if it has no effect. Its URLs are relative to
    ``path`` (``None``: the page). ``starts`` says that it has statements that only the start of a sheet may hold.
    ``media`` is its medium.
    """

    element: Element
    text: str | None
    reason: str = ""
    path: str | None = None
    media: str = ""
    starts: bool = False


def page_styles(editor: Editor, page: PageContext, view: View) -> list[PageStyle]:
    """Return the sheets of a page that browsers apply or fetch.

    While the page has scripts, sheets stay that a script may enable or know, and those that frames in the page load.
    """
    styles: list[PageStyle] = []
    framed = framed_files(editor.tree, page, view)
    elements = [each for each in editor.tree.iter_elements(("link", "style")) if not is_isolated(each, editor.text)]
    applied = set(applied_sheets(elements))
    for element in filter(is_style_sheet, elements):
        is_switched_off = element not in applied
        if page.has_scripts and (is_switched_off or element.attr("title") or _is_known(element, page)):
            styles.append(PageStyle(element, None, "a script of the page may know it"))
        elif page.has_scripts and element.tag == "style" and is_compared(element, editor.text):
            styles.append(PageStyle(element, None, "scripts that hydrate the page compare its text"))
        elif page.has_scripts and framed and view.follow(page.base, element.attr("href") or "").path in framed:
            styles.append(PageStyle(element, None, FRAMED))
        elif is_switched_off:
            styles.append(PageStyle(element, ""))  # a script or a menu of the browser would choose it
        elif element.tag == "style":
            styles.append(_style(element, page, view))
        else:
            styles.append(_link(element, page, view))
    return styles


_MEANT = frozenset({"rel", "href", "media"})


def _is_known(element: Element, page: PageContext) -> bool:
    """Whether a script of the page writes out an attribute of a sheet, or the name of its file."""
    path = urlsplit(element.attr("href") or "").path
    return first_unusual(element, page, _MEANT) is not None or (bool(path) and page.names_file(path))


def _style(element: Element, page: PageContext, view: View) -> PageStyle:
    text = element.text
    if page.base_path is not None:
        text = _with_imports(page.base_path, text, view, in_page=True)
    return _page_style(element, text, None)


def _with_imports(path: str, text: str, view: View, *, in_page: bool = False) -> str:
    """Return a sheet with its imports inlined: each of them costs a request."""
    if "@import" not in text.lower():
        return text
    imports = (each.url for each in sheet_references(text) if each.role is Role.IMPORT) if in_page else ()
    reference = next(filter(is_rooted, imports), "")
    asset = Asset(path, media.CSS, text.encode("utf-8", "replace"))
    return flatten(path, text, SheetLoader(view, asset, skips_missing=True), Rebase(view, reference)).text


def _link(element: Element, page: PageContext, view: View) -> PageStyle:
    url = element.attr("href") or ""
    destination = view.follow(page.base, url)
    if destination.path is None:  # a server may have it all the same: from another directory, or below a base path
        return PageStyle(element, None, "it is not a file of this site")
    if view.media_type(destination.path) != media.CSS:
        return PageStyle(element, "")
    if destination.path in page.preloaded:
        return PageStyle(element, None, PRELOADED)
    if not meets_integrity(view.read(destination.path), element.attr("integrity")):
        return PageStyle(element, "")
    text = _with_imports(destination.path, _file_text(view.artifact(destination.path)), view)
    return _page_style(element, text, destination.path)


@lru_cache(maxsize=64)
def _file_text(content: bytes) -> str:
    return _CHARSET.sub("", sheet_text(content))


def _page_style(element: Element, text: str, path: str | None) -> PageStyle:
    medium = (element.attr("media") or "").strip()
    if not _is_whole(text) or not _MARKS.isdisjoint(medium):
        return PageStyle(element, None, "it is malformed: something is open at its end", path)
    starts = "@" in text and not _HEAD_STATEMENTS.isdisjoint(_at_keywords(text))
    return PageStyle(element, text, "", path, "" if medium.lower() == "all" else medium, starts)


_MARKS = frozenset("{};<")
_at_keywords = lru_cache(maxsize=64)(at_keywords)


@lru_cache(maxsize=64)
def _is_whole(text: str) -> bool:
    return is_balanced(text) and ends_between_rules(text)


def handles_markup(element: Element, page: PageContext) -> str:
    """Return the markup of the attributes by which something may know a sheet: its id, for scripts others as well."""
    if page.has_scripts:
        return carried_markup(element)
    handle = element.attr("id")
    return "" if handle is None else " " + attribute_markup("id", handle)


def group_styles(
    styles: list[PageStyle], page: PageContext, *, ends_with_file: bool = False
) -> Iterator[list[PageStyle]]:
    """Group sheets that can follow each other in one ``<style>`` element; those that stay separate the groups.

    An element by whose attributes something may know it, such as an id, is a group of its own. With
    ``ends_with_file`` a group ends with the sheet of a file.
    """
    run: list[PageStyle] = []
    is_last = False
    for style in styles:
        has_handle = bool(handles_markup(style.element, page))
        if run and (is_last or style.text is None or style.starts or has_handle):
            yield run
            run, is_last = [], False
        if style.text is not None:
            run.append(style)
            is_last = is_last or bool(style.starts and style.media) or has_handle
            is_last = is_last or (ends_with_file and style.path is not None)
    if run:
        yield run
