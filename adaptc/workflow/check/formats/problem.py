"""A problem as every format needs it: a diagnostic, and the file that it is about."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Problem:
    """``file`` is relative to the working directory, or absolute where it is not below that; None for no file."""

    said: Diagnostic
    file: str | None
    group: str


def file_name(folder: Path, path: str) -> str:
    """Return the name of ``path`` below ``folder`` as tools show it, who know the working directory only."""
    full = os.path.abspath(folder / path)
    relative = os.path.relpath(full)
    return full if relative.startswith("..") else relative
