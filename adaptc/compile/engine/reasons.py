"""Why a unit is built: values that can be counted, compared and printed (``--explain``)."""

from __future__ import annotations

from dataclasses import dataclass

from adaptc.core.diagnostics import printable


@dataclass(frozen=True, slots=True)
class NeverBuilt:
    """There is no record of this unit: a new file, a new level, or an interrupted build."""

    def __str__(self) -> str:
        return "it was not built before"


@dataclass(frozen=True, slots=True)
class InputChanged:
    """The unit's own source has other content."""

    def __str__(self) -> str:
        return "its source changed"


@dataclass(frozen=True, slots=True)
class DependencyChanged:
    """A file that the unit looked at changed, came or went."""

    path: str

    def __str__(self) -> str:
        return f"{printable(self.path)} changed, which it depends on"


@dataclass(frozen=True, slots=True)
class DecisionChanged:
    """A decision about the whole site that the unit asked for is another one now."""

    subject: str

    def __str__(self) -> str:
        return f"the decision about {printable(self.subject)} changed"


@dataclass(frozen=True, slots=True)
class RecipeChanged:
    """The level's passes, their options, the configuration or the tool changed."""

    def __str__(self) -> str:
        return "the recipe changed (passes, options, configuration or version)"


@dataclass(frozen=True, slots=True)
class OutputMissing:
    """A file of the tree is gone or was changed by someone else."""

    path: str

    def __str__(self) -> str:
        return f"{printable(self.path)} is missing or was changed"


Reason = NeverBuilt | InputChanged | DependencyChanged | DecisionChanged | RecipeChanged | OutputMissing
STALE = (InputChanged, DependencyChanged)
"""Reasons for which what stands in the tree is wrong now: it is removed before work starts."""
