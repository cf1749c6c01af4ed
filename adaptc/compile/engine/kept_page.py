"""A page that is not adapted at a level: it is as at the level above, or as its source."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Action

if TYPE_CHECKING:
    from adaptc.compile.engine.results import UnitResult


def as_above(result: UnitResult, higher: UnitResult, reason: str, kind: str) -> UnitResult:
    """Return the unit with the files of the level above in place of its own; ``kind`` is that of the diagnostic."""
    action = Action(result.level, "kept", "the page", f"as it is at level {higher.level}: {reason}")
    diagnostic = diagnose(kind, Location(result.path), name=result.level, above=higher.level, reason=reason)
    return dataclasses.replace(
        higher,
        level=result.level,
        actions=(action,),
        diagnostics=(*result.diagnostics, diagnostic),
        demoted=(*result.demoted, result.level),
    )


def as_source(result: UnitResult, reason: str) -> UnitResult:
    """Return a unit without any pass, where no level is above it."""
    diagnostic = diagnose("level-demoted", Location(result.path), name=result.level, above="full", reason=reason)
    diagnostics = (*result.diagnostics, diagnostic)
    return dataclasses.replace(result, diagnostics=diagnostics, demoted=(*result.demoted, result.level))
