"""The URLs of a style sheet or a style attribute, their positions in the text, and rewriting them.

A reference is what a browser fetches: ``url()``, ``src()``, the strings of ``image-set()`` and
``@import``. The prelude of an at-rule other than ``@import`` (``@namespace``, ``@supports``,
``@document``) has none, and neither has an ``@import`` after a rule, which browsers ignore.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from adaptc.core.model import Role
from adaptc.core.values import dataclass
from adaptc.formats.css.imports import head_imports
from adaptc.formats.css.scanner import (
    CLOSERS,
    DENSE,
    SPARSE,
    Kind,
    Token,
    next_token,
    skip_gap,
    string_value,
    url_value,
)

# A text without one of these has no references: all but @import need "(", and an escape may spell any name.
_HINT = re.compile(r"[uU][rR][lL]\(|[sS][rR][cC]\(|-[sS][eE][tT]\(|@[iI]|\\[0-9a-fA-FuUrRlLsScCiI@]")
IMAGE_SETS = frozenset({"image-set", "-webkit-image-set"})


@dataclass(frozen=True, slots=True)
class CssReference:
    """One URL of a style sheet.

    ``url`` has its escapes resolved. ``start`` and ``end`` are the span of the whole ``url(...)`` or of
    the string, whichever ``form`` names. A quoted ``url()`` with modifiers and a ``src()`` count as their
    string. ``line`` and ``column`` count from 1, in code points.
    """

    role: Role
    url: str
    start: int
    end: int
    line: int
    column: int
    form: Literal["url", "string"]


@dataclass(frozen=True, slots=True)
class _Unplaced:
    """A reference without line and column."""

    role: Role
    url: str
    start: int
    end: int
    form: Literal["url", "string"]


def may_have_references(text: str) -> bool:
    """Whether a text may have references, which most rules have not: 100 times as fast as to find them."""
    return _HINT.search(text) is not None


def css_references(text: str, *, declarations: bool = False) -> list[CssReference]:
    """Return the references of a style sheet, or of a style attribute's ``declarations``, in text order."""
    if not may_have_references(text):
        return []
    return list((_remembered if len(text) <= _REMEMBERED else _find)(text, declarations))


def _find(text: str, declarations: bool) -> Sequence[CssReference]:
    return tuple(_with_positions(text, _references(text, declarations)))


# The passes of a level ask for the references of the same text one after the other
_remembered = lru_cache(maxsize=64)(_find)
_REMEMBERED = 1 << 19  # code points


def imported_urls(text: str) -> list[str]:
    """Return the URLs that a style sheet imports."""
    return [_reference(text, statement.target, Role.IMPORT).url for statement in head_imports(text)]


def rewrite_urls(text: str, replace: Callable[[CssReference], str | None], *, declarations: bool = False) -> str:
    """Replace each URL for which ``replace`` returns another; nothing else changes."""
    pieces, position = [], 0
    for reference in css_references(text, declarations=declarations):
        url = replace(reference)
        if url is not None:
            pieces += [text[position : reference.start], _WRITE[reference.form](url)]
            position = reference.end
    return "".join([*pieces, text[position:]]) if pieces else text


def quote_url(url: str) -> str:
    """Return ``url(...)`` in its shortest spelling that is safe in style elements and attributes as well."""
    return f"url({url})" if _BARE.fullmatch(url) else f"url({quote_string(url)})"


def quote_string(value: str) -> str:
    """Return a CSS string; ``<`` of ``</`` and ``<!`` is escaped, so that it is safe in a style element."""
    mark = "'" if '"' in value and "'" not in value else '"'
    return mark + _UNSAFE[mark].sub(_escape, value) + mark


_BARE = re.compile(r"[^\"'()\\\x00-\x20\x7f<]+")
_UNSAFE = {mark: re.compile(rf"[\\\x00-\x1f\x7f{mark}]|<(?=[/!])") for mark in "\"'"}
_WRITE: dict[str, Callable[[str], str]] = {"url": quote_url, "string": quote_string}


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return "\\" + character if character in "\\\"'" else f"\\{ord(character):x} "


def _with_positions(text: str, references: Iterator[_Unplaced]) -> Iterator[CssReference]:
    line, line_start, counted = 1, 0, 0
    for ref in references:
        line += text.count("\n", counted, ref.start)
        newline = text.rfind("\n", counted, ref.start)
        line_start = newline + 1 if newline >= 0 else line_start
        counted = ref.start
        yield CssReference(ref.role, ref.url, ref.start, ref.end, line, ref.start - line_start + 1, ref.form)


def _references(text: str, declarations: bool) -> Iterator[_Unplaced]:
    position = 0
    if not declarations:
        for statement in head_imports(text):
            yield _reference(text, statement.target, Role.IMPORT)
            position = statement.end
    yield from _Walk(text, declarations).references(position)


def _reference(text: str, token: Token, role: Role) -> _Unplaced:
    """Return the reference of a URL token, a string, or the function of a quoted ``url()`` or ``src()``."""
    if token.kind is Kind.STRING:
        return _Unplaced(role, string_value(text, token), token.start, token.end, "string")
    if token.kind is Kind.URL:
        return _Unplaced(role, url_value(text, token), token.start, token.end, "url")
    reference = _quoted(text, token, role)
    assert reference is not None
    return reference


def _quoted(text: str, call: Token, role: Role) -> _Unplaced | None:
    """Return the reference of ``url("...")`` or ``src("...")``, or ``None`` when the argument is no string."""
    token = next_token(text, skip_gap(text, call.end), DENSE)
    if token is None or token.kind is not Kind.STRING or token.start != skip_gap(text, call.end):
        return None
    close = skip_gap(text, token.end)
    url = string_value(text, token)
    if call.value == "url" and text[close : close + 1] in (")", ""):
        return _Unplaced(role, url, call.start, min(close + 1, len(text)), "url")
    return _Unplaced(role, url, token.start, token.end, "string")


class _Walk:
    """A walk over the tokens that may hold a URL.

    Outside of ``@font-face`` and ``image-set()`` blocks do not matter and are not tracked (``SPARSE``);
    inside, a stack of what is open tells where they end.
    """

    def __init__(self, text: str, declarations: bool) -> None:
        self.text = text
        self.declarations = declarations
        self.open: list[tuple[str, str]] = []  # closing mark, name of the function or at-rule
        self.role = Role.CSS_URL

    def references(self, position: int) -> Iterator[_Unplaced]:
        while token := next_token(self.text, position, DENSE if self.open else SPARSE):
            position = token.end
            if token.kind is Kind.URL:
                yield _reference(self.text, token, self.role)
            elif token.kind is Kind.AT_KEYWORD and not self.declarations:
                position = self._skip_prelude(token)
            elif token.kind is Kind.FUNCTION:
                yield from (references := self._call(token))
                position = max([position, *(reference.end for reference in references)])
            elif token.kind is Kind.STRING and self.open and self.open[-1][1] in IMAGE_SETS:
                yield _reference(self.text, token, self.role)
            elif token.kind is Kind.MARK:
                self._mark(token.value)

    def _call(self, token: Token) -> list[_Unplaced]:
        reference = _quoted(self.text, token, self.role) if token.value in ("url", "src") else None
        if reference is not None and reference.form == "url":
            return [reference]
        if self.open or token.value in IMAGE_SETS:
            self.open.append((")", token.value))
        return [reference] if reference else []

    def _mark(self, mark: str) -> None:
        if mark in CLOSERS:
            if self.open:
                self.open.append((CLOSERS[mark], ""))
        elif self.open and self.open[-1][0] == mark and self.open.pop()[1] == "font-face":
            self.role = Role.FONT if any(name == "font-face" for _, name in self.open) else Role.CSS_URL

    def _skip_prelude(self, at: Token) -> int:
        """Return the position after the prelude of an at-rule and its ``{`` or ``;``.

        An unmatched closing mark ends the prelude too: it may close a block that is not tracked.
        """
        depth: list[str] = []
        position = at.end
        while token := next_token(self.text, position, DENSE):
            if token.kind is Kind.MARK and not depth and token.value in ")]{};":
                return self._enter(at, token)
            position = token.end
            if token.kind is Kind.FUNCTION:
                depth.append(")")
            elif token.kind is Kind.MARK and token.value in CLOSERS:
                depth.append(CLOSERS[token.value])
            elif depth and token.value == depth[-1] and token.kind is Kind.MARK:
                depth.pop()
        return len(self.text)

    def _enter(self, at: Token, token: Token) -> int:
        if token.value == "{" and (at.value == "font-face" or self.open):
            self.open.append(("}", at.value))
            self.role = Role.FONT if at.value == "font-face" else self.role
        return token.start if token.value in ")]}" else token.end
