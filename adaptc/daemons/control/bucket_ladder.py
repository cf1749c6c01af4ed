"""The levels between which m moves, and how much load each step of m is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adaptc.daemons.run_directory import RunDirectory
from adaptc.serve import state_directory
from adaptc.serve.capacity.rungs import Rung
from adaptc.serve.capacity.utilization import Cost

REJECT = "0"  # how the server's configuration calls level 0

# A step of m that changes hardly anything asks for a gain without bound; this share of the full cost is the least.
_LEAST_STEP = 0.05
# How far m moves in a sample when it is nearly there: a steeper step that begins within it counts already.
_REACH = 0.25


@dataclass(frozen=True, slots=True)
class Ladder:
    """Names of the levels, lowest cost first, and their costs against the full site; rejection is before the first.

    ``costs`` has one entry more than ``names``: costs[0] is that of a rejection, costs[M] is 1. Where a rejection saves
    nothing against the level of lowest cost (Apache closes the connection after a 503), rejecting would raise the load
    and turn the loop around: then costs[0] is costs[1], and m stays at 1 or above.
    """

    names: tuple[str, ...]
    costs: tuple[float, ...]

    @property
    def most(self) -> int:
        """M, the full site."""
        return len(self.names)

    @property
    def least(self) -> int:
        """The least m that saves something: 0, or 1 where rejecting does not."""
        return 0 if self.costs[0] < self.costs[1] else 1

    def share(self, m: float) -> float:
        """Return the cost of serving everybody at m, against the full site: linear between levels."""
        whole = min(int(m), self.most - 1)
        return self.costs[whole] + (m - whole) * (self.costs[whole + 1] - self.costs[whole])

    def gain(self, m: float, utilization: float) -> float:
        """Return dU/dm, the greatest within reach of m, when ``utilization`` was caused at m (equation 3 of the paper).

        With rejection alone this is (U - cR) / f. The load that the full site would be is U divided by the cost at
        m.
        """
        full = utilization / max(self.share(m), _LEAST_STEP)
        lowest, highest = (min(max(int(m + way), 0), self.most - 1) for way in (-_REACH, _REACH))
        slopes = [self.costs[index + 1] - self.costs[index] for index in range(lowest, highest + 1)]
        return full * max(*slopes, _LEAST_STEP)

    def level(self, index: int) -> str:
        """Return the name of level ``index``; 0 rejects."""
        return REJECT if index == 0 else self.names[index - 1]


def ladder_from(rungs: Sequence[Rung], cost: Cost) -> Ladder:
    """Return the ladder of a build, whose full site is first, by U = aR + bW.

    A level that costs more than the one above it would turn the loop around; it is left out.
    """
    full = rungs[0].cost_of(cost)
    names, costs = [rungs[0].name], [1.0]
    for rung in rungs[1:]:
        share = rung.cost_of(cost) / full
        if share < costs[-1]:
            names.append(rung.name)
            costs.append(share)
    # A visitor who is rejected costs one request, and does not ask for the rest of the page.
    rejection = min(cost.rejection / full, costs[-1])
    return Ladder(tuple(reversed(names)), (rejection, *reversed(costs)))


BUCKETS = 256


def bucket_levels(m: float, most: int) -> tuple[int, ...]:
    """Return the level of each bucket for m in [0, most]."""
    whole = min(int(m), most)
    better = round((m - whole) * BUCKETS)
    return tuple(min(whole + (number < better), most) for number in range(BUCKETS))


def write_buckets(run: RunDirectory, names: Sequence[str]) -> None:
    """Write the level of each bucket to ``buckets.txt`` and as the markers ``m/BB.LEVEL``. Raises ``OSError``.

    A new marker is made before the old one goes: meanwhile a client has two, never none.
    """
    run.make("m")
    state_directory.write_buckets(run.path, dict(zip(state_directory.BUCKETS, names, strict=True)))
