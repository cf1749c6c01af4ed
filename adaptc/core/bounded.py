"""A memory of bounded size: what was not used for longest is forgotten first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, each with a size in bytes, up to ``limit`` bytes together."""

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, ``None`` if it is not known any more."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Remember a value, unless it is larger than the limit."""
        self.size += size - self._entries.pop(key, (None, 0))[1]
        self._entries[key] = value, size
        while self.size > self.limit:
            self.size -= self._entries.popitem(last=False)[1][1]

    def items(self) -> Iterator[tuple[K, V, int]]:
        """Yield keys, values and sizes, what was used last at the end."""
        return ((key, value, size) for key, (value, size) in self._entries.items())
