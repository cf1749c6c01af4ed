"""Time and bytes against jampack (npm @divriots/jampack), in turn on copies of the same site.

Both do images, CSS and JavaScript. jampack rewrites a copy in place and writes no encodings, so that adaptc is measured
without them, too, at level lossless; with its three codings; and with them at all levels. Bytes are those of the
identity files of the rewritten site, and of the same as a server sends them that compresses on the fly (zlib, level 6,
where that saves). Run it on a machine that does nothing else: both use all of its processors. On a busy one seconds of
CPU count.
"""

from __future__ import annotations

import argparse
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import NamedTuple


class Seconds(NamedTuple):
    """What a run took by the clock, and of all processors."""

    wall: float
    cpu: float


def run(command: list[str], directory: str) -> Seconds:
    """Run a command."""
    start, before = time.perf_counter(), _cpu()
    subprocess.run(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return Seconds(time.perf_counter() - start, _cpu() - before)


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def size(root: Path) -> tuple[int, int]:
    """Return the bytes of a tree on disk, and sent with gzip."""
    contents = [path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(map(len, contents)), sum(min(len(one), len(zlib.compress(one, 6))) for one in contents)


# Name -> configuration and options of a build
BUILDS = {
    "adaptc": ("", ("--level", "lossless")),
    "adaptc, no codings": ("[codings]\ngz = false\nbr = false\nzst = false\n", ("--level", "lossless")),
    "adaptc, all levels": (
        "",
        tuple(f"--level={level}" for level in ("full", "lossless", "moderate", "extreme", "text")),
    ),
}


def build(name: str, docroot: Path, scratch: Path, effort: str) -> tuple[Seconds, tuple[int, int]]:
    """Return what a clean build takes, and the bytes of its identity files at level lossless."""
    configuration, output = scratch / "adaptc.toml", scratch / "opt"
    written, options = BUILDS[name]
    configuration.write_text(written)
    ours = [sys.executable, "-P", "-m", "adaptc", "--config", str(configuration), "build", str(docroot.absolute())]
    seconds = run([*ours, "-o", str(output), *options, "--effort", effort], str(scratch))
    total = size(output / "lossless" / "id")
    shutil.rmtree(output)
    return seconds, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path)
    parser.add_argument("--jampack", default="npx jampack", help="the command that runs jampack")
    parser.add_argument("--directory", default=".", help="where to run it: the folder with its node_modules")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    parser.add_argument("--build", action="append", choices=BUILDS, help="only this build of adaptc; may be repeated")
    arguments = parser.parse_args()
    builds = arguments.build or list(BUILDS)
    times: dict[str, list[Seconds]] = {name: [] for name in (*builds, "jampack")}
    sizes: dict[str, tuple[int, int]] = {"original": size(arguments.docroot)}
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as scratch:
            for name in builds:
                seconds, sizes[name] = build(name, arguments.docroot, Path(scratch), arguments.effort)
                times[name].append(seconds)
            copy = Path(scratch) / "site"
            shutil.copytree(arguments.docroot, copy, symlinks=True)
            theirs = [*shlex.split(arguments.jampack), str(copy), "--cleancache"]
            times["jampack"].append(run(theirs, arguments.directory))
            sizes["jampack"] = size(copy)
    for name, runs in times.items():
        wall, cpu = map(statistics.median, zip(*runs, strict=True))
        found = f"{sizes[name][0]:12,} bytes, {sizes[name][1]:12,} with gzip"
        print(f"{name:20} {wall:8.2f} s {cpu:8.2f} s of CPU {found}")
    print(f"{'original':20} {'':28} {sizes['original'][0]:12,} bytes, {sizes['original'][1]:12,} with gzip")
    for name in builds:
        for unit in Seconds._fields:
            pairs = zip(times[name], times["jampack"], strict=True)
            ratios = [getattr(theirs, unit) / getattr(ours, unit) for ours, theirs in pairs]
            shown = ", ".join(f"{ratio:.1f}" for ratio in ratios)
            print(f"jampack takes {statistics.median(ratios):.1f} times the {unit} of {name} (runs in turn: {shown})")


if __name__ == "__main__":
    main()
