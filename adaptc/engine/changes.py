"""What changed since the last build, and which units that makes stale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adaptc.engine.reasons import (
    DecisionChanged,
    DependencyChanged,
    InputChanged,
    NeverBuilt,
    Reason,
    RecipeChanged,
)
from adaptc.engine.state import State, Unit
from adaptc.engine.view import PIN, PLACEMENT
from adaptc.model import Resource


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files of the docroot by what happened to them. ``touched`` have another size, time or inode: read them again."""

    touched: tuple[str, ...]
    came: frozenset[str]
    went: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.touched or self.came or self.went)


def compare_files(now: Mapping[str, Resource], before: Mapping[str, tuple[Resource, str]]) -> FileChanges:
    """Return what ``lstat`` says about changes."""
    came = frozenset(now.keys() - before.keys())
    went = frozenset(before.keys() - now.keys())
    touched = tuple(path for path, found in now.items() if path in came or before[path][0] != found)
    return FileChanges(touched, came, went)


def stale_units(
    state: State,
    contents: Iterable[str],
    decisions: Iterable[str],
    recipes: Mapping[str, str],
    paths: Mapping[str, Resource],
) -> dict[Unit, Reason]:
    """Return the units to build and why.

    ``contents`` are paths whose content changed, came or went; ``decisions`` the keys of decisions that changed;
    ``recipes`` the recipe of each level that is built.
    """
    reasons: dict[Unit, Reason] = {}
    built = state.recipes()
    for level, recipe in recipes.items():
        for path in paths:
            known = built.get((level, path))
            if known is None:
                reasons[level, path] = NeverBuilt()
            elif known != recipe:
                reasons[level, path] = RecipeChanged()
    for key in decisions:
        _add(reasons, state.units_of(key), built, DecisionChanged(_subject(key)))
    for path in contents:
        for unit in state.units_of(path):
            reason = InputChanged() if unit[1] == path else DependencyChanged(path)
            _add(reasons, [unit], built, reason)
    return {unit: reason for unit, reason in reasons.items() if unit[0] in recipes and unit[1] in paths}


def _add(reasons: dict[Unit, Reason], units: Iterable[Unit], built: Mapping[Unit, str], reason: Reason) -> None:
    for unit in units:
        if unit in built:
            reasons[unit] = reason


def _subject(key: str) -> str:
    return key.removeprefix(PLACEMENT).removeprefix(PIN)
