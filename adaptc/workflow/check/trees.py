"""The files of the trees, compared with the records of the last build, and what may be wrong with them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from adaptc.compile.engine.cache.store import time_of
from adaptc.compile.engine.outdated import LibrariesChanged, NeverBuilt, OutputMissing, Reason, RecipeChanged
from adaptc.compile.engine.state.results import StoredFile
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.trees import Trees
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_file
from adaptc.core.model import Resource

_SECOND = 10**9


class Status(Enum):
    """The state of a representation, compared with the docroot, the configuration and the manifest."""

    STALE = "stale"
    MISSING = "missing"
    ORPHANED = "orphaned"
    CORRUPT = "corrupt"
    FOREIGN = "foreign"
    RECIPE = "recipe"


_OF_REASONS: dict[type, Status] = {
    NeverBuilt: Status.MISSING,
    OutputMissing: Status.MISSING,
    RecipeChanged: Status.RECIPE,
    LibrariesChanged: Status.RECIPE,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A representation that is not fresh: ``path`` in the docroot at ``level``, or a file of the trees.

    ``file`` is the path of a checked file below the output, ``None`` where the whole unit is meant; ``path`` is
    ``None`` for a file that comes of no file of the docroot.
    """

    status: Status
    level: str | None
    path: str | None
    file: str | None
    reason: str

    @property
    def place(self) -> str:
        """The path to show: below the output for a file of the trees, else below the docroot."""
        return self.file or self.path or ""

    def diagnostic(self) -> Diagnostic:
        """Return the finding as a diagnostic."""
        level = f"level {self.level}: " if self.level and not self.file else ""
        return diagnose(f"tree-{self.status.value}", Location(self.place), because=f"{level}{self.reason}")


def of_reason(level: str, path: str, reason: Reason) -> Finding:
    """Return the finding for a unit that a build would build."""
    return Finding(_OF_REASONS.get(type(reason), Status.STALE), level, path, None, str(reason))


@dataclass(slots=True)
class TreeCheck:
    """Compares trees. ``every_file`` reads each file; else only those with another size or time than the build gave."""

    trees: Trees
    every_file: bool
    files: int = 0
    _digests: dict[tuple[int, int], str | None] = field(default_factory=dict)

    def findings(self, state: State, resources: Mapping[str, Resource], skipped: Container[Unit]) -> Iterator[Finding]:
        """Yield what is missing, corrupt or foreign; units that are ``skipped`` have findings of their own."""
        foreign, _ = self.trees.publisher.list_files(sorted({*self.trees.spec.recipes, *state.levels()}))
        aliases = {path for path, resource in resources.items() if resource.alias_of is not None}
        seen: set[str] = set()
        for unit, files in state.files():
            level, path = unit
            stat_file = os.stat if path in aliases else os.lstat  # an alias may be published as a link
            for stored in files:
                file = self.trees.publisher.file(level, stored[1], stored[0])
                foreign.pop(file, None)
                if unit in skipped or (stored[0] != path and file in seen):
                    continue
                if stored[0] != path:  # an extra file, which other units may have as well
                    seen.add(file)
                problem = self._examine(file, stored, stat_file)
                if problem is not None:
                    yield Finding(problem[0], level, path, self._below(file), problem[1])
        for file in foreign:
            yield Finding(Status.FOREIGN, None, None, self._below(file), "adaptc did not put it there")

    def _below(self, file: str) -> str:
        return os.path.relpath(file, self.trees.spec.output)

    def _examine(
        self, file: str, stored: StoredFile, stat_file: Callable[[str], os.stat_result]
    ) -> tuple[Status, str] | None:
        """Return what is wrong with a file, ``None`` when it is as it was built."""
        _, _, key, digest, size = stored
        self.files += 1
        try:
            status = stat_file(file)
        except OSError as error:
            return Status.MISSING, f"it is not there ({error.strerror})"
        is_ours = status.st_mtime_ns == time_of(key) * _SECOND
        if is_ours and status.st_size == size and not self.every_file:
            return None
        if not stat.S_ISREG(status.st_mode):
            return Status.FOREIGN, "something else than a file is in its place"
        if status.st_size == size and self._digest(file, status) == digest:
            return None
        if is_ours:
            return Status.CORRUPT, "its content is not what was built, and its time is: a disk or a copy failed"
        return Status.FOREIGN, "it was changed by hand or by another program"

    def _digest(self, file: str, status: os.stat_result) -> str | None:
        """Return the digest of a file; one with several names, as in two levels, is read once."""
        if status.st_nlink == 1:
            return digest_file(file)
        key = (status.st_dev, status.st_ino)
        if key not in self._digests:
            self._digests[key] = digest_file(file)
        return self._digests[key]
