"""How a build grows with the number of pages: a generated site of small pages, with hard-linked assets.

Each step is a process of its own: to load the docroot, to plan a build, a build of which only a sample of the pages is
built, one with nothing to do, and one after a page changed. Memory is the peak of the building process, and of the
largest of its workers. An access log names the sample, as for sites of which only popular pages have degraded levels.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

# Pages of a directory, each with its own links to the assets
_DIRECTORY = 100
_LINKS = 10
_ASSETS = {
    "style.css": "".join(f".c{n} {{ color: #112233; margin: {n}px }}\n" for n in range(60)),
    "site.js": "document.documentElement.className = 'js'; // a class\n" * 20,
    "logo.svg": "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><path d='M0 0h9v9z'/></svg>",
}
_HEAD = "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8><title>Page {n}</title>\n"
_EMBEDS = "<link rel=stylesheet href=style.css><script src=site.js></script><img src=logo.svg alt=Logo>\n"
_SAMPLE = 500


def generate(docroot: Path, count: int) -> None:
    """Write the site."""
    docroot.mkdir()
    originals = [docroot / name for name in _ASSETS]
    for original in originals:
        original.write_text(_ASSETS[original.name])
    for number in range(count):
        directory = docroot / path_of(number).rpartition("/")[0]
        if number % _DIRECTORY == 0:
            directory.mkdir(parents=True)
            for original in originals:
                os.link(original, directory / original.name)
        (docroot / path_of(number)).write_text(page(number, count))


def path_of(number: int) -> str:
    """Return the path of a page, three directories deep."""
    directory = number // _DIRECTORY
    return f"{directory // 100:03}/{directory % 100:02}/{number}.html"


def page(number: int, count: int, words: str = "some words of a story") -> str:
    """Return a page of 2 kB, with links to others."""
    links = "".join(f"<li><a href=/{path_of((number * 31 + n * 7919) % count)}>{n}</a>\n" for n in range(_LINKS))
    text = "".join(f"<p>{number * 7 + n}: {words}, {(number + n) ** 3} of them.\n" for n in range(24))
    return f"{_HEAD.format(n=number)}{_EMBEDS}<h1>Page {number}</h1>\n<ul>\n{links}</ul>\n{text}"


def write_log(file: Path, count: int) -> None:
    """Write an access log that names the sample."""
    sample = range(0, count, max(1, count // _SAMPLE))
    lines = (
        f'::1 - - [01/Nov/2026:00:00:00 +0000] "GET /{path_of(n)} HTTP/1.1" 200 9 "-" "Mozilla/5.0"' for n in sample
    )
    file.write_text("\n".join(lines) + "\n")


# ---- a step, in a process of its own


class Phases:
    """Notes how long each phase of a build takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._phase, self._begun = "", 0.0

    def begin(self, phase: str, _units: int, _size: int) -> None:
        self._phase, self._begun = phase, time.monotonic()

    def advance(self, _units: int, _size: int, _saved: int) -> None:
        pass

    def end(self) -> None:
        self.seconds[self._phase] += time.monotonic() - self._begun


def run_step(step: str, work: Path) -> None:
    """Do one step and print its figures as JSON."""
    import adaptc
    from adaptc.workflow.api import build_spec

    chosen = {"docroot": work / "site", "output": work / "opt", "build.effort": "fast", "build.levels": ["moderate"]}
    config = adaptc.load_config(overrides={**chosen, "select.logs": [str(work / "log")], "select.share": 1.0})
    phases, begun, units = Phases(), time.monotonic(), 0
    if step == "load":
        units = len(build_spec(config).load().resources)
    elif step == "plan":
        units = len(adaptc.plan(config).reasons)
    else:
        units = len(adaptc.build(config, phases, isolated=False).built)
    wall = time.monotonic() - begun
    own, workers = (resource.getrusage(kind) for kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    figures: dict[str, Any] = {"units": units, "wall": wall, "phases": phases.seconds}
    figures |= {"cpu": own.ru_utime + own.ru_stime, "workers_cpu": workers.ru_utime + workers.ru_stime}
    print(json.dumps({**figures, "memory": own.ru_maxrss / 1024, "worker_memory": workers.ru_maxrss / 1024}))


def measure(work: Path, step: str) -> None:
    """Run a step and print a row."""
    command = [sys.executable, os.fspath(Path(__file__)), "--step", step, os.fspath(work)]
    done = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in done["phases"].items())
    times = f"{done['wall']:8.1f} {done['cpu']:8.1f} {done['workers_cpu']:8.1f}"
    memory = f"{done['memory']:8.0f} {done['worker_memory']:8.0f}"
    print(f"  {step:8} {done['units']:9} {times} {memory}  {phases}", flush=True)


def main() -> None:
    """Measure sites of the sizes that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="+", type=int, metavar="PAGES")
    options = parser.parse_args()
    print(f"  {'step':8} {'files':>9} {'wall s':>8} {'CPU s':>8} {'workers':>8} {'MB':>8} {'workers':>8}  phases, s")
    for count in options.counts:
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            generate(work / "site", count)
            write_log(work / "log", count)
            print(f"{count:,} pages", flush=True)
            for step in ("load", "plan", "build", "nothing"):
                measure(work, step)
            changed = work / "site" / path_of(0)
            changed.write_text(page(0, count, "other words"))
            measure(work, "change")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        run_step(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
