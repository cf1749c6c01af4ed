"""Style sheets of a site: their texts and encodings, their URLs, and those that apply to a page."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, is_isolated
from adaptc.compile.view import Asset, View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.model import Role
from adaptc.core.urls import Reach, is_rooted, join, path_in_host, relative_url, rooted_url
from adaptc.core.values import dataclass, pattern
from adaptc.formats.css.flatten import ImportedSheet
from adaptc.formats.css.fonts import is_font_service
from adaptc.formats.css.imports import BUDGET
from adaptc.formats.css.references import css_references, rewrite_urls
from adaptc.formats.css.sheet_text import decode_sheet
from adaptc.formats.html.links import (
    applied_in_page,
    applies_to_screen,
    applies_unconditionally,
    is_style_sheet,
    screen_medium,
)

if TYPE_CHECKING:
    from turbohtml import Document, Element


@dataclass(frozen=True, slots=True)
class PageSheets:
    """The texts of a page's sheets, imported ones too; ``complete`` is false if some are not files of the site.

    ``are_known`` is true as well where those only declare fonts, and styles of icons.
    """

    texts: tuple[str, ...]
    complete: bool
    are_known: bool


def page_sheets(tree: Document, base: str, view: View) -> PageSheets:
    """Return the sheets of a page whose document base URL is ``base``.

    Sheets of every medium count, alternate and disabled ones too, and those in templates and ``<noscript>``.
    """
    sheets = _Sheets(view)
    texts = tuple(text for text, _ in sheets.of(tree, base))
    return PageSheets(texts, sheets.complete, sheets.are_known)


def screen_sheets(tree: Document, base: str, view: View) -> tuple[str, ...]:
    """Return the texts of the sheets that apply to a screen, each with the media query of its element, if it has one.

    Alternate and disabled sheets do not, and those in templates.
    """
    sheets, texts = _Sheets(view), list[str]()
    for element in filter(applies_to_screen, applied_in_page(tree)):
        media_query = screen_medium(element)
        for text, _ in sheets.of_element(element, base):
            texts.append(f"@media {media_query}{{{text}}}" if media_query else text)
    return tuple(texts)


def lasting_sheets(tree: Document, text: str, base: str, view: View) -> tuple[str, ...]:
    """Return the texts of the sheets that apply to a page in every medium, without those that they import.

    ``text`` is what the tree was parsed from.
    """
    sheets, elements = _Sheets(view), tree.iter_elements(("link", "style"))
    lasting = [each for each in elements if applies_unconditionally(each) and not is_isolated(each, text)]
    return tuple(text for each in lasting for text, _ in itertools.islice(sheets.of_element(each, base), 1))


def sheets_with_bases(tree: Document, base: str, view: View) -> Iterator[tuple[str, str]]:
    """Yield the texts of ``page_sheets``, each with the absolute URL that its references are relative to."""
    yield from _Sheets(view).of(tree, base)


def paths_in_sheets(tree: Document, base: str, view: View) -> set[str]:
    """Return the paths of the site, of existing files or not, that the sheets of such a page refer to."""
    return {
        view.follow(sheet_base, url).target.path
        for text, sheet_base in sheets_with_bases(tree, base, view)
        for url in view.facts(_SHEET, text).urls
    }


class _Sheets:
    """Walks the sheets of a page; each comes with the URL that its references are relative to."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.seen: set[str] = set()
        self.complete = self.are_known = True

    def of(self, tree: Document, base: str) -> Iterator[tuple[str, str]]:
        for element in tree.iter_elements(("link", "style")):
            yield from self.of_element(element, base)

    def of_element(self, element: Element, base: str) -> Iterator[tuple[str, str]]:
        if not is_style_sheet(element):
            return
        if element.tag == "style":
            yield element.text, base
            yield from self._linked(base, self._imports(element.text))
        else:
            yield from self._linked(base, (element.attr("href") or "",))

    def _linked(self, base: str, urls: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield sheets, each followed by those that it imports. Chains may be long: no recursion."""
        pending = [(base, url) for url in reversed(urls)]
        while pending:
            path = self._new_sheet(*pending.pop())
            if path is not None:
                text, address = sheet_text(self.view.artifact(path)), self.view.url_of(path)
                yield text, address
                pending += ((address, url) for url in reversed(self._imports(text)))

    def _imports(self, text: str) -> Sequence[str]:
        return self.view.facts(_SHEET, text).imports if "@" in text else ()

    def _new_sheet(self, base: str, url: str) -> str | None:
        """Return the path of a sheet of the site that was not seen before, ``None`` for others."""
        destination = self.view.follow(base, url)
        is_local = destination.target.reach is Reach.LOCAL
        if destination.path is None or self.view.media_type(destination.path) != media.CSS:
            is_missing = is_local and destination.path is None  # it has no rules then
            self.complete &= is_missing
            self.are_known &= is_missing or is_font_service(join(base, url) or "")
            return None
        if destination.path in self.seen:
            return None
        self.seen.add(destination.path)
        return destination.path


# Artifacts are the same objects in all pages of a batch: a site's sheets are decoded and searched once.
@lru_cache(maxsize=128)
def sheet_text(content: bytes) -> str:
    """Return the text of a sheet of the site; it is UTF-8 or declares another encoding."""
    return decode_sheet(content, "utf-8").text


sheet_references = lru_cache(maxsize=64)(css_references)


@dataclass(frozen=True, slots=True)
class _SheetFacts:
    """The URLs of a sheet, each once, and those of its imports in order."""

    urls: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


def _find_sheet_facts(text: str) -> _SheetFacts:
    references = css_references(text)
    imports = (reference.url for reference in references if reference.role is Role.IMPORT)
    return _SheetFacts(tuple(dict.fromkeys(reference.url for reference in references)), tuple(imports))


_SHEET = FactKind("sheet", _find_sheet_facts, _SheetFacts())


# A URL in a custom property is resolved against the sheet that uses the property (CSS Variables 1, seen in Chromium),
# so that neither of the two sheets may move. Absolute URLs and fragments mean the same everywhere. The end of the
# class in ".button--primary:hover" is no property.
_RELATIVE_IN_CUSTOM = pattern(
    r"(?<![\w.#\\-])--[\w-]+\s*:[^;}]*?(?:url|src)\(\s*[\"']?(?!\s*(?:[\"')/#]|[a-z][a-z0-9+.-]*:))", re.IGNORECASE
)
_SRC_SELECTOR = pattern(r"\[\s*src\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def has_relative_property_urls(text: str) -> bool:
    """Whether a custom property of a sheet (or of a whole page) holds a relative URL."""
    return "--" in text and _RELATIVE_IN_CUSTOM.search(text) is not None


@lru_cache(maxsize=256)
def selects_by_source(text: str) -> bool:
    """Whether a selector of a sheet looks at ``src`` attributes."""
    return _SRC_SELECTOR.search(text) is not None


def sheet_in_utf8(content: bytes) -> str | None:
    """Return the text of a sheet with its byte order mark, or ``None`` if browsers do not read it as UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if content.isascii() or decode_sheet(content, "utf-8").encoding == "utf-8" else None


def declares_encoding(content: bytes) -> bool:
    """Whether a sheet declares its encoding by a byte order mark or ``@charset``."""
    return content.startswith((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b'@charset "'))


def is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class SheetLoader:
    """Loads imported sheets for ``flatten``; a string is the reason why one cannot be.

    ``declared`` says whether the sheets so far that are not ASCII declare their encoding; ``None`` while all are ASCII.
    With ``skips_missing`` one that does not exist is empty; what begins with a slash may be another part of the host.
    """

    def __init__(self, view: View, root: Asset, *, skips_missing: bool = False) -> None:
        self.view = view
        self.root = root
        self.skips_missing = skips_missing
        self.declared = None if root.content.isascii() else declares_encoding(root.content)
        self.keeps_imports = view.keeps_imports(root.path)

    def __call__(self, sheet: str, url: str) -> ImportedSheet | str:
        if self.keeps_imports:
            return f"the imports of all sheets together are more than {BUDGET:,} bytes"
        destination = self.view.follow(self.view.url_of(sheet), url)
        if destination.target.reach is not Reach.LOCAL:
            return "it is not a file of this site"
        if destination.path is None and self.skips_missing and not url.startswith("/"):
            return ImportedSheet(destination.target.path, "")
        if destination.path is None:
            return "there is no such file"
        if self.view.media_type(destination.path) != media.CSS:
            return "it is not a style sheet"
        content = self.view.read(destination.path)
        return self._problem(destination.path, content) or ImportedSheet(
            destination.path, decode_sheet(content, "utf-8").text
        )

    def _problem(self, path: str, content: bytes) -> str | None:
        if path.rpartition("/")[0] != self.root.path.rpartition("/")[0] and self._roams(content):
            return "a custom property holds a URL, which means another file elsewhere"
        if content.isascii():
            return None
        is_declared = declares_encoding(content)
        if not (is_declared or is_utf8(content)) or self.declared is (not is_declared):
            return "its encoding is not that of the importing sheet"
        self.declared = is_declared
        return None

    def _roams(self, content: bytes) -> bool:
        text = sheet_text(content)
        return has_relative_property_urls(text) or (
            "var(" in text and has_relative_property_urls(sheet_text(self.root.content))
        )


class Rebase:
    """Rewrites a relative URL of one sheet for another sheet; one that leads to no path of the site stays as it is.

    ``reference`` is that of the page, if that imports the sheets.
    """

    def __init__(self, view: View, reference: str = "") -> None:
        self.view, self.reference = view, reference

    def __call__(self, url: str, from_sheet: str, to_sheet: str) -> str:
        return rebase(self.view, url, self.view.url_of(from_sheet), to_sheet, self.reference)


def url_like(reference: str, from_path: str, to_path: str, view: View) -> str:
    """Return a URL of ``to_path`` for the page or sheet at ``from_path``, rooted if the ``reference`` there was.

    A server sends the page of an error, or of an application, for addresses of any depth: what leads from the root
    goes on to do so. Others stay relative, and do not depend on where the site is.
    """
    return rooted_url(view.url_of(to_path)) if is_rooted(reference) else relative_url(from_path, to_path)


def rebase(view: View, url: str, base: str, to_path: str, reference: str = "") -> str:
    """Return ``url``, written relative to ``base``, as a URL of the page or sheet at ``to_path``.

    ``reference`` is that by which the page refers to the sheet, whose URLs are rooted if it is.
    """
    if url.startswith("/"):  # absolute in its host: the same everywhere
        return url
    target = view.follow(base, url).target
    if target.reach is Reach.OUTSIDE and ":" not in url.partition("/")[0]:  # without a scheme of its own
        return path_in_host(base, url)
    return url_like(reference, to_path, target.path, view) + target.suffix if target.reach is Reach.LOCAL else url


def rebase_sheet(path: str, sheet: str, page: PageContext, view: View, reference: str) -> str | None:
    """Return the sheet at ``path`` with its URLs written for the page, ``None`` if one would lead elsewhere.

    ``reference`` is the URL by which the page refers to it.
    """
    assert page.base_path is not None
    base = view.url_of(path)
    moved = {}
    for each in sheet_references(sheet):
        url = moved[each.url] = rebase(view, each.url, base, page.base_path, reference)
        if view.follow(page.base, url).target != view.follow(base, each.url).target:
            return None
    return _rewritten(sheet, tuple(moved.items()))


@lru_cache(maxsize=64)
def _rewritten(sheet: str, moved: tuple[tuple[str, str], ...]) -> str:
    urls = dict(moved)
    return rewrite_urls(sheet, lambda reference: urls[reference.url]) if moved else sheet
