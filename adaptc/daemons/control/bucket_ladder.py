"""The levels between which m moves, and how much load each step of m is."""

from __future__ import annotations

from collections.abc import Sequence

from adaptc.core.values import dataclass, replace
from adaptc.daemons.run_directory import RunDirectory
from adaptc.serve import state_directory
from adaptc.serve.capacity.rungs import Rung
from adaptc.serve.capacity.utilization import Cost

REJECT = "0"  # how the server's configuration calls level 0

# A step of m that changes hardly anything asks for a gain without bound; this share of the full cost is the least.
_LEAST_STEP = 0.05
# A rejection must cost less than this share of a page of the lowest level. To bring an overload of 1.2 times back to
# what the server carries, 24 % of the visitors are rejected at a share of .3, half of them at 2/3, 83 % at .8: beyond,
# fewer pages are left than a queue at the door lets through. The paper's server had .57, nginx has .6 to .8 with text.
_SAVING = 2 / 3
# How far m moves in a sample when it is nearly there: a steeper step that begins within it counts already.
_REACH = 0.25


@dataclass(frozen=True, slots=True)
class Ladder:
    """Names of the levels, lowest cost first, and their costs against the full site; rejection is before the first.

    ``costs`` has one entry more than ``names``: costs[0] is that of a rejection, costs[M] is 1. Where a rejection saves
    nothing against the level of lowest cost (Apache closes the connection after a 503), rejecting would raise the load
    and turn the loop around: then m stays at 1 or above. ``rungs`` are the levels with their pages, in the same order,
    from which the costs follow. ``connection`` is p, the cost of a view's connection, as a multiple of that of a
    request of the full site with its part of p, which is what logs can tell.
    """

    names: tuple[str, ...]
    costs: tuple[float, ...]
    rungs: tuple[Rung, ...] = ()
    connection: float = 0.0

    @property
    def most(self) -> int:
        """M, the full site."""
        return len(self.names)

    @property
    def least(self) -> int:
        """The least m that saves something: 0, or 1 where rejecting does not."""
        return 0 if self.costs[0] < _SAVING * self.costs[1] else 1

    def priced(self, cost: Cost) -> Ladder:
        """Return the ladder at other costs. What would cost more than the level above it counts as much as that.

        A rejection whose cost nobody has measured counts as much as a mean request of the lowest level: servers read
        it, look for the level and log it as any other.
        """
        if not self.rungs:
            return self
        if self.connection and not cost.view:
            view = self.connection * cost.request
            cost = replace(cost, request=cost.request - view / self.rungs[-1].requests, view=view)
        full, lowest, rejection, shares = self.rungs[-1].cost_of(cost), self.rungs[0], cost.rejection, [1.0]
        for rung in reversed(self.rungs[:-1]):
            shares.append(min(rung.cost_of(cost) / full, shares[-1]))
        if not cost.is_rejection_measured:
            rejection = max(rejection, lowest.cost_of(cost) / lowest.requests)
        return replace(self, costs=(min(rejection / full, shares[-1]), *reversed(shares)))

    def share(self, m: float) -> float:
        """Return the cost of serving everybody at m, against the full site: linear between levels."""
        whole = min(int(m), self.most - 1)
        return self.costs[whole] + (m - whole) * (self.costs[whole + 1] - self.costs[whole])

    def m_of(self, share: float) -> float:
        """Return the greatest m at which everybody together costs at most ``share`` of the full site, at least 0."""
        for whole in range(self.most - 1, -1, -1):
            low, high = self.costs[whole], self.costs[whole + 1]
            if high <= share:
                return float(whole + 1)
            if low <= share:
                return whole + (share - low) / (high - low)
        return 0.0

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
    kept = [rungs[0]]
    for rung in rungs[1:]:
        if rung.cost_of(cost) < kept[-1].cost_of(cost):
            kept.append(rung)
    # A visitor who is rejected costs one request, and does not ask for the rest of the page.
    connection = cost.view / (cost.request + cost.view / rungs[0].requests) if cost.view else 0.0
    ladder = Ladder(tuple(rung.name for rung in reversed(kept)), (), tuple(reversed(kept)), connection)
    return ladder.priced(cost)


BUCKETS = 256


def bucket_levels(m: float, most: int) -> tuple[int, ...]:
    """Return the level of each bucket for m in [0, most]."""
    whole = min(int(m), most)
    better = round((m - whole) * BUCKETS)
    return (min(whole + 1, most),) * better + (whole,) * (BUCKETS - better)


def write_buckets(run: RunDirectory, names: Sequence[str]) -> None:
    """Write the level of each bucket to ``buckets.txt`` and as the markers ``m/BB.LEVEL``. Raises ``OSError``.

    A new marker is made before the old one goes: meanwhile a client has two, never none.
    """
    run.make("m")
    state_directory.write_buckets(run.path, dict(zip(state_directory.BUCKETS, names, strict=True)))
