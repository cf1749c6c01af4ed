"""The files of the site that a page loads, and those that its style sheets do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.sheets import sheet_text
from adaptc.compile.view import View
from adaptc.core import media
from adaptc.core.model import EMBEDDED, Role
from adaptc.formats.css.references import css_references
from adaptc.formats.html.references import references

if TYPE_CHECKING:
    from turbohtml import Document

__all__ = ["page_files"]

_LOADED = EMBEDDED | {Role.CSS_URL, Role.FONT}


def page_files(tree: Document, base: str, view: View) -> tuple[str, ...]:
    """Return the paths of what a page with this document base URL loads, in the order of the references, each once.

    What a sheet loads comes behind it. Fonts and backgrounds count that no element of the page may need.
    """
    found: dict[str, None] = {}
    waiting = [(base, reference.url) for reference in references(tree) if reference.role in _LOADED][::-1]
    while waiting:
        path = view.follow(*waiting.pop()).path
        if path is None or path in found:
            continue
        found[path] = None
        if view.media_type(path) == media.CSS:
            waiting += reversed([(view.url_of(path), url) for url in _of_sheet(path, view)])
    return tuple(found)


def _of_sheet(path: str, view: View) -> Iterator[str]:
    return (reference.url for reference in css_references(sheet_text(view.artifact(path))))
