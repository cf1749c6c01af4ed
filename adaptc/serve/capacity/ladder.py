"""What a ladder of levels buys: the load that each level carries, and the mixture that carries a given load.

The cost of a page is aR + bW (Abdelzaher, Shin and Bhatti 2002, section 4.3) with R requests and W kB a page;
delays are those of Fujita, Murata and Miyahara 1999, a request being a job of a processor-sharing server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adaptc.serve.capacity.processor_sharing import Overload, SharedServer, stationary
from adaptc.serve.capacity.utilization import BOUND, Cost


@dataclass(frozen=True, slots=True)
class Rung:
    """A level as the mean of its pages: requests and kB a page, what it embeds included."""

    name: str
    requests: float
    kilobytes: float

    def cost_of(self, cost: Cost) -> float:
        """Return the seconds of the bottleneck that a page takes."""
        return cost.utilization(self.requests, self.kilobytes)


@dataclass(frozen=True, slots=True)
class RungCapacity:
    """A level's cost in seconds a page, pages a second at the bound, and that against the first level."""

    rung: Rung
    page_cost: float
    page_rate: float
    factor: float


def capacities(ladder: Sequence[Rung], cost: Cost, bound: float = BOUND) -> list[RungCapacity]:
    """Return what each level carries; ``ladder`` begins with the full site."""
    full = ladder[0].cost_of(cost)
    found = []
    for rung in ladder:
        page_cost = rung.cost_of(cost)
        found.append(RungCapacity(rung, page_cost, bound / page_cost, full / page_cost))
    return found


@dataclass(frozen=True, slots=True)
class Delays:
    """At a load: utilization, share of requests turned away, seconds a request at the server and on the line.

    ``line`` is None without a line, and when the line cannot carry the load.
    """

    utilization: float
    blocked: float
    server: float
    line: float | None


def delays(rung: Rung, cost: Cost, page_rate: float, workers: int, line: float | None = None) -> Delays:
    """Return what a load of ``page_rate`` pages a second does at a level; ``line`` is in bits a second."""
    rate = page_rate * rung.requests
    at_server = stationary(SharedServer(rung.cost_of(cost) / rung.requests, workers), rate)
    carried = rate * (1 - at_server.blocked)
    on_line = _line_time(rung.kilobytes * 8000 / rung.requests / line, carried) if line else None
    return Delays(rung.cost_of(cost) * page_rate, at_server.blocked, at_server.time, on_line)


def _line_time(transfer: float, rate: float) -> float | None:
    try:
        return stationary(SharedServer(transfer), rate).time
    except Overload:
        return None


def mixture(ladder: Sequence[Rung], cost: Cost, page_rate: float, bound: float = BOUND) -> float:
    """Return the largest m in [0, M] at which ``page_rate`` pages a second stay within the bound (section 4.2).

    m = I + F: a share F of the clients gets level I + 1, the others level I; M is the full site, 0 rejects. A
    visitor who is rejected costs one request. 0 is returned even when rejecting all is too much.
    """
    costs = [cost.rejection, *(rung.cost_of(cost) for rung in reversed(ladder))]
    loads = [page_rate * one for one in costs]
    for lower in range(len(ladder) - 1, -1, -1):
        if loads[lower + 1] <= bound:
            return float(lower + 1)
        if loads[lower] <= bound:
            return lower + (bound - loads[lower]) / (loads[lower + 1] - loads[lower])
    return 0.0
