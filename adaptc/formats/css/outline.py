"""The meaning of a style sheet as a list of entries: a correct minification has the same outline.

An outline has one entry for each declaration and each selector of its rule, in cascade order, with the at-rules
around it. Merged rules (``a{x:y}b{x:y}`` and ``a,b{x:y}``) have the same outline; a lost, reordered or changed
declaration, selector, prelude, string, URL or custom property makes another. Values are in the canonical forms of
``values``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import tinycss2

from adaptc.core.values import pattern
from adaptc.formats.css.plain import PARENTHESES, STRING, PlainRule, parse_plain, split_declarations
from adaptc.formats.css.scanner import SPACE, skip_gap
from adaptc.formats.css.selector_forms import Selector, is_safe_to_join, selectors, simple_selectors
from adaptc.formats.css.sheet_text import split_rules
from adaptc.formats.css.values import (
    Declaration,
    canonical_declaration,
    canonical_tokens,
    canonical_words,
    declare,
)

# ---- The rules of a style sheet in canonical forms: equivalent spellings of a selector or declaration are equal
# Plain rules are read by regular expressions, each text of a prelude or declaration once: a sheet and its minification
# have most of them in common, and so have the sheets of a site. Whatever is not simple is read by tinycss2. Both ways
# give the same forms (those of ``selector_forms`` and ``values``).

# At-rules whose rules join the cascade; an empty one has no effect, except for the order of layers.
GROUPS = frozenset({"media", "supports", "container", "layer", "scope", "starting-style", "document", "-moz-document"})
_KEYFRAMES = frozenset({"keyframes", "-webkit-keyframes", "-moz-keyframes", "-o-keyframes", "-ms-keyframes"})


class StyleRule(NamedTuple):
    """A style rule. With ``is_known`` every browser knows the selectors, so that none drops the rule."""

    selectors: Sequence[Selector]
    is_known: bool
    contents: Sequence[Content]


class AtRule(NamedTuple):
    """An at-rule; ``name`` is in lower case without ``@``. ``contents`` is ``None`` without a block."""

    name: str
    prelude: tuple[Any, ...]
    contents: Sequence[Content] | None


Content = Declaration | StyleRule | AtRule

# In front of the first rule of many sheets
_CHARSET = re.compile(r'@charset "([-\w]*)";')


def read_rules(part: str) -> Sequence[Content]:
    """Return the rules of one of ``split_rules``. Like browsers, it ignores what tinycss2 reports as an error."""
    if match := _CHARSET.match(part):
        return (AtRule("charset", (("string", match[1]),), None), *read_rules(part[match.end() :]))
    plain = parse_plain(part)
    if plain is not None and (rule := _read_plain(plain)) is not None:
        return (rule,)
    if skip_gap(part, 0) == len(part):
        return ()
    return tuple(read_nodes(tinycss2.parse_stylesheet(part, True, True), False))


# ---- by tinycss2


def read_nodes(nodes: list[Any], is_nested: bool) -> Iterator[Content]:
    """Yield what tinycss2 parsed, ``is_nested`` in a style rule."""
    for node in nodes:
        if node.type == "declaration":
            yield from canonical_declaration(node)
        elif node.type == "qualified-rule":
            contents = tinycss2.parse_blocks_contents(node.content, True, True)
            yield StyleRule(selectors(node.prelude), is_safe_to_join(node.prelude), tuple(read_nodes(contents, True)))
        elif node.type == "at-rule":
            yield _read_at_rule(node, is_nested)


def _read_at_rule(node: Any, is_nested: bool) -> AtRule:
    name = node.lower_at_keyword
    prelude = canonical_tokens(node.prelude)
    if node.content is None:
        return AtRule(name, prelude, None)
    has_rules = _holds_rules(name) and (name in _KEYFRAMES or not is_nested)
    parse = tinycss2.parse_rule_list if has_rules else tinycss2.parse_blocks_contents
    return AtRule(name, prelude, tuple(read_nodes(parse(node.content, True, True), is_nested)))


def _holds_rules(name: str) -> bool:
    return name in GROUPS or name in _KEYFRAMES


# ---- by regular expressions


def _read_plain(rule: PlainRule) -> StyleRule | AtRule | None:
    """Return a plain rule, ``None`` if it is for tinycss2."""
    head = _read_prelude(rule.prelude[skip_gap(rule.prelude, 0) :])
    if isinstance(head, AtRule) and _holds_rules(head.name):
        contents = _read_all(rule.rules) if rule.body is None or not rule.body.strip() else None
    else:
        contents = None if rule.body is None else _read_declarations(rule.body)
    if head is None or contents is None:
        return None
    if isinstance(head, StyleRule):
        return StyleRule(head.selectors, head.is_known, contents)
    return AtRule(head.name, head.prelude, contents)


def _read_all(rules: Sequence[PlainRule]) -> Sequence[Content] | None:
    contents = [content for rule in rules if (content := _read_plain(rule)) is not None]
    return contents if len(contents) == len(rules) else None


def _read_declarations(body: str) -> Sequence[Content] | None:
    declarations = [_declarations(piece) for piece in split_declarations(body)]
    return None if None in declarations else tuple(chain.from_iterable(declarations))  # type: ignore[arg-type]


@lru_cache(maxsize=1 << 13)
def _read_prelude(prelude: str) -> StyleRule | AtRule | None:
    """Return a rule with this prelude and no contents, ``None`` if its prelude must be read with what is around."""
    if "<!--" in prelude or "-->" in prelude:
        return None
    if (simple := simple_selectors(prelude)) is not None:
        return StyleRule(*simple, ())
    tokens = tinycss2.parse_component_value_list(prelude, True)
    if not tokens or tokens[0].type != "at-keyword":
        return StyleRule(selectors(tokens), is_safe_to_join(tokens), ())
    if any(token == ";" for token in tokens):
        return None
    return AtRule(tokens[0].lower_value, canonical_tokens(tokens[1:]), ())


# A run of characters that no token crosses at its ends, with the arguments of a function
_RUN = rf"[^\s,/()\[\]{{}}\"'\\!;:@<>]++(?>(?:{PARENTHESES})?)"


_WORDS = pattern(rf"{_RUN}|{PARENTHESES}|{STRING}|[,/]", re.ASCII)
# A declaration without comments and escapes; the value of a custom property (group 3) has no strings and URLs
_DECLARATION = pattern(
    rf"{SPACE}*+(?:(-?[A-Za-z_][-\w]*+){SPACE}*+:((?>(?:{SPACE}++|{_RUN}|{PARENTHESES}|{STRING}|,|/(?!\*))*))"
    rf"|(--[-\w]++){SPACE}*+:([-\w \t\n\r\f,.#%+*()]*+))"
    rf"(?>(!{SPACE}*+(?i:important){SPACE}*+)?)",
    re.ASCII,
)


@lru_cache(maxsize=1 << 14)
def _declarations(piece: str) -> tuple[Declaration, ...] | None:
    """Return the declarations of a text between two semicolons, ``None`` if it has something else."""
    match = _DECLARATION.fullmatch(piece)
    if match is None:
        return _read_declaration(piece)
    if match[3]:
        return ((match[3], match[4].strip(), match[5] is not None),)
    return _declare(match[1].lower(), match[2].strip(), match[5] is not None)


@lru_cache(maxsize=1 << 13)
def _declare(name: str, value: str, important: bool) -> tuple[Declaration, ...]:
    return tuple(declare(name, canonical_words(_WORDS.findall(value), name), important))


def _read_declaration(piece: str) -> tuple[Declaration, ...] | None:
    nodes = tinycss2.parse_blocks_contents(piece, True, True)
    if any(node.type == "at-rule" for node in nodes):
        return None
    return tuple(chain.from_iterable(canonical_declaration(node) for node in nodes if node.type == "declaration"))


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
