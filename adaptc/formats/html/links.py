"""What a ``<link>`` is for, and which style sheets of a page apply.

The source is WHATWG HTML ("link types") and, for sheets with titles, CSSOM ("preferred CSS style sheet set name").
What these leave open is as in Chromium: an alternate sheet without a title never applies, and the
``type`` of a ``<link>`` may have parameters, while that of a ``<style>`` may not even have spaces around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from adaptc.core.model import Role
from adaptc.formats.html.syntax import ASCII_SPACE, ascii_lower, split_tokens

if TYPE_CHECKING:
    from turbohtml import Document, Element

__all__ = [
    "CONNECTIONS", "ICONS", "NO_ICON", "applied_in_page", "applied_sheets", "applies_to_screen",
    "applies_unconditionally", "is_style_sheet", "link_role", "preloads", "rel_tokens", "screen_medium", "split_rel",
]  # fmt: skip

# What a browser shows next to the title of a page, for bookmarks, and on pinned tabs
ICONS = frozenset({
    "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon",
    "fluid-icon",
})  # fmt: skip
CONNECTIONS = frozenset({"preconnect", "dns-prefetch"})
# Without an icon browsers ask for /favicon.ico
NO_ICON = "<link rel=icon href=data:,>"
_ROLES = (
    ({"stylesheet"}, Role.STYLESHEET),
    (ICONS, Role.ICON),
    ({"preload", "modulepreload", "prefetch", "prerender"}, Role.PRELOAD),
    ({"manifest"}, Role.MANIFEST),
)
_CSS_TYPES = frozenset({"", "text/css"})


def rel_tokens(link: Element) -> frozenset[str]:
    """Return the link types of an element, in lower case."""
    return split_rel(link.attr("rel") or "")


def split_rel(rel: str) -> frozenset[str]:
    """Return the link types that a ``rel`` attribute lists, in lower case."""
    return frozenset(split_tokens(ascii_lower(rel)))


def link_role(link: Element) -> Role:
    """Return what a ``<link>`` is for, by the first of its link types that makes a browser load it.

    A sheet that does not apply has the role of one that does: a script may switch it on.
    """
    tokens = rel_tokens(link)
    return next((role for names, role in _ROLES if names & tokens), Role.META)


def preloads(link: Element, destination: str) -> bool:
    """Whether a link loads a file early, as an ``image``, ``font``, ``style`` and so on."""
    return "preload" in rel_tokens(link) and ascii_lower(link.attr("as") or "") == destination


# ---- style sheets


def is_style_sheet(element: Element) -> bool:
    """Whether a ``<link>`` or ``<style>`` is a style sheet in CSS, whether it applies or not."""
    kind = ascii_lower(element.attr("type") or "")
    if element.tag == "style":
        return kind in _CSS_TYPES
    is_css = kind.partition(";")[0].strip(ASCII_SPACE) in _CSS_TYPES
    return is_css and element.tag == "link" and "stylesheet" in rel_tokens(element) and bool(element.attr("href"))


def applied_sheets(elements: Iterable[Element]) -> list[Element]:
    """Return the style sheets among the elements of a page, in its order, that apply in their medium.

    Of the sheets with a title those apply that are called like the first of them, unless that is an alternate one.
    """
    sheets = [each for each in elements if is_style_sheet(each) and not _is_disabled(each)]
    titles = (each.attr("title") for each in sheets if not _is_alternate(each))
    preferred = next(filter(None, titles), None)
    return [each for each in sheets if _is_in_set(each, preferred)]


def applied_in_page(tree: Document) -> list[Element]:
    """Return the style sheets of a page that apply in their medium; those in templates do not."""
    from adaptc.formats.html.document import in_template

    return applied_sheets(each for each in tree.iter_elements(("link", "style")) if not in_template(each))


def applies_unconditionally(element: Element) -> bool:
    """Whether a style sheet applies in every medium, whatever other sheets there are and whatever is clicked."""
    if not is_style_sheet(element) or element.attr("title") or element.attr("onload") is not None:
        return False
    medium = ascii_lower((element.attr("media") or "").strip(ASCII_SPACE))
    return medium in ("", "all") and not _is_disabled(element) and not _is_alternate(element)


def applies_to_screen(sheet: Element) -> bool:
    """Whether the medium of a style sheet may be a screen, once the sheet is loaded."""
    from adaptc.formats.css.visibility import may_match_screen  # a crawl reads links, and no style sheets

    return may_match_screen(screen_medium(sheet))


def screen_medium(sheet: Element) -> str:
    """Return the media query list by which a style sheet applies to a screen, ``""`` if it always does.

    A handler that writes a medium once the sheet is loaded writes one of screens.
    """
    query = (sheet.attr("media") or "").strip(ASCII_SPACE)
    is_changed = "media" in (sheet.attr("onload") or "")
    return "" if is_changed or ascii_lower(query) in ("all", "screen") else query


def _is_alternate(sheet: Element) -> bool:
    return sheet.tag == "link" and "alternate" in rel_tokens(sheet)


def _is_disabled(sheet: Element) -> bool:
    """Whether a sheet is switched off; the attribute has no effect on ``<style>``."""
    return sheet.tag == "link" and "disabled" in sheet.attrs


def _is_in_set(sheet: Element, preferred: str | None) -> bool:
    title = sheet.attr("title")
    return title == preferred if title else not _is_alternate(sheet)
