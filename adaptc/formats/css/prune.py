"""Remove what a page does not use from its style sheets.

A rule is kept if its selector can match the page (see ``selectors``), or if the selector or the rule is unknown.
Definitions (custom properties, keyframes, fonts) are kept if a kept rule uses them. The bytes of what is kept are not
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from adaptc.formats.css.rule_tree import (
    KEYFRAMES,
    Node,
    Nodes,
    RuleTree,
    UsedNames,
    declaration_nodes,
    join_names,
    rule_tree,
)
from adaptc.formats.css.rules import GROUPS, Item
from adaptc.formats.css.scanner import unescape
from adaptc.formats.css.selectors import name_selector, required_names

__all__ = ["ALL_MEDIA", "prune_sheets"]

Matches = Callable[[str], bool]

ALL_MEDIA = frozenset({"screen", "print"})


def prune_sheets(
    texts: Sequence[str],
    matches: Matches,
    *,
    keep_names: Container[str] | None = None,
    narrower: Mapping[int, Container[str]] = MappingProxyType({}),
    media: frozenset[str] = ALL_MEDIA,
    inline: str = "",
    is_partial: bool = False,
) -> tuple[str, ...]:
    """Return the sheets of one page, each with only what the page uses.

    ``matches`` returns whether an element of the page may match a static selector. ``keep_names`` holds the names
    (of classes, ids, attributes, elements, custom properties, keyframes, without mark) that the page's scripts may
    bring in: selectors are then judged by their names alone. ``narrower`` has other names instead for the rules of some
    texts, by their places; definitions are kept for ``keep_names`` there, too. Rules of ``@media`` for types not in
    ``media`` are dropped. ``inline`` are the declarations of style attributes, joined with ``;``, which may use
    definitions. With ``is_partial`` the page has other sheets, which may use any definition.
    """
    names = [narrower.get(place, keep_names) for place in range(len(texts))]
    choices = {id(each): _choice(matches, each, media) for each in names}
    candidates = [choices[id(each)].candidates(rule_tree(text).nodes) for text, each in zip(texts, names, strict=True)]
    inline_nodes = [_Candidate(node) for node in declaration_nodes(inline)]
    uses = _Uses.of([*candidates, inline_nodes], () if keep_names is None else keep_names, is_partial=is_partial)
    return tuple(_Cutter(text, rule_tree(text), uses).cut(nodes) for text, nodes in zip(texts, candidates, strict=True))


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


def _choice(matches: Matches, keep_names: Container[str] | None, media: frozenset[str]) -> _Choice:
    """Return the choice for a page. Scripts may move elements and set classes.

    A selector can then match if each of its names may occur in the page.
    """

    @cache
    def has(name: str) -> bool:
        return (keep_names is not None and name.lstrip(".#[") in keep_names) or matches(name_selector(name))

    def has_all(selector: str) -> bool:
        return all(map(has, required_names(selector)))

    return _Choice(matches if keep_names is None else has_all, has, media)


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
    def of(cls, sheets: Sequence[Sequence[_Candidate]], keep_names: Container[str], *, is_partial: bool) -> _Uses:
        defining: dict[str, list[UsedNames]] = {}
        used: list[UsedNames] = []
        for candidates in sheets:
            _gather(candidates, used, defining)
        definitions = frozenset(name for sheet in sheets for name in _definitions(sheet))
        elsewhere = definitions if is_partial else frozenset(name for name in definitions if name in keep_names)
        used.append(UsedNames(elsewhere, elsewhere, tuple(sorted(definitions)) if is_partial else ()))
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
