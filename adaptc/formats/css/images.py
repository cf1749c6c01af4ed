"""The images of a style sheet: the declarations that show them, and a sheet without them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adaptc.core.model import Role
from adaptc.formats.css.references import CssReference, css_references
from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import DENSE, Kind, Token, next_token, skip_gap, tokens, unescape

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


# Values by property; of several declarations of a property the last one, as in the cascade of one rule
Declarations = Mapping[str, list[Any]]


class DeclarationBlocks:
    """The blocks of a style sheet, or of a style attribute's ``declarations``, which are one block."""

    def __init__(self, text: str, *, declarations: bool = False) -> None:
        self.text = text
        self._marks = [] if declarations else [
            token.start for token in tokens(text, 0, DENSE) if token.kind is Kind.MARK and token.value in "{}"
        ]  # fmt: skip

    def around(self, position: int) -> Declarations:
        """Return the declarations around a position, as far as the next brace on each side."""
        at = bisect_left(self._marks, position)
        start = self._marks[at - 1] + 1 if at else 0
        end = self._marks[at] if at < len(self._marks) else len(self.text)
        return declared(self.text[start:end])


def declared(text: str) -> Declarations:
    """Return the values of declarations by property."""
    from tinycss2 import parse_blocks_contents

    nodes = parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)
    return {node.lower_name: node.value for node in nodes if node.type == "declaration"}


# Characters of a data URI that may stay: the arrow of a select, the tick of a checkbox. Photographs are longer.
LONGEST_DATA = 1024
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
# What takes the place of an image, by how the property begins; None drops the whole declaration
_TRANSPARENT = "linear-gradient(#0000,#0000)"
_INSTEAD: tuple[tuple[str, str | None], ...] = (
    ("mask", _TRANSPARENT), ("-webkit-mask", _TRANSPARENT), ("list-style", ""), ("cursor", None), ("content", '""'),
    ("src", None),
)  # fmt: skip
_NOTHING = "none"

_Splice = tuple[int, int, str]


def drop_fonts_and_images(text: str, *, keep_images: bool = False, declarations: bool = False) -> str:
    """Return a sheet, or the ``declarations`` of a style attribute, without fonts and, but for small ones, images."""
    items = declaration_items(text) if declarations else sheet_items(text)
    pieces, done = [], 0
    for start, end, instead in _splices(text, items, keep_images):
        pieces += [text[done:start], instead]
        done = end
    return "".join([*pieces, text[done:]])


def has_private_use(text: str) -> bool:
    """Whether a text holds characters that only a font of icons has a picture for."""
    return _PRIVATE_USE.search(text) is not None


def _splices(text: str, items: Sequence[Item], keep_images: bool) -> Iterator[_Splice]:
    for item in items:
        if item.name == "@font-face" and item.body >= 0:
            yield item.gap, item.end, ""
        elif item.is_declaration:
            yield from _of_declaration(text, item, keep_images)
        elif item.is_rule or item.name in GROUPS:
            yield from _splices(text, item.items, keep_images)


def _of_declaration(text: str, item: Item, keep_images: bool) -> Iterator[_Splice]:
    value = text[item.body : item.close]
    if item.name == "content" and has_private_use(unescape(value)):
        yield item.body, item.close, '""'
    elif not keep_images and "(" in value:
        yield from _without_images(text, item)


def _without_images(text: str, item: Item) -> Iterator[_Splice]:
    value = text[item.body : item.close]
    gone = [each for each in css_references("x:" + value, declarations=True) if not _stays(each.url)]
    if not gone:
        return
    instead = next((instead for start, instead in _INSTEAD if item.name.startswith(start)), _NOTHING)
    left, done = [], 0
    for each in gone:
        left += [value[done : each.start - 2], instead or ""]
        done = each.end - 2
        if value[done : done + 1].isalnum():  # a minifier leaves no space behind ")"
            left.append(" ")
    shorter = "".join([*left, value[done:]])
    if instead is None or not shorter.strip():
        yield item.start, item.end, ""
    else:
        yield item.body, item.close, shorter


def _stays(url: str) -> bool:
    return url.startswith("#") or (url[:5].lower() == "data:" and len(url) <= LONGEST_DATA)
