"""The meaning of a style sheet as a list of entries: a correct minification has the same outline.

An outline has one entry for each declaration and each selector of its rule, in cascade order, with the at-rules
around it. Merged rules (``a{x:y}b{x:y}`` and ``a,b{x:y}``) have the same outline; a lost, reordered or changed
declaration, selector, prelude, string, URL or custom property makes another. Values are in the canonical forms of
``values``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import tinycss2

from adaptc.formats.css.sheet_text import split_rules
from adaptc.formats.css.values import canonical_declaration, canonical_tokens

# Context (the at-rules and selectors around it), property or "@", value, whether it is important
Entry = tuple[Any, ...]

# At-rules whose rules join the cascade; an empty one has no effect, except for the order of layers.
_GROUPS = frozenset({"media", "supports", "container", "layer", "scope", "starting-style", "document", "-moz-document"})
_KEYFRAMES = frozenset({"keyframes", "-webkit-keyframes", "-moz-keyframes", "-o-keyframes", "-ms-keyframes"})
_LEGACY_PSEUDO = frozenset({"before", "after", "first-line", "first-letter"})
# Pseudo-classes and pseudo-elements that every browser knows. An unknown one makes a browser drop the whole
# rule, so rules with one must not be merged with others.
_KNOWN_PSEUDO = _LEGACY_PSEUDO | frozenset({
    "hover", "focus", "active", "visited", "link", "target", "root", "empty", "checked", "disabled",
    "enabled", "first-child", "last-child", "only-child", "first-of-type", "last-of-type",
    "only-of-type", "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type", "not", "lang",
    "focus-within", "focus-visible", "is", "where", "required", "optional", "valid", "invalid",
    "read-only", "read-write", "indeterminate", "default", "in-range", "out-of-range",
    "placeholder", "placeholder-shown",
})  # fmt: skip


# The largest outline: the lengths of its entries' contexts together. 2 MB of rules have a tenth of it. Nested lists of
# selectors multiply, so that thirty lines may have more entries than there is memory for.
_LARGEST = 2_000_000


class OutlineTooLargeError(Exception):
    """The outline is larger than ``_LARGEST``."""


class Outlines:
    """Outlines of sheets and of their parts; a rule that occurs in several of them is parsed once.

    A sheet whose minification differs is compared rule by rule; parsing all rules again took a third of the time.
    """

    def __init__(self) -> None:
        self._cache: dict[str, list[Entry]] = {}

    def of(self, text: str) -> list[Entry]:
        """Return the outline of a style sheet. Raises ``OutlineTooLargeError``."""
        walk = _Walk()
        return [entry for rule in split_rules(text) for entry in self._entries(rule, walk)]

    def _entries(self, rule: str, walk: _Walk) -> list[Entry]:
        if (cached := self._cache.get(rule)) is not None:
            return cached
        counted = walk.counted
        entries = walk.sheet(rule)
        if walk.counted == counted:  # otherwise its entries depend on the rules before it
            self._cache[rule] = entries
        return entries


class _Walk:
    """A walk over a parsed sheet. Like browsers, it ignores what tinycss2 reports as an error."""

    def __init__(self) -> None:
        self.occurrences: Counter[Entry] = Counter()
        self.counted = 0
        self.size = 0

    def sheet(self, text: str) -> list[Entry]:
        rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
        return [entry for rule in rules for entry in self.rule(rule, ())]

    def rule(self, node: Any, context: Entry) -> Iterator[Entry]:
        if node.type == "qualified-rule":
            yield from self._style_rule(node, context)
        elif node.type == "at-rule":
            yield from self._at_rule(node, context)

    def contents(self, nodes: list[Any], context: Entry) -> Iterator[Entry]:
        self.size += (1 + len(nodes)) * max(1, len(context))
        if self.size > _LARGEST:
            raise OutlineTooLargeError
        for node in nodes:
            if node.type == "declaration":
                for entry in canonical_declaration(node):
                    yield (context, *entry)
            else:
                yield from self.rule(node, context)

    def _style_rule(self, node: Any, context: Entry) -> Iterator[Entry]:
        nodes = tinycss2.parse_blocks_contents(node.content, True, True)
        alternatives = selectors(node.prelude)
        if nodes and not _is_safe_to_join(node.prelude):
            yield (context, "with", frozenset(alternatives), False)
        for selector in alternatives:
            yield from self.contents(nodes, (*context, selector))

    def _at_rule(self, node: Any, context: Entry) -> Iterator[Entry]:
        name = node.lower_at_keyword
        inside: Entry = (*context, "@" + name, canonical_tokens(node.prelude))
        is_group = name in _GROUPS and (name != "layer" or any(t.type == "ident" for t in node.prelude))
        if node.content is None or not is_group:
            self.counted += 1
            self.occurrences[inside] += 1  # a second @font-face or anonymous layer is a different one
            inside = (*inside, self.occurrences[inside])
        if node.content is None or not is_group or name == "layer":
            yield (inside, "@", "", False)
        if node.content is not None:
            yield from self.contents(self._parse_block(node, name, context), inside)

    def _parse_block(self, node: Any, name: str, context: Entry) -> list[Any]:
        """Return the nodes of an at-rule's block: rules, or declarations and rules."""
        is_nested = any(isinstance(part, Selector) for part in context)
        if name in _KEYFRAMES or (name in _GROUPS and not is_nested):
            return list(tinycss2.parse_rule_list(node.content, True, True))
        return list(tinycss2.parse_blocks_contents(node.content, True, True))


def _is_safe_to_join(prelude: list[Any]) -> bool:
    """Whether every browser accepts all selectors of a list."""
    for before, token in pairwise(prelude):
        if before == ":" and token != ":" and _pseudo_name(token) not in _KNOWN_PSEUDO:
            return False
    return all(token.type not in ("error", "at-keyword") for token in prelude)


def _pseudo_name(token: Any) -> str:
    return str(token.lower_name if token.type == "function" else getattr(token, "lower_value", ""))


class Selector(tuple):  # type: ignore[type-arg]
    """A canonical complex selector: a tuple of canonical tokens."""

    __slots__ = ()


def selectors(prelude: list[Any]) -> list[Selector]:
    """Split a prelude at its commas and return each selector in canonical form."""
    pieces: list[list[Any]] = [[]]
    for token in prelude:
        if token == ",":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [Selector(_canonical_selector(piece)) for piece in pieces]


def _canonical_selector(tokens: list[Any]) -> Iterator[Entry]:
    """Yield canonical tokens, with one space for each descendant combinator and none around others."""
    tokens = [token for token in tokens if token.type != "comment"]
    while tokens and tokens[0].type == "whitespace":
        tokens.pop(0)
    while tokens and tokens[-1].type == "whitespace":
        tokens.pop()
    for index, token in enumerate(tokens):
        if token.type == "whitespace":
            if not {">", "+", "~"} & {str(getattr(tokens[index + step], "value", "")) for step in (-1, 1)}:
                yield (" ",)
        else:
            yield from _selector_token(token, tokens, index)


def _selector_token(token: Any, tokens: list[Any], index: int) -> Iterator[Entry]:
    if token.type == "[] block":
        yield ("[]", tuple(_unquoted(part) for part in canonical_tokens(token.content)))
    elif token.type == "function":
        yield ("function", token.lower_name, tuple(selectors(token.arguments)))
    elif (token == ":" and _is_legacy_double(tokens, index)) or (token == "*" and _is_implied(tokens, index)):
        return
    elif token.type == "ident":
        yield _KEYFRAME.get(token.lower_value if len(tokens) == 1 else "", ("ident", token.value))
    elif token.type == "percentage":
        yield ("percentage", float(token.value))
    else:
        yield (token.type, token.serialize())


# Two spellings of a keyframe selector. Type selectors of these names get the same form, which is harmless.
_KEYFRAME: dict[str, Entry] = {"from": ("percentage", 0.0), "to": ("percentage", 100.0)}


def _unquoted(part: Entry) -> Entry:
    return ("ident", part[1]) if part[0] == "string" else part


def _is_implied(tokens: list[Any], index: int) -> bool:
    """Whether the ``*`` at ``index`` is redundant, as in ``*:hover``, ``*.class`` and ``*[attribute]``."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    is_compound = following is not None and (following in (":", ".") or following.type in ("hash", "[] block"))
    return is_compound and (index == 0 or tokens[index - 1] != "|")


def _is_legacy_double(tokens: list[Any], index: int) -> bool:
    """Whether the first colon of ``::before`` is at ``index``: ``:before`` is equivalent."""
    following = tokens[index + 1 : index + 3]
    return (
        len(following) == 2
        and following[0] == ":"
        and following[1].type == "ident"
        and following[1].lower_value in _LEGACY_PSEUDO
    )
