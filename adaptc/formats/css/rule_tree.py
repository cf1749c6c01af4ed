"""The rules of a style sheet as a tree: what each uses, what it defines, and the names without which it is not used."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from adaptc.formats.css.fonts import font_family
from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import unescape
from adaptc.formats.css.selectors import selector_names, static_selectors

__all__ = ["KEYFRAMES", "Node", "Nodes", "RuleTree", "UsedNames", "declaration_nodes", "join_names", "rule_tree"]

_TYPES = frozenset({
    "screen", "print", "speech", "aural", "braille", "embossed", "handheld", "projection", "tty", "tv",
})  # fmt: skip
_QUERY_TYPE = re.compile(r"\s*(?:only\s+)?([a-z]+)\s*(?:and\b|$)", re.IGNORECASE)
KEYFRAMES = frozenset({"@keyframes", "@-webkit-keyframes", "@-moz-keyframes", "@-o-keyframes", "@-ms-keyframes"})
_CUSTOM = re.compile(r"--(?:[^\x00-,./:-@\[-^`{-\x7f]|\\[0-9a-fA-F]{1,6}\s?|\\.)*")
_WORD = re.compile(r"[^\x00-,./:-@\[\]^`{-\x7f]+")

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UsedNames:
    """What declarations use: custom properties, words that may name animations, texts that may name font families."""

    customs: frozenset[str] = NOTHING
    animations: frozenset[str] = NOTHING
    fonts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes in order. With ``is_whole`` they have all the text from the first to the last.

    ``named`` holds the places of rules by a class or id without which they match nothing, ``others`` all other places.
    """

    all: tuple[Node, ...] = ()
    gaps: Sequence[int] = ()
    is_whole: bool = False
    named: Mapping[str, Sequence[int]] = field(default_factory=dict)
    others: Sequence[int] = ()

    def __bool__(self) -> bool:
        return bool(self.all)

    def having(self, may_have: Callable[[str], bool]) -> Iterator[Node]:
        """Yield the nodes that may be used in a page; ``may_have`` is true for the names that it may have."""
        places = set(self.others).union(*(places for name, places in self.named.items() if may_have(name)))
        return (self.all[place] for place in sorted(places))

    def between(self, start: int, end: int) -> Sequence[Node]:
        """Return the nodes in ``text[start:end]``; none is on one of its ends."""
        first = bisect_left(self.gaps, start)
        return self.all[first : bisect_left(self.gaps, end, first)]


_NO_NODES = Nodes()
# Fewer nodes are not worth an index
_FEW = 16


def _index(nodes: tuple[Node, ...]) -> Nodes:
    named, others = _places(nodes) if len(nodes) >= _FEW else ({}, range(len(nodes)))
    gaps = [node.item.gap for node in nodes]
    is_whole = gaps[1:] == [node.item.end for node in nodes[:-1]]
    return Nodes(nodes, gaps, is_whole, named, others)


def _places(nodes: Sequence[Node]) -> tuple[Mapping[str, Sequence[int]], Sequence[int]]:
    """Return the places of rules by the rarest class or id that each of their selectors needs, and all other places."""
    marked = [[_marked_names(selector) for selector in node.selectors] for node in nodes]
    counts = Counter(name for alternatives in marked for names in alternatives for name in names)
    named: defaultdict[str, list[int]] = defaultdict(list)
    others: list[int] = []
    for place, (node, alternatives) in enumerate(zip(nodes, marked, strict=True)):
        if node.nodes or not alternatives or not all(alternatives):
            others.append(place)
        else:
            for name in {min(names, key=lambda name: (counts[name], name)) for names in alternatives}:
                named[name].append(place)
    return named, others


def _marked_names(selector: str) -> list[str]:
    return [name for name in selector_names(selector).required if name[0] in ".#"]


@dataclass(frozen=True, slots=True)
class Node:
    """An item with its static selectors, the names that it uses, and the name that it defines.

    ``selectors`` is empty if they are unknown. ``defines`` is the name of a custom property, of keyframes or a font
    family.
    """

    item: Item
    selectors: tuple[str, ...] = ()
    names: UsedNames = UsedNames()
    defines: str = ""
    types: frozenset[str] = NOTHING  # the media types of an @media that is for these only
    nodes: Nodes = _NO_NODES  # of a style rule only what may be cut alone: nested rules, custom properties
    has_declarations: bool = False  # whether it has anything except ``nodes``


@dataclass(frozen=True, slots=True)
class RuleTree:
    """The nodes of a sheet."""

    nodes: Nodes
    has_escaped_customs: bool


@lru_cache(maxsize=128)
def rule_tree(text: str) -> RuleTree:
    """Return the tree of a sheet."""
    nodes = _index(tuple(_nodes(text, sheet_items(text), ())))
    return RuleTree(nodes, any("\\" in name for name in _CUSTOM.findall(text)))


@lru_cache(maxsize=64)
def declaration_nodes(text: str) -> tuple[Node, ...]:
    """Return the declarations of a style attribute."""
    return tuple(_nodes(text, declaration_items(text), ())) if text else ()


def _nodes(text: str, items: Sequence[Item], parents: tuple[str, ...]) -> Iterator[Node]:
    for item in items:
        if item.is_rule:
            yield _style_rule(text, item, parents)
        elif item.is_declaration:
            yield _declaration(text, item)
        else:
            yield _at_rule(text, item, parents)


def _style_rule(text: str, item: Item, parents: tuple[str, ...]) -> Node:
    selectors = static_selectors(text[item.start : item.prelude], parents)
    inner, own = _split_contents(text, item, selectors)
    return Node(item, selectors, join_names(own), nodes=inner, has_declarations=bool(own))


def _split_contents(text: str, item: Item, parents: tuple[str, ...]) -> tuple[Nodes, list[UsedNames]]:
    """Return the nodes inside that may be cut alone, and the names that the other declarations use."""
    inner = list(_nodes(text, item.items, parents))
    own = [node.names for node in inner if node.item.is_declaration and not node.defines]
    return _index(tuple(node for node in inner if node.defines or not node.item.is_declaration)), own


def _declaration(text: str, item: Item) -> Node:
    value = text[item.body : item.close]
    if item.name.startswith("--"):
        return Node(item, names=UsedNames(_customs(value), _words(value), (value,)), defines=item.name)
    is_animation = item.name.endswith(("animation", "animation-name"))
    is_font = item.name in ("font", "font-family", "src")
    customs = _customs(value) if "--" in value else NOTHING
    return Node(item, names=UsedNames(customs, _words(value) if is_animation else NOTHING, (value,) if is_font else ()))


def _at_rule(text: str, item: Item, parents: tuple[str, ...]) -> Node:
    prelude = text[item.start + len(item.name) : item.prelude].strip()
    if item.name in GROUPS and item.body >= 0:
        types = _media_types(prelude) if item.name == "@media" else NOTHING
        # "&" in @scope is the scope, not the parent rule.
        inner, own = _split_contents(text, item, () if item.name == "@scope" else parents)
        names = join_names([UsedNames(_customs(prelude)), *own])
        return Node(item, names=names, types=types, nodes=inner, has_declarations=bool(own))
    body = text[item.body : item.close] if item.body >= 0 else prelude
    animations = _words(body) if item.name == "?" else NOTHING  # it may hold rules
    names = UsedNames(_customs(body), animations, (body,) if item.name != "@font-face" else ())
    return Node(item, names=names, defines=_defined(item.name, prelude, body))


def _defined(name: str, prelude: str, body: str) -> str:
    if name in KEYFRAMES:
        return unescape(prelude.strip("\"'"))
    if name == "@property":
        return unescape(prelude)
    return font_family(body) if name == "@font-face" else ""


def _media_types(prelude: str) -> frozenset[str]:
    """Return the media types of a query list, or nothing if it may match an unknown type or all types."""
    matches = [_QUERY_TYPE.match(query) for query in prelude.split(",")]
    types = {match[1].lower() if match else "" for match in matches}
    return frozenset(types) if types <= _TYPES else NOTHING


def _customs(text: str) -> frozenset[str]:
    return frozenset(map(unescape, _CUSTOM.findall(text))) if "--" in text else NOTHING


def _words(text: str) -> frozenset[str]:
    return frozenset(map(unescape, _WORD.findall(text)))


def join_names(names: Sequence[UsedNames]) -> UsedNames:
    """Return all names together."""
    return UsedNames(
        NOTHING.union(*(part.customs for part in names)),
        NOTHING.union(*(part.animations for part in names)),
        tuple(dict.fromkeys(text for part in names for text in part.fonts)),
    )
