"""The images of a style sheet: declarations that show one, URLs that a browser may load."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from adaptc.core.model import Role
from adaptc.core.values import dataclass, field
from adaptc.formats.css.fonts import CodeRanges, idle_sources
from adaptc.formats.css.references import CssReference, css_references
from adaptc.formats.css.rules import Item, sheet_items
from adaptc.formats.css.scanner import DENSE, Kind, Token, next_token, skip_gap, tokens
from adaptc.formats.css.sheet_text import rule_ends

# Where image-set() may replace url(). Not border-image: its slices count pixels of the image. Not cursor, mask
# and filter: mostly SVG, and support came late.
IMAGE_PROPERTIES = frozenset({"background", "background-image", "list-style", "list-style-image", "content"})
_NAME = re.compile(r"([-\w]+)\s*:")
# The declaration after one
_FOLLOWING = re.compile(r"\s*;\s*([-\w]+)\s*:([^;{}]*)")
_BAD_TOKENS = frozenset({Kind.BAD_STRING, Kind.BAD_URL})


@dataclass(frozen=True, slots=True)
class ImageDeclaration:
    """A declaration, from its name to the end of its value, and its ``url()`` outside of other functions.

    It is overridden where the next one has an ``image-set()`` for the same property.
    """

    start: int
    end: int
    urls: tuple[CssReference, ...]
    is_overridden: bool


def image_declarations(text: str, *, declarations: bool = False) -> list[ImageDeclaration]:
    """Return the declarations of a style sheet or a style attribute that show an image at its natural size.

    They have a property of ``IMAGE_PROPERTIES`` and a ``url()``. A ``url()`` in another function
    (``image-set()``, ``var()``), in a prelude or in malformed text is ignored.
    """
    urls = {
        reference.start: reference
        for reference in css_references(text, declarations=declarations)
        if reference.form == "url" and reference.role is Role.CSS_URL
    }
    spans = [(0, len(text))] if declarations else _rules_around(text, urls)
    return [each for start, stop in spans for each in _Walk(text, urls, stop, start).declarations()] if urls else []


def _rules_around(text: str, positions: Iterable[int]) -> list[tuple[int, int]]:
    """Return the spans of the rules around ``positions``, which rise; what is after the last rule is one span."""
    ends = [*rule_ends(text), len(text)] if positions else []
    indexes = dict.fromkeys(bisect_right(ends, position) for position in positions)
    return [(ends[index - 1] if index else 0, ends[index]) for index in indexes]


@dataclass(slots=True)
class _Walk:
    """A walk over all tokens of ``text[start:stop]``.

    A statement begins after ``{``, ``}`` or ``;`` outside of parentheses.
    """

    text: str
    urls: dict[int, CssReference]
    stop: int
    start: int
    depth: int = 0
    is_malformed: bool = False
    statement_urls: list[CssReference] = field(default_factory=list)

    def declarations(self) -> Iterator[ImageDeclaration]:
        position = self.start
        while (token := next_token(self.text, position, DENSE)) and token.start < self.stop:
            position = token.end
            self.is_malformed |= token.kind in _BAD_TOKENS or not token.is_closed
            if self.depth == 0 and token.start in self.urls:
                self.statement_urls.append(self.urls[token.start])
            if token.kind is Kind.MARK and self.depth == 0 and token.value in "{};":
                yield from self._end_statement(token)
            else:
                self.depth = max(0, self.depth + _depth_change(token))
        yield from self._end_statement(None)

    def _end_statement(self, token: Token | None) -> Iterator[ImageDeclaration]:
        end = self.stop if token is None else token.start
        if self.statement_urls and not self.is_malformed and (token is None or token.value != "{"):
            yield from self._declaration(end)
        self.start, self.is_malformed, self.statement_urls = end + 1, False, []

    def _declaration(self, end: int) -> Iterator[ImageDeclaration]:
        start = skip_gap(self.text, self.start)
        name = _NAME.match(self.text, start)
        if name is not None and name[1].lower() in IMAGE_PROPERTIES:
            end = start + len(self.text[start:end].rstrip())
            following = _FOLLOWING.match(self.text, end)
            is_overridden = following is not None and following[1] == name[1] and "image-set(" in following[2]
            yield ImageDeclaration(start, end, tuple(self.statement_urls), is_overridden)


def _depth_change(token: Token) -> int:
    if token.kind is Kind.FUNCTION:
        return 1
    if token.kind is not Kind.MARK:
        return 0
    return 1 if token.value in "([{" else -1 if token.value in ")]}" else 0


# Values by property; the last declaration of a property wins, as in the cascade of one rule
Declarations = Mapping[str, list[Any]]


class DeclarationBlocks:
    """The innermost blocks of a style sheet; a style attribute's ``declarations`` are one block."""

    def __init__(self, text: str, *, declarations: bool = False) -> None:
        self.text = text
        self._braces = [] if declarations else [
            token.start for token in tokens(text, 0, DENSE) if token.kind is Kind.MARK and token.value in "{}"
        ]  # fmt: skip

    def around(self, position: int) -> Declarations:
        """Return the declarations around a position, up to the next brace on each side."""
        index = bisect_left(self._braces, position)
        start = self._braces[index - 1] + 1 if index else 0
        end = self._braces[index] if index < len(self._braces) else len(self.text)
        return _parse_declarations(self.text[start:end])


def _parse_declarations(text: str) -> Declarations:
    from tinycss2 import parse_blocks_contents

    nodes = parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)
    return {node.lower_name: node.value for node in nodes if node.type == "declaration"}


# ---- The URLs of a style sheet that a browser may load


def loaded_urls(text: str, is_shown: Callable[[CodeRanges], bool]) -> list[str]:
    """Return the URLs that a sheet may load, imported sheets left out, each once.

    Of several declarations of a property in one block the last wins: what the others name is not loaded. Nor are those
    files of a font that a browser does not choose, or in a second rule with the same file: for other characters. Nor
    those whose code points are not shown.
    """
    references = [each for each in css_references(text) if each.role is not Role.IMPORT]
    spans = sorted(_overridden(sheet_items(text))) if references else []
    starts = [start for start, _ in spans]

    def is_overridden(position: int) -> bool:
        index = bisect_right(starts, position) - 1
        return index >= 0 and position < spans[index][1]

    idle = idle_sources(text, is_shown)
    return list(dict.fromkeys(each.url for each in references if not (is_overridden(each.start) or each.start in idle)))


def _overridden(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Yield the spans of declarations that a later one in the same block replaces."""
    last = {item.name: item for item in items if item.is_declaration}
    for item in items:
        if item.is_declaration and last[item.name] is not item:
            yield item.start, item.end
        yield from _overridden(item.items)
