"""``adaptc plan``: compose a level that reaches goals with the least harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptc.compile.engine.reporting import Progress, Silent
from adaptc.config.config import with_severities
from adaptc.workflow.planning.goals import PageMean
from adaptc.workflow.planning.ladder import PlannedRung, find_ladder
from adaptc.workflow.planning.search import find_level
from adaptc.workflow.planning.trials import Trial, Trials

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.workflow.planning.candidates import Keeps
    from adaptc.workflow.planning.goals import Goals


@dataclass(frozen=True, slots=True)
class PlannedLevel:
    """What a plan found.

    ``chosen`` is ``None`` where no candidate reaches the goals; ``nearest`` then comes closest, and ``misses`` says by
    how much it misses. ``full`` is the mean page view of the full site, ``trials`` all candidates that were built.
    """

    chosen: Trial | None
    nearest: Trial
    misses: tuple[str, ...]
    full: PageMean
    trials: tuple[Trial, ...]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class PlannedLadder:
    """The levels of a ladder below the full site, the most expensive first; the rest is as for ``PlannedLevel``."""

    rungs: tuple[PlannedRung, ...]
    full: PageMean
    trials: tuple[Trial, ...]
    diagnostics: tuple[Diagnostic, ...]


def plan_ladder(config: Config, count: int, keeps: Keeps, progress: Progress | None = None) -> PlannedLadder:
    """Return a ladder of up to ``count`` levels, the full site among them. Raises what ``plan_level`` raises."""
    with Trials(config, progress or Silent()) as trials:
        rungs = tuple(find_ladder(trials, count, keeps, config.cost))
        diagnostics = tuple(with_severities(trials.diagnostics, config))
        return PlannedLadder(rungs, trials.full, trials.all, diagnostics)


def plan_level(config: Config, goals: Goals, keeps: Keeps, progress: Progress | None = None) -> PlannedLevel:
    """Return the level for ``goals``. Candidates are built below the private directory of the output.

    Raises what ``adaptc.workflow.api.build`` raises.
    """
    with Trials(config, progress or Silent()) as trials:
        plan = find_level(trials, goals, keeps, config.cost)
        diagnostics = tuple(with_severities(trials.diagnostics, config))
        return PlannedLevel(plan.chosen, plan.nearest, plan.misses, trials.full, trials.all, diagnostics)
