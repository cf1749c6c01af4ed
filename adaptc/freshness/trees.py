"""The files of the trees, compared with what the last build says of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from adaptc.digest import digest_chunks
from adaptc.engine.builder import Builder
from adaptc.engine.results import Output
from adaptc.engine.state import State, Unit
from adaptc.engine.store import time_of
from adaptc.freshness.findings import Finding, Status
from adaptc.model import Resource

_CHUNK = 1 << 20


@dataclass(slots=True)
class TreeCheck:
    """Compares trees. ``every_file`` reads each; else those whose size or time is not that of the build."""

    builder: Builder
    every_file: bool
    files: int = 0
    _digests: dict[tuple[int, int], str] = field(default_factory=dict)

    def findings(
        self, state: State, resources: Mapping[str, Resource], skipped: Mapping[Unit, object]
    ) -> Iterator[Finding]:
        """Yield what is missing, corrupt or foreign; units that are ``skipped`` have findings of their own."""
        publisher = self.builder.publisher
        strangers, _ = publisher.names(sorted({*self.builder.recipes, *(level for level, _ in state.recipes())}))
        seen: set[str] = set()
        for result in state.results(notes=False):
            is_skipped = (result.level, result.path) in skipped
            for path, output in result.files():
                file = publisher.file(result.level, output.coding, path)
                strangers.pop(file, None)
                if is_skipped or file in seen:
                    continue
                if path != result.path:  # an extra file, which other units may have as well
                    seen.add(file)
                found = self._examined(file, output, _may_be_link(resources.get(path)))
                if found is not None:
                    yield Finding(found[0], result.level, result.path, self._below(file), found[1])
        for file in strangers:
            yield Finding(Status.FOREIGN, None, None, self._below(file), "adaptc did not put it there")

    def _below(self, file: str) -> str:
        return os.path.relpath(file, self.builder.output)

    def _examined(self, file: str, output: Output, may_be_link: bool) -> tuple[Status, str] | None:
        """Return what is wrong with a file, ``None`` when it is as it was built."""
        self.files += 1
        try:
            found = os.stat(file) if may_be_link else os.lstat(file)
        except OSError as error:
            return Status.MISSING, f"it is not there ({error.strerror})"
        if not stat.S_ISREG(found.st_mode):
            return Status.FOREIGN, "something else than a file stands in its place"
        is_ours = found.st_mtime_ns == time_of(output.key) * 10**9
        if found.st_size == output.size and ((is_ours and not self.every_file) or self._is_equal(file, found, output)):
            return None
        if is_ours:
            return Status.CORRUPT, "its content is not what was built, and its time is: a disk or a copy failed"
        return Status.FOREIGN, "it was changed by hand or by another program"

    def _is_equal(self, file: str, found: os.stat_result, output: Output) -> bool:
        """Whether the content is what was built; a file with several names, as in two levels, is read once."""
        key = (found.st_dev, found.st_ino)
        if key not in self._digests:
            digest = _digest(file)
            if found.st_nlink == 1:
                return digest == output.digest
            self._digests[key] = digest
        return self._digests[key] == output.digest


def _may_be_link(resource: Resource | None) -> bool:
    return resource is not None and resource.alias_of is not None


def _digest(file: str) -> str:
    """Return the digest of a file; what cannot be read is equal to nothing."""
    try:
        with open(file, "rb") as content:
            return digest_chunks(iter(lambda: content.read(_CHUNK), b""))
    except OSError:
        return ""
