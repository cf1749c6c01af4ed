"""A batch of units that are built together, and which of them is being built."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

Work = Callable[[Any, tuple[T, ...]], Iterable[R | None]]
"""Does the work of a batch, given a snapshot: yields the results of its units, in order.

It may build several units before their first result, as results that were synced together are published together; then
it yields ``None`` for each that was built.
"""

Lose = Callable[[T, str], R]
"""Makes the result of a unit that could not be built, given the reason in words."""


class Batch(Generic[T]):
    """The ``units`` of a batch that have no result yet."""

    def __init__(self, units: Iterable[T]) -> None:
        self.units = deque(units)
        self._built = 0

    def note(self, result: object) -> None:
        """Note what ``Work`` yielded."""
        if result is None:
            self._built += 1
        else:
            self.units.popleft()
            self._built = max(self._built - 1, 0)

    def remove_current(self) -> T:
        """Remove the unit that is being built or published, and return it; the others must begin anew."""
        at = self._built if self._built < len(self.units) else 0
        self._built = 0
        unit = self.units[at]
        del self.units[at]
        return unit
