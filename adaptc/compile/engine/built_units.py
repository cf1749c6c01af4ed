"""The units of earlier builds that are up to date: a level that is added builds none of them again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from adaptc.compile.engine.results import UnitResult, without_dictionary
from adaptc.compile.engine.state import State, state_path
from adaptc.compile.engine.store import Store


class BuiltUnits:
    """The units in the state of ``output``. Outdated ones have left it before any unit is built.

    Those that depend on one of the paths ``hidden`` are not up to date.
    """

    def __init__(
        self, output: Path, recipes: Mapping[str, str], store: Store, hidden: frozenset[str] = frozenset()
    ) -> None:
        self.output, self.recipes, self.store, self.hidden = output, recipes, store, hidden

    def get(self, level: str, path: str, *, notes: bool = False) -> UnitResult | None:
        """Return a unit that was built by the present recipe of its level, if all its files are in the cache.

        Without ``notes`` its actions, diagnostics and demoted passes are left out.
        """
        result = self._state.result(level, path, self.recipes[level], notes=notes)
        if result is None or not self.hidden.isdisjoint(result.dependencies):
            return None
        if not all(self.store.has(output.key) for _, output in result.files()):
            return None
        return without_dictionary(result)

    @cached_property
    def _state(self) -> State:
        return State(state_path(self.output), read_only=True)
