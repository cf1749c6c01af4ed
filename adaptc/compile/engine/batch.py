"""A batch of units that are built together, and which of them is being built."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

Work = Callable[[Any, tuple[T, ...]], Iterable[R]]
"""Does the work of a batch, given a snapshot: yields the results of its units, in order."""

Lose = Callable[[T, str], R]
"""Makes the result of a unit that could not be built, given the reason in words."""


class Batch(Generic[T]):
    """The ``units`` of a batch that have no result yet."""

    def __init__(self, units: Iterable[T]) -> None:
        self.units = deque(units)

    def remove_current(self) -> T:
        """Remove the unit that is being built, or was built, and return it."""
        return self.units.popleft()
