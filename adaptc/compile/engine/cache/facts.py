"""Facts of scripts and style sheets are found once for each text, and stored in the cache.

Pages, levels, workers and runs share them. They are found again when the code that finds them changes, or one of its
libraries: nobody has to raise a version.
"""

from __future__ import annotations

from typing import TypeVar, cast

from adaptc.compile.engine.cache.store import Store
from adaptc.core.digest import digest_parts
from adaptc.core.facts import BoundedCache, FactKind, pack_facts, unpack_facts
from adaptc.core.imports import code_digest

F = TypeVar("F")

# Facts of shorter texts, as event handlers, take less time to find than to read: 0.1 ms
_SMALLEST = 1024
# The bytes of texts whose facts a worker remembers, and at least how many each counts for
_REMEMBERED, _LEAST = 16 << 20, 512


class FactStore:
    """Finds facts of texts, or knows them from before."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: BoundedCache[str, tuple[object]] = BoundedCache(_REMEMBERED)

    def of(self, kind: FactKind[F], content: str | bytes) -> F:
        """Return the facts of a text. The digest is that of its bytes in UTF-8."""
        source = content.encode("utf-8", "replace") if isinstance(content, str) else content
        key = digest_parts("facts", kind.name, code_digest(kind.find.__module__), source)
        known = self._known.get(key)
        if known is None:
            known = (kind.of(source) if len(source) < _SMALLEST else self._stored(key, kind, source),)
            self._known.put(key, known, max(len(source), _LEAST))
        return cast(F, known[0])

    def _stored(self, key: str, kind: FactKind[F], source: bytes) -> F:
        """Return facts from the cache, and store them there where it has none, or damaged ones."""
        try:
            (packed,) = self.store.record(key)
            return unpack_facts(packed, kind.none)
        except (TypeError, ValueError):
            facts = kind.of(source)
            self.store.put_record(key, [pack_facts(facts)])
            return facts
