"""Simulated power losses during builds: python -m benchmarks.power_loss [DOCROOT] [--losses 60] [--seed 0]

Builds a small site, or a copy of DOCROOT, several times while it changes, and records every write, every change of
names and every sync (strace, Linux). Then it constructs what a disk may hold after a power loss at some moment: what
was synced, and of the rest what chance leaves (``recorded_writes``). Of each such disk it says

- whether a file of the trees is torn: neither what a clean build gives nor what it gave before the site changed;
- whether a file is outdated that the state, or the times for strict servers, call fresh;
- whether the next build ends well, leaves what a clean build of the site gives, and leaves nothing to do.

The same seed gives the same losses of the same recording. The exit code is 1 when something was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adaptc
from adaptc.compile.engine.state.state import State, state_path
from adaptc.core.model import name_in_tree
from adaptc.workflow.check.check import check
from benchmarks.recorded_writes import MODELS, Disk, Recording, lose_power, record

_PROGRAM = "import json, sys, adaptc; adaptc.build(adaptc.load_config(overrides=json.loads(sys.argv[1])))"
_LEVELS = ("full", "lossless", "extreme")
_PRIVATE = (".adaptc", "run", "conf", "times")
_CLOCK = 1_600_000_000

Settings = Mapping[str, Any]
Trees = dict[str, bytes]


@dataclass(frozen=True)
class Step:
    """A build of the scenario: what it changes first, and its settings."""

    name: str
    change: Callable[[Path], None]
    settings: Settings


@dataclass(frozen=True)
class Fault:
    """Something wrong after a power loss. The loss is repeated by the names of step and model, moment and seed."""

    step: str
    model: str
    moment: int
    seed: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.step}, {self.model}, after operation {self.moment} (seed {self.seed}): {self.kind}: {self.what}"


# ---- the site, and how it changes


def write_site(docroot: Path) -> None:
    """Write a site with a sheet that all pages share, a link, and a file that is copied in pieces."""
    docroot.mkdir(parents=True)
    for page in range(8):
        folder = docroot / f"part{page % 2}"
        folder.mkdir(exist_ok=True)
        words = " ".join(f"word{page * 7 + number}" for number in range(300))
        text = f'<!DOCTYPE html>\n<title>{page}</title>\n<link rel="stylesheet" href="../main.css">\n<p>  {words}\n'
        (folder / f"{page}.html").write_text(text)
    (docroot / "main.css").write_text("\n".join(f".c{number}  {{ width : {number}px }}" for number in range(900)))
    (docroot / "large.bin").write_bytes(random.Random(1).randbytes(300_000))
    (docroot / "index.html").symlink_to("part0/0.html")


def _pages(docroot: Path) -> list[Path]:
    return [page for page in sorted(docroot.rglob("*.html")) if not page.is_symlink()]


def _edit(docroot: Path) -> None:
    for file in (*_pages(docroot)[::3], *sorted(docroot.rglob("*.css"))[:1]):
        file.write_bytes(file.read_bytes() + (b"<p>changed\n" if file.suffix == ".html" else b".d  { margin : 0 }\n"))


def _edit_again(docroot: Path) -> None:
    file = _pages(docroot)[0]
    file.write_bytes(file.read_bytes().replace(b"changed", b"changed again"))


def _move(docroot: Path) -> None:
    first, second, *_ = _pages(docroot)
    second.with_name("added.html").write_bytes(first.read_bytes() + b"<p>added\n")
    second.unlink()
    for binary in docroot.glob("large.bin"):
        binary.write_bytes(binary.read_bytes()[::-1])


def _leave(_docroot: Path) -> None: ...


def steps(settings: Settings) -> tuple[Step, ...]:
    """Return the builds of the scenario."""
    few = {**settings, "build.levels": ["full", "lossless"]}
    return (
        Step("cold build", _leave, settings),
        Step("files edited", _edit, settings),
        Step("a file edited again", _edit_again, settings),
        Step("files moved", _move, settings),
        Step("fewer levels", _leave, few),
        Step("more levels", _edit, settings),
    )


def _set_times(docroot: Path, before: Mapping[Path, int], number: int) -> dict[Path, int]:
    """Give files that were written a time of their own, as files that were not written a moment ago have."""
    files = [file for file in sorted(docroot.rglob("*")) if file.is_file() and not file.is_symlink()]
    for rank, file in enumerate(files):
        if before.get(file) != file.stat().st_mtime_ns:
            moment = (_CLOCK + 1000 * number) * 10**9 + rank
            os.utime(file, ns=(moment, moment))
    return {file: file.stat().st_mtime_ns for file in files}


# ---- the examination of a disk


@dataclass(frozen=True)
class Expectation:
    """What a clean build of the site gives, before and after the change of a step."""

    docroot: Path
    settings: Settings
    before: Trees
    after: Trees

    def faults(self, output: Path) -> Iterator[tuple[str, str]]:
        """Yield the kind of each fault of a disk, and of the next builds, which change it, and what is wrong."""
        yield from (("torn", what) for what in self._torn(output))
        yield from (("wrong", what) for what in self._outdated(output))
        yield from (("next build", what) for what in self._not_completed(output))

    def _torn(self, output: Path) -> Iterator[str]:
        for path, content in trees_of(output).items():
            allowed = {trees[path] for trees in (self.before, self.after) if path in trees}
            if content not in allowed:
                yield f"{path} has {len(content):,} bytes, not {sorted(map(len, allowed))}"

    def _outdated(self, output: Path) -> Iterator[str]:
        for path, times in _times_below(output / "times").items():
            source = self.docroot / path
            if source.is_file() and source.stat().st_mtime_ns == times:
                yield from self._differing(output, path, "the times call it fresh")
        with _copied_state(output) as state:
            digests = {path: digest for path, (_, digest) in state.resources().items()}
            if digests and all(_digest(self.docroot / path) == digest for path, digest in digests.items()):
                yield from _not_as_recorded(state, output)

    def _differing(self, output: Path, source: str, why: str) -> Iterator[str]:
        for path, content in trees_of(output).items():
            if "/".join(path.split("/")[2:]) == source and path in self.after and content != self.after[path]:
                yield f"{path} is outdated, and {why}"

    def _not_completed(self, output: Path) -> Iterator[str]:
        config = adaptc.load_config(overrides={**self.settings, "output": output})
        try:
            adaptc.build(config)
        except Exception as error:
            yield f"it failed: {error!r}"
            return
        trees = trees_of(output)
        for path in sorted(trees.keys() | self.after.keys()):
            if trees.get(path) != self.after.get(path):
                yield f"it leaves {path} other than a clean build"
        if adaptc.build(config).built:
            yield "the build after it had work to do"
        yield from (f"check: {finding}" for finding in check(config, every_file=True).findings)


def trees_of(output: Path) -> Trees:
    """Return the contents of the trees and of the manifest, as a server reads them: through links."""
    trees = {}
    for directory, inner, names in os.walk(output):
        inner[:] = [name for name in inner if directory != os.fspath(output) or name not in _PRIVATE]
        for file in (Path(directory) / name for name in names):
            path = os.path.relpath(file, output)
            if file.is_file() and path != "report.html" and not file.name.startswith(".adaptc-"):
                trees[path] = file.read_bytes()
    return trees


def _times_below(root: Path) -> dict[str, int]:
    files = [file for file in root.rglob("*") if file.is_file()]
    return {os.path.relpath(file, root): file.stat().st_mtime_ns for file in files}


@contextlib.contextmanager
def _copied_state(output: Path) -> Iterator[State]:
    """Open a copy of the state as SQLite recovers it."""
    with tempfile.TemporaryDirectory() as scratch:
        for file in state_path(output).parent.glob("state.sqlite*") if state_path(output).parent.is_dir() else ():
            if not file.name.endswith("-shm"):
                shutil.copy(file, scratch)
        with contextlib.closing(State(Path(scratch) / "state.sqlite")) as state:
            yield state


def _not_as_recorded(state: State, output: Path) -> Iterator[str]:
    """Yield the files that have a unit in the state, and are there with other bytes."""
    for result in state.results(notes=False):
        for path, stored in result.files():
            file = output / result.level / stored.coding / name_in_tree(stored.coding, path)
            if file.is_file() and _digest(file) != stored.digest:
                yield f"{os.path.relpath(file, output)} is not what was recorded, and the state calls it fresh"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def keep_directory_times(output: Path) -> None:
    """Give directories the times that the state has of them: no time betrays what was lost."""
    with contextlib.suppress(sqlite3.DatabaseError), _copied_state(output) as state:
        for path, directory in state.directories().items():
            if directory.mtime_ns > 0 and (output / path).is_dir():
                os.utime(output / path, ns=(directory.mtime_ns, directory.mtime_ns))


# ---- the simulation


def simulate(root: Path, docroot: Path | None, losses: int, seed: int, strict: bool) -> Iterator[list[Fault]]:
    """Yield what is wrong after each of ``losses`` power losses; ``root`` is an empty directory to work in."""
    site, output = root / "site", root / "opt"
    if docroot is None:
        write_site(site)
    else:
        shutil.copytree(docroot, site, symlinks=True)
    settings = {"docroot": os.fspath(site), "build.effort": "fast", "build.jobs": 2, "build.levels": list(_LEVELS)}
    settings |= {"site.max_file_bytes": 200_000, **({"serve.freshness": "strict"} if strict else {})}
    output.mkdir()
    times: dict[Path, int] = {}
    after: Trees = {}
    scenario = steps(settings)
    for number, step in enumerate(scenario):
        step.change(site)
        times = _set_times(site, times, number)
        before, after = after, _clean(root / "clean", step.settings)
        recording = _record(step, output, root)
        expectation = Expectation(site, {**step.settings, "build.jobs": 1}, before, after)
        share = losses * (number + 1) // len(scenario) - losses * number // len(scenario)
        for loss in range(share):
            yield _examine(step, recording, expectation, root / "lost", f"{seed}/{number}/{loss}")


def _clean(output: Path, settings: Settings) -> Trees:
    shutil.rmtree(output, ignore_errors=True)
    adaptc.build(adaptc.load_config(overrides={**settings, "build.jobs": 1, "output": output}))
    return trees_of(output)


def _record(step: Step, output: Path, root: Path) -> Recording:
    overrides = json.dumps({**step.settings, "output": os.fspath(output)})
    recording = record([sys.executable, "-P", "-c", _PROGRAM, overrides], output, root / "log")
    if recording.process.returncode:
        raise SystemExit(f"{step.name}: {recording.process.stderr}")
    return recording


def _examine(step: Step, recording: Recording, expectation: Expectation, output: Path, seed: str) -> list[Fault]:
    """Lose power once; a third of the losses come after the end of the build."""
    chance = random.Random(seed)
    end = len(recording.operations)
    moment, model = chance.choice((end, chance.randint(0, end), chance.randint(0, end))), chance.choice(MODELS)
    shutil.rmtree(output, ignore_errors=True)
    lost: Disk = lose_power(recording, moment, model, chance)
    lost.write(output)
    if chance.random() < 0.5:
        keep_directory_times(output)
    return [Fault(step.name, model, moment, seed, *fault) for fault in expectation.faults(output)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path, nargs="?", help="A small site to copy; by default one that is made up.")
    parser.add_argument("--losses", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strict", action="store_true", help='With freshness = "strict".')
    chosen = parser.parse_args(arguments)
    wrong, count, kinds = 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for faults in simulate(Path(scratch), chosen.docroot, chosen.losses, chosen.seed, chosen.strict):
            count, wrong = count + 1, wrong + bool(faults)
            kinds.update({fault.kind for fault in faults})
            for fault in faults[:3]:
                print(fault, flush=True)
    print(f"{count} power losses, {wrong} with faults: {dict(kinds)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
