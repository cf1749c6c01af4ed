"""The loads of ``controlled_sites``: a step, and those of Figures 12 to 16 of Abdelzaher and others 2002."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Scenario:
    """Sites with their keys of [daemons.control.sites.NAME], and the rate of each at a second of the run."""

    title: str
    sites: Mapping[str, Mapping[str, float]]
    rates: Callable[[int], Mapping[str, float]]
    seconds: int
    learn: bool = False
    is_controlled: bool = True


def guarantee(requests: float, megabits: float) -> dict[str, float]:
    return {"requests": requests, "kilobytes": megabits * 125}


STEP = Scenario(
    "a step from 20 to 180 requests a second, and back",
    {"site": {}},
    lambda second: {"site": 180 if 15 <= second < 55 else 20},
    70,
)
SCENARIOS = {
    "step": STEP,
    "learning": replace(STEP, title=f"{STEP.title}, a and b being learnt meanwhile", learn=True),
    "12": Scenario(
        "Figure 12: V1 50 requests a second, V2 0 to 100, best effort 150",
        {"V1": guarantee(50, 13), "V2": guarantee(100, 27), "rest": {"priority": 2}},
        lambda second: {"V1": 50, "V2": min(100, 2 * second), "rest": 150},
        70,
    ),
    "13": Scenario(
        "Figure 13: the loads of Figure 12 on an Apache without adaptation",
        {"V1": {}, "V2": {}, "rest": {}},
        lambda second: {"V1": 50, "V2": min(100, 2 * second), "rest": 150},
        70,
        is_controlled=False,
    ),
    "14": Scenario(
        "Figure 14: premium 100 requests a second, basic 0 to 120",
        {"premium": {"priority": 1}, "basic": {"priority": 2}},
        lambda second: {"premium": 100, "basic": min(120, 2 * second)},
        80,
    ),
    "15": Scenario(
        "Figure 15: V1 in its guarantee, V2 0 to 140 with one of 50, nobody else",
        {"V1": guarantee(50, 13), "V2": guarantee(50, 13)},
        lambda second: {"V1": 50, "V2": min(140, 2 * second)},
        80,
    ),
    "16": Scenario(
        "Figure 16: the same beside a best effort of 150",
        {"V1": guarantee(50, 13), "V2": guarantee(50, 13), "rest": {"priority": 2}},
        lambda second: {"V1": 50, "V2": min(140, 2 * second), "rest": 150},
        80,
    ),
}
