"""What was built before: the units in the state, and records of units in the cache.

A record tells what became of a source at a level, and what it depended on. Where all of that is the same on another
machine that shares the cache, the result is, too. So a unit is taken over without a worker, which would read its page,
run the passes and verify the result, only to find each artifact in the cache.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decisions import decision_rows
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.cache.tracing import OBJECT, record_name, trace_key
from adaptc.compile.engine.state.results import (
    PRESENCE,
    UnitResult,
    pack_notes,
    pack_outputs,
    unpack_result,
    without_dictionary,
)
from adaptc.compile.engine.state.state import State, state_path
from adaptc.compile.engine.unit.snapshot import Snapshot
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.fs import ChangedWhileRead, DiskTree

if TYPE_CHECKING:
    from adaptc.compile.engine.state.state import Unit

_NO_DECISION = (0, "")


class UnitRecords:
    """The records in ``store`` of units of the sources and decisions of a ``snapshot``."""

    def __init__(self, snapshot: Snapshot, store: Store) -> None:
        self.snapshot, self.store = snapshot, store

    def put(self, result: UnitResult) -> None:
        """Store a result, if its files are small enough to be read at once."""
        if result.published and self.snapshot.sources[result.path].size <= self.snapshot.max_file_bytes:
            needs = [result.dependencies, self._digest(result.dependencies)]
            record = [*needs, pack_outputs(result), pack_notes(result), result.seconds]
            self.store.put_record(self._key(result.level, result.path), record)

    def get(self, unit: Unit) -> UnitResult | None:
        """Return the result of a unit, if nothing that it depended on changed, with its files and a trace in the store.

        Raises ``OSError`` for the store.
        """
        record = self.store.record(self._key(*unit))
        if record is None:
            return None
        dependencies, digest, outputs, notes, seconds = record
        if digest != self._digest(dependencies):
            return None
        result = unpack_result(*unit, outputs, notes)
        contents = {output.key: output.digest for _, output in result.files()}
        if not all(self._is_stored(result.path, *item) for item in contents.items()):
            return None
        self._store_trace(result, contents)
        return replace(result, dependencies=tuple(dependencies), seconds=seconds)

    def _store_trace(self, result: UnitResult, keys: Iterable[str]) -> None:
        source = self.snapshot.sources[result.path]
        trace = trace_key(self.snapshot.recipes[result.level], source.media_type, source.digest)
        if self.store.record(trace) is None:
            self.store.put_record(trace, sorted(OBJECT + key for key in keys if key != source.digest))

    def _key(self, level: str, path: str) -> str:
        return record_name(level, path, self.snapshot.recipes[level], self.snapshot.sources[path].digest)[1:]

    def _digest(self, dependencies: Iterable[str]) -> str:
        """Return a digest of the present values of dependencies, with the figures that explain decisions."""
        return digest_parts(*(part for key in dependencies for part in (key, repr(self._value(key)))))

    def _value(self, key: str) -> object:
        if key.startswith("/") and not key.startswith(PRESENCE):
            return self._decisions.get(key, _NO_DECISION)
        source = self.snapshot.sources.get(key.removeprefix(PRESENCE))
        if source is None:
            return None
        kind = (source.media_type, source.alias_of)
        # nobody depends on demotions, but on the content of which they change what becomes
        return kind if key.startswith(PRESENCE) else (kind, source.digest, self._demoted.get(source.alias_of or key))

    @cached_property
    def _decisions(self) -> dict[str, tuple[int, str]]:
        return decision_rows(self.snapshot.decisions)

    @cached_property
    def _demoted(self) -> dict[str, list[object]]:
        demoted = defaultdict[str, list[object]](list)
        for (level, path), demotions in sorted(self.snapshot.decisions.demotions.items()):
            demoted[path].append((level, demotions))
        return dict(demoted)

    def _is_stored(self, path: str, key: str, digest: str) -> bool:
        """Whether the store has an object, which is not damaged; what the source itself is is stored now."""
        content = self.store.read(key)
        if content is None and key == self.snapshot.sources[path].digest:
            try:
                content = DiskTree(self.snapshot.docroot).read(path)
            except (OSError, ChangedWhileRead):
                return False
            if digest_bytes(content) == digest:
                self.store.put(content, key)
        return content is not None and digest_bytes(content) == digest


# ---- units of earlier builds


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
