"""Kill adaptc 500 times, take its memory and power away, feed it 5,000 fuzzed documents: python -m benchmarks.soak WORK

Each trial is judged against clean builds: nothing torn or stale in the trees, nothing wrong called fresh by
`adaptc check`, and the next run gives the bytes of a clean build. WORK keeps a line for each trial, and the directories
of those with faults; started again with the same WORK, the test resumes. Needs `.venv/bin/pip install -e '.[test]'`.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

from .bench import Bench
from .documents import try_documents
from .kills import try_kills
from .ledger import Ledger
from .limits import try_limit
from .losses import try_losses

_PARTS = {
    "kills": (try_kills, 500),
    "limits": (try_limit, 20),
    "losses": (try_losses, 50),
    "documents": (try_documents, 5000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, metavar="WORK")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="stop after that; run again to resume")
    parser.add_argument("--part", action="append", choices=_PARTS, default=[], help="only this; may be given again")
    for name, (_, count) in _PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    arguments = parser.parse_args()
    bench = Bench(arguments.work)
    ledger = Ledger(arguments.work / f"seed-{arguments.seed}.jsonl", arguments.seed)
    until = time.monotonic() + 60 * arguments.minutes
    for part, (trial, _) in _PARTS.items():
        if not arguments.part or part in arguments.part:
            ledger.run(part, getattr(arguments, part), partial(trial, bench), until)
    print(ledger.table())
    raise SystemExit(any(one.faults for one in ledger.trials()))


if __name__ == "__main__":
    main()
