"""Remove what a page does not use from its style sheets.

A rule is kept if its selector can match the page (see ``selectors``), or if the selector or the rule is unknown.
Definitions (custom properties, keyframes, fonts) are kept if a kept rule uses them. The bytes of what is kept are not
changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from adaptc.core.values import dataclass, field
from adaptc.formats.css.fonts import font_family
from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import unescape
from adaptc.formats.css.selectors import name_selector, required_names, selector_names, static_selectors

__all__ = ["LivePruning", "prune_sheets"]

# ---- The rules of a style sheet as a tree: what each uses, what it defines, and the names without which it is not used

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


Matches = Callable[[str], bool]

ALL_MEDIA = frozenset({"screen", "print"})


def prune_sheets(
    texts: Sequence[str],
    matches: Matches,
    *,
    media: frozenset[str] = ALL_MEDIA,
    inline: str = "",
    is_partial: bool = False,
) -> tuple[str, ...]:
    """Return the sheets of one page, each with only what the page uses.

    ``matches`` returns whether an element of the page may match a static selector. Rules of ``@media`` for types not in
    ``media`` are dropped. ``inline`` are the declarations of style attributes, joined with ``;``, which may use
    definitions. With ``is_partial`` the page has other sheets, which may use any definition.
    """
    choice = _Choice(matches, cache(lambda name: matches(name_selector(name))), media)
    candidates = [choice.candidates(rule_tree(text).nodes) for text in texts]
    uses = _Uses.of([*candidates, _inline_candidates(inline)], is_partial=is_partial)
    return tuple(_Cutter(text, rule_tree(text), uses).cut(nodes) for text, nodes in zip(texts, candidates, strict=True))


class LivePruning:
    """The sheets of a page whose scripts run, in two parts: what is likely to be used, and what waits.

    The page has the names that ``has`` is true for (``.class``, ``#id``, ``[attribute``, ``type``), and is likely to
    get those in ``names`` (without mark): since scripts may move elements and set classes, selectors are judged by
    names alone. Sheets at the places in ``whole`` are not cut. Custom properties, which scripts may read, go with their
    rules; keyframes and fonts wait that only waiting rules use and that are not in ``names``. ``inline`` and
    ``is_partial`` as for ``prune_sheets``.
    """

    def __init__(
        self,
        texts: Sequence[str],
        has: Matches,
        names: Container[str],
        *,
        whole: Container[int],
        inline: str,
        is_partial: bool,
    ) -> None:
        self._has_now, self._names = has, names
        self._had: dict[str, bool] = {}
        choice = _Choice(lambda selector: all(map(self._has, required_names(selector))), self._has, ALL_MEDIA)
        everything = _Choice(_is_any, _is_any, ALL_MEDIA)
        trees = [rule_tree(text) for text in texts]
        sheets = [(everything if place in whole else choice).candidates(tree.nodes) for place, tree in enumerate(trees)]
        uses = _Uses.of(
            [*sheets, _inline_candidates(inline)], self._free_definitions(texts, sheets), is_partial=is_partial
        )
        cutters = [_Cutter(text, tree, uses) for text, tree in zip(texts, trees, strict=True)]
        cut = [place for place in range(len(texts)) if place not in whole]
        self._trees = [trees[place] for place in cut]
        self.texts = tuple(
            cutters[place].cut(sheets[place]) if place in cut else text for place, text in enumerate(texts)
        )
        self.saved = sum(len(texts[place]) - len(self.texts[place]) for place in cut)
        """Characters that the page does not hold."""
        self.cut_length = sum(len(texts[place]) for place in cut if len(texts[place]) > len(self.texts[place]))
        """Characters of the sheets that are cut."""
        self.definitions = {name for place in cut for name in cutters[place].unused_definitions(sheets[place])}
        """The names of keyframes and fonts that wait."""

    def _has(self, name: str) -> bool:
        result = self._had.get(name)
        if result is None:
            result = self._had[name] = self._has_now(name) or name.lstrip(".#[") in self._names
        return result

    def _free_definitions(self, texts: Sequence[str], sheets: Sequence[Sequence[_Candidate]]) -> set[str]:
        """Return the definitions that stay whatever rules do: custom properties, and what scripts alone may use."""
        used = join_names(list(map(_used_names, texts)))
        fonts = unescape("\n".join(used.fonts)).lower()
        return {
            name
            for sheet in sheets
            for name in _definitions(sheet)
            if name.startswith("--") or name in self._names or not (name in used.animations or name in fonts)
        }

    @property
    def known(self) -> Iterator[str]:
        """The names of selectors that the page is likely to have, with their marks."""
        return (name for name, is_had in self._had.items() if is_had)

    def lacking(self) -> Iterator[list[str]]:
        """Yield the names that each selector of the rules that wait lacks."""
        for tree in self._trees:
            yield from self._lacking(tree.nodes)

    def _lacking(self, nodes: Nodes) -> Iterator[list[str]]:
        for node in nodes.all:
            lacks = [[name for name in required_names(each) if not self._has(name)] for each in node.selectors]
            if all(lacks):
                yield from lacks
            yield from self._lacking(node.nodes)


def _is_any(_name: str) -> bool:
    return True


def _inline_candidates(inline: str) -> list[_Candidate]:
    return [_Candidate(node) for node in declaration_nodes(inline)]


@lru_cache(maxsize=64)
def _used_names(text: str) -> UsedNames:
    """Return all names that a sheet uses, whatever page it is of."""
    return join_names(list(_all_names(rule_tree(text).nodes)))


def _all_names(nodes: Nodes) -> Iterator[UsedNames]:
    for node in nodes.all:
        yield node.names
        yield from _all_names(node.nodes)


# ---- the choice, made for each page


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A node that may be used, with those of its nodes that may be; definitions count as used at first."""

    node: Node
    inner: tuple[_Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Choice:
    """The choice of the rules that may apply to the page."""

    matches: Matches
    may_have: Matches  # of a name
    media: frozenset[str]

    def candidates(self, nodes: Nodes) -> list[_Candidate]:
        return [candidate for node in nodes.having(self.may_have) if (candidate := self._candidate(node)) is not None]

    def _candidate(self, node: Node) -> _Candidate | None:
        if node.item.is_rule:
            return self._style_rule(node)
        if node.types and self.media.isdisjoint(node.types):
            return None
        return _Candidate(node, tuple(self.candidates(node.nodes))) if node.nodes else _Candidate(node)

    def _style_rule(self, node: Node) -> _Candidate | None:
        if node.selectors and not any(map(self.matches, node.selectors)):
            # A nested selector may still match: it need not be below a match of its parent (":not(&)").
            rules = self.candidates(node.nodes) if node.nodes else ()
            return _Candidate(node, tuple(rules)) if any(map(_has_rule, rules)) else None
        return _Candidate(node, tuple(self.candidates(node.nodes))) if node.nodes else _Candidate(node)


def _has_rule(candidate: _Candidate) -> bool:
    return candidate.node.item.is_rule or any(map(_has_rule, candidate.inner))


def _is_named_layer(node: Node) -> bool:
    """Whether this is a named layer, which has a place in the order of layers even when it is empty."""
    return node.item.name == "@layer" and node.item.prelude - node.item.start > len("@layer ")


@dataclass(frozen=True, slots=True)
class _Uses:
    """The names that candidates use, directly or through custom properties. ``fonts`` is one text in lower case."""

    customs: frozenset[str]
    animations: frozenset[str]
    fonts: str

    @classmethod
    def of(cls, sheets: Sequence[Sequence[_Candidate]], extra: Container[str] = (), *, is_partial: bool) -> _Uses:
        """Return what candidates use, and the definitions that are in ``extra``; all ``is_partial`` is true for."""
        defining: dict[str, list[UsedNames]] = {}
        used: list[UsedNames] = []
        for candidates in sheets:
            _gather(candidates, used, defining)
        kept = frozenset(name for sheet in sheets for name in _definitions(sheet) if is_partial or name in extra)
        used.append(UsedNames(kept, kept, tuple(sorted(kept))))
        used += [names for name in _reachable(used, defining) for names in defining.get(name, ())]
        everything = join_names(used)
        return cls(everything.customs, everything.animations, unescape("\n".join(everything.fonts)).lower())


def _gather(candidates: Sequence[_Candidate], used: list[UsedNames], defining: dict[str, list[UsedNames]]) -> None:
    """Add the names that custom properties use to ``defining``, by property, and all others to ``used``."""
    for candidate in candidates:
        node = candidate.node
        if node.defines.startswith("--") and node.item.is_declaration:
            defining.setdefault(node.defines, []).append(node.names)
        elif node.item.name != "@property":
            used.append(node.names)
        if candidate.inner:
            _gather(candidate.inner, used, defining)


def _definitions(candidates: Sequence[_Candidate]) -> Iterator[str]:
    for candidate in candidates:
        if candidate.node.defines:
            yield candidate.node.defines
        yield from _definitions(candidate.inner)


def _reachable(used: Sequence[UsedNames], defining: dict[str, list[UsedNames]]) -> set[str]:
    """Return the custom properties in use, directly or through others."""
    reached: set[str] = set()
    pending = set().union(*(names.customs for names in used))
    while pending:
        reached |= pending
        pending = set().union(*(names.customs for name in pending for names in defining.get(name, ()))) - reached
    return reached


# ---- cutting the rest


@dataclass(slots=True)
class _Cutter:
    """Cuts from one sheet what is not used."""

    text: str
    tree: RuleTree
    uses: _Uses

    def cut(self, candidates: Sequence[_Candidate]) -> str:
        pieces: list[str] = []
        position = 0
        for start, end in self._spans(self.tree.nodes, candidates):
            pieces.append(self.text[position:start])
            position = end
        return "".join(pieces) + self.text[position:]

    def _spans(self, nodes: Nodes, candidates: Sequence[_Candidate]) -> Iterator[tuple[int, int]]:
        """Yield the spans to cut, in order."""
        position = 0
        for candidate in candidates:
            if self._is_used(candidate):
                yield from self._unused(nodes, position, candidate.node.item.gap)
                yield from self._spans(candidate.node.nodes, candidate.inner)
                position = candidate.node.item.end
        yield from self._unused(nodes, position, len(self.text))

    def _unused(self, nodes: Nodes, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the spans of nodes with white space and comments before them, except for licences."""
        unused = nodes.between(start, end)
        if nodes.is_whole and unused and self.text.find("/*!", unused[0].item.gap, unused[-1].item.end) < 0:
            yield unused[0].item.gap, unused[-1].item.end
        else:
            yield from ((self._start(node.item), node.item.end) for node in unused)

    def _start(self, item: Item) -> int:
        return item.start if "/*!" in self.text[item.gap : item.start] else item.gap

    def unused_definitions(self, candidates: Sequence[_Candidate]) -> Iterator[str]:
        """Yield the names of definitions that are cut."""
        for candidate in candidates:
            if candidate.node.defines and not self._is_used(candidate):
                yield candidate.node.defines
            yield from self.unused_definitions(candidate.inner)

    def _is_used(self, candidate: _Candidate) -> bool:
        node = candidate.node
        name = node.item.name
        if not name or (name in GROUPS and node.item.body >= 0):
            return node.has_declarations or any(map(self._is_used, candidate.inner)) or _is_named_layer(node)
        if name.startswith("--") or name == "@property":
            return self.tree.has_escaped_customs or node.defines in self.uses.customs
        if name in KEYFRAMES:
            return node.defines in self.uses.animations
        return name != "@font-face" or not node.defines or node.defines in self.uses.fonts
