"""Remove what a page does not use from its style sheets.

A rule is kept if its selector can match the page (see ``selectors``), or if the selector or the rule is unknown.
Definitions (custom properties, keyframes, fonts) are kept if a kept rule uses them. The bytes of what is kept are not
changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from adaptc.formats.css.fonts import font_family
from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import unescape
from adaptc.formats.css.selectors import name_selector, required_names, static_selectors

__all__ = ["ALL_MEDIA", "prune_sheets"]

Matches = Callable[[str], bool]

ALL_MEDIA = frozenset({"screen", "print"})
_TYPES = frozenset({
    "screen", "print", "speech", "aural", "braille", "embossed", "handheld", "projection", "tty", "tv",
})  # fmt: skip
_QUERY_TYPE = re.compile(r"\s*(?:only\s+)?([a-z]+)\s*(?:and\b|$)", re.IGNORECASE)
_KEYFRAMES = frozenset({"@keyframes", "@-webkit-keyframes", "@-moz-keyframes", "@-o-keyframes", "@-ms-keyframes"})
_CUSTOM = re.compile(r"--(?:[-\w\x80-\U0010ffff]|\\[0-9a-fA-F]{1,6}\s?|\\.)*")
_WORD = re.compile(r"[-\w\x80-\U0010ffff\\]+")
_NOTHING: frozenset[str] = frozenset()


def prune_sheets(
    texts: Sequence[str],
    matches: Matches,
    *,
    keep_names: Container[str] | None = None,
    media: frozenset[str] = ALL_MEDIA,
    inline: str = "",
) -> tuple[str, ...]:
    """Return the sheets of one page, each with only what the page uses.

    ``matches`` returns whether an element of the page may match a static selector. ``keep_names`` holds the names
    (of classes, ids, attributes, elements, custom properties, keyframes, without mark) that the page's scripts may
    bring in: selectors are then judged by their names alone. Rules of ``@media`` for types not in ``media`` are
    dropped. ``inline`` are the declarations of style attributes, joined with ``;``, which may use definitions.
    """
    choice = _Choice(matches if keep_names is None else _match_by_names(matches, keep_names), media)
    candidates = [choice.candidates(_tree(text).nodes) for text in texts]
    inline_nodes = [_Candidate(node) for node in _inline_nodes(inline)]
    uses = _Uses.of([*candidates, inline_nodes], () if keep_names is None else keep_names)
    return tuple(_Cutter(text, _tree(text), uses).cut(nodes) for text, nodes in zip(texts, candidates, strict=True))


def _match_by_names(matches: Matches, keep_names: Container[str]) -> Matches:
    """Return ``matches`` for a page whose scripts may move elements and set classes.

    A selector can then match if each of its names may occur in the page.
    """

    @cache
    def has(name: str) -> bool:
        return name.lstrip(".#[") in keep_names or matches(name_selector(name))

    return lambda selector: all(map(has, required_names(selector)))


# ---- the tree of a sheet, cached


@dataclass(frozen=True, slots=True)
class _Names:
    """What declarations use: custom properties, words that may name animations, texts that may name font families."""

    customs: frozenset[str] = _NOTHING
    animations: frozenset[str] = _NOTHING
    fonts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Node:
    """An item with its static selectors, the names that it uses, and the name that it defines.

    ``selectors`` is empty if they are unknown. ``defines`` is the name of a custom property, of keyframes or a font
    family.
    """

    item: Item
    selectors: tuple[str, ...] = ()
    names: _Names = _Names()
    defines: str = ""
    types: frozenset[str] = _NOTHING  # the media types of an @media that is for these only
    nodes: tuple[_Node, ...] = ()  # of a style rule only what may be cut alone: nested rules, custom properties
    has_declarations: bool = False  # whether it has anything except ``nodes``


@dataclass(frozen=True, slots=True)
class _Tree:
    nodes: tuple[_Node, ...]
    has_escaped_customs: bool


@lru_cache(maxsize=128)
def _tree(text: str) -> _Tree:
    nodes = tuple(_nodes(text, sheet_items(text), ()))
    return _Tree(nodes, any("\\" in name for name in _CUSTOM.findall(text)))


@lru_cache(maxsize=64)
def _inline_nodes(text: str) -> tuple[_Node, ...]:
    return tuple(_nodes(text, declaration_items(text), ())) if text else ()


def _nodes(text: str, items: Sequence[Item], parents: tuple[str, ...]) -> Iterator[_Node]:
    for item in items:
        if item.is_rule:
            yield _style_rule(text, item, parents)
        elif item.is_declaration:
            yield _declaration(text, item)
        else:
            yield _at_rule(text, item, parents)


def _style_rule(text: str, item: Item, parents: tuple[str, ...]) -> _Node:
    selectors = static_selectors(text[item.start : item.prelude], parents)
    inner, own = _split_contents(text, item, selectors)
    return _Node(item, selectors, _join(own), nodes=inner, has_declarations=bool(own))


def _split_contents(text: str, item: Item, parents: tuple[str, ...]) -> tuple[tuple[_Node, ...], list[_Names]]:
    """Return the nodes inside that may be cut alone, and the names that the other declarations use."""
    inner = list(_nodes(text, item.items, parents))
    own = [node.names for node in inner if node.item.is_declaration and not node.defines]
    return tuple(node for node in inner if node.defines or not node.item.is_declaration), own


def _declaration(text: str, item: Item) -> _Node:
    value = text[item.body : item.close]
    if item.name.startswith("--"):
        return _Node(item, names=_Names(_customs(value), _words(value), (value,)), defines=item.name)
    is_animation = item.name.endswith(("animation", "animation-name"))
    is_font = item.name in ("font", "font-family", "src")
    customs = _customs(value) if "--" in value else _NOTHING
    return _Node(item, names=_Names(customs, _words(value) if is_animation else _NOTHING, (value,) if is_font else ()))


def _at_rule(text: str, item: Item, parents: tuple[str, ...]) -> _Node:
    prelude = text[item.start + len(item.name) : item.prelude].strip()
    if item.name in GROUPS and item.body >= 0:
        types = _media_types(prelude) if item.name == "@media" else _NOTHING
        # "&" in @scope is the scope, not the parent rule.
        inner, own = _split_contents(text, item, () if item.name == "@scope" else parents)
        names = _join([_Names(_customs(prelude)), *own])
        return _Node(item, names=names, types=types, nodes=inner, has_declarations=bool(own))
    body = text[item.body : item.close] if item.body >= 0 else prelude
    animations = _words(body) if item.name == "?" else _NOTHING  # it may hold rules
    names = _Names(_customs(body), animations, (body,) if item.name != "@font-face" else ())
    return _Node(item, names=names, defines=_defined(item.name, prelude, body))


def _defined(name: str, prelude: str, body: str) -> str:
    if name in _KEYFRAMES:
        return unescape(prelude.strip("\"'"))
    if name == "@property":
        return unescape(prelude)
    return font_family(body) if name == "@font-face" else ""


def _media_types(prelude: str) -> frozenset[str]:
    """Return the media types of a query list, or nothing if it may match an unknown type or all types."""
    matches = [_QUERY_TYPE.match(query) for query in prelude.split(",")]
    types = {match[1].lower() if match else "" for match in matches}
    return frozenset(types) if types <= _TYPES else _NOTHING


def _customs(text: str) -> frozenset[str]:
    return frozenset(map(unescape, _CUSTOM.findall(text))) if "--" in text else _NOTHING


def _words(text: str) -> frozenset[str]:
    return frozenset(map(unescape, _WORD.findall(text)))


def _join(names: Sequence[_Names]) -> _Names:
    return _Names(
        _NOTHING.union(*(part.customs for part in names)),
        _NOTHING.union(*(part.animations for part in names)),
        tuple(dict.fromkeys(text for part in names for text in part.fonts)),
    )


# ---- the choice, made for each page


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A node that may be used, with those of its nodes that may be; definitions count as used at first."""

    node: _Node
    inner: tuple[_Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Choice:
    """The choice of the rules that may apply to the page."""

    matches: Matches
    media: frozenset[str]

    def candidates(self, nodes: Sequence[_Node]) -> list[_Candidate]:
        return [candidate for node in nodes if (candidate := self._candidate(node)) is not None]

    def _candidate(self, node: _Node) -> _Candidate | None:
        if node.item.is_rule:
            return self._style_rule(node)
        if node.types and self.media.isdisjoint(node.types):
            return None
        return _Candidate(node, tuple(self.candidates(node.nodes))) if node.nodes else _Candidate(node)

    def _style_rule(self, node: _Node) -> _Candidate | None:
        if node.selectors and not any(map(self.matches, node.selectors)):
            # A nested selector may still match: it need not be below a match of its parent (":not(&)").
            rules = self.candidates(node.nodes) if node.nodes else ()
            return _Candidate(node, tuple(rules)) if any(map(_has_rule, rules)) else None
        return _Candidate(node, tuple(self.candidates(node.nodes))) if node.nodes else _Candidate(node)


def _has_rule(candidate: _Candidate) -> bool:
    return candidate.node.item.is_rule or any(map(_has_rule, candidate.inner))


def _is_named_layer(node: _Node) -> bool:
    """Whether this is a named layer, which has a place in the order of layers even when it is empty."""
    return node.item.name == "@layer" and node.item.prelude - node.item.start > len("@layer ")


@dataclass(frozen=True, slots=True)
class _Uses:
    """The names that candidates use, directly or through custom properties. ``fonts`` is one text in lower case."""

    customs: frozenset[str]
    animations: frozenset[str]
    fonts: str

    @classmethod
    def of(cls, sheets: Sequence[Sequence[_Candidate]], keep_names: Container[str]) -> _Uses:
        defining: dict[str, list[_Names]] = {}
        used: list[_Names] = []
        for candidates in sheets:
            _gather(candidates, used, defining)
        by_scripts = frozenset(name for sheet in sheets for name in _definitions(sheet) if name in keep_names)
        used.append(_Names(by_scripts, by_scripts))
        used += [names for name in _reachable(used, defining) for names in defining.get(name, ())]
        everything = _join(used)
        return cls(everything.customs, everything.animations, unescape("\n".join(everything.fonts)).lower())


def _gather(candidates: Sequence[_Candidate], used: list[_Names], defining: dict[str, list[_Names]]) -> None:
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


def _reachable(used: Sequence[_Names], defining: dict[str, list[_Names]]) -> set[str]:
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
    tree: _Tree
    uses: _Uses

    def cut(self, candidates: Sequence[_Candidate]) -> str:
        pieces: list[str] = []
        position = 0
        for start, end in self._spans(self.tree.nodes, {id(candidate.node): candidate for candidate in candidates}):
            pieces.append(self.text[position:start])
            position = end
        return "".join(pieces) + self.text[position:]

    def _spans(self, nodes: Sequence[_Node], candidates: dict[int, _Candidate]) -> Iterator[tuple[int, int]]:
        """Yield the spans to cut, in order, with white space and comments before an item, except for licences."""
        for node in nodes:
            candidate = candidates.get(id(node))
            if candidate is None or not self._is_used(candidate):
                yield self._start(node.item), node.item.end
            elif node.nodes:
                yield from self._spans(node.nodes, {id(inner.node): inner for inner in candidate.inner})

    def _start(self, item: Item) -> int:
        return item.start if "/*!" in self.text[item.gap : item.start] else item.gap

    def _is_used(self, candidate: _Candidate) -> bool:
        node = candidate.node
        name = node.item.name
        if not name or (name in GROUPS and node.item.body >= 0):
            return node.has_declarations or any(map(self._is_used, candidate.inner)) or _is_named_layer(node)
        if name.startswith("--") or name == "@property":
            return self.tree.has_escaped_customs or node.defines in self.uses.customs
        if name in _KEYFRAMES:
            return node.defines in self.uses.animations
        return name != "@font-face" or not node.defines or node.defines in self.uses.fonts
