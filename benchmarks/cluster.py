"""A local Dask cluster against the process pool: clean builds in turn, and what killed workers cost.

Each build is a process with a cache of its own. CPU time is that of the build and of all workers. With ``--kills`` so
many workers are killed at random moments of one more build, and another is started for each at once, as systemd would:
the program that Dask itself has for that (a nanny) gives up after some. The trees of all must be equal.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
from distributed import LocalCluster

KINDS = ("pool", "disk", "store")


def build(docroot: str, output: str, scheduler: str, store: str) -> None:
    """Build, and print figures as JSON."""
    import adaptc

    chosen = {"docroot": docroot, "output": output, "build.effort": "fast"}
    chosen |= {"build.scheduler": scheduler or None, "build.remote_cache": store or None}
    begun = time.monotonic()
    result = adaptc.build(adaptc.load_config(overrides=chosen))
    lost = sum(each.id == "not-built" for each in result.diagnostics)
    print(json.dumps({"units": len(result.built), "lost": lost, "wall": time.monotonic() - begun}))


def cpu_time(process: psutil.Process) -> float:
    """Return the CPU time of a process and its children, the ended ones too."""
    seconds = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            seconds += sum(each.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return seconds


def measured(docroot: str, output: str, scheduler: str, store: str) -> dict[str, float]:
    """Build in a process of its own."""
    begun = cpu_time(psutil.Process())
    command = [sys.executable, os.fspath(Path(__file__)), "--one", docroot, output, scheduler, store]
    done: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {**done, "cpu": cpu_time(psutil.Process()) - begun}


class Workers:
    """So many workers of a scheduler, each a program without a nanny."""

    def __init__(self, count: int, scheduler: str) -> None:
        self.scheduler = scheduler
        self.running = [self._start() for _ in range(count)]

    def _start(self) -> subprocess.Popen[bytes]:
        options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", tempfile.gettempdir())
        command = [sys.executable, "-m", "dask", "worker", self.scheduler, *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, number: int) -> None:
        """Kill a worker and start another."""
        self._end(self.running[number])
        self.running[number] = self._start()

    def _end(self, worker: subprocess.Popen[bytes]) -> None:
        worker.kill()
        worker.wait()

    def close(self) -> None:
        """Kill all: a cluster that ends its workers by asking them waits in vain on a busy machine."""
        for worker in self.running:
            self._end(worker)


def kill_workers(count: int, pause: float, workers: Workers, done: threading.Event) -> Iterator[int]:
    """Kill ``count`` workers at random, after ``pause`` seconds each in the mean, until there is nothing to disturb.

    Those that are still starting are among them.
    """
    chosen = random.Random(1)
    for _ in range(count):
        if done.wait(chosen.expovariate(1 / pause)):
            return
        number = chosen.randrange(len(workers.running))
        workers.kill(number)
        yield number


def different(left: Path, right: Path) -> list[str]:
    """Return the files that are not the same."""
    comparison = filecmp.dircmp(left, right, ignore=[".adaptc"])
    found = [*comparison.left_only, *comparison.right_only]
    _, unequal, broken = filecmp.cmpfiles(left, right, comparison.common_files, shallow=False)
    inner = (different(left / name, right / name) for name in comparison.common_dirs)
    return [*found, *unequal, *broken, *(name for names in inner for name in names)]


def main() -> None:
    """Measure the sites that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroots", nargs="+", metavar="DOCROOT")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kills", type=int, default=0, help="workers to kill in one more build")
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between two of them, in the mean")
    parser.add_argument("--kind", choices=KINDS, action="append", help="workers of this kind only")
    options = parser.parse_args()
    print(f"{'site':20} {'workers':8} {'units':>6} {'lost':>5} {'CPU s':>7} {'wall s':>7} different")
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        closing(Workers(options.workers, cluster.scheduler_address)) as workers,
    ):
        cluster.wait_for_workers(options.workers)
        for docroot in options.docroots:
            with tempfile.TemporaryDirectory() as work:
                for number in range(options.rounds):
                    for kind in options.kind or KINDS:
                        row(docroot, Path(work), kind, f"{kind}{number}", cluster.scheduler_address)
                if options.kills:
                    disturbed(docroot, Path(work), options, workers)


def row(docroot: str, work: Path, kind: str, name: str, scheduler: str) -> float:
    """Build once and print the figures; return the wall time."""
    store = f"file://{work}/store-{name}" if kind == "store" else ""
    done = measured(docroot, f"{work}/{name}", "" if kind == "pool" else scheduler, store)
    first = next(
        each
        for each in sorted(work.iterdir(), key=lambda each: each.stat().st_ctime_ns)
        if (each / "manifest.json").exists()
    )
    figures = f"{done['units']:6} {done['lost']:5} {done['cpu']:7.1f} {done['wall']:7.1f}"
    print(f"{Path(docroot).name:20} {kind:8} {figures} {len(different(first, work / name)):9}", flush=True)
    return done["wall"]


def disturbed(docroot: str, work: Path, options: argparse.Namespace, workers: Workers) -> None:
    """Build while workers are killed."""
    kind = (options.kind or ["store"])[-1]
    done, killed = threading.Event(), list[int]()
    row(docroot, work, kind, "undisturbed", workers.scheduler)
    killer = threading.Thread(target=lambda: killed.extend(kill_workers(options.kills, options.pause, workers, done)))
    killer.start()
    row(docroot, work, kind, "disturbed", workers.scheduler)
    done.set()
    killer.join()
    print(f"{len(killed)} workers were killed", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        build(*sys.argv[2:6])
    else:
        main()
