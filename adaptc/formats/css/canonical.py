"""The rules of a style sheet in canonical forms: equivalent spellings of a selector or declaration are equal.

Plain rules are read by regular expressions, each text of a prelude or declaration once: a sheet and its minification
have most of them in common, and so have the sheets of a site. Whatever is not simple is read by tinycss2. Both ways
give the same forms (those of ``selector_forms`` and ``values``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import tinycss2

from adaptc.formats.css.plain import PARENTHESES, STRING, PlainRule, parse_plain, split_declarations
from adaptc.formats.css.scanner import SPACE, skip_gap
from adaptc.formats.css.selector_forms import Selector, is_safe_to_join, selectors, simple_selectors
from adaptc.formats.css.values import (
    Declaration,
    Entry,
    canonical_declaration,
    canonical_tokens,
    canonical_words,
    declare,
)

__all__ = ["GROUPS", "AtRule", "Content", "StyleRule", "read_nodes", "read_rules"]

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
    prelude: Entry
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
_RUN = rf"[^\s,/()\[\]{{}}\"'\\!;:@<>]++(?:{PARENTHESES})?+"
_WORDS = re.compile(rf"{_RUN}|{PARENTHESES}|{STRING}|[,/]", re.ASCII)
# A declaration without comments and escapes. The value of a custom property (group 3) has no strings and URLs either
_DECLARATION = re.compile(
    rf"{SPACE}*+(?:(-?[A-Za-z_][-\w]*+){SPACE}*+:((?:{SPACE}++|{_RUN}|{PARENTHESES}|{STRING}|,|/(?!\*))*+)"
    rf"|(--[-\w]++){SPACE}*+:([-\w \t\n\r\f,.#%+*()]*+))"
    rf"(!{SPACE}*+(?i:important){SPACE}*+)?+",
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
