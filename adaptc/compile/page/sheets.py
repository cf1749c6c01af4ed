"""The style sheets that apply to a page, as far as they can be known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.view import View
from adaptc.core import media
from adaptc.core.model import Role
from adaptc.core.urls import Reach
from adaptc.formats.css.references import css_references
from adaptc.formats.css.sheet_text import decode_sheet

if TYPE_CHECKING:
    from turbohtml import Document


@dataclass(frozen=True, slots=True)
class PageSheets:
    """The texts of a page's sheets, imported ones too; ``complete`` is false where some are not files of the site."""

    texts: tuple[str, ...]
    complete: bool


def page_sheets(tree: Document, base: str, view: View) -> PageSheets:
    """Return the sheets of a page whose document base URL is ``base``.

    Every medium, alternate and disabled sheets count, and so do those in templates and ``<noscript>``.
    """
    sheets = _Sheets(view)
    texts = tuple(sheets.of(tree, base))
    return PageSheets(texts, sheets.complete)


class _Sheets:
    def __init__(self, view: View) -> None:
        self.view = view
        self.seen: set[str] = set()
        self.complete = True

    def of(self, tree: Document, base: str) -> Iterator[str]:
        for element in tree.iter_elements(("link", "style")):
            if element.tag == "style":
                yield from self._with_imports(element.text, base)
            elif "stylesheet" in (element.attr("rel") or "").lower().split():
                yield from self._linked(base, element.attr("href") or "")

    def _with_imports(self, text: str, base: str) -> Iterator[str]:
        yield text
        for url in _imports(text):
            yield from self._linked(base, url)

    def _linked(self, base: str, url: str) -> Iterator[str]:
        found = self.view.follow(base, url)
        known = found.target.reach is Reach.LOCAL
        if found.path is None or self.view.media_type(found.path) != media.CSS:
            self.complete &= known and found.path is None  # a sheet that is not there says nothing
        elif found.path not in self.seen:
            self.seen.add(found.path)
            yield from self._with_imports(sheet_text(self.view.artifact(found.path)), self.view.url_of(found.path))


# Artifacts are the same objects in all pages of a batch: a site's sheets are decoded and searched once.
@lru_cache(maxsize=128)
def sheet_text(content: bytes) -> str:
    """Return the text of a sheet of the site; it is UTF-8 or declares another encoding."""
    return decode_sheet(content, "utf-8").text


@lru_cache(maxsize=256)
def _imports(text: str) -> tuple[str, ...]:
    if "@" not in text:
        return ()
    return tuple(found.url for found in css_references(text) if found.role is Role.IMPORT)


# A URL in a custom property is resolved against the sheet that uses the property (CSS Variables 1, seen in Chromium),
# so that neither of the two sheets may move. Absolute URLs and fragments mean the same everywhere.
_RELATIVE_IN_CUSTOM = re.compile(
    r"--[\w-]+\s*:[^;}]*?(?:url|src)\(\s*[\"']?(?!\s*(?:[\"')/#]|[a-z][a-z0-9+.-]*:))", re.IGNORECASE
)
_SRC_SELECTOR = re.compile(r"\[\s*src\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def has_roaming_urls(text: str) -> bool:
    """Whether a custom property of a sheet (or of a whole page) holds a relative URL."""
    return "--" in text and _RELATIVE_IN_CUSTOM.search(text) is not None


@lru_cache(maxsize=256)
def selects_by_source(text: str) -> bool:
    """Whether a selector of a sheet looks at ``src`` attributes."""
    return _SRC_SELECTOR.search(text) is not None


def sheet_in_utf8(content: bytes) -> str | None:
    """Return the text of a sheet, its byte order mark included, or ``None`` where browsers read it in another way."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if content.isascii() or decode_sheet(content, "utf-8").encoding == "utf-8" else None
