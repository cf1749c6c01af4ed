"""The rules of a style sheet with their spans, nested ones too (CSS Syntax 3, section 5.4; CSS Nesting 1).

The bytes between two spans are white space, comments and what no parser understands; no byte is changed, so a
sheet can be cut by spans. Plain rules are read by regular expressions (``plain``), others by the tokens of ``scanner``,
which takes ten times as long, and a tenth of tinycss2's time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from adaptc.core.facts import BoundedCache
from adaptc.core.values import pattern
from adaptc.formats.css.plain import (
    IS_WHOLE,
    MOST_NESTED,
    OPENS,
    PLAIN_DECLARATION,
    PLAIN_STEP,
    PLAIN_TEXT,
    plain_rule_end,
)
from adaptc.formats.css.scanner import (
    CLOSERS,
    DENSE,
    IDENT,
    MAX_DEPTH,
    Kind,
    Token,
    skip_between_rules,
    tokens,
    unescape,
)
from adaptc.formats.css.sheet_text import scanned_rule_end


class Item(NamedTuple):
    """A rule or a declaration: ``text[start:end]``, after the white space and comments ``text[gap:start]``.

    ``name`` is an at-rule's name with its ``@``, a declaration's property (in lower case unless custom), and ``""``
    for a style rule; it is ``"?"`` for what is no rule, and for a rule that is open at the end of the sheet or nested
    deeper than ``MAX_DEPTH``.
    ``text[body:close]`` is the inside of the block, or the value of a declaration; ``body`` is -1 without a block.
    """

    name: str
    gap: int
    start: int
    prelude: int  # where the prelude ends: before "{", ";" or ":"
    body: int
    close: int
    end: int
    items: tuple[Item, ...] = ()

    @property
    def is_rule(self) -> bool:
        """Whether it is a style rule."""
        return not self.name

    @property
    def is_declaration(self) -> bool:
        """Whether it is a declaration."""
        return bool(self.name) and self.name[0] not in "@?"


# At-rules that hold rules; inside a style rule they hold declarations as well.
GROUPS = frozenset({"@media", "@supports", "@container", "@layer", "@scope", "@starting-style"})
_NAME = pattern(IDENT)


def sheet_items(text: str) -> tuple[Item, ...]:
    """Return the rules of a style sheet; those of the last sheets are remembered, as a page asks for several facts."""
    items = _known.get(text)
    if items is None:
        items = tuple(each_item(text))
        _known.put(text, items, len(text))
    return items


# By text, up to so many characters: a rule of 80 takes about 1 kB
_known = BoundedCache[str, tuple[Item, ...]](1 << 20)


def each_item(text: str) -> Iterator[Item]:
    """Yield the rules of a style sheet; one is read when it is asked for."""
    position = 0
    while position < len(text):
        if (rule := _plain_rule(text, position)) is not None:
            yield rule
            position = rule.end
        else:
            end = scanned_rule_end(text, position)
            stop = end if end >= 0 else len(text)
            yield from _Parser(text, position, stop).items(position, stop, is_nested=False)
            position = stop


def declaration_items(text: str) -> tuple[Item, ...]:
    """Return the declarations of a style attribute."""
    return tuple(_Parser(text, 0, len(text)).items(0, len(text), is_nested=True))


# ---- plain rules


def _plain_rule(text: str, gap: int, depth: int = 0) -> Item | None:
    """Return the rule after ``gap``, ``None`` if it is not plain or has rules in a style rule."""
    start = skip_between_rules(text, gap)
    match = PLAIN_STEP.match(text, start)
    if match is None or match.lastindex not in (OPENS, IS_WHOLE):
        return None
    if text[start] == "@":
        return _plain_at_rule(text, gap, start, match, depth)
    if match.lastindex == OPENS:
        return None
    inner = tuple(_plain_declarations(text, *match.span(IS_WHOLE)))
    return Item("", gap, start, match.end(OPENS), match.start(IS_WHOLE), match.end(IS_WHOLE), match.end(), inner)


def _plain_at_rule(text: str, gap: int, start: int, match: re.Match[str], depth: int) -> Item | None:
    prelude = match.end(OPENS)
    if ";" in text[start:prelude]:  # a statement, before another rule
        return None
    name = _at_name(text, start)
    if name in GROUPS:
        rules = _plain_rules(text, prelude + 1, depth + 1)
        if rules is None:
            return None
        close = skip_between_rules(text, rules[-1].end if rules else prelude + 1)
        return Item(name, gap, start, prelude, prelude + 1, close, close + 1, tuple(rules))
    end = match.end() if match.lastindex == IS_WHOLE else plain_rule_end(text, start)
    return None if end < 0 else Item(name, gap, start, prelude, prelude + 1, end - 1, end)


def _plain_rules(text: str, position: int, depth: int) -> list[Item] | None:
    """Return the rules of a group from ``position`` to the end of its block, ``None`` if one of them is not plain."""
    inner: list[Item] = []
    while depth <= MOST_NESTED and not text.startswith("}", skip_between_rules(text, position)):
        rule = _plain_rule(text, position, depth)
        if rule is None:
            return None
        inner.append(rule)
        position = rule.end
    return inner if depth <= MOST_NESTED else None


def _plain_declarations(text: str, position: int, stop: int) -> Iterator[Item]:
    """Yield the items of the block of a plain rule that has no rules in it."""
    next_declaration = PLAIN_DECLARATION.match
    while position < stop:
        if match := next_declaration(text, position, stop):
            name, start = match[1], match.start(1)
            name = name if name.startswith("--") else name.lower()
            body, close = match.span(2)
            yield Item(name, position, start, body - 1, body, close, match.end())
            position = match.end()
        elif (start := skip_between_rules(text, position)) < stop:
            match = PLAIN_TEXT.match(text, start, stop)
            close = match.end() if match else start
            yield _statement(text, position, start, close, min(close + 1, stop))
            position = min(close + 1, stop)
        else:
            return


def _statement(text: str, gap: int, start: int, close: int, end: int) -> Item:
    if text[start] == "@":
        return Item(_at_name(text, start), gap, start, close, -1, close, end)
    name, colon = _name(text, start)
    return Item(name, gap, start, colon, colon + 1, close, end)


def _name(text: str, start: int) -> tuple[str, int]:
    """Return the name of the declaration at ``start``, or ``"?"``, and the position of its colon."""
    match = _NAME.match(text, start)
    colon = skip_between_rules(text, match.end()) if match else start
    if match is None or text[colon : colon + 1] != ":":
        return "?", start
    name = unescape(match[0])
    return (name if name.startswith("--") else name.lower()), colon


def _at_name(text: str, start: int) -> str:
    match = _NAME.match(text, start + 1)
    return "@" + unescape(match[0]).lower() if match else "?"


# ---- all other rules


class _Parser:
    """One pass over the marks of ``text[start:stop]``; ``index`` is the next one to read."""

    def __init__(self, text: str, start: int, stop: int) -> None:
        self.text = text
        marks = (token for token in tokens(text, start, DENSE) if token.kind in (Kind.MARK, Kind.FUNCTION))
        self.tokens = list(takewhile(lambda token: token.start < stop, marks))
        self.partner = _partners(self.tokens)
        self.index = 0
        self.depth = 0

    def items(self, position: int, stop: int, *, is_nested: bool) -> Iterator[Item]:
        """Yield the items of ``text[position:stop]``; ``index`` is at the first token of that span."""
        gap, start = position, skip_between_rules(self.text, position)
        while start < stop:
            item = self._next(gap, start, stop, is_nested)
            yield item
            gap, start = item.end, skip_between_rules(self.text, item.end)
        while self.index < len(self.tokens) and self.tokens[self.index].start < stop:
            self.index += 1

    def _next(self, gap: int, start: int, stop: int, is_nested: bool) -> Item:
        is_at_rule = self.text[start] == "@"
        while self.index < len(self.tokens) and self.tokens[self.index].start < stop:
            token, index = self.tokens[self.index], self.index
            self.index += 1
            if token.start < start:
                continue
            if token.value == ";" and (is_nested or is_at_rule):
                return _statement(self.text, gap, start, token.start, token.end)
            if token.value == "{" and not (is_nested and self._is_custom(start)):
                return self._block(gap, start, index, is_nested)
            if self._opens(token):
                self.index = self._index_after(index)
        return _statement(self.text, gap, start, stop, stop)

    def _opens(self, token: Token) -> bool:
        return token.kind is Kind.FUNCTION or token.value in CLOSERS

    def _index_after(self, opener: int) -> int:
        partner = self.partner.get(opener)
        return len(self.tokens) if partner is None else partner + 1

    def _is_custom(self, start: int) -> bool:
        return self.text.startswith("--", start) and _name(self.text, start)[0] != "?"

    def _block(self, gap: int, start: int, index: int, is_nested: bool) -> Item:
        opener, partner = self.tokens[index], self.partner.get(index)
        if partner is None:
            self.index = len(self.tokens)
            return Item("?", gap, start, opener.start, opener.end, len(self.text), len(self.text))
        close, end = self.tokens[partner].start, self.tokens[partner].end
        name = _at_name(self.text, start) if self.text[start] == "@" else ""
        inner: tuple[Item, ...] = ()
        if not name or name in GROUPS:
            name, inner = self._inside(name, opener.end, close, is_nested)
        self.index = partner + 1
        return Item(name, gap, start, opener.start, opener.end, close, end, inner)

    def _inside(self, name: str, position: int, stop: int, is_nested: bool) -> tuple[str, tuple[Item, ...]]:
        """Return the name of a style rule or group, and the items in its block."""
        if self.depth == MAX_DEPTH:
            return "?", ()
        self.depth += 1
        inner = tuple(self.items(position, stop, is_nested=is_nested or not name))
        self.depth -= 1
        return name, inner


def _partners(marks: list[Token]) -> dict[int, int]:
    """Return the index of the closing mark by that of its opening mark; unmatched marks are missing."""
    partner: dict[int, int] = {}
    stack: list[tuple[int, str]] = []
    for index, token in enumerate(marks):
        if token.kind is Kind.FUNCTION:
            stack.append((index, ")"))
        elif token.value in CLOSERS:
            stack.append((index, CLOSERS[token.value]))
        elif stack and token.value == stack[-1][1]:
            partner[stack.pop()[0]] = index
    return partner
