"""The mode switch on a real Apache under the step of load of Gopshtein and Feitelson: 15, 85, 15 pages a second.

Apache runs in a control group of its own with a share of one CPU such that the normal page (59 requests) is too much at
85 a second and the optimized one (3 requests) is not. Visitors load pages as browsers do, two connections each, and
take the objects that the page they got asks for. Printed are what the load generator saw, second by second, and how
soon the mode changed; the decisions themselves come from `adaptc switch`. Needs root, Linux with control groups, and
Debian's apache2.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
NAME = f"adaptc-bench-{os.getpid()}"
TIMEOUT = 8.0
MODULES = ("mpm_event", "authz_core", "rewrite", "status", "mime", "dir")

CONFIGURATION = """
ServerName localhost
ServerRoot {folder}
PidFile {folder}/pid
Listen 127.0.0.1:{port}
{modules}
User www-data
Group www-data
ErrorLog {folder}/error.log
TypesConfig /etc/mime.types
DocumentRoot {folder}/site
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 1000
StartServers 4
ServerLimit 16
ThreadsPerChild 50
MaxRequestWorkers 800
<Directory {folder}>
    Require all granted
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
RewriteEngine On
RewriteCond {folder}/opt/run/opt.do -f
RewriteCond {folder}/opt/page%{{REQUEST_URI}} -f
RewriteRule ^ {folder}/opt/page%{{REQUEST_URI}} [L]
"""


@dataclass
class Seen:
    """What the visitors of one second saw."""

    done: int = 0
    failed: int = 0
    optimized: int = 0
    times: list[float] = field(default_factory=list)


def write_site(folder: Path, objects: int) -> None:
    """A page of ``objects`` files of 5 kB, and its optimized version of two."""
    site, page = folder / "site", folder / "opt/page"
    for root, count, mark in ((site, objects, "normal"), (page, 2, "optimized")):
        root.mkdir(parents=True)
        images = "".join(f"<img src=/i{number}.png>" for number in range(count))
        (root / "index.html").write_text(f"<!DOCTYPE html><title>{mark}</title>{images}" + "x" * 6000)
        for number in range(count):
            (root / f"i{number}.png").write_bytes(os.urandom(5000))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


@contextlib.contextmanager
def apache(
    folder: Path, port: int, share: float, text: str = CONFIGURATION, names: tuple[str, ...] = MODULES
) -> Iterator[None]:
    """Run Apache with ``share`` of a CPU."""
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in names)
    (folder / "httpd.conf").write_text(text.format(folder=folder, port=port, modules=modules))
    groups = [GROUPS / "cpu" / NAME, GROUPS / "cpuacct" / NAME]
    for group in groups:
        group.mkdir(exist_ok=True)
    (groups[0] / "cpu.cfs_quota_us").write_text(str(round(share * 100_000)))

    def enter() -> None:
        for group in groups:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    command = ["apache2", "-f", str(folder / "httpd.conf"), "-DFOREGROUND"]
    process = subprocess.Popen(command, preexec_fn=enter)
    try:
        time.sleep(1)
        yield
    finally:
        process.terminate()
        process.wait()
        time.sleep(0.5)
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()


async def fetch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> bytes:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        raise ValueError(head[:40])
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r", 1)[0])
    return await reader.readexactly(length)


async def objects(port: int, paths: list[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for path in paths:
            await fetch(reader, writer, path)
    finally:
        writer.close()


async def visit(port: int, seen: Seen) -> None:
    """Load a page as a browser with two connections (one for the optimized page) does."""
    start = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                page = await fetch(reader, writer, "/index.html")
                paths = [f"/i{number}.png" for number in range(page.count(b"<img"))]
                is_optimized = b"<title>optimized" in page
                if is_optimized:
                    for path in paths:
                        await fetch(reader, writer, path)
                else:
                    half = len(paths) // 2
                    rest = asyncio.create_task(objects(port, paths[half:]))
                    for path in paths[:half]:
                        await fetch(reader, writer, path)
                    await rest
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        seen.failed += 1
        return
    seen.done += 1
    seen.optimized += is_optimized
    seen.times.append(time.monotonic() - start)


async def load(port: int, steps: list[tuple[float, int]]) -> list[tuple[float, Seen]]:
    """Start visits at the rates of ``steps`` (pages a second, seconds); return what each second's visitors saw."""
    found, visits = [], set[asyncio.Task[None]]()
    for rate, seconds in steps:
        for _ in range(seconds):
            seen = Seen()
            found.append((rate, seen))
            start = time.monotonic()
            for number in range(int(rate)):
                task = asyncio.create_task(visit(port, seen))
                visits.add(task)
                task.add_done_callback(visits.discard)
                await asyncio.sleep(max(0.0, start + (number + 1) / rate - time.monotonic()))
    await asyncio.gather(*visits)
    return found


def report(found: list[tuple[float, Seen]], started: float, audit: Path, steps: list[tuple[float, int]]) -> None:
    for second, (rate, seen) in enumerate(found):
        if second % 5 == 0:
            mean = sum(seen.times) / len(seen.times) * 1000 if seen.times else float("nan")
            print(f"{second:4} s {rate:4.0f} pages/s: {seen.done} done, {seen.failed} failed, "
                  f"{seen.optimized} optimized, {mean:.0f} ms")  # fmt: skip
    entries = [json.loads(line) for line in audit.read_text().splitlines()]
    switches = [(one["at"] - started, one["event"]) for one in entries if one["event"] in ("normal", "optimized")]
    done, failed = sum(seen.done for _, seen in found), sum(seen.failed for _, seen in found)
    print(f"transactions {done + failed}, failed {failed} ({failed / (done + failed):.2%})")
    up, down = steps[0][1], steps[0][1] + steps[1][1]
    for at, event in switches:
        print(f"{event} at {at:.1f} s: {at - (up if event == 'optimized' else down):+.1f} s from the step of the load")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.35, help="share of a CPU that Apache gets")
    parser.add_argument("--port", type=int, default=18085)
    parser.add_argument("--objects", type=int, default=58)
    parser.add_argument("--seconds", type=int, nargs=3, default=(20, 40, 60))
    parser.add_argument("--policy", default="steady")
    arguments = parser.parse_args()
    steps = list(zip((15.0, 85.0, 15.0), arguments.seconds, strict=True))
    with tempfile.TemporaryDirectory(prefix="adaptc-bench-") as name:
        folder = Path(name)
        write_site(folder, arguments.objects)
        with apache(folder, arguments.port, arguments.share):
            status = f"status_url=http://127.0.0.1:{arguments.port}/server-status?auto"
            command = [sys.executable, "-m", "adaptc.cli", "switch", "-o", str(folder / "opt"), "--policy",
                       arguments.policy, "--set", f"cgroup={NAME}", "--set", status]  # fmt: skip
            daemon = subprocess.Popen(command)
            time.sleep(3)
            started = time.time()
            found = asyncio.run(load(arguments.port, steps))
            daemon.terminate()
            daemon.wait()
        report(found, started, folder / "opt/run/audit-switch.jsonl", steps)


if __name__ == "__main__":
    main()
