"""Facts that depend on a text alone, their form in the cache (JSON), and a memory of bounded size for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar, cast

from adaptc.core.values import dataclass, fields, is_dataclass, replace

__all__ = ["BoundedCache", "FactKind", "pack_facts", "unpack_facts"]

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class FactKind(Generic[F]):
    """Facts of one kind: ``find`` returns those of a text, ``none`` is a value with the types of all of them."""

    name: str
    find: Callable[[str], F]
    none: F

    def of(self, content: str | bytes) -> F:
        """Return the facts of a text; bytes are UTF-8."""
        return self.find(content if isinstance(content, str) else content.decode("utf-8-sig", "replace"))


def pack_facts(value: Any) -> Any:
    """Return a frozen value of dataclasses, sets, tuples, texts, numbers and ``None`` as a JSON value."""
    if is_dataclass(value):
        return [pack_facts(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, frozenset):
        return sorted(value)
    return [pack_facts(each) for each in value] if isinstance(value, tuple) else value


def unpack_facts(packed: Any, none: F) -> F:
    """Return what ``pack_facts`` packed; ``none`` has its types. Raises ``TypeError`` or ``ValueError`` for others."""
    return cast(F, _unpack(packed, none))


def _unpack(packed: Any, none: Any) -> Any:
    if is_dataclass(none) and not isinstance(none, type):
        pairs = zip(packed, fields(none), strict=True)
        return replace(none, **{field.name: _unpack(each, getattr(none, field.name)) for each, field in pairs})
    if isinstance(none, frozenset):
        return frozenset(packed)
    return _as_tuple(packed) if isinstance(none, tuple) else packed


def _as_tuple(packed: Any) -> Any:
    return tuple(map(_as_tuple, packed)) if isinstance(packed, list) else packed


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
