"""Wall time and peak memory of a clean build, of a second run, and of a build after one page changed.

Each is a whole process as a user starts it. Memory is the largest resident size that any of its processes had (Linux).
The docroot is copied first, so that a page can be changed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def timed(command: list[str]) -> tuple[float, float, int]:
    """Run a command; return wall seconds, MB of its largest process at the peak, and the number of units built."""
    start = time.perf_counter()
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    peaks: dict[str, int] = {}
    watcher = threading.Thread(target=watch, args=(running.pid, peaks), daemon=True)
    watcher.start()
    assert running.stdout is not None
    built = json.loads(running.stdout.read())["built"]
    running.wait()
    return time.perf_counter() - start, max(peaks.values(), default=0) / 1024, len(built)


def watch(session: int, peaks: dict[str, int]) -> None:
    """Note the high-water mark of every process of a session, twice a second, while there is one."""
    while True:
        found = [process for process in Path("/proc").iterdir() if process.name.isdigit() and of(process) == session]
        for process in found:
            with contextlib.suppress(OSError, StopIteration, ValueError):
                lines = (process / "status").read_text().splitlines()
                peaks[process.name] = int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
        if not found:
            return
        time.sleep(0.5)


def of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return 0


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
            sys.executable, "-P", "-m", "adaptc", "--format", "json", "build", str(docroot), "-o", str(output),
            "--effort", arguments.effort, "-j", arguments.jobs,
        ]  # fmt: skip
        show("clean build", timed(command))
        show("second run", timed(command))
        page = next(path for path in sorted(docroot.rglob("*.html")) if not path.is_symlink())
        page.write_bytes(page.read_bytes() + b"\n<!-- changed -->\n")
        show("one page changed", timed(command))


def show(name: str, figures: tuple[float, float, int]) -> None:
    wall, memory, built = figures
    print(f"{name:18} {wall:8.2f} s wall {memory:7.0f} MB peak {built:7,} units built")


if __name__ == "__main__":
    main()
