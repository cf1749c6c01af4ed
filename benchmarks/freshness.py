"""How fast `adaptc watch` and `adaptc check` are on a site: python benchmarks/freshness.py DOCROOT

Works on a copy of DOCROOT. Saves pages one after the other, by rename, and measures for each the time until the watcher
had withdrawn what was stale (the window in which an old version may go out) and until the new version stood in the
trees. With --server apache or nginx, or both, a server with the emitted configuration runs beside it with the flag set,
and is asked for the page until it answers with the new version at a level; this needs root, or a user that the server
can start as. Then writes --burst files at once, waits until all is built, and compares the trees with those of a clean
build.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers.web import Server
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite, decoded

ADAPTC = [sys.executable, "-P", "-m", "adaptc"]
WAIT = 1800.0


class Watcher:
    """`adaptc watch` in another process, and its log."""

    def __init__(self, docroot: Path, output: Path, log: Path, *options: str) -> None:
        self.log = log
        self.process = subprocess.Popen(
            [*ADAPTC, "-q", "watch", str(docroot), "-o", str(output), "--effort", "fast", "--log", str(log), *options]
        )
        self.read = 0
        self.wait_for("ready")

    def wait_for(self, name: str, holds: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """Wait for the next event of this name."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            for event in self._new():
                if event["event"] == name and holds(event):
                    return event
            time.sleep(0.001)
        raise SystemExit(f"no event {name}")

    def _new(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        with self.log.open("rb") as file:
            file.seek(self.read)
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
        self.read += sum(map(len, lines))
        return [json.loads(line) for line in lines]

    @property
    def peak(self) -> float:
        """Peak of resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def saves(site: BuiltSite, watcher: Watcher, servers: dict[str, Server], count: int) -> dict[str, list[float]]:
    """Save pages; return for each the seconds until it was noticed, until it was in the trees, and until each server
    sent it from there."""
    docroot, output = site.docroot, site.output
    pages = sorted(path for path in docroot.rglob("*.html*") if path.is_file() and not path.is_symlink())
    chosen = random.Random(1)
    found: dict[str, list[float]] = {"withdrawn": [], "fresh": [], **{f"served by {name}": [] for name in servers}}
    for number in range(count):
        page = chosen.choice(pages)
        path = os.fspath(page.relative_to(docroot))
        mark = f"saved {number} {time.time_ns()}"
        content = page.read_bytes() + f"\n<p>{mark}\n".encode()
        other = page.with_name(f".{page.name}.new")
        other.write_bytes(content)
        os.replace(other, page)
        saved = time.time()
        noticed = watcher.wait_for("noticed", lambda event, path=path: path in event["paths"])
        found["withdrawn"].append(noticed["at"] - saved)
        trees = [output / level / "id" / path for level in ("full", "lossless")]
        while not all(holds(tree, mark) for tree in trees):
            time.sleep(0.0005)
        found["fresh"].append(time.time() - saved)
        for name, server in servers.items():
            while not sends(server, path, mark):
                time.sleep(0.0005)
            found[f"served by {name}"].append(time.time() - saved)
        time.sleep(chosen.uniform(0.05, 0.3))
    return found


def holds(tree: Path, mark: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return mark.encode() in tree.read_bytes()
    return False


def sends(server: Server, path: str, mark: str) -> bool:
    """Whether the server sends a page with this mark, and at a level: the original has none to name."""
    reply = server.get(f"/{quote(path)}", Accept_Encoding="br")
    return reply.status == 200 and "x-adapt" in reply.headers and mark.encode() in decoded(reply)


def burst(docroot: Path, count: int) -> None:
    """Write files as a checkout does: new ones, and the old ones over and over."""
    for number in range(count):
        file = docroot / f"burst/{number // 200}/{number}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"<!DOCTYPE html>\n<html lang=en><title>{number}</title>\n<p>  burst {number}\n" + "<p>x\n" * 40
        )


def equal(one: Path, other: Path) -> bool:
    """Whether two trees hold the same names and bytes."""
    found = filecmp.dircmp(one, other, ignore=[".adaptc"])
    if (
        found.left_only
        or found.right_only
        or filecmp.cmpfiles(one, other, found.common_files, shallow=False)[1:] != ([], [])
    ):
        return False
    return all(equal(one / name, other / name) for name in found.common_dirs)


def show(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    median, tail, most = (1000 * one for one in (statistics.median(ordered), ordered[-len(ordered) // 20], ordered[-1]))
    print(f"{name:28} median {median:7.1f} ms   95 % {tail:7.1f}   most {most:7.1f}")


def timed(name: str, *command: str) -> None:
    start = time.perf_counter()
    code = subprocess.run([*ADAPTC, "-q", *command], check=False).returncode
    print(f"{name:28} {time.perf_counter() - start:14.2f} s    exit code {code}")


@contextlib.contextmanager
def served(site: BuiltSite, kind: str) -> Iterator[Server]:
    """Run a server with what is emitted for it, in its optimized mode."""
    one = ServedSite(site, kind, {})
    with one.start() as server:
        one.switch()
        yield server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path)
    parser.add_argument("--server", action="append", choices=["apache", "nginx"], default=[])
    parser.add_argument("--saves", type=int, default=40)
    parser.add_argument("--burst", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)  # the servers have no rights but those of others
        made = BuiltSite(Path(scratch))
        docroot, output, clean = made.docroot, made.output, Path(scratch) / "clean"
        shutil.copytree(arguments.docroot, docroot, symlinks=True)
        site = (str(docroot), "--effort", "fast")
        timed("build", "build", *site, "-o", str(output))
        timed("check --quick", "check", "--quick", *site, "-o", str(output))
        timed("check --content", "check", *site, "-o", str(output))
        timed("build of nothing", "build", *site, "-o", str(output))
        page = next(path for path in sorted(docroot.rglob("*.html")) if not path.is_symlink())
        page.write_bytes(page.read_bytes() + b"\n<p>changed\n")
        timed("build of one page", "build", *site, "-o", str(output))
        with contextlib.ExitStack() as stack:
            running = {name: stack.enter_context(served(made, name)) for name in arguments.server}
            watcher = Watcher(docroot, output, Path(scratch) / "events.jsonl", "--idle", "10")
            for name, seconds in saves(made, watcher, running, arguments.saves).items():
                show(f"save to {name}", seconds)
        start, written = time.perf_counter(), time.time()
        if arguments.burst:
            burst(docroot, arguments.burst)
            print(f"{'burst of ' + str(arguments.burst) + ' written in':28} {time.perf_counter() - start:14.2f} s")
        watcher.wait_for("polished", lambda event: event["at"] > written)
        print(f"{'until polished':28} {time.perf_counter() - start:14.2f} s    peak {watcher.peak:.0f} MB")
        watcher.stop()
        timed("check --content", "check", *site, "-o", str(output))
        timed("clean build", "build", *site, "-o", str(clean))
        print("equal to the clean build:", all(equal(output / level, clean / level) for level in ("full", "lossless")))


if __name__ == "__main__":
    main()
