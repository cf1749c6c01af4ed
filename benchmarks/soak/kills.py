"""Kills of builds, watchers, exports and crawls."""

from __future__ import annotations

import random
import time
from pathlib import Path
from subprocess import Popen

from .bench import Bench
from .crawls import kill_crawl
from .exports import kill_export
from .judge import judge_check, judge_completion, judge_trees
from .ledger import Trial
from .process import kill_at, start
from .site import Version, draw, files, write

_KINDS = ("cold", "sources", "sources", "configuration", "watch", "watch", "export", "crawl", "recrawl")
_COUNTS = (1, 1, 1, 2, 3)  # kills in a row
_PAUSE = 0.05  # seconds between two changes under a watcher, at most


def try_kills(bench: Bench, number: int, chosen: random.Random) -> Trial:
    """Kill a command, perhaps again and again, judge what it left after each kill, and complete its work."""
    trial = Trial("kills", number, _KINDS[number % len(_KINDS)], 0)
    if trial.kind in ("crawl", "recrawl"):
        kill_crawl(bench, chosen, trial)
    elif trial.kind == "export":
        kill_export(bench, chosen, trial)
    else:
        _kill_builds(bench, chosen, trial)
    bench.keep(trial)
    return trial


def _kill_builds(bench: Bench, chosen: random.Random, trial: Trial) -> None:
    before, now = _versions(chosen, trial.kind)
    if trial.kind == "cold":
        bench.clear()
    else:
        bench.truth.copy(before, bench.place)
    seen = {before, now} if trial.kind != "cold" else {now}
    for _ in range(chosen.choice(_COUNTS)):
        if trial.kind == "watch":
            seen |= {Version(pages, assets, now.settings) for pages in range(3) for assets in range(3)}
            _kill_watcher(bench, now, chosen, trial)
        else:
            bench.place.write(now)
            bench.kill(bench.build_words(), chosen, trial)
        trial.faults += judge_trees(bench.place, bench.truth, seen, now if trial.kind != "watch" else None)
        trial.faults += judge_check(bench.place, bench.truth, now, every_file=chosen.random() < 0.5)
        if chosen.random() < 0.3:
            now = Version(chosen.randrange(3), chosen.randrange(3), now.settings)
            seen.add(now)
            bench.place.write(now)
            trial.faults += judge_check(bench.place, bench.truth, now, every_file=chosen.random() < 0.5)
    trial.faults += judge_completion(bench.place, bench.truth, now)


def _versions(chosen: random.Random, kind: str) -> tuple[Version, Version]:
    before, now = draw(chosen), draw(chosen)
    return before, now if kind == "configuration" else Version(now.pages, now.assets, before.settings)


def _kill_watcher(bench: Bench, now: Version, chosen: random.Random, trial: Trial) -> None:
    """Change the site file by file under a watcher, and kill it before, meanwhile or afterwards."""
    events = bench.root / "events.jsonl"
    events.unlink(missing_ok=True)
    idle = chosen.choice((0.2, 1, 5))
    process = start(bench.words("watch", bench.place.docroot, "-j", 2, "--idle", idle, "--log", events), bench.log)
    if chosen.random() < 0.85:
        _await(events, process)
    end = time.monotonic() + chosen.uniform(0.0, 2.5)
    for _ in write(bench.place.docroot, files(now.pages, now.assets)):
        time.sleep(chosen.uniform(0.0, _PAUSE))
    who = kill_at(process, max(0.0, end - time.monotonic()), chosen.choice(("group", "parent")))
    trial.count += 1
    if who == "over before":
        trial.faults.append(f"the watcher ended with {process.returncode}")
    bench.read_log(who, process.returncode, trial)


def _await(events: Path, process: Popen[bytes]) -> None:
    while process.poll() is None and not (events.exists() and '"ready"' in events.read_text()):
        time.sleep(0.02)
