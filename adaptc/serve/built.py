"""What the last build left in the trees, as far as a server must know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adaptc.compile.engine.state import State
from adaptc.core.model import CODINGS, FORMATS


@dataclass(frozen=True, slots=True)
class Built:
    """The levels that have a tree, and the codings in them, each in the order of preference.

    ``follow`` names for each coding those that a file may have without having that one, ``IDENTITY`` left out: what a
    server must try after it. ``docroot`` is the absolute path of the source. ``formats`` are those of images, in the
    order of preference.
    """

    levels: frozenset[str]
    codings: tuple[str, ...]
    follow: Mapping[str, tuple[str, ...]]
    docroot: str
    formats: tuple[str, ...] = ()


def read_built(state: State) -> Built:
    """Return what the trees hold."""
    levels, combinations = set[str](), set[frozenset[str]]()
    for result in state.results(notes=False):
        levels.add(result.level)
        combinations.add(frozenset(output.coding for output in result.outputs))
    there = frozenset[str]().union(*combinations)
    codings = tuple(coding for coding in CODINGS if coding in there)
    follow = {coding: _follow(coding, codings, combinations) for coding in codings}
    formats = tuple(name for name in FORMATS if name in there)
    return Built(frozenset(levels), codings, follow, state.meta("docroot") or "", formats)


def _follow(coding: str, codings: tuple[str, ...], combinations: set[frozenset[str]]) -> tuple[str, ...]:
    without = frozenset[str]().union(*(one for one in combinations if coding not in one))
    return tuple(other for other in codings[codings.index(coding) + 1 :] if other in without)
