"""What workers need to know of a build, and how it reaches them."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.compile.view import Settings
from adaptc.config.rulebook import Level
from adaptc.core.digest import digest_bytes
from adaptc.core.fs import write_atomic
from adaptc.core.values import dataclass, replace
from adaptc.site.source_table import SourceTable, write_table

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import Decisions
    from adaptc.compile.analyse.decorations.rules import DecorationRules
    from adaptc.core.fs import Contents
    from adaptc.core.model import Effort
    from adaptc.site.site import Source


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What workers need to know: the sources, the decisions about them, and where results go.

    ``levels`` are those that are built. ``codings`` are the content codings, made with ``coding_effort``. With
    ``complete`` the id tree of a level holds every file. ``recipes`` are those of the levels. ``decorations`` are the
    rules by which images are labelled, ``None`` where no level asks for labels. With ``traced`` the artifacts of each
    unit are noted, for a remote cache. ``contents`` are those of the sources in a process that has no docroot. A unit
    may take ``unit_seconds`` of CPU time.
    """

    docroot: Path
    output: Path
    cache: Path
    base_url: str | None
    index_names: tuple[str, ...]
    sources: Mapping[str, Source]
    decisions: Decisions
    settings: Settings
    levels: tuple[Level, ...]
    codings: tuple[str, ...]
    coding_effort: Effort
    max_file_bytes: int
    unit_seconds: float
    complete: bool
    recipes: Mapping[str, str]
    decorations: DecorationRules | None = None
    traced: bool = False
    contents: Contents | None = None


class SharedSnapshot:
    """A snapshot that reaches workers as two files, which are written in ``directory`` when the first gets work.

    The sources are a file of their own: a worker reads those that it needs (``adaptc.site.source_table``).
    """

    def __init__(self, snapshot: Snapshot, directory: Path) -> None:
        self.snapshot, self.directory = snapshot, directory
        self._file: str | None = None
        self._digest = ""

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open_snapshot, (self.file, self._digest)

    @property
    def file(self) -> str:
        """The file of everything but the sources, which are in ``SOURCES`` next to it."""
        if self._file is None:
            file = f"{self.directory}/snapshot-{os.getpid()}-{os.urandom(4).hex()}"
            write_atomic(file + SOURCES, write_table(self.snapshot.sources))
            content = pickle.dumps(replace(self.snapshot, sources={}), pickle.HIGHEST_PROTOCOL)
            write_atomic(file, content)
            self._file, self._digest = file, digest_bytes(content)
        return self._file


# The end of the name of the file with the sources of a snapshot
SOURCES = ".sources"


def read_snapshot(file: str, digest: str) -> Snapshot:
    """Read a snapshot, and open its sources, in a worker. Raises ``OSError`` for another file of this name.

    It is unpickled, which may run anything. So the digest comes from the build itself: others may be able to write to
    the directory.
    """
    content = Path(file).read_bytes()
    if digest_bytes(content) != digest:
        raise OSError(errno.EPERM, "it is not what the build wrote", file)
    snapshot = pickle.loads(content)
    assert isinstance(snapshot, Snapshot)
    return replace(snapshot, sources=SourceTable(file + SOURCES))


@lru_cache(maxsize=1)
def open_snapshot(file: str, digest: str) -> SharedSnapshot:
    """Return the snapshot of a file, which is read once."""
    return SharedSnapshot(read_snapshot(file, digest), Path(file).parent)
