"""``adaptc plan``: compose a level that reaches goals with the least harm, or a ladder of levels, and write it down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from math import log
from typing import TYPE_CHECKING, Any

from adaptc.compile.engine.reporting import Progress, Silent
from adaptc.config.config import with_severities
from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass
from adaptc.workflow.planning.candidates import FRAMES, PRICES, Candidate, Frame, Keeps
from adaptc.workflow.planning.goals import PageMean, page_cost
from adaptc.workflow.planning.trials import Trial, Trials

if TYPE_CHECKING:
    from adaptc.config.config import Config, CostConfig
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.workflow.planning.goals import Goals

# ---- the search: of all candidates that reach the goals, the one with the least harm
#
# Within a frame cost and harm move against each other with the multiplier, so that the highest one that reaches the
# goals is found on built bytes, in steps from a typical one. Frames are tried from the gentlest; one that is harsher
# is better only where the images of the gentler one would have to become very bad, so that one more than needed is
# looked at. A level without a multiplier is no better at as many bytes: it is tried where none reaches the goals.


@dataclass(frozen=True, slots=True)
class Plan:
    """The result: the candidate to use, ``None`` where none reaches the goals; then ``nearest`` comes closest.

    ``misses`` says by how much it misses.
    """

    chosen: Trial | None
    nearest: Trial
    misses: tuple[str, ...]


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
        return Plan(chosen, chosen, ())
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
        elif (best := self._highest(frame)) is not None:
            trials = [self._priced(frame, best)]
        else:
            trials = [] if frame.tables or self.keeps.similarity else [self.trials.of(Candidate(frame))]
        return [trial for trial in trials if not self.misses(trial)]

    def _highest(self, frame: Frame) -> float | None:
        """Return the highest multiplier that reaches the goals; ``None`` where none does, or for another frame's pages.

        The search begins at that of the frame before, where that has one.
        """
        priced = [trial for trial in self.trials.all if trial.candidate.price is not None]
        reaching = [trial.candidate.price or 0.0 for trial in priced if not self.misses(trial)]
        near = max(reaching) if reaching else PRICES[0] if priced else self._typical()
        if not differs(self.trials, self._priced(frame, near)):
            return None
        return highest(PRICES, lambda price: not self.misses(self._priced(frame, price)), near)

    def _typical(self) -> float:
        """Return the multiplier of a level with a third of the bytes, which has a harm of a tenth on many sites."""
        return min(PRICES, key=lambda price: abs(log(price * 3 * 0.1 / max(1.0, self.trials.full.bytes))))

    def _priced(self, frame: Frame, price: float) -> Trial:
        return self.trials.of(Candidate(frame, price, self.goals.request_bytes(self.cost), self.keeps.similarity))


def differs(trials: Trials, trial: Trial) -> bool:
    """Whether no trial of another frame before it, at the same multiplier, came to the same pages."""
    own, price = (trial.mean, trial.harm), trial.candidate.price
    earlier = takewhile(lambda other: other.candidate != trial.candidate, trials.all)
    return not any((other.mean, other.harm) == own and other.candidate.price == price for other in earlier)


def highest(values: Sequence[float], holds: Callable[[float], bool], near: float | None = None) -> float | None:
    """Return the last of ``values`` for which ``holds``, which holds up to one of them; ``None`` if for none.

    The search begins at ``near``, and goes from there in steps that double.
    """
    lower, upper = -1, len(values)  # it holds for the first, and does not for the other
    start, step = (values.index(near), 1) if near in values else (len(values) // 2, len(values))
    while upper - lower > 1:
        middle = start if lower < start < upper else (lower + upper) // 2
        if holds(values[middle]):
            lower, start, step = middle, middle + step, 2 * step
        else:
            upper, start, step = middle, middle - step, 2 * step
    return values[lower] if lower >= 0 else None


# ---- a ladder for the controller: levels that are evenly spaced in what a page view costs the server
#
# The controller mixes two neighbouring levels, and its gain is that of the steepest step within its reach: with even
# steps it is the same everywhere (Abdelzaher, Shin and Bhatti 2002, section 4.2).

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
    prices = ((frame, (PRICES[0], PRICES[-1]) if frame.priced else (None,)) for frame in frames)
    ends = [search.of(frame, price) for frame, both in prices for price in both]
    full, least = page_cost(trials.full, cost), min(map(search.cost_of, ends))
    step = (full - least) / (count - 1)
    rungs: dict[Candidate, PlannedRung] = {}
    for number in range(1, count):
        even = full - number * step
        for frame in frames:
            search.approach(frame, even)
        trial = search.nearest(even, step)
        previous = rungs.get(trial.candidate)
        if search.cost_of(trial) < full and (
            previous is None or abs(previous.cost - previous.even) > abs(previous.cost - even)
        ):
            rungs[trial.candidate] = PlannedRung(trial, search.cost_of(trial), even)
    return sorted(rungs.values(), key=lambda rung: -rung.cost)


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


# ---- the plan


@dataclass(frozen=True, slots=True)
class PlannedLevel(Plan):
    """The plan of a site: ``full`` is its mean page view as it is, ``trials`` are all candidates that were built."""

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
    with closing(Trials(config, progress or Silent())) as trials:
        rungs = tuple(find_ladder(trials, count, keeps, config.cost))
        diagnostics = tuple(with_severities(trials.diagnostics, config))
        return PlannedLadder(rungs, trials.full, trials.all, diagnostics)


def plan_level(config: Config, goals: Goals, keeps: Keeps, progress: Progress | None = None) -> PlannedLevel:
    """Return the level for ``goals``. Candidates are built below the private directory of the output.

    Raises what ``adaptc.workflow.api.build`` raises.
    """
    with closing(Trials(config, progress or Silent())) as trials:
        plan = find_level(trials, goals, keeps, config.cost)
        diagnostics = tuple(with_severities(trials.diagnostics, config))
        return PlannedLevel(plan.chosen, plan.nearest, plan.misses, trials.full, trials.all, diagnostics)


# ---- a planned level in ``adaptc.toml``: between two lines of comment, so that the next plan replaces it
#
# All other bytes of the file stay as they are.


def level_text(name: str, title: str, values: Mapping[str, Any]) -> str:
    """Return the tables of a level as TOML; ``values`` are those of ``[levels.NAME]``, tables of passes among them."""
    plain = {"title": title, **{key: value for key, value in values.items() if not isinstance(value, Mapping)}}
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    lines = [f"[levels.{name}]", *(f"{key} = {_toml(value)}" for key, value in plain.items())]
    for table, options in tables.items():
        lines += ["", f"[levels.{name}.{table}]", *(f"{key} = {_toml(value)}" for key, value in options.items())]
    return "".join(f"{line}\n" for line in lines)


def with_level(text: str, name: str, tables: str) -> str:
    """Return the text of a configuration with the ``tables`` of a planned level, in place of those of the last plan.

    Raises ``UsageError`` where the level ``name`` is there and was not written by a plan.
    """
    first, last = f"# adaptc plan: {name}, written anew by each plan\n", f"# adaptc plan: end of {name}\n"
    start, end = text.find(first), text.find(last)
    if start >= 0 and end > start:
        return text[:start] + first + tables + last + text[end + len(last) :]
    known = parse_toml(text, "adaptc.toml").values.get("levels", {})
    for own in (name, *parse_toml(tables, "the plan").values.get("levels", {})):
        if own in known:
            raise UsageError(f"level {own} of the configuration was not written by adaptc plan: choose another --name")
    space = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return text + space + first + tables + last


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return f"{int(value):_}.0"
    return json.dumps(value) if isinstance(value, str | list) else str(value)
