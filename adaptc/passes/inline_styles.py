"""inline-styles: put small or rarely shared style sheets into the page."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc import media
from adaptc.css.decode import decode_sheet
from adaptc.css.inline import for_style_element, is_balanced
from adaptc.css.references import css_references, rewrite_urls
from adaptc.html.edit import Editor
from adaptc.model import Action, Role
from adaptc.passes.page import INLINED, SHARED, PageContext, Report, stands_apart
from adaptc.passes.styles import rebase
from adaptc.passes.view import Options, View

if TYPE_CHECKING:
    from turbohtml import Element

# An element with any other attribute is one that something else knows: a title makes a style set, an id is a handle.
_ALLOWED = frozenset({"rel", "href", "type", "media", "charset", "integrity", "crossorigin", "referrerpolicy"})


def inline_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Replace ``<link rel=stylesheet>`` by ``<style>`` where the cost model says so and nothing can tell."""
    report = Report()
    links = [link for link in editor.tree.iter_elements("link") if _is_plain_sheet(link)]
    for link in links:
        _consider(link, editor, page, view, report)
    return report


def _is_plain_sheet(link: Element) -> bool:
    return (link.attr("rel") or "").lower().split() == ["stylesheet"] and bool(link.attr("href"))


def _consider(link: Element, editor: Editor, page: PageContext, view: View, report: Report) -> None:
    url = link.attr("href") or ""
    found = view.follow(page.base, url)
    if found.path is None:
        return
    made = _inlined(link, found.path, page, view)
    if isinstance(made, str):
        report.actions.append(Action("inline-styles", "kept", found.path, made))
        return
    text, size = made.text, made.size
    medium = link.attr("media")
    condition = f' media="{_attribute(medium)}"' if medium is not None else ""
    editor.replace_element(link, f"<style{condition}>{text}</style>")
    report.inlined.append((found.path, size))
    report.actions.append(Action("inline-styles", "inlined", found.path, INLINED))


class _Made:
    __slots__ = ("size", "text")

    def __init__(self, text: str, size: int) -> None:
        self.text, self.size = text, size


def _inlined(link: Element, path: str, page: PageContext, view: View) -> _Made | str:
    """Return the text for the style element, or the reason why the link stays."""
    return _reason_against(link, path, page, view) or _text(path, page, view)


def _reason_against(link: Element, path: str, page: PageContext, view: View) -> str | None:
    unusual = set(link.attrs) - _ALLOWED
    if unusual:
        return f"the link has the attribute {min(unusual)}"
    if (link.attr("type") or "text/css").strip().lower() != "text/css" or view.media_type(path) != media.CSS:
        return "it is not served as CSS"
    if page.has_policy:
        return "the page has a Content-Security-Policy"
    if page.base_path is None:
        return "the page's base URL is on another site"
    if stands_apart(link):
        return "the link stands in a noscript, template or foreign element"
    if not view.placement(path).inline:
        return SHARED
    return page.introspection()


def _text(path: str, page: PageContext, view: View) -> _Made | str:
    content = view.artifact(path)
    sheet = decode_sheet(content, "utf-8").text
    if not sheet.isascii() and page.page.encoding.lower() != "utf-8":
        return "without a declaration its encoding is that of the page"
    reason = _unfit(sheet)
    if reason is not None:
        return reason
    rebased = _rebased(path, sheet, page, view)
    if rebased is None:
        return "its URLs lead elsewhere from the page"
    safe = _for_style_element(rebased)
    if safe is None or not page.can_hold(safe):
        return "its text cannot stand in the page"
    return _Made(safe, len(content))


# The same sheets go into every page of a site.
_for_style_element = lru_cache(maxsize=64)(for_style_element)
_references = lru_cache(maxsize=64)(css_references)


@lru_cache(maxsize=64)
def _unfit(sheet: str) -> str | None:
    if any(reference.role is Role.IMPORT for reference in _references(sheet)):
        return "it imports another sheet"
    return None if is_balanced(sheet) else "it ends inside an open block"


def _rebased(path: str, sheet: str, page: PageContext, view: View) -> str | None:
    """Return the sheet with its URLs written for the page, ``None`` when one would lead elsewhere."""
    if not _references(sheet):
        return sheet
    assert page.base_path is not None
    base = view.url_of(path)
    moved = {}
    for reference in _references(sheet):
        url = rebase(view, reference.url, base, page.base_path)
        if view.follow(page.base, url).target != view.follow(base, reference.url).target:
            return None
        moved[reference.url] = url
    return rewrite_urls(sheet, lambda reference: moved[reference.url])


def _attribute(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;")
