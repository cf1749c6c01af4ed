"""Wall time, CPU time and peak memory of a clean build, of a second run, and of a build after one page changed.

Each is a whole process as a user starts it. The docroot is copied first, so that a page can be changed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def timed(command: list[str]) -> tuple[float, float, float, dict[str, object]]:
    """Run a command; return wall seconds, CPU seconds, MB at the peak of the largest process, and its JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024, json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path)
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    parser.add_argument("--jobs", default=str(len(os.sched_getaffinity(0))))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        docroot, output = Path(scratch) / "site", Path(scratch) / "opt"
        shutil.copytree(arguments.docroot, docroot, symlinks=True)
        command = [
            sys.executable, "-m", "adaptc.cli", "--format", "json", "build", str(docroot), "-o", str(output),
            "--effort", arguments.effort, "-j", arguments.jobs,
        ]  # fmt: skip
        show("clean build", timed(command))
        show("second run", timed(command))
        page = next(path for path in sorted(docroot.rglob("*.html")) if not path.is_symlink())
        page.write_bytes(page.read_bytes() + b"\n<!-- changed -->\n")
        show("one page changed", timed(command))


def show(name: str, figures: tuple[float, float, float, dict[str, object]]) -> None:
    wall, cpu, memory, result = figures
    built = result["built"]
    assert isinstance(built, list)
    print(f"{name:18} {wall:8.2f} s wall {cpu:8.2f} s CPU {memory:7.0f} MB peak {len(built):7,} units built")


if __name__ == "__main__":
    main()
