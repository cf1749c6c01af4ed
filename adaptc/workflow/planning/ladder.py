"""A ladder for the controller: levels that are evenly spaced in what a page view costs the server.

The controller mixes two neighbouring levels, and its gain is that of the steepest step within its reach: with even
steps it is the same everywhere (Abdelzaher, Shin and Bhatti 2002, section 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptc.workflow.planning.candidates import FRAMES, PRICES, Candidate, Frame, Keeps
from adaptc.workflow.planning.goals import page_cost
from adaptc.workflow.planning.search import differs, highest

if TYPE_CHECKING:
    from adaptc.config.config import CostConfig
    from adaptc.workflow.planning.trials import Trial, Trials

# The part of a step by which a level may cost more or less than evenly spaced, for less harm
_NEAR = 1 / 8


@dataclass(frozen=True, slots=True)
class PlannedRung:
    """A level of the ladder: what its page view costs in milliseconds, and what it would cost evenly spaced."""

    trial: Trial
    cost: float
    even: float


def find_ladder(trials: Trials, count: int, keeps: Keeps, cost: CostConfig) -> list[PlannedRung]:
    """Return up to ``count`` - 1 levels below the full site, the most expensive first.

    There are fewer where no candidate costs about what one in between would have to.
    """
    search = _Spacing(trials, keeps, cost)
    frames = [frame for frame in FRAMES if keeps.allows(frame)]
    frames = [frame for frame in frames if not frame.priced or differs(trials, search.of(frame, PRICES[0]))]
    ends = [search.of(frame, price) for frame in frames for price in _ends(frame)]
    full, least = page_cost(trials.full, cost), min(map(search.cost_of, ends))
    step = (full - least) / (count - 1)
    rungs: dict[Candidate, PlannedRung] = {}
    for number in range(1, count):
        even = full - number * step
        for frame in frames:
            search.approach(frame, even)
        trial = search.nearest(even, step)
        previous = rungs.get(trial.candidate)
        if search.cost_of(trial) < full and (previous is None or _distance(previous) > abs(previous.cost - even)):
            rungs[trial.candidate] = PlannedRung(trial, search.cost_of(trial), even)
    return sorted(rungs.values(), key=lambda rung: -rung.cost)


def _ends(frame: Frame) -> tuple[float | None, ...]:
    return (PRICES[0], PRICES[-1]) if frame.priced else (None,)


def _distance(rung: PlannedRung) -> float:
    return abs(rung.cost - rung.even)


@dataclass(frozen=True, slots=True)
class _Spacing:
    """Trials by what they cost."""

    trials: Trials
    keeps: Keeps
    cost: CostConfig

    def of(self, frame: Frame, price: float | None) -> Trial:
        if price is None:
            return self.trials.of(Candidate(frame))
        request = round(1000 * self.cost.request_ms / self.cost.kilobyte_ms)
        return self.trials.of(Candidate(frame, price, request, self.keeps.similarity))

    def cost_of(self, trial: Trial) -> float:
        return page_cost(trial.mean, self.cost)

    def approach(self, frame: Frame, even: float) -> None:
        """Try multipliers of a frame until one costs about ``even``, where they go from less to more than that."""
        if not frame.priced or not self.cost_of(self.of(frame, PRICES[0])) < even:
            return
        if self.cost_of(self.of(frame, PRICES[-1])) > even:
            highest(PRICES, lambda price: self.cost_of(self.of(frame, price)) <= even)

    def _is_better(self, trial: Trial, other: Trial) -> bool:
        """Whether a trial has less harm than another and costs no more. With equal harm both may be steps."""
        return trial.harm < other.harm and self.cost_of(trial) <= self.cost_of(other)

    def nearest(self, even: float, step: float) -> Trial:
        """Return the trial with the least harm that costs about ``even``, else the one that comes closest to it."""
        allowed = [trial for trial in self.trials.all if self.keeps.allows(trial.candidate.frame)]
        known = [trial for trial in allowed if not any(self._is_better(other, trial) for other in allowed)]
        near = [trial for trial in known if abs(self.cost_of(trial) - even) <= _NEAR * step]
        if near:
            return min(near, key=lambda trial: (trial.harm, trial.mean.bytes))
        return min(known, key=lambda trial: (abs(self.cost_of(trial) - even), trial.harm))
