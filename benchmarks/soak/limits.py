"""Builds that may use only so much memory."""

from __future__ import annotations

import random
import resource

from adaptc.cli.command import ExitCode

from .bench import Bench
from .judge import judge_check, judge_completion, judge_trees
from .ledger import Trial
from .process import finish, start
from .site import Version, draw

_LEAST, _MOST = 120 << 20, 1500 << 20  # bytes of address space: below, Python itself does not start
_CODES = frozenset({ExitCode.DONE, ExitCode.WITH_ERRORS, ExitCode.INTERNAL})


def try_limit(bench: Bench, number: int, chosen: random.Random) -> Trial:
    """Build with a limit of the address space of each process, judge, and build without it."""
    trial = Trial("limits", number, chosen.choice(("cold", "sources")), 1)
    limit = int(_LEAST * (_MOST / _LEAST) ** chosen.random())
    before, now = draw(chosen), draw(chosen)
    now = Version(now.pages, now.assets, before.settings)
    if trial.kind == "cold":
        bench.clear()
    else:
        bench.truth.copy(before, bench.place)
    bench.place.write(now)
    limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # noqa: E731
    words = [*bench.build_words()[:-1], chosen.choice((1, 2))]
    code = finish(start(words, bench.log, preexec_fn=limited))
    bench.read_log("hangs" if code is None else "limited", code, trial)
    trial.notes["limit"] = limit
    if code not in _CODES:
        trial.faults.append(f"{limit >> 20} MiB: it ended with {code}")
    seen = {before, now} if trial.kind == "sources" else {now}
    trial.faults += judge_trees(bench.place, bench.truth, seen, now)
    trial.faults += judge_check(bench.place, bench.truth, now, every_file=True)
    trial.faults += judge_completion(bench.place, bench.truth, now)
    bench.keep(trial)
    return trial
