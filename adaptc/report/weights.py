"""What files weigh at each level, and what sheets import, read from the state when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from adaptc.compile.analyse.styling import Background
from adaptc.compile.engine.state.results import Extra, Output, UnitResult
from adaptc.compile.engine.state.state import State
from adaptc.core import media
from adaptc.core.model import IDENTITY, is_dictionary_coding


class Weight(NamedTuple):
    """Bytes of a resource at a level: as they are, and in the best coding."""

    identity: int
    transfer: int


def weight_of(outputs: Iterable[Output], source: int) -> Weight:
    """Return the weight of a file with these outputs; ``source`` is the size of the original, sent without any.

    Only visitors who have a dictionary receive what is encoded with it: that does not count.
    """
    sizes = {output.coding: output.size for output in outputs if not is_dictionary_coding(output.coding)}
    identity = sizes.get(IDENTITY, source)
    return Weight(identity, min((*sizes.values(), identity)))


class Weights:
    """The weights of files of ``state``; ``sizes`` are those of their sources in bytes."""

    def __init__(self, state: State, sizes: dict[str, int]) -> None:
        self.state, self.sizes = state, sizes
        self._weights: dict[tuple[str, str], Weight | None] = {}
        self._imports: dict[tuple[str, str], tuple[str, ...]] = {}
        self._backgrounds: dict[tuple[str, str], tuple[Background, ...]] = {}
        self._has_all = False

    def read_all(self) -> None:
        """Read every unit at once, for a caller that will ask for most of them."""
        for result in self.state.results(notes=False):
            self._add(result)
        self._has_all = True

    def at(self, level: str, path: str) -> Weight | None:
        """Return the weight of a file at a level, ``None`` where it has none."""
        key = (level, path)
        if key not in self._weights and not self._has_all:
            self._weights[key] = None
            self._read(level, path)
        return self._weights.get(key)

    def backgrounds(self, level: str, path: str) -> tuple[Background, ...]:
        """Return the images that a sheet loads with pages at a level."""
        self.at(level, path)
        return self._backgrounds.get((level, path), ())

    def imports(self, level: str, path: str) -> tuple[str, ...]:
        """Return the sheets that a sheet imports at a level."""
        self.at(level, path)
        return self._imports.get((level, path), ())

    def _read(self, level: str, path: str) -> None:
        owner = path if path in self.sizes else self.state.extra_owner(level, path)
        for result in self.state.results(owner, notes=False) if owner is not None else ():
            self._add(result)

    def _add(self, result: UnitResult) -> None:
        level, path = result.level, result.path
        if path in self.sizes:
            self._weights[level, path] = weight_of(result.outputs, self.sizes[path])
        for extra in result.extras:
            self._weights[level, extra.path] = self.of_extra(extra)
        if result.embeds is not None and result.media_type == media.CSS:
            self._imports[level, path] = result.embeds
            self._backgrounds[level, path] = result.backgrounds

    @staticmethod
    def of_extra(extra: Extra) -> Weight:
        """Return the weight of a file that comes of no file of the docroot."""
        return weight_of(extra.outputs, 0)
