"""The meaning of a style sheet as a list of entries: a correct minification has the same outline.

An outline has one entry for each declaration and each selector of its rule, in cascade order, with the at-rules
around it. Merged rules (``a{x:y}b{x:y}`` and ``a,b{x:y}``) have the same outline; a lost, reordered or changed
declaration, selector, prelude, string, URL or custom property makes another. Values are in the canonical forms of
``values``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from adaptc.formats.css.canonical import GROUPS, AtRule, Content, StyleRule, read_rules
from adaptc.formats.css.sheet_text import split_rules
from adaptc.formats.css.values import Declaration

# The at-rules and selectors around a declaration
Context = tuple[Any, ...]
Entry = tuple[Context, Declaration]

# The name of an entry for an at-rule itself, and of one for selectors that some browser may not know
AT_RULE, TOGETHER = "@", "with"

# The largest outline: the lengths of its entries' contexts together. 2 MB of rules have a tenth of it. Nested lists of
# selectors multiply, so that thirty lines may have more entries than there is memory for.
_LARGEST = 2_000_000


class OutlineTooLargeError(Exception):
    """The outline is larger than ``_LARGEST``."""


class Outlines:
    """Outlines of sheets and of their parts; a rule that occurs in several of them is read once."""

    def __init__(self) -> None:
        self._cache: dict[str, list[Entry]] = {}

    def of(self, text: str) -> list[Entry]:
        """Return the outline of a style sheet. Raises ``OutlineTooLargeError``."""
        walk = _Walk()
        return [entry for part in split_rules(text) for entry in self._entries(part, walk)]

    def of_part(self, text: str) -> list[Entry]:
        """Return the outline of a short text, which is best one of ``split_rules``."""
        return self._entries(text, _Walk())

    def _entries(self, part: str, walk: _Walk) -> list[Entry]:
        if (cached := self._cache.get(part)) is not None:
            return cached
        counted = walk.counted
        entries = walk.entries(part)
        if walk.counted == counted:  # otherwise its entries depend on the rules before it
            self._cache[part] = entries
        return entries


class _Walk:
    """A walk over the rules of a sheet."""

    def __init__(self) -> None:
        self.occurrences: Counter[Context] = Counter()
        self.counted = 0
        self.size = 0

    def entries(self, part: str) -> list[Entry]:
        entries: list[Entry] = []
        self._add(read_rules(part), (), entries)
        return entries

    def _add(self, contents: Sequence[Content], context: Context, entries: list[Entry]) -> None:
        self._count(contents, context)
        for content in contents:
            if isinstance(content, StyleRule):
                self._add_style_rule(content, context, entries)
            elif isinstance(content, AtRule):
                self._add_at_rule(content, context, entries)
            else:
                entries.append((context, content))

    def _count(self, contents: Sequence[Content], context: Context) -> None:
        self.size += (1 + len(contents)) * max(1, len(context))
        if self.size > _LARGEST:
            raise OutlineTooLargeError

    def _add_style_rule(self, rule: StyleRule, context: Context, entries: list[Entry]) -> None:
        if rule.contents and not rule.is_known:
            entries.append((context, (TOGETHER, frozenset(rule.selectors), False)))
        is_flat = all(type(content) is tuple for content in rule.contents)
        for selector in rule.selectors:
            inside = (*context, selector)
            if is_flat:
                self._count(rule.contents, inside)
                entries += [(inside, content) for content in rule.contents]  # type: ignore[misc]
            else:
                self._add(rule.contents, inside, entries)

    def _add_at_rule(self, rule: AtRule, context: Context, entries: list[Entry]) -> None:
        inside: Context = (*context, "@" + rule.name, rule.prelude)
        is_layer = rule.name == "layer"
        is_group = rule.contents is not None and rule.name in GROUPS
        if is_layer and not any(form[0] == "ident" for form in rule.prelude):
            is_group = False
        if not is_group:
            self.counted += 1
            self.occurrences[inside] += 1  # a second @font-face or anonymous layer is a different one
            inside = (*inside, self.occurrences[inside])
        if not is_group or is_layer:
            entries.append((inside, (AT_RULE, "", False)))
        if rule.contents is not None:
            self._add(rule.contents, inside, entries)
