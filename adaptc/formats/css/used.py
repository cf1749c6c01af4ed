"""Style sheets with only what a page uses.

A rule stays if its selector can match the page (see ``selectors``), if the engine that is asked does not know the
selector, and if nothing is known about the rule at all. What only serves other rules (custom properties, keyframes,
fonts) stays where a rule that stays names it. The bytes of what stays are not changed.
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

__all__ = ["ALL_MEDIA", "used_rules", "used_sheets"]

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


def used_rules(
    text: str,
    matches: Matches,
    *,
    keep_names: Container[str] | None = None,
    media: frozenset[str] = ALL_MEDIA,
    inline: str = "",
) -> str:
    """Return the sheet with only the rules that can apply to the page; see ``used_sheets``."""
    return used_sheets((text,), matches, keep_names=keep_names, media=media, inline=inline)[0]


def used_sheets(
    texts: Sequence[str],
    matches: Matches,
    *,
    keep_names: Container[str] | None = None,
    media: frozenset[str] = ALL_MEDIA,
    inline: str = "",
) -> tuple[str, ...]:
    """Return the sheets of one page, each with only what the page uses.

    ``matches`` tells whether an element of the page matches a static selector; it has to say true when it cannot
    tell. ``keep_names`` holds the names (of classes, ids, attributes, elements, custom properties, keyframes, without
    mark) that scripts which remain may bring in: selectors are then judged by their names alone. ``media`` are the
    media types that count: rules of ``@media`` for other types go. ``inline`` holds the declarations of style
    attributes, one behind the other with ``;``, which may use what the sheets define.
    """
    can_match = matches if keep_names is None else _by_names(matches, keep_names)
    chosen = [_Chosen(can_match, media) for _ in texts]
    kept = [one.of(_outline(text).nodes) for one, text in zip(chosen, texts, strict=True)]
    needs = _Needs.of(
        [*kept, [_Kept(node) for node in _inline_nodes(inline)]], () if keep_names is None else keep_names
    )
    return tuple(_Writer(text, _outline(text), needs).written(nodes) for text, nodes in zip(texts, kept, strict=True))


def _by_names(matches: Matches, keep_names: Container[str]) -> Matches:
    """Scripts may move elements and set classes: a selector can match if each of its names can be there."""

    @cache
    def has(name: str) -> bool:
        return name.lstrip(".#[") in keep_names or matches(name_selector(name))

    return lambda selector: all(map(has, required_names(selector)))


# ---- the outline of a sheet, made once


@dataclass(frozen=True, slots=True)
class _Names:
    """What declarations name: custom properties, words that may be animations, texts that may hold font families."""

    customs: frozenset[str] = _NOTHING
    animations: frozenset[str] = _NOTHING
    fonts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Node:
    """An item with what the choice needs: its selectors, what it names, and what it defines.

    ``asked`` is empty where nothing can be asked. ``defines`` is the name of a custom property, of keyframes
    or a font family.
    """

    item: Item
    asked: tuple[str, ...] = ()
    names: _Names = _Names()
    defines: str = ""
    types: frozenset[str] = _NOTHING  # media types of an @media that is only for these
    nodes: tuple[_Node, ...] = ()  # of a style rule only what may go without it: nested rules, custom properties
    has_own: bool = False  # whether it holds anything else


@dataclass(frozen=True, slots=True)
class _Outline:
    nodes: tuple[_Node, ...]
    has_escaped_customs: bool


@lru_cache(maxsize=128)
def _outline(text: str) -> _Outline:
    nodes = tuple(_nodes(text, sheet_items(text), ()))
    return _Outline(nodes, any("\\" in found for found in _CUSTOM.findall(text)))


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
    asked = static_selectors(text[item.start : item.prelude], parents)
    inner, own = _parted(text, item, asked)
    return _Node(item, asked, _joined(own), nodes=inner, has_own=bool(own))


def _parted(text: str, item: Item, parents: tuple[str, ...]) -> tuple[tuple[_Node, ...], list[_Names]]:
    """Return the nodes inside that may go alone, and what the plain declarations name."""
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
        # "&" in @scope stands for the scope, which the rules inside are not asked about.
        inner, own = _parted(text, item, () if item.name == "@scope" else parents)
        names = _joined([_Names(_customs(prelude)), *own])
        return _Node(item, names=names, types=types, nodes=inner, has_own=bool(own))
    body = text[item.body : item.close] if item.body >= 0 else prelude
    names = _Names(_customs(body), _NOTHING, (body,) if item.name != "@font-face" else ())
    return _Node(item, names=names, defines=_defined(item.name, prelude, body))


def _defined(name: str, prelude: str, body: str) -> str:
    if name in _KEYFRAMES:
        return unescape(prelude.strip("\"'"))
    if name == "@property":
        return unescape(prelude)
    return font_family(body) if name == "@font-face" else ""


def _media_types(prelude: str) -> frozenset[str]:
    """Return the media types of a query list, empty where another type (or every one) is asked for as well."""
    found = [_QUERY_TYPE.match(query) for query in prelude.split(",")]
    types = {match[1].lower() if match else "" for match in found}
    return frozenset(types) if types <= _TYPES else _NOTHING


def _customs(text: str) -> frozenset[str]:
    return frozenset(map(unescape, _CUSTOM.findall(text))) if "--" in text else _NOTHING


def _words(text: str) -> frozenset[str]:
    return frozenset(map(unescape, _WORD.findall(text)))


def _joined(names: Sequence[_Names]) -> _Names:
    return _Names(
        _NOTHING.union(*(each.customs for each in names)),
        _NOTHING.union(*(each.animations for each in names)),
        tuple(dict.fromkeys(text for each in names for text in each.fonts)),
    )


# ---- the choice, made for each page


@dataclass(frozen=True, slots=True)
class _Kept:
    """A node that stays, and those of its nodes that do; what is not known to be unused stays for now."""

    node: _Node
    inner: tuple[_Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class _Chosen:
    matches: Matches
    media: frozenset[str]

    def of(self, nodes: Sequence[_Node]) -> list[_Kept]:
        return [kept for node in nodes if (kept := self._one(node)) is not None]

    def _one(self, node: _Node) -> _Kept | None:
        if node.item.is_rule:
            return self._style_rule(node)
        if node.types and self.media.isdisjoint(node.types):
            return None
        return _Kept(node, tuple(self.of(node.nodes))) if node.nodes else _Kept(node)

    def _style_rule(self, node: _Node) -> _Kept | None:
        if node.asked and not any(map(self.matches, node.asked)):
            # A nested selector may still match: it need not be below what its parent matches (":not(&)").
            rules = self.of(node.nodes) if node.nodes else ()
            return _Kept(node, tuple(rules)) if any(map(_has_rule, rules)) else None
        return _Kept(node, tuple(self.of(node.nodes))) if node.nodes else _Kept(node)


def _has_rule(kept: _Kept) -> bool:
    return kept.node.item.is_rule or any(map(_has_rule, kept.inner))


def _is_named_layer(node: _Node) -> bool:
    """Whether this is a layer with a name, whose place in the order of layers counts even when it is empty."""
    return node.item.name == "@layer" and node.item.prelude - node.item.start > len("@layer ")


@dataclass(frozen=True, slots=True)
class _Needs:
    """What the kept rules name, directly or by way of custom properties. ``fonts`` is one lower-cased text."""

    customs: frozenset[str]
    animations: frozenset[str]
    fonts: str

    @classmethod
    def of(cls, sheets: Sequence[Sequence[_Kept]], keep_names: Container[str]) -> _Needs:
        defining: dict[str, list[_Names]] = {}
        found: list[_Names] = []
        for kept in sheets:
            _gather(kept, found, defining)
        brought = frozenset(name for kept in sheets for name in _definitions(kept) if name in keep_names)
        found.append(_Names(brought, brought))
        reached, waiting = _closure(found, defining)
        found += [names for name in reached for names in waiting.get(name, ())]
        everything = _joined(found)
        return cls(everything.customs, everything.animations, unescape("\n".join(everything.fonts)).lower())


def _gather(kept: Sequence[_Kept], found: list[_Names], defining: dict[str, list[_Names]]) -> None:
    for one in kept:
        if one.node.defines.startswith("--") and one.node.item.is_declaration:
            defining.setdefault(one.node.defines, []).append(one.node.names)
        elif one.node.item.name != "@property":
            found.append(one.node.names)
        if one.inner:
            _gather(one.inner, found, defining)


def _definitions(kept: Sequence[_Kept]) -> Iterator[str]:
    for one in kept:
        if one.node.defines:
            yield one.node.defines
        yield from _definitions(one.inner)


def _closure(found: Sequence[_Names], defining: dict[str, list[_Names]]) -> tuple[set[str], dict[str, list[_Names]]]:
    """Return the custom properties in use, and ``defining``."""
    reached: set[str] = set()
    waiting = set().union(*(names.customs for names in found))
    while waiting:
        reached |= waiting
        waiting = set().union(*(names.customs for name in waiting for names in defining.get(name, ()))) - reached
    return reached, defining


# ---- what is written


@dataclass(slots=True)
class _Writer:
    text: str
    outline: _Outline
    needs: _Needs

    def written(self, nodes: Sequence[_Kept]) -> str:
        pieces: list[str] = []
        position = 0
        for start, end in self._spans(self.outline.nodes, {id(kept.node): kept for kept in nodes}):
            pieces.append(self.text[position:start])
            position = end
        return "".join(pieces) + self.text[position:]

    def _spans(self, nodes: Sequence[_Node], kept: dict[int, _Kept]) -> Iterator[tuple[int, int]]:
        """Yield the spans to cut, in order; what stands before an item goes with it, licences excepted."""
        for node in nodes:
            one = kept.get(id(node))
            if one is None or not self._is_needed(one):
                yield self._start(node.item), node.item.end
            elif node.nodes:
                yield from self._spans(node.nodes, {id(inner.node): inner for inner in one.inner})

    def _start(self, item: Item) -> int:
        return item.start if "/*!" in self.text[item.gap : item.start] else item.gap

    def _is_needed(self, kept: _Kept) -> bool:
        node = kept.node
        name = node.item.name
        if not name or (name in GROUPS and node.item.body >= 0):
            return node.has_own or any(map(self._is_needed, kept.inner)) or _is_named_layer(node)
        if name.startswith("--") or name == "@property":
            return self.outline.has_escaped_customs or node.defines in self.needs.customs
        if name in _KEYFRAMES:
            return node.defines in self.needs.animations
        return name != "@font-face" or not node.defines or node.defines in self.needs.fonts
