"""What a worker needs to know to build units: a value that is written once for each phase and read by each worker."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.core.fs import write_atomic

if TYPE_CHECKING:
    from adaptc.compile.analyse.decorations import DecorationRules
    from adaptc.compile.engine.view import Decisions
    from adaptc.compile.view import Settings
    from adaptc.config.rulebook import Level
    from adaptc.site.site import Source


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The docroot as it was found, the decisions made about it, and where things go.

    ``levels`` are those that are built. ``codings`` are the content codings, and ``codec`` what the encoders do.
    ``complete`` says that the id tree of a level holds every file. ``decorations`` are the rules by which images are
    labelled, ``None`` where no level asks for labels.
    """

    docroot: Path
    output: Path
    cache: Path
    base_url: str | None
    index_names: tuple[str, ...]
    sources: dict[str, Source]
    decisions: Decisions
    settings: Settings
    levels: tuple[Level, ...]
    codings: tuple[str, ...]
    codec: str
    max_file_bytes: int
    complete: bool
    decorations: DecorationRules | None = None

    def write(self, path: Path) -> None:
        """Write the snapshot for the workers."""
        write_atomic(os.fspath(path), pickle.dumps(self, pickle.HIGHEST_PROTOCOL))

    @staticmethod
    def load(path: Path) -> Snapshot:
        """Read what ``write`` wrote."""
        found = pickle.loads(path.read_bytes())  # our own file, under our own lock
        assert isinstance(found, Snapshot)
        return found
