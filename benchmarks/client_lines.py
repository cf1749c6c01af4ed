"""How right the classes of clients are: a real Apache, its access log, and visitors on emulated lines.

The pages follow Table 2 of Krishnamurthy, Zhang, Wills and Vishwanath 2003: a page for each of its 27 buckets, asked
for in its proportions. A visitor has four connections on a line of a rate and a round-trip time. Lines are emulated in
the visitor: a request leaves half a round trip later, an answer arrives when the line, shared by the connections, has
carried it, and the server sees requests when it would see them. (Kernels without netem cannot do it otherwise; there
is no slow start, which would make pages later.) Each visitor has an address of its own in the network of its line.

Printed is the table of classes (Table 3 there) of `adaptc classify --replay`, by line: from the log in adaptc's format,
from the combined format, which has whole seconds, and by the published rule. Needs Debian's apache2.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from mode_switch import CONFIGURATION, MODULES, apache, fetch

from adaptc.serve.capacity.page_time import PAGE_SHARES, SIZES

# What stands for a bucket: bytes of the container, number of objects, bytes of all objects.
CONTAINER = dict(zip(SIZES, (7_000, 20_000, 45_000), strict=True))
OBJECTS = dict(zip(SIZES, (4, 14, 32), strict=True))
EMBEDDED = dict(zip(SIZES, (10_000, 36_000, 100_000), strict=True))
CONNECTIONS = 4
THOUGHT = 2.0  # seconds between two pages

# The combined format, and the time that `adaptc emit` puts behind it
LOGS = """
KeepAliveTimeout 60
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"-\\" \\"-\\" at=%{{sec}}t.%{{msec_frac}}t served=-/-" own
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"-\\" \\"-\\"" plain
CustomLog {folder}/own.log own
CustomLog {folder}/plain.log plain
"""


@dataclass
class Line:
    """A visitor's line: kbit/s, round trip in seconds, and the time at which what is on it has arrived."""

    rate: float
    rtt: float
    free: float = 0.0

    async def carry(self, octets: int) -> None:
        """Wait until an answer that the server sent now has arrived."""
        self.free = max(self.free, time.monotonic()) + octets * 8 / self.rate / 1000
        await asyncio.sleep(self.free + self.rtt / 2 - time.monotonic())


LINES = {
    "modem": (56, 0.25),
    "ISDN": (128, 0.1),
    "cable": (384, 0.08),
    "DSL": (2_000, 0.04),
    "fast": (10_000, 0.02),
}


@dataclass
class Visitor:
    """Who loads pages over a line, and how long each took."""

    port: int
    address: str
    line: Line
    source: random.Random
    times: list[float] = field(default_factory=list)

    async def browse(self, until: float) -> None:
        await asyncio.sleep(self.source.uniform(0, 5))
        while time.monotonic() < until:
            (bucket,) = self.source.choices(list(PAGE_SHARES), list(PAGE_SHARES.values()))
            start = time.monotonic()
            await self.load("".join(bucket))
            self.times.append(time.monotonic() - start)
            await asyncio.sleep(THOUGHT)

    async def load(self, bucket: str) -> None:
        """Load a page: the container first, then its objects over all connections, the oldest first."""
        reader, writer = await self.connect()
        await self.ask(reader, writer, f"/{bucket}.html")
        left = [f"/{bucket}-{number}.png" for number in range(OBJECTS[bucket[0]])][::-1]
        others = [self.take(left) for _ in range(CONNECTIONS - 1)]
        await asyncio.gather(self.take(left, (reader, writer)), *others)

    async def take(
        self, left: list[str], channel: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    ) -> None:
        reader, writer = channel or await self.connect()
        while left:
            await self.ask(reader, writer, left.pop())
        writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        await asyncio.sleep(self.line.rtt)
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.address, 0))

    async def ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> None:
        await asyncio.sleep(self.line.rtt / 2)
        body = await fetch(reader, writer, path)
        await self.line.carry(len(body) + 250)  # the head of the answer


def write_site(folder: Path) -> None:
    site = folder / "site"
    site.mkdir()
    for objects, embedded, container in PAGE_SHARES:
        name, count = objects + embedded + container, OBJECTS[objects]
        (site / f"{name}.html").write_bytes(b"x" * CONTAINER[container])
        for number in range(count):
            (site / f"{name}-{number}.png").write_bytes(os.urandom(EMBEDDED[embedded] // count))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


async def browse(port: int, visitors: int, seconds: float) -> dict[str, list[Visitor]]:
    found: dict[str, list[Visitor]] = defaultdict(list)
    for network, (name, (rate, rtt)) in enumerate(LINES.items()):
        for number in range(visitors):
            address = f"127.1.{network}.{number + 1}"
            found[name].append(Visitor(port, address, Line(rate, rtt), random.Random(address)))
    until = time.monotonic() + seconds
    await asyncio.gather(*(one.browse(until) for those in found.values() for one in those))
    return found


def replay(log: Path, *settings: str) -> dict[str, Counter[str]]:
    """Return how often clients were believed to be of each class, by line."""
    given = [word for one in settings for word in ("--set", one)]
    command = [sys.executable, "-m", "adaptc.cli", "classify", str(log), "--replay", "--format", "json", *given]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for client in said["clients"]:
        name = list(LINES)[int(client["client"].split(".")[2])]
        found[name].update({believed: client[believed] for believed in ("poor", "normal", "rich")})
    return found


def show(title: str, found: dict[str, Counter[str]], visitors: dict[str, list[Visitor]]) -> None:
    print(f"{title:28} page, s   pages    poor  normal    rich")
    for name, (rate, rtt) in LINES.items():
        counts, times = found[name], [taken for one in visitors[name] for taken in one.times]
        shares = "".join(f"{counts[one] / counts.total():8.1%}" for one in ("poor", "normal", "rich"))
        line = f"{name}, {rate:,} kbit/s, {rtt * 1000:.0f} ms"
        print(f"{line:28}{sum(times) / len(times):8.2f} {counts.total():7}{shares}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=18087)
    parser.add_argument("--visitors", type=int, default=10, help="visitors on each line")
    parser.add_argument("--seconds", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="adaptc-bench-") as name:
        folder = Path(name)
        write_site(folder)
        text = CONFIGURATION.partition("RewriteEngine")[0] + LOGS
        with apache(folder, arguments.port, 1.0, text, MODULES):
            visitors = asyncio.run(browse(arguments.port, arguments.visitors, arguments.seconds))
        show("adaptc's log", replay(folder / "own.log"), visitors)
        show("combined log", replay(folder / "plain.log"), visitors)
        show("the published rule", replay(folder / "own.log", "warm_up=1", "patience=1", "normalise=false"), visitors)


if __name__ == "__main__":
    main()
