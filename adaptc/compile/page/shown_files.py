"""The contents of the images that a page shows: by its markup, by the style sheets that it loads, and as data URIs."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from adaptc.core.model import Role
from adaptc.core.urls import Reach, SiteAddress, document_base, join
from adaptc.formats.css.images import image_declarations
from adaptc.formats.css.references import css_references
from adaptc.formats.css.sheet_text import decode_sheet
from adaptc.formats.html.references import base_href, passed_over_references, references

if TYPE_CHECKING:
    from turbohtml import Document

# Returns the bytes of the file that a path of the site leads to, ``None`` where there is none
Read = Callable[[str], bytes | None]

_SHOWING = frozenset({Role.IMAGE, Role.OBJECT, Role.LAZY})
_DATA = re.compile(r"data:image/[-+.\w]+((?:;[^,;]*)*),(.*)", re.IGNORECASE | re.DOTALL)
_PROPERTY = re.compile(r"[;\s]*([-\w]+)\s*:([^;}]*)")


@dataclass(slots=True)
class ShownFiles:
    """Finds the images that pages of one level show; sheets are read once."""

    address: SiteAddress
    read: Read
    _sheets: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)

    def of(self, path: str, tree: Document) -> Iterator[bytes]:
        """Yield the contents of the images of the page at ``path``; an image may come more than once."""
        base = document_base(self.address.url_of(path), base_href(tree))
        passed_over = frozenset(passed_over_references(tree))
        for reference in references(tree):
            if reference.role in _SHOWING and reference not in passed_over:
                yield from self._content(base, reference.url)
            elif reference.role is Role.STYLESHEET:
                yield from self._linked(join(base, reference.url), ())
        for element in tree.iter_elements("style"):
            yield from self._shown_by(base, element.text, declarations=False)
        for element in tree.select('[style*="("]'):
            yield from self._shown_by(base, element.attr("style") or "", declarations=True)

    def has_styles(self, path: str, tree: Document) -> bool:
        """Whether the page at ``path`` has styles of its own, or a style sheet that exists or is on another site."""
        base = document_base(self.address.url_of(path), base_href(tree))
        urls = (reference.url for reference in references(tree) if reference.role is Role.STYLESHEET)
        return tree.select_one("style, [style]") is not None or any(self._exists(base, url) for url in urls)

    def _exists(self, base: str, url: str) -> bool:
        target = self.address.resolve(base, url)
        return target.reach is Reach.EXTERNAL or (target.reach is Reach.LOCAL and self.read(target.path) is not None)

    def _linked(self, url: str | None, seen: tuple[str, ...]) -> Iterator[bytes]:
        """Yield the images of a sheet and of those that it imports."""
        if url is None or url in seen:
            return
        if url not in self._sheets:
            content = self._file(url, "")
            text = "" if content is None else decode_sheet(content, "utf-8").text
            self._sheets[url] = tuple(shown_urls(text)), tuple(_imports(text))
        shown, imported = self._sheets[url]
        for reference in shown:
            yield from self._content(url, reference)
        for reference in imported:
            yield from self._linked(join(url, reference), (*seen, url))

    def _shown_by(self, base: str, text: str, *, declarations: bool) -> Iterator[bytes]:
        for url in shown_urls(text, declarations=declarations):
            yield from self._content(base, url)
        for url in _imports(text) if not declarations else ():
            yield from self._linked(join(base, url), ())

    def _content(self, base: str, url: str) -> Iterator[bytes]:
        content = data_content(url) if url[:5].lower() == "data:" else self._file(base, url)
        if content:
            yield content

    def _file(self, base: str, url: str) -> bytes | None:
        target = self.address.resolve(base, url or base)
        return self.read(target.path) if target.reach is Reach.LOCAL else None


def data_content(url: str) -> bytes | None:
    """Return the content of a data URI of an image (RFC 2397), ``None`` for others and malformed ones."""
    match = _DATA.fullmatch(url.strip())
    if match is None:
        return None
    content = unquote_to_bytes(match[2])
    if not match[1].lower().endswith(";base64"):
        return content
    try:
        return base64.b64decode(content)
    except binascii.Error:
        return None


def shown_urls(text: str, *, declarations: bool = False) -> Iterator[str]:
    """Yield the URLs that CSS may show.

    A declaration does not count that the next one overrides with an ``image-set()`` for the same property.
    """
    overridden = {
        reference.start
        for declaration in image_declarations(text, declarations=declarations)
        if _is_overridden(text, declaration.start, declaration.end)
        for reference in declaration.urls
    }
    for reference in css_references(text, declarations=declarations):
        if reference.role is Role.CSS_URL and reference.start not in overridden:
            yield reference.url


def _is_overridden(text: str, start: int, end: int) -> bool:
    own, following = _PROPERTY.match(text, start), _PROPERTY.match(text, end)
    return own is not None and following is not None and own[1] == following[1] and "image-set(" in following[2]


def _imports(text: str) -> Iterator[str]:
    return (reference.url for reference in css_references(text) if reference.role is Role.IMPORT)
