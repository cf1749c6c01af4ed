"""What is wrong with trees, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from adaptc.compile.engine.outdated import NeverBuilt, OutputMissing, Reason, RecipeChanged
from adaptc.core.diagnostics import Diagnostic, Location, diagnose


class Status(Enum):
    """How a representation stands to the docroot, the configuration and the manifest."""

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
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A representation that is not fresh: ``path`` in the docroot at ``level``, or a file of the trees.

    ``file`` is the path below the output of a file that was looked at, ``None`` where the unit as a whole is meant;
    ``path`` is ``None`` for a file that stands for none of the docroot.
    """

    status: Status
    level: str | None
    path: str | None
    file: str | None
    reason: str

    @property
    def place(self) -> str:
        """The path that a reader looks for: below the output for a file of the trees, else below the docroot."""
        return self.file or self.path or ""

    def diagnostic(self) -> Diagnostic:
        """Return the finding as a diagnostic."""
        level = f"level {self.level}: " if self.level and not self.file else ""
        return diagnose(f"tree-{self.status.value}", Location(self.place), because=f"{level}{self.reason}")


def of_reason(level: str, path: str, reason: Reason) -> Finding:
    """Return the finding for a unit that a build would build."""
    return Finding(_OF_REASONS.get(type(reason), Status.STALE), level, path, None, str(reason))
