"""The search: of all candidates that reach the goals, the one with the least harm.

Within a frame cost and harm move against each other with the multiplier, so that the highest one that reaches the goals
is found by bisection, on built bytes. Frames are tried from the gentlest; one that is harsher is better only where
the images of the gentler one would have to become very bad, so that one more than needed is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from adaptc.workflow.planning.candidates import FRAMES, PRICES, Candidate, Frame, Keeps

if TYPE_CHECKING:
    from adaptc.config.config import CostConfig
    from adaptc.workflow.planning.goals import Goals
    from adaptc.workflow.planning.trials import Trial, Trials


@dataclass(frozen=True, slots=True)
class Plan:
    """The result: the candidate to use, ``None`` where none reaches the goals; then ``nearest`` comes closest.

    ``misses`` says by how much it misses.
    """

    chosen: Trial | None
    nearest: Trial
    misses: tuple[str, ...] = ()


def find_level(trials: Trials, goals: Goals, keeps: Keeps, cost: CostConfig) -> Plan:
    """Return the candidate with the least harm that reaches ``goals`` and keeps what it must."""
    search = _Search(trials, goals, keeps, cost)
    reaching: list[Trial] = []
    for frame in (frame for frame in FRAMES if keeps.allows(frame)):
        is_last = bool(reaching)
        reaching += search.of_frame(frame)
        if is_last or any(trial.harm == 0 for trial in reaching):
            break
    if reaching:
        chosen = min(reaching, key=lambda trial: (trial.harm, trial.mean.bytes))
        return Plan(chosen, chosen)
    nearest = min(trials.all, key=lambda trial: search.distance(trial))
    return Plan(None, nearest, tuple(search.misses(nearest)))


@dataclass(frozen=True, slots=True)
class _Search:
    trials: Trials
    goals: Goals
    keeps: Keeps
    cost: CostConfig

    def misses(self, trial: Trial) -> list[str]:
        return self.goals.misses(trial.mean, self.trials.full, self.cost)

    def distance(self, trial: Trial) -> tuple[int, float]:
        """Return how many goals a trial misses, and its bytes with what its requests are worth."""
        request = self.goals.request_bytes(self.cost)
        return len(self.misses(trial)), trial.mean.bytes + request * trial.mean.requests

    def of_frame(self, frame: Frame) -> list[Trial]:
        """Return the trials of a frame that reach the goals, with the best one among them."""
        if not frame.priced:
            trials = [self.trials.of(Candidate(frame))]
        else:
            is_other = differs(self.trials, self._priced(frame, PRICES[0]))
            best = highest(PRICES, lambda price: not self.misses(self._priced(frame, price))) if is_other else None
            trials = [] if best is None else [self._priced(frame, best)]
            if not frame.tables and not self.keeps.similarity:
                trials.append(self.trials.of(Candidate(frame)))
        return [trial for trial in trials if not self.misses(trial)]

    def _priced(self, frame: Frame, price: float) -> Trial:
        return self.trials.of(Candidate(frame, price, self.goals.request_bytes(self.cost), self.keeps.similarity))


def differs(trials: Trials, trial: Trial) -> bool:
    """Whether no trial of another frame before it, at the same multiplier, came to the same pages."""
    own, price = (trial.mean, trial.harm), trial.candidate.price
    earlier = takewhile(lambda other: other.candidate != trial.candidate, trials.all)
    return not any((other.mean, other.harm) == own and other.candidate.price == price for other in earlier)


def highest(values: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return the last of ``values`` for which ``holds``, which holds up to one of them; ``None`` if for none."""
    if not holds(values[0]):
        return None
    if holds(values[-1]):
        return values[-1]
    lower, upper = 0, len(values) - 1
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (middle, upper) if holds(values[middle]) else (lower, middle)
    return values[lower]
