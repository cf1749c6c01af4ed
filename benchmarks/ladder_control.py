"""How steadily the controller holds its bound on the ladder that ships and on one that ``adaptc plan --ladder`` makes.

The controller is the real one (``adaptc.daemons.control.machine``); the server is simulated: page views arrive at
random (Poisson) at multiples of the rate that the full site could carry at the bound, each costs what its level's mean
page costs, and levels are those of the buckets of the sample before. Prints for each ladder and load how much the
utilization varies after it has settled (standard deviation), how much of that the controller adds to what it would be
at a constant mixture of levels, and the most that it overshoots the bound.

    benchmarks/ladder_control.py SITE ... [--work DIR]
    benchmarks/ladder_control.py --even 5 --even 17     # ladders of so many evenly spaced levels, of no site
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from adaptc.compile.engine.reporting import Silent
from adaptc.config.config import CostConfig
from adaptc.daemons.control.bucket_ladder import BUCKETS, Ladder, bucket_levels, ladder_from
from adaptc.daemons.control.machine import Load, Machine, Site, Tuning, step
from adaptc.serve.capacity.rungs import Rung
from adaptc.serve.capacity.utilization import BOUND, Cost
from adaptc.workflow.configuration import load_config
from adaptc.workflow.planning.candidates import FRAMES, Candidate, Keeps
from adaptc.workflow.planning.goals import PageMean
from adaptc.workflow.planning.plan import find_ladder
from adaptc.workflow.planning.trials import Trials

LOADS = (1.2, 1.5, 2.0, 3.0, 4.0)
SAMPLES, SETTLED = 400, 60
SEEDS = range(5)
# The lowest level of a ladder of no site, as a part of the full cost: that of clean-blog
_LEAST = 0.16
# The levels that ship with a number, from the full site down
SHIPPED = ("lossless", "moderate", "extreme")


def cost_of(config: CostConfig) -> Cost:
    """Return the costs of a configuration in seconds, without p, which the controller does not know."""
    return Cost(config.request_ms / 1000, config.kilobyte_ms / 1000, 0.00055)


def samples(
    ladder: Ladder, rungs: dict[str, Rung], cost: Cost, load: float, seed: int, constant: float | None = None
) -> Iterator[tuple[float, float]]:
    """Yield utilization and m of each second, at ``load`` times what the full site carries at the bound.

    With ``constant`` m stays there.
    """
    chance = np.random.default_rng(seed)
    machine = Machine((Site("site", ladder),), cost, Tuning(learns=False))
    state = machine.start()
    views = load * BOUND / rungs["full"].cost_of(cost)
    for _ in range(SAMPLES):
        m = state.loops["site"].m if constant is None else constant
        levels = bucket_levels(m, ladder.most)
        arrived = chance.poisson(views / BUCKETS, BUCKETS)
        requests = kilobytes = rejected = 0.0
        for index, count in zip(levels, arrived, strict=True):
            if index == 0:
                rejected += count
            else:
                rung = rungs[ladder.names[index - 1]]
                requests, kilobytes = requests + count * rung.requests, kilobytes + count * rung.kilobytes
        sample = Load(requests + rejected, rejected, kilobytes)
        yield sample.utilization(cost), m
        state = step(machine, state, {"site": sample})


def rows(name: str, kind: str, rungs: Sequence[Rung], cost: Cost) -> Iterator[str]:
    """Yield a row of the table for each load."""
    ladder, by_name = ladder_from(rungs, cost), {rung.name: rung for rung in rungs}
    for load in LOADS:
        settled = [list(samples(ladder, by_name, cost, load, seed))[SETTLED:] for seed in SEEDS]
        mean = statistics.mean(m for run in settled for _, m in run)
        still = [list(samples(ladder, by_name, cost, load, seed, mean))[SETTLED:] for seed in SEEDS]
        spread, least = _spread(settled), _spread(still)
        added = max(0.0, spread**2 - least**2) ** 0.5
        over = max(used for run in settled for used, _ in run) - BOUND
        shares = ", ".join(f"{share:.2f}" for share in reversed(ladder.costs[1:]))
        yield f"| {name} | {kind} | {shares} | {load:g} | {spread:.4f} | {added:.4f} | {over:.3f} |"


def _spread(runs: Sequence[Sequence[tuple[float, float]]]) -> float:
    return statistics.mean(statistics.stdev(used for used, _ in run) for run in runs)


def rung(name: str, mean: PageMean) -> Rung:
    """Return a mean page as a level of a ladder."""
    return Rung(name, mean.requests, mean.bytes / 1000)


def compare(site: Path, work: Path) -> Iterator[str]:
    """Yield the rows of a site."""
    config = load_config(None, {"docroot": site, "output": work / site.name, "build.effort": "fast"})
    frames, cost = {frame.name: frame for frame in FRAMES}, cost_of(config.cost)
    with closing(Trials(config, Silent())) as trials:
        shipped = [rung(name, trials.of(Candidate(frames[name])).mean) for name in SHIPPED]
        planned = find_ladder(trials, len(SHIPPED) + 2, Keeps(), config.cost)
        levels = [rung(str(each.trial.candidate), each.trial.mean) for each in planned]
        yield from rows(site.name, "ships", [rung("full", trials.full), *shipped], cost)
        yield from rows(site.name, "planned", [rung("full", trials.full), *levels], cost)


def even(count: int) -> Iterator[str]:
    """Yield the rows of a ladder of ``count`` evenly spaced levels, for a page of 20 requests and 100 kB."""
    shares = [float(share) for share in np.linspace(1, _LEAST, count)]
    levels = [Rung("full" if share == 1 else f"{share:.3f}", 20 * share, 100 * share) for share in shares]
    yield from rows("none", f"even {count}", levels, cost_of(CostConfig()))


def main() -> None:
    """Compare the ladders of the sites that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="*", type=Path)
    parser.add_argument("--even", action="append", default=[], type=int, metavar="N", help="N evenly spaced levels")
    parser.add_argument("--work", type=Path, help="where to build; by default a temporary directory")
    options = parser.parse_args()
    for count in options.even:
        print("\n".join(even(count)), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        for site in options.site:
            for row in compare(site, options.work or Path(temporary)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
