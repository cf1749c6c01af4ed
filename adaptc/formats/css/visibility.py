"""The rules of a style sheet that decide whether an element is visible."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from adaptc.core.values import dataclass, pattern
from adaptc.formats.css.rules import GROUPS, Item, declaration_items, sheet_items
from adaptc.formats.css.selectors import required_names, selector_names, static_selectors

# Ranges of viewport widths in CSS pixels, both ends included. An empty tuple never matches.
Widths = tuple[tuple[float, float], ...]
ALL_WIDTHS: Widths = ((0.0, float("inf")),)

_QUERY = pattern(r"^(?:only\s+)?(?:(?:screen|all)(?:\s+and\s+|$))?((?:\([^()]*\)(?:\s+and\s+|$))*)$", re.IGNORECASE)
_TYPE = pattern(r"\s*(?:(not|only)\s+)?([a-z][\w-]*)\s*(\band\b.*)?", re.IGNORECASE | re.DOTALL)
_SCREENS = frozenset({"all", "screen"})
_FEATURE = pattern(r"\(([^()]*)\)")
_LIMIT = pattern(r"(min|max)-width\s*:\s*([\d.]+)(px|em|rem)$", re.IGNORECASE)
_RANGE = pattern(r"width\s*(<=|>=|<|>)\s*([\d.]+)(px|em|rem)$", re.IGNORECASE)
_PIXELS = {"px": 1.0, "em": 16.0, "rem": 16.0}
# What is true for a user with a mouse and default settings
_DEFAULT_FEATURE = pattern(
    r"(?:prefers-[a-z-]+\s*:\s*no-preference|(?:any-)?hover(?:\s*:\s*hover)?|min-(?:device-)?height.*)$"
)


def widths_of(prelude: str) -> Widths:
    """Return the widths at which a media query list (Media Queries 4) matches a screen; unknown queries never do."""
    return tuple(limits for query in prelude.split(",") if (limits := _query(query.strip())) is not None)


def may_match_screen(prelude: str) -> bool:
    """Whether a media query list may match some screen; queries that are not understood count as if they did."""
    return not prelude.strip() or any(map(_may_match_screen, prelude.split(",")))


def _may_match_screen(query: str) -> bool:
    match = _TYPE.fullmatch(query)
    if match is None:
        return True
    negation, media_type, features = match.groups()
    is_screen = media_type.lower() in _SCREENS
    return not is_screen or bool(features) if (negation or "").lower() == "not" else is_screen


def is_of_state(selector: str) -> bool:
    """Whether a selector only matches in a state such as ``:hover``."""
    return _STATE.search(selector) is not None


def intersect(first: Widths, second: Widths) -> Widths:
    """Return the widths that are in both."""
    pairs = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return tuple((low, high) for low, high in pairs if low <= high)


def _query(query: str) -> tuple[float, float] | None:
    match = _QUERY.match(query)
    if match is None:
        return ALL_WIDTHS[0] if _excludes_other_media(query) else None
    low, high = ALL_WIDTHS[0]
    for feature in _FEATURE.findall(match[1]):
        limits = _limits(feature.strip())
        if limits is None:
            return None
        low, high = max(low, limits[0]), min(high, limits[1])
    return (low, high) if low <= high else None


def _excludes_other_media(query: str) -> bool:
    """Whether a query excludes a medium other than screens: ``not print``."""
    match = _TYPE.fullmatch(query)
    return match is not None and (match[1] or "").lower() == "not" and match[2].lower() not in _SCREENS


def _limits(feature: str) -> tuple[float, float] | None:
    if limit := _LIMIT.match(feature):
        width = float(limit[2]) * _PIXELS[limit[3].lower()]
        return (width, ALL_WIDTHS[0][1]) if limit[1].lower() == "min" else (0.0, width)
    if limit := _RANGE.match(feature):
        width = float(limit[2]) * _PIXELS[limit[3].lower()]
        return (width, ALL_WIDTHS[0][1]) if ">" in limit[1] else (0.0, width)
    return ALL_WIDTHS[0] if _DEFAULT_FEATURE.match(feature) else None


VISIBILITY_PROPERTIES = frozenset({
    "display", "visibility", "opacity", "max-height", "height", "position", "transform", "left", "right",
    "pointer-events",
})  # fmt: skip

_STRINGS = pattern(r"\[[^\]]*\]|\"[^\"]*\"|'[^']*'")
_WHERE_FUNCTION = pattern(r":where\([^()]*\)")
_FUNCTIONAL = pattern(r":(?:is|not|has|matches|-webkit-any)\(|:nth-[a-z-]+\([^()]*\)")
_IDS, _CLASSES, _TYPES = re.compile(r"#[\w\\-]+"), re.compile(r"\.[\w\\-]+|\[\]|:[\w-]+"), re.compile(r"[a-zA-Z][\w-]*")
_PSEUDO_ELEMENT = pattern(r"::|:(?:before|after|first-line|first-letter)\b", re.IGNORECASE)
_STATE = pattern(
    r":(?:hover|focus|focus-within|focus-visible|active|target|target-within|checked|open|popover-open|modal|"
    r"placeholder-shown|valid|invalid|indeterminate|fullscreen)\b|\[open\]",
    re.IGNORECASE,
)
_INLINE_SPECIFICITY = 1 << 30  # a style attribute beats every selector


@dataclass(frozen=True, slots=True)
class VisibilityRule:
    """The declarations of some properties for one selector, at some widths of the viewport.

    ``values`` are (property, value, is important). ``selector`` is static (see ``static_selectors``); ``is_state``
    is true for one that only matches in a state such as ``:hover``.
    """

    selector: str
    is_state: bool
    specificity: int
    widths: Widths
    values: tuple[tuple[str, str, bool], ...]


@lru_cache(maxsize=128)
def visibility_rules(text: str, properties: frozenset[str] = VISIBILITY_PROPERTIES) -> tuple[VisibilityRule, ...]:
    """Return the rules of a sheet for some properties in order; the order of layers is ignored."""
    return tuple(_rules(text, sheet_items(text), ALL_WIDTHS, properties))


@lru_cache(maxsize=128)
def visibility_index(
    text: str, properties: frozenset[str] = VISIBILITY_PROPERTIES
) -> Mapping[str, Sequence[tuple[int, VisibilityRule]]]:
    """Return the rules of ``visibility_rules`` with their places, by the subject of their selectors."""
    index: defaultdict[str, list[tuple[int, VisibilityRule]]] = defaultdict(list)
    for place, rule in enumerate(visibility_rules(text, properties)):
        index[selector_names(rule.selector).subject].append((place, rule))
    return dict(index)


@lru_cache(maxsize=128)
def visibility_names(text: str, properties: frozenset[str] = VISIBILITY_PROPERTIES) -> frozenset[str]:
    """Return the names that the selectors of ``visibility_rules`` require of a page."""
    return frozenset().union(*(required_names(rule.selector) for rule in visibility_rules(text, properties)))


def inline_visibility_rule(style: str, properties: frozenset[str] = VISIBILITY_PROPERTIES) -> VisibilityRule:
    """Return the visibility rule of a style attribute."""
    return (_inline_rule if len(style) > _LONGEST_KNOWN else _known_inline_rule)(style, properties)


def _inline_rule(style: str, properties: frozenset[str]) -> VisibilityRule:
    values = _values(style, declaration_items(style), properties)
    return VisibilityRule("", False, _INLINE_SPECIFICITY, ALL_WIDTHS, values)


# Characters of an attribute that is remembered: a page has the same in many places, and one with data URIs has not
_LONGEST_KNOWN = 500
_known_inline_rule = lru_cache(maxsize=2048)(_inline_rule)


def _rules(
    text: str, items: Sequence[Item], widths: Widths, properties: frozenset[str], outer: str = ""
) -> Iterator[VisibilityRule]:
    """Yield the rules of ``items``, which are in a rule with the selectors ``outer`` (CSS Nesting 1)."""
    if outer and (values := _values(text, items, properties)):
        yield from _rules_of_selectors(outer, widths, values)
    for item in items:
        if item.is_rule:
            selector = _nested(text[item.start : item.prelude], outer)
            yield from _rules(text, item.items, widths, properties, selector) if selector else ()
        elif item.name == "@media":
            inner = intersect(widths, widths_of(text[item.start + len(item.name) : item.prelude]))
            yield from _rules(text, item.items, inner, properties, outer) if inner else ()
        elif item.name in GROUPS:
            yield from _rules(text, item.items, widths, properties, outer)


_LONGEST_NESTED = 2000  # characters: lists in lists multiply


def _nested(selector: str, outer: str) -> str:
    """Return the selectors of a rule in one with the selectors ``outer``; ``""`` where they become too long."""
    if not outer:
        return selector
    inner, parents = split_selectors(selector), split_selectors(outer)
    if len(selector) * len(parents) + len(outer) * (len(inner) + selector.count("&")) > _LONGEST_NESTED:
        return ""
    pairs = ((each, parent) for each in inner for parent in parents)
    return ", ".join(each.replace("&", parent) if "&" in each else f"{parent} {each}" for each, parent in pairs)


def _rules_of_selectors(
    prelude: str, widths: Widths, values: tuple[tuple[str, str, bool], ...]
) -> Iterator[VisibilityRule]:
    for selector in split_selectors(prelude):
        bare = _STRINGS.sub("[]", selector)
        selectors = () if _PSEUDO_ELEMENT.search(bare) else static_selectors(selector)
        for static in selectors:
            yield VisibilityRule(static, is_of_state(selector), _specificity(bare), widths, values)


def _values(text: str, items: Sequence[Item], properties: frozenset[str]) -> tuple[tuple[str, str, bool], ...]:
    return tuple(
        (item.name, value.replace("!important", "").strip(), "!important" in value)
        for item in items
        if item.is_declaration and item.name in properties
        for value in (text[item.body : item.close].strip().lower().replace("! important", "!important"),)
    )


def split_selectors(prelude: str) -> list[str]:
    """Split a selector list at the commas outside of brackets."""
    if "(" not in prelude and "[" not in prelude:
        return [piece.strip() for piece in prelude.split(",")]
    pieces, depth = [""], 0
    for character in prelude:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces]


def _specificity(bare: str) -> int:
    """Return a number in the order of specificities (Selectors 4, section 15); all alternatives count."""
    plain = _FUNCTIONAL.sub(" ", _WHERE_FUNCTION.sub("", bare))
    ids, rest = len(_IDS.findall(plain)), _IDS.sub(" ", plain)
    classes, rest = len(_CLASSES.findall(rest)), _CLASSES.sub(" ", rest)
    return (ids << 20) + (classes << 10) + len(_TYPES.findall(rest))
