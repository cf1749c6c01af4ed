"""Declarations that show an image at its natural size by ``url()``, and where they stand in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from adaptc.core.model import Role
from adaptc.formats.css.references import CssReference, css_references
from adaptc.formats.css.scanner import DENSE, Kind, Token, next_token, skip_gap

# Where url() may give way to image-set(). Not border-image: its slices count pixels of the image. Not cursor, mask
# and filter: mostly SVG, and support came late.
PROPERTIES = frozenset({"background", "background-image", "list-style", "list-style-image", "content"})
_NAME = re.compile(r"([-\w]+)\s*:")
_BROKEN = frozenset({Kind.BAD_STRING, Kind.BAD_URL})


@dataclass(frozen=True, slots=True)
class ImageDeclaration:
    """A declaration, from its name to the end of its value, and its ``url()`` outside of other functions."""

    start: int
    end: int
    urls: tuple[CssReference, ...]


def image_declarations(text: str, *, declarations: bool = False) -> list[ImageDeclaration]:
    """Return the declarations of ``PROPERTIES`` with a ``url()``, of a style sheet or a style attribute.

    What stands in another function (``image-set()``, ``var()``), in a prelude or in broken text is not seen.
    """
    urls = {
        found.start: found
        for found in css_references(text, declarations=declarations)
        if found.form == "url" and found.role is Role.CSS_URL
    }
    return list(_Walk(text, urls).declarations()) if urls else []


@dataclass(slots=True)
class _Walk:
    """A walk over all tokens; a statement begins behind ``{``, ``}`` or ``;`` outside of parentheses."""

    text: str
    urls: dict[int, CssReference]
    start: int = 0
    depth: int = 0
    is_broken: bool = False
    seen: list[CssReference] = field(default_factory=list)

    def declarations(self) -> Iterator[ImageDeclaration]:
        position = 0
        while token := next_token(self.text, position, DENSE):
            position = token.end
            self.is_broken |= token.kind in _BROKEN or not token.is_closed
            if self.depth == 0 and token.start in self.urls:
                self.seen.append(self.urls[token.start])
            if token.kind is Kind.MARK and self.depth == 0 and token.value in "{};":
                yield from self._ended(token)
            else:
                self.depth = max(0, self.depth + _step(token))
        yield from self._ended(None)

    def _ended(self, token: Token | None) -> Iterator[ImageDeclaration]:
        end = len(self.text) if token is None else token.start
        if self.seen and not self.is_broken and (token is None or token.value != "{"):
            yield from self._declaration(end)
        self.start, self.is_broken, self.seen = end + 1, False, []

    def _declaration(self, end: int) -> Iterator[ImageDeclaration]:
        start = skip_gap(self.text, self.start)
        name = _NAME.match(self.text, start)
        if name is not None and name[1].lower() in PROPERTIES:
            end = start + len(self.text[start:end].rstrip())
            yield ImageDeclaration(start, end, tuple(self.seen))


def _step(token: Token) -> int:
    if token.kind is Kind.FUNCTION:
        return 1
    if token.kind is not Kind.MARK:
        return 0
    return 1 if token.value in "([{" else -1 if token.value in ")]}" else 0
