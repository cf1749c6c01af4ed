"""The utilization controller on a real Apache: a step from 20 to 200 requests a second for 64 kB pages, and back.

Apache runs in a control group of its own (see mode_switch.py), with three levels by buckets of client addresses, as
`adaptc emit` has it; visitors come from 250 loopback addresses. `adaptc control` reads the access log and learns a and
b. Printed are, second by second, the utilization by the model and by the CPU counters, and m. Needs what mode_switch.py
needs.
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
from collections import Counter
from pathlib import Path

from mode_switch import CONFIGURATION, GROUPS, MODULES, NAME, apache

SIZES = {"full": 64_000, "lossless": 32_000, "text": 4_000}

LEVELS = """
RewriteMap buckets txt:{folder}/opt/run/buckets.txt
RewriteCond {folder}/opt/run/opt.do !-f
RewriteRule ^ - [S=3]
RewriteCond expr "md5(%{{REMOTE_ADDR}}) =~ /^(..)/"
RewriteRule ^ - [E=level:${{buckets:%1|full}}]
RewriteCond %{{ENV:level}} =0
RewriteRule ^ - [R=503,L]
RewriteRule ^ {folder}/opt/%{{ENV:level}}%{{REQUEST_URI}} [L]
LogFormat "%h %l %u %t \\"%r\\" %>s %O" common
CustomLog {folder}/access.log common
"""


def write_site(folder: Path) -> None:
    """A page of one file at each level, and the manifest of such a build."""
    levels = []
    for number, (name, size) in enumerate(reversed(SIZES.items()), 1):
        for root in (folder / "opt" / name, *([folder / "site"] if name == "full" else [])):
            root.mkdir(parents=True)
            (root / "a.html").write_bytes(os.urandom(size))
        levels.append({"name": name, "number": number, "pages": 1, "mean": {"requests": 1, "transfer": size}})
    (folder / "opt/manifest.json").write_text(json.dumps({"schema": 1, "levels": levels, "resources": []}))
    (folder / "opt/run").mkdir()
    (folder / "opt/run/buckets.txt").touch()
    (folder / "access.log").touch()
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


async def request(port: int, number: int, seen: Counter[str]) -> None:
    """Ask once, from an address of one's own."""
    source = (f"127.0.{number % 250 + 1}.1", 0)
    try:
        async with asyncio.timeout(8):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=source, limit=1 << 20)
            writer.write(b"GET /a.html HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = await reader.read(-1)
            writer.close()
            seen[answer[9:12].decode("ascii", "replace")] += 1
    except (OSError, TimeoutError):
        seen["failed"] += 1


async def load(port: int, rate: int, seconds: int, folder: Path, seen: Counter[str]) -> None:
    pending = set[asyncio.Task[None]]()
    usage = GROUPS / "cpuacct" / NAME / "cpuacct.usage"
    quota = int((GROUPS / "cpu" / NAME / "cpu.cfs_quota_us").read_text()) / 100_000
    for _ in range(seconds):
        start, before = time.monotonic(), int(usage.read_text())
        for number in range(rate):
            task = asyncio.create_task(request(port, number * 7, seen))
            pending.add(task)
            task.add_done_callback(pending.discard)
            await asyncio.sleep(max(0.0, start + (number + 1) / rate - time.monotonic()))
        cpu = (int(usage.read_text()) - before) / 1e9 / (time.monotonic() - start) / quota
        said = json.loads((folder / "opt/run/control.json").read_text())
        site, costs = said["sites"]["site"], said["costs"]
        learnt = (
            f"a {costs['request_ms']:.3f}, b {costs['kilobyte_ms']:.4f} ms" if costs["learnt"] else "nothing learnt"
        )
        print(f"{rate:4} req/s: U {site['U']:.3f}, CPU {cpu:.3f}, m {site['m']:.3f}, {learnt}")
    await asyncio.gather(*pending)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.1, help="share of a CPU that Apache gets")
    parser.add_argument("--port", type=int, default=18086)
    parser.add_argument("--rates", type=int, nargs=3, default=(20, 200, 20))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], help="a setting of adaptc control")
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="adaptc-bench-") as name:
        folder = Path(name)
        write_site(folder)
        text = CONFIGURATION.partition("RewriteCond")[0] + LEVELS
        with apache(folder, arguments.port, arguments.share, text, (*MODULES, "env")):
            command = [sys.executable, "-m", "adaptc.cli", "control", str(folder / "access.log"), "-o",
                       str(folder / "opt"), "--set", f"cgroup={NAME}", "-q"]  # fmt: skip
            command += [word for one in arguments.set for word in ("--set", one)]
            daemon = subprocess.Popen(command)
            time.sleep(3)
            for rate in arguments.rates:
                asyncio.run(load(arguments.port, rate, arguments.seconds, folder, seen))
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
    print(dict(seen))


if __name__ == "__main__":
    main()
