"""What a style sheet says, in a form in which a faithful minification says the same.

An outline is the list of its entries in cascade order: one for each selector of each rule and each
declaration, with the at-rules around it. Merged rules (``a{x:y}b{x:y}`` and ``a,b{x:y}``) have the same
outline; a lost, reordered or changed declaration, selector, prelude, string, URL or custom property has
another. Values are compared token by token, after the respellings of ``values``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import tinycss2

from adaptc.formats.css.sheet_text import split_rules
from adaptc.formats.css.values import canonical_declaration, canonical_tokens

# Context (the at-rules and selectors around), property or "@", value, whether it is important.
Entry = tuple[Any, ...]

# At-rules that hold rules which join the cascade; an empty one says nothing, except for a layer's place
# in the order.
_GROUPS = frozenset({"media", "supports", "container", "layer", "scope", "starting-style", "document", "-moz-document"})
_KEYFRAMES = frozenset({"keyframes", "-webkit-keyframes", "-moz-keyframes", "-o-keyframes", "-ms-keyframes"})
_LEGACY_PSEUDO = frozenset({"before", "after", "first-line", "first-letter"})
# Pseudo-classes and -elements every browser knows. A rule with another one in its list may be dropped
# whole, so no selector may join it.
_KNOWN_PSEUDO = _LEGACY_PSEUDO | frozenset({
    "hover", "focus", "active", "visited", "link", "target", "root", "empty", "checked", "disabled",
    "enabled", "first-child", "last-child", "only-child", "first-of-type", "last-of-type",
    "only-of-type", "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type", "not", "lang",
    "focus-within", "focus-visible", "is", "where", "required", "optional", "valid", "invalid",
    "read-only", "read-write", "indeterminate", "default", "in-range", "out-of-range",
    "placeholder", "placeholder-shown",
})  # fmt: skip


class Outlines:
    """Outlines of sheets and of parts of them: a rule that stands in several is read once.

    A sheet whose proof fails is proven rule by rule; to parse all of them again was a third of its time.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[Entry]] = {}

    def of(self, text: str) -> list[Entry]:
        """Return the outline of a style sheet."""
        walk = _Walk()
        return [entry for rule in split_rules(text) for entry in self._entries(rule, walk)]

    def _entries(self, rule: str, walk: _Walk) -> list[Entry]:
        if (known := self._known.get(rule)) is not None:
            return known
        counted = walk.counted
        entries = walk.sheet(rule)
        if walk.counted == counted:  # else what a rule says depends on those before it
            self._known[rule] = entries
        return entries


def declarations_outline(text: str) -> list[Entry]:
    """Return the outline of a style attribute."""
    return list(_Walk().contents(tinycss2.parse_blocks_contents(text, True, True), ()))


class _Walk:
    """The walk over a parsed sheet. What tinycss2 calls an error is ignored by browsers, and so it is
    here."""

    def __init__(self) -> None:
        self.seen: Counter[Entry] = Counter()
        self.counted = 0

    def sheet(self, text: str) -> list[Entry]:
        rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
        return [entry for rule in rules for entry in self.rule(rule, ())]

    def rule(self, node: Any, context: Entry) -> Iterator[Entry]:
        if node.type == "qualified-rule":
            yield from self._style_rule(node, context)
        elif node.type == "at-rule":
            yield from self._at_rule(node, context)

    def contents(self, nodes: list[Any], context: Entry) -> Iterator[Entry]:
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
            self.seen[inside] += 1  # the second @font-face is another one; so is the second anonymous layer
            inside = (*inside, self.seen[inside])
        if node.content is None or not is_group or name == "layer":
            yield (inside, "@", "", False)
        if node.content is not None:
            yield from self.contents(self._parsed(node, name, context), inside)

    def _parsed(self, node: Any, name: str, context: Entry) -> list[Any]:
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
    """Yield canonical tokens: one space stands for each descendant combinator, none around the other
    combinators."""
    written = [token for token in tokens if token.type != "comment"]
    while written and written[0].type == "whitespace":
        written.pop(0)
    while written and written[-1].type == "whitespace":
        written.pop()
    for index, token in enumerate(written):
        if token.type == "whitespace":
            if not {">", "+", "~"} & {str(getattr(written[index + step], "value", "")) for step in (-1, 1)}:
                yield (" ",)
        else:
            yield from _selector_token(token, written, index)


def _selector_token(token: Any, written: list[Any], index: int) -> Iterator[Entry]:
    if token.type == "[] block":
        yield ("[]", tuple(_unquoted(part) for part in canonical_tokens(token.content)))
    elif token.type == "function":
        yield ("function", token.lower_name, tuple(selectors(token.arguments)))
    elif (token == ":" and _is_legacy_double(written, index)) or (token == "*" and _is_implied(written, index)):
        return
    elif token.type == "ident":
        yield _KEYFRAME.get(token.lower_value if len(written) == 1 else "", ("ident", token.value))
    elif token.type == "percentage":
        yield ("percentage", float(token.value))
    else:
        yield (token.type, token.serialize())


# Two spellings of a keyframe; as type selectors they are as good a name as any other.
_KEYFRAME: dict[str, Entry] = {"from": ("percentage", 0.0), "to": ("percentage", 100.0)}


def _unquoted(part: Entry) -> Entry:
    return ("ident", part[1]) if part[0] == "string" else part


def _is_implied(written: list[Any], index: int) -> bool:
    """Whether the ``*`` at ``index`` is one of ``*:hover``, ``*.class``, ``*[attribute]``, which mean the
    same without."""
    following = written[index + 1] if index + 1 < len(written) else None
    is_compound = following is not None and (following in (":", ".") or following.type in ("hash", "[] block"))
    return is_compound and (index == 0 or written[index - 1] != "|")


def _is_legacy_double(written: list[Any], index: int) -> bool:
    """Whether the first colon of ``::before`` stands at ``index``: ``:before`` means the same."""
    following = written[index + 1 : index + 3]
    return (
        len(following) == 2
        and following[0] == ":"
        and following[1].type == "ident"
        and following[1].lower_value in _LEGACY_PSEUDO
    )
