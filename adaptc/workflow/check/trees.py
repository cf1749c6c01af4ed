"""The files of the trees, compared with what the last build says of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field

from adaptc.compile.engine.results import StoredFile
from adaptc.compile.engine.state import State, Unit
from adaptc.compile.engine.store import time_of
from adaptc.compile.engine.trees import Trees
from adaptc.core.digest import digest_chunks
from adaptc.core.model import Resource
from adaptc.workflow.check.findings import Finding, Status

_CHUNK = 1 << 20
_SECOND = 10**9


@dataclass(slots=True)
class TreeCheck:
    """Compares trees. ``every_file`` reads each; else those whose size or time is not that of the build."""

    trees: Trees
    every_file: bool
    files: int = 0
    _digests: dict[tuple[int, int], str] = field(default_factory=dict)

    def findings(self, state: State, resources: Mapping[str, Resource], skipped: Container[Unit]) -> Iterator[Finding]:
        """Yield what is missing, corrupt or foreign; units that are ``skipped`` have findings of their own."""
        strangers, _ = self.trees.publisher.list_files(sorted({*self.trees.spec.recipes, *state.levels()}))
        aliases = {path for path, one in resources.items() if one.alias_of is not None}
        seen: set[str] = set()
        for unit, files in state.files():
            level, path = unit
            look = os.stat if path in aliases else os.lstat  # an alias may be published as a link
            for stored in files:
                file = self.trees.publisher.file(level, stored[1], stored[0])
                strangers.pop(file, None)
                if unit in skipped or (stored[0] != path and file in seen):
                    continue
                if stored[0] != path:  # an extra file, which other units may have as well
                    seen.add(file)
                found = self._examined(file, stored, look)
                if found is not None:
                    yield Finding(found[0], level, path, self._below(file), found[1])
        for file in strangers:
            yield Finding(Status.FOREIGN, None, None, self._below(file), "adaptc did not put it there")

    def _below(self, file: str) -> str:
        return os.path.relpath(file, self.trees.spec.output)

    def _examined(
        self, file: str, stored: StoredFile, look: Callable[[str], os.stat_result]
    ) -> tuple[Status, str] | None:
        """Return what is wrong with a file, ``None`` when it is as it was built."""
        _, _, key, digest, size = stored
        self.files += 1
        try:
            found = look(file)
        except OSError as error:
            return Status.MISSING, f"it is not there ({error.strerror})"
        is_ours = found.st_mtime_ns == time_of(key) * _SECOND
        if is_ours and found.st_size == size and not self.every_file:
            return None
        if not stat.S_ISREG(found.st_mode):
            return Status.FOREIGN, "something else than a file stands in its place"
        if found.st_size == size and self._digest(file, found) == digest:
            return None
        if is_ours:
            return Status.CORRUPT, "its content is not what was built, and its time is: a disk or a copy failed"
        return Status.FOREIGN, "it was changed by hand or by another program"

    def _digest(self, file: str, found: os.stat_result) -> str:
        """Return the digest of a file; one with several names, as in two levels, is read once."""
        if found.st_nlink == 1:
            return _digest(file)
        key = (found.st_dev, found.st_ino)
        if key not in self._digests:
            self._digests[key] = _digest(file)
        return self._digests[key]


def _digest(file: str) -> str:
    """Return the digest of a file; what cannot be read is equal to nothing."""
    try:
        with open(file, "rb", buffering=0) as content:
            return digest_chunks(iter(lambda: content.read(_CHUNK), b""))
    except OSError:
        return ""
