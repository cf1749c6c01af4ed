"""Repeat the papers and write docs/papers: python -m benchmarks.papers [PART|PART/EXPERIMENT...]

Without a PART all are run, in less than an hour on two cores. What was measured with the same code, parameters and
seeds is kept, so a run that was stopped goes on where it was. Exit codes: 0 the page is written and everything was
measured; 1 the page is written, and something could not be measured, or the rows do not bear a sentence of the page,
which is printed; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers import abdelzaher, fujita, gopshtein, krishnamurthy
from benchmarks.papers.experiment import Experiment, Parameters, Part, Results, Unavailable
from benchmarks.papers.page import write_page

PARTS: tuple[Part, ...] = (gopshtein.PART, krishnamurthy.PART, abdelzaher.PART, fujita.PART)
OUTPUT = Path(__file__).parent.parent.parent / "docs/papers"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are named and write the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__.partition("\n")[0])
    known = [part.name for part in PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(known)}, or PART/EXPERIMENT")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the directory of the page (docs/papers)")
    parser.add_argument("--again", action="store_true", help="measure what was measured already")
    parser.add_argument("--quick", action="store_true", help="seconds: small parameters, no real server; with --output")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the CSV files")
    given = parser.parse_args(arguments)
    experiments = {f"{part.name}/{one.experiment.name}" for part in PARTS for one in part.sections}
    if unknown := set(given.parts) - {*known, *experiments}:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if given.quick and given.output == OUTPUT:
        parser.error("--quick needs --output DIR: its rows are no measurements, and would replace those of docs/papers")
    results = Results(given.output / "data")
    failures = [] if given.page else _run_all(given, results)
    broken = write_page(PARTS, given.output)
    failures += [] if given.quick else broken
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def _run_all(given: argparse.Namespace, results: Results) -> list[str]:
    """Measure what is asked for and not measured yet; return why something could not be."""
    failures = []
    for part, experiment in ((one, section.experiment) for one in PARTS for section in one.sections):
        name, parameters = f"{part.name}/{experiment.name}", _parameters(experiment, given.quick)
        if parameters is None or (given.parts and not {part.name, name} & set(given.parts)):
            continue
        if not given.again and results.is_current(part.name, experiment, parameters):
            continue
        print(name, flush=True)
        try:
            results.measure(part.name, experiment, parameters)
        except Unavailable as missing:
            failures.append(f"{name}: not measured: {missing}")
    return failures


def _parameters(experiment: Experiment, quick: bool) -> Parameters | None:
    if not quick:
        return experiment.parameters
    return None if experiment.quick is None else {**experiment.parameters, **experiment.quick}


if __name__ == "__main__":
    sys.exit(main())
