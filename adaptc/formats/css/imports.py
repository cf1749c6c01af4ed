"""The head of a style sheet: ``@charset``, ``@layer`` statements and ``@import`` (CSS Cascade 5, section
2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adaptc.formats.css.scanner import CLOSERS, DENSE, Kind, Token, next_token, skip_between, skip_gap


@dataclass(frozen=True, slots=True)
class Statement:
    """An at-rule of the head. ``name`` is lower-cased; the span ends behind its ``;`` or block.

    ``prelude`` is the position behind the name, ``close`` that of the ``;`` (or of the end of the text).
    """

    name: str
    start: int
    prelude: int
    close: int
    end: int
    has_block: bool
    is_closed: bool


@dataclass(frozen=True, slots=True)
class ImportStatement:
    """A legal ``@import`` of the head: ``target`` is its URL token, string, or quoted ``url()`` or
    ``src()``."""

    target: Token
    start: int
    end: int


def head_statements(text: str) -> Iterator[Statement]:
    """Yield the at-rules before the first qualified rule."""
    position = 0
    while (statement := statement_at(text, position)) is not None:
        yield statement
        position = statement.end


def statement_at(text: str, position: int) -> Statement | None:
    """Return the at-rule that starts at ``position`` but for white space, or ``None`` where none does."""
    start = skip_between(text, position)
    at = next_token(text, start, DENSE) if text[start : start + 1] == "@" else None
    if at is None or at.kind is not Kind.AT_KEYWORD or at.start != start:
        return None
    mark = _ending(text, at.end)
    if mark is None:
        return Statement(at.value, start, at.end, len(text), len(text), False, False)
    if mark.value == ";":
        return Statement(at.value, start, at.end, mark.start, mark.end, False, True)
    end = block_end(text, mark)
    return Statement(at.value, start, at.end, mark.start, end or len(text), True, end is not None)


def _ending(text: str, position: int) -> Token | None:
    """Return the ``;`` or ``{`` that ends a prelude."""
    while token := next_token(text, position, DENSE):
        if token.kind is Kind.MARK and token.value in ";{":
            return token
        position = token.end
        if token.kind is Kind.FUNCTION or (token.kind is Kind.MARK and token.value in "(["):
            position = block_end(text, token) or len(text)
    return None


def block_end(text: str, opener: Token) -> int | None:
    """Return the position behind the block or function that ``opener`` opens; ``None`` when it is never
    closed."""
    stack, position = [_closer(opener)], opener.end
    while stack:
        token = next_token(text, position, DENSE)
        if token is None:
            return None
        position = token.end
        if token.kind is Kind.FUNCTION or (token.kind is Kind.MARK and token.value in CLOSERS):
            stack.append(_closer(token))
        elif token.kind is Kind.MARK and token.value == stack[-1]:
            stack.pop()
    return position


def _closer(opener: Token) -> str:
    return CLOSERS.get(opener.value, ")") if opener.kind is Kind.MARK else ")"


# At-rules that are rules: an @import behind one is ignored. Others, unknown to browsers, do not count.
_RULES = frozenset({
    "media", "font-face", "keyframes", "-webkit-keyframes", "supports", "page", "namespace", "container",
    "property", "scope", "counter-style", "font-feature-values", "font-palette-values", "starting-style",
    "view-transition", "position-try",
})  # fmt: skip


def header_imports(text: str) -> Iterator[ImportStatement]:
    """Yield the ``@import`` rules that a browser honours: those before all rules but ``@layer``
    statements."""
    for statement in head_statements(text):
        if statement.name in _RULES or (statement.name == "layer" and statement.has_block):
            return
        if statement.name == "import" and (target := import_target(text, statement)):
            yield ImportStatement(target, statement.start, statement.end)


def import_target(text: str, statement: Statement) -> Token | None:
    """Return the URL of an ``@import``: a string, a URL token, or the function token of a quoted
    ``url()``."""
    start = skip_gap(text, statement.prelude)
    token = next_token(text, start, DENSE)
    if statement.has_block or token is None or token.end > statement.close:
        return None
    if token.kind is Kind.STRING:
        return token if token.start == start else None
    return _call_target(text, token, start)


def _call_target(text: str, token: Token, start: int) -> Token | None:
    if token.start != start or token.value not in ("url", "src"):
        return None
    if token.kind is Kind.URL:
        return token
    argument = skip_gap(text, token.end)
    string = next_token(text, argument, DENSE) if token.kind is Kind.FUNCTION else None
    is_string = string is not None and string.start == argument and string.kind is Kind.STRING
    return token if is_string else None
