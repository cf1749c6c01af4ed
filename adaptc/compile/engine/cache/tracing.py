"""A store that notes which artifacts a unit used or made, so that another machine can get them all at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.state.state import Unit
from adaptc.core.digest import digest_parts
from adaptc.site.site import Source

# Artifacts have names in traces: the kind, and the key
OBJECT, RECORD = "o", "r"
# Names become paths on this machine
is_artifact = re.compile(rf"[{OBJECT}{RECORD}][0-9a-f]{{64}}").fullmatch


def trace_key(recipe: str, media_type: str, digest: str) -> str:
    """Return the key of the trace of a unit: by the recipe of its level, and the type and digest of its source."""
    return digest_parts("trace", recipe, media_type, digest)


def record_name(level: str, path: str, recipe: str, digest: str) -> str:
    """Return the name of the record of a unit (``adaptc.compile.engine.unit.records``), by the digest of its source."""
    return RECORD + digest_parts("unit", level, path, recipe, digest)


def traces_of(recipes: Mapping[str, str], units: Iterable[Unit], sources: Mapping[str, Source]) -> dict[str, list[str]]:
    """Return the names of the records of units by the keys of their traces, given the recipes of levels.

    Equal files have one trace, and a record each.
    """
    traces: dict[str, list[str]] = {}
    for level, path in units:
        recipe, source = recipes[level], sources[path]
        key = trace_key(recipe, source.media_type, source.digest)
        traces.setdefault(key, []).append(record_name(level, path, recipe, source.digest))
    return traces


def artifacts(store: Store, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the artifacts that the store has."""
    for name in names:
        content = store.read(name[1:]) if name.startswith(OBJECT) else store.raw_record(name[1:])
        if content is not None:
            yield name, content


def put_artifact(store: Store, name: str, content: bytes) -> None:
    """Store what ``artifacts`` yielded."""
    if name.startswith(RECORD):
        store.put_raw_record(name[1:], content)
    else:
        store.put(content, name[1:])


class TracingStore(Store):
    """A store that notes each artifact that is read or stored until ``store_trace`` is called."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._noted: set[str] = set()

    def read(self, key: str) -> bytes | None:
        content = super().read(key)
        if content is not None:
            self._noted.add(OBJECT + key)
        return content

    def put(self, content: bytes, key: str | None = None) -> str:
        key = super().put(content, key)
        self._noted.add(OBJECT + key)
        return key

    def record(self, key: str) -> Any:
        value = super().record(key)
        if value is not None:
            self._noted.add(RECORD + key)
        return value

    def put_record(self, key: str, value: Any) -> None:
        super().put_record(key, value)
        self._noted.add(RECORD + key)

    def store_trace(self, key: str, without: Collection[str]) -> None:
        """Store what was noted as the record ``key``, but for the objects of ``without``, and forget it."""
        noted, self._noted = self._noted, set()
        super().put_record(key, sorted(noted.difference(OBJECT + each for each in without)))
