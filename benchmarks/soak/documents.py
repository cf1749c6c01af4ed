"""Fuzzed documents: sites of random files, built twice, that must give the same bytes and no failed pass."""

from __future__ import annotations

import random
import shutil

from adaptc.cli.command import ExitCode

from .bench import Bench
from .fuzz import fuzzed_site
from .ledger import Trial
from .process import finish, start
from .site import Place

_BATCH = 100
_SETTINGS = '[build]\nlevels = ["full", "lossless", "moderate", "extreme", "text", "halfres"]\neffort = "fast"\n'
_CODES = (ExitCode.DONE, ExitCode.WITH_ERRORS)


def try_documents(bench: Bench, number: int, chosen: random.Random) -> Trial:
    """Build a site of fuzzed documents in two processes and, elsewhere, in this number of one; compare."""
    bench.clear()
    documents = fuzzed_site(chosen, _BATCH)
    for path, content in documents.items():
        file = bench.place.docroot / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    trial = Trial("documents", number, "site", len(documents))
    _build(bench, bench.place, 2, trial)
    second = Place(bench.place.root / "second")
    second.root.mkdir()
    shutil.copytree(bench.place.docroot, second.docroot)
    _build(bench, second, 1, trial)
    if bench.place.trees() != second.trees():
        found, other = bench.place.trees(), second.trees()
        names = sorted(name for name in found.keys() | other.keys() if found.get(name) != other.get(name))
        trial.faults.append(f"two builds differ: {names[:5]}")
    bench.keep(trial)
    return trial


def _build(bench: Bench, place: Place, jobs: int, trial: Trial) -> None:
    place.settings.write_text(_SETTINGS)
    words = ["build", "-v", "--config", place.settings, place.docroot, "-o", place.output, "-j", jobs]
    code = finish(start(words, bench.log))
    bench.read_log("hangs" if code is None else "done", code, trial)
    printed = bench.log.read_text(errors="replace")
    if code not in _CODES:
        trial.faults.append(f"with {jobs} processes it ended with {code}: {printed[-300:]!r}")
    trial.faults += [line for line in printed.splitlines() if "[pass-failed]" in line][:5]
