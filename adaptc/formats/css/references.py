"""The URLs of a style sheet or a style attribute: where they are written, and how to write others in
their place.

A reference is what a browser fetches: ``url()``, ``src()``, the strings of ``image-set()`` and
``@import``. The prelude of an at-rule other than ``@import`` (``@namespace``, ``@supports``,
``@document``) holds none, and neither does an ``@import`` behind a rule, which browsers ignore.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from adaptc.core.model import Role
from adaptc.formats.css.imports import header_imports
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

# Without one of these no reference can be written: all but @import need "(", and an escape may spell any
# name.
_HINT = re.compile(r"[uU][rR][lL]\(|[sS][rR][cC]\(|-[sS][eE][tT]\(|@[iI]|\\[0-9a-fA-FuUrRlLsScCiI@]")
_IMAGE_SETS = frozenset({"image-set", "-webkit-image-set"})


@dataclass(frozen=True, slots=True)
class CssReference:
    """One URL of a style sheet.

    ``url`` has its escapes resolved. ``start`` and ``end`` are the span of the whole ``url(...)`` or of
    the string; ``form`` says which of the two it is, so that it can be rewritten in kind. A quoted
    ``url()`` with modifiers and a ``src()`` count as their string. ``line`` and ``column`` count code
    points from 1.
    """

    role: Role
    url: str
    start: int
    end: int
    line: int
    column: int
    form: Literal["url", "string"]


@dataclass(frozen=True, slots=True)
class _Found:
    role: Role
    url: str
    start: int
    end: int
    form: Literal["url", "string"]


def css_references(text: str, *, declarations: bool = False) -> list[CssReference]:
    """Return the references of a style sheet, or of a style attribute's ``declarations``, in the order of
    the text."""
    if not _HINT.search(text):
        return []
    return list(_placed(text, _found(text, declarations)))


def rewrite_urls(text: str, replace: Callable[[CssReference], str | None], *, declarations: bool = False) -> str:
    """Write the URLs that ``replace`` returns in the place of the old; every other byte stays as it is."""
    pieces, done = [], 0
    for reference in css_references(text, declarations=declarations):
        url = replace(reference)
        if url is not None:
            pieces += [text[done : reference.start], _WRITE[reference.form](url)]
            done = reference.end
    return "".join([*pieces, text[done:]]) if pieces else text


def quote_url(url: str) -> str:
    """Write ``url(...)`` in its shortest spelling that is safe, in style elements and attributes too."""
    return f"url({url})" if _BARE.fullmatch(url) else f"url({quote_string(url)})"


def quote_string(value: str) -> str:
    """Write a CSS string; ``<`` of ``</`` and ``<!`` is escaped, so that it is safe in a style element."""
    mark = "'" if '"' in value and "'" not in value else '"'
    return mark + _UNSAFE[mark].sub(_escape, value) + mark


_BARE = re.compile(r"[^\"'()\\\x00-\x20\x7f<]+")
_UNSAFE = {mark: re.compile(rf"[\\\x00-\x1f\x7f{mark}]|<(?=[/!])") for mark in "\"'"}
_WRITE: dict[str, Callable[[str], str]] = {"url": quote_url, "string": quote_string}


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return "\\" + character if character in "\\\"'" else f"\\{ord(character):x} "


def _placed(text: str, found: Iterator[_Found]) -> Iterator[CssReference]:
    line, line_start, seen = 1, 0, 0
    for one in found:
        line += text.count("\n", seen, one.start)
        newline = text.rfind("\n", seen, one.start)
        line_start = newline + 1 if newline >= 0 else line_start
        seen = one.start
        yield CssReference(one.role, one.url, one.start, one.end, line, one.start - line_start + 1, one.form)


def _found(text: str, declarations: bool) -> Iterator[_Found]:
    position = 0
    if not declarations:
        for statement in header_imports(text):
            yield _reference(text, statement.target, Role.IMPORT)
            position = statement.end
    yield from _Walk(text, declarations).references(position)


def _reference(text: str, token: Token, role: Role) -> _Found:
    """Return the reference that a URL token, a string, or a quoted ``url()`` or ``src()`` function stands
    for."""
    if token.kind is Kind.STRING:
        return _Found(role, string_value(text, token), token.start, token.end, "string")
    if token.kind is Kind.URL:
        return _Found(role, url_value(text, token), token.start, token.end, "url")
    found = _quoted(text, token, role)
    assert found is not None
    return found


def _quoted(text: str, call: Token, role: Role) -> _Found | None:
    """Return the reference of ``url("...")`` or ``src("...")``, or ``None`` when no string stands there."""
    token = next_token(text, skip_gap(text, call.end), DENSE)
    if token is None or token.kind is not Kind.STRING or token.start != skip_gap(text, call.end):
        return None
    behind = skip_gap(text, token.end)
    url = string_value(text, token)
    if call.value == "url" and text[behind : behind + 1] in (")", ""):
        return _Found(role, url, call.start, min(behind + 1, len(text)), "url")
    return _Found(role, url, token.start, token.end, "string")


class _Walk:
    """A walk over the tokens of interest.

    Outside of ``@font-face`` and ``image-set()`` the blocks do not matter and are not followed (``SPARSE``);
    inside, a stack of what is open says where they end.
    """

    def __init__(self, text: str, declarations: bool) -> None:
        self.text = text
        self.declarations = declarations
        self.open: list[tuple[str, str]] = []  # closing mark, name of the function or at-rule
        self.role = Role.CSS_URL

    def references(self, position: int) -> Iterator[_Found]:
        while token := next_token(self.text, position, DENSE if self.open else SPARSE):
            position = token.end
            if token.kind is Kind.URL:
                yield _reference(self.text, token, self.role)
            elif token.kind is Kind.AT_KEYWORD and not self.declarations:
                position = self._skip_prelude(token)
            elif token.kind is Kind.FUNCTION:
                yield from (found := self._call(token))
                position = max([position, *(one.end for one in found)])
            elif token.kind is Kind.STRING and self.open and self.open[-1][1] in _IMAGE_SETS:
                yield _reference(self.text, token, self.role)
            elif token.kind is Kind.MARK:
                self._mark(token.value)

    def _call(self, token: Token) -> list[_Found]:
        found = _quoted(self.text, token, self.role) if token.value in ("url", "src") else None
        if found is not None and found.form == "url":
            return [found]
        if self.open or token.value in _IMAGE_SETS:
            self.open.append((")", token.value))
        return [found] if found else []

    def _mark(self, mark: str) -> None:
        if mark in CLOSERS:
            if self.open:
                self.open.append((CLOSERS[mark], ""))
        elif self.open and self.open[-1][0] == mark:
            self.open.pop()
            self.role = Role.FONT if any(name == "font-face" for _, name in self.open) else Role.CSS_URL

    def _skip_prelude(self, at: Token) -> int:
        """Return the position behind the prelude of an at-rule and its ``{`` or ``;``.

        A closing mark that matches nothing in it ends it too: it may be that of a block not followed.
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
