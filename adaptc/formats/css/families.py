"""Families of properties that override each other: the order of declarations matters within a family only."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from adaptc.formats.css.outline import AT_RULE, TOGETHER, Entry
from adaptc.formats.css.values import INDEPENDENT

__all__ = ["is_same_cascade"]

# Families whose properties override each other without the same first word in their names
_FAMILY_OF_WORD = {
    "top": "inset", "right": "inset", "bottom": "inset", "left": "inset", "line": "font", "row": "gap",
    "column": "gap", "columns": "gap", "grid": "gap", "justify": "place", "align": "place", "width": "size",
    "height": "size", "inline": "size", "block": "size", "min": "size", "max": "size", "word": "overflow",
    "text": "white",
}  # fmt: skip
_FIRST_WORD = re.compile(r"[^a-z-]*(?:-[a-z]+-)?([a-z]*)")


def is_same_cascade(first: list[Entry], second: list[Entry]) -> bool:
    """Whether two outlines have the same effect: the same entries, in the same order in each family.

    A repeated declaration has no effect, nor has the order of a box's sides.
    """
    if first == second:
        return True
    members, others = _members(first), _members(second)
    return (
        members.keys() == others.keys()
        and all(own == others[name] or _normalise(own) == _normalise(others[name]) for name, own in members.items())
        and _joined_selectors(first) == _joined_selectors(second)
    )


def _members(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Group entries by family; with ``all``, which overrides nearly everything, they are one family."""
    is_split = all(declaration[0] != "all" for _, declaration in entries)
    members: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        name = entry[1][0]
        if name != TOGETHER:
            members[_family(name) if is_split else ""].append(entry)
    return members


def _joined_selectors(entries: list[Entry]) -> set[Entry]:
    return {entry for entry in entries if entry[1][0] == TOGETHER}


@lru_cache(maxsize=4096)
def _family(name: str) -> str:
    if name.startswith("--") or name == AT_RULE:
        return name
    match = _FIRST_WORD.match(name)
    word = match[1] if match else name
    return _FAMILY_OF_WORD.get(word, word)


def _normalise(entries: list[Entry]) -> list[Entry]:
    """Sort adjacent sides of one box under one selector, and drop repetitions."""
    ordered = list(_order_sides(entries)) if any(entry[1][0] in INDEPENDENT for entry in entries) else entries
    return [entry for index, entry in enumerate(ordered) if index == 0 or entry != ordered[index - 1]]


def _order_sides(entries: list[Entry]) -> Iterator[Entry]:
    for (_, is_side), group in groupby(entries, key=lambda entry: (entry[0], entry[1][0] in INDEPENDENT)):
        members = list(group)
        yield from sorted(members, key=lambda entry: entry[1][0]) if is_side else members
