"""Compares planned levels with level moderate: harm at equal bytes, and bytes at equal harm, by the measure of plans.

Prints a row for each site: of ``full`` the kB of the mean page view in the best coding, of ``moderate`` kB and harm, of
the level planned for as many bytes kB and harm, of the one with the fewest bytes at no more harm kB and the part that
it saves, and the part that ``moderate`` saves with images as small as they can be, at whatever harm. Images are
compared by their pixels, whichever pass made them (``adaptc.workflow.planning.trials``).

    benchmarks/plan_harm.py SITE ... [--work DIR]
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path

from adaptc.compile.engine.reporting import Silent
from adaptc.workflow.configuration import load_config
from adaptc.workflow.planning.candidates import FRAMES, PRICES, Candidate, Keeps
from adaptc.workflow.planning.goals import Goals
from adaptc.workflow.planning.plan import find_level, highest
from adaptc.workflow.planning.trials import Trial, Trials

_MODERATE = next(frame for frame in FRAMES if frame.name == "moderate")


def smallest(trials: Trials, harm: float) -> Trial:
    """Return the candidate of the frames that start from moderate with the fewest bytes and at most ``harm``."""
    found = [trials.of(Candidate(_MODERATE))]
    for frame in (frame for frame in FRAMES if frame.base == "moderate"):
        priced = {price: Candidate(frame, price) for price in reversed(PRICES)}
        price = highest(tuple(priced), partial(_harms_at_most, trials, priced, harm))
        found += [trials.of(priced[price])] if price is not None else []
    return min((trial for trial in found if trial.harm <= harm), key=lambda trial: trial.mean.bytes)


def _harms_at_most(trials: Trials, priced: dict[float, Candidate], harm: float, price: float) -> bool:
    return trials.of(priced[price]).harm <= harm


def compare(site: Path, work: Path) -> str:
    """Return the row of a site."""
    config = load_config(None, {"docroot": site, "output": work / site.name, "build.effort": "fast"})
    with closing(Trials(config, Silent())) as trials:
        moderate = trials.of(Candidate(_MODERATE))
        equal = find_level(trials, Goals(bytes=moderate.mean.bytes), Keeps(), config.cost).chosen or moderate
        fewest = smallest(trials, moderate.harm)
        barest = trials.of(Candidate(_MODERATE, PRICES[0]))
        saved, most = (100 * (1 - each.mean.bytes / moderate.mean.bytes) for each in (fewest, barest))
        cells = (
            site.name,
            f"{trials.full.bytes / 1000:.1f}",
            f"{moderate.mean.bytes / 1000:.1f}",
            f"{moderate.harm:.4f}",
            f"{equal.candidate}",
            f"{equal.mean.bytes / 1000:.1f}",
            f"{equal.harm:.4f}",
            f"{fewest.candidate}",
            f"{fewest.mean.bytes / 1000:.1f}",
            f"{fewest.harm:.4f}",
            f"{saved:.1f} %",
            f"{most:.1f} %",
        )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Compare the sites that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, help="where to build; by default a temporary directory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for site in options.site:
            print(compare(site, options.work or Path(temporary)), flush=True)


if __name__ == "__main__":
    main()
