"""Users that become more: Table 1 and Figures 2 to 4 of Gopshtein and Feitelson 2010, section 4.2.

Each user loads the page every 15 to 25 seconds, or as soon as the last one is there: an open system while answers are
quick, a closed one when they are slow. Users and times are a tenth of the paper's, so that a second has as many pages
as there; Apache has the share of a CPU that the normal page takes at the rate of the users with whom its times began to
grow. "Default" closes the connection after each answer, "enhanced" keeps it open (section 4.2.3).
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.papers.blocks import Block, Chart, Claim, Published, Series, Table, Value
from benchmarks.papers.experiment import Parameters, Row
from benchmarks.papers.limited_apache import LimitedApache, fetch, limited_apache, open_to_all, shared_folder
from benchmarks.papers.page_loads import PageVersion

T = TypeVar("T")

# Requests and bytes of a visit, section 4.2.1
VERSIONS = {"normal": PageVersion(81, 30_000, 702_000, 2), "optimized": PageVersion(43, 30_000, 570_000, 2)}
CONFIGURATIONS = {"default": "KeepAlive Off\nMaxRequestWorkers 250\n", "enhanced": "KeepAlive On\n"}
GROUP = 5  # seconds of a point of the charts


@dataclass
class _Log:
    """Visits that ended, by the second: seconds that they took, None for those that failed."""

    begun: float
    seconds: list[list[float | None]] = field(default_factory=list)

    def add(self, taken: float | None) -> None:
        second = int(time.monotonic() - self.begun)
        while len(self.seconds) <= second:
            self.seconds.append([])
        self.seconds[second].append(taken)


def growing(parameters: Parameters) -> Iterator[Row]:
    """Yield each second of a run: users, visits that ended well and badly, and the mean time of the good ones."""
    share = 0.0
    for configuration in parameters["configurations"]:
        for version in VERSIONS:
            with shared_folder() as folder:
                for name, each in VERSIONS.items():
                    each.write(folder / "site" / name, name)
                open_to_all(folder)
                with limited_apache(folder, CONFIGURATIONS[configuration]) as server:
                    share = share or parameters["full_at"] * asyncio.run(_cost(server, parameters))
                    server.limit(share)
                    log = asyncio.run(_run(server.port, version, configuration == "enhanced", parameters))
                for second in range(parameters["seconds"]):
                    ended = log.seconds[second] if second < len(log.seconds) else []
                    times = [taken for taken in ended if taken is not None]
                    yield {
                        "configuration": configuration,
                        "version": version,
                        "share": share,
                        "second": second,
                        "users": _users(second, parameters),
                        "done": len(times),
                        "failed": len(ended) - len(times),
                        "mean_ms": 1000 * statistics.mean(times) if times else None,
                    }


def _users(second: float, parameters: Parameters) -> int:
    """Return how many users there are: they come at one rate first, then at another."""
    turn, slow, fast = parameters["turn"], *parameters["users_per_second"]
    return 1 + int(min(second, turn) * slow + max(0.0, second - turn) * fast)


async def _cost(server: LimitedApache, parameters: Parameters) -> float:
    """Return the CPU seconds of a normal page, a connection for each request, the least of some."""
    found = []
    for _ in range(parameters["rounds"]):
        before = server.cpu_seconds()
        for _ in range(10):
            await _visit(server.port, "normal", False)
        found.append((server.cpu_seconds() - before) / 10)
    return min(found)


async def _run(port: int, version: str, keeps: bool, parameters: Parameters) -> _Log:
    log, tasks = _Log(time.monotonic()), list[asyncio.Task[None]]()
    end = log.begun + parameters["seconds"]
    while (now := time.monotonic()) < end:
        while len(tasks) < _users(now - log.begun, parameters):
            chance = random.Random(f"{len(tasks)} {parameters['seed']}")
            tasks.append(asyncio.create_task(_user(port, version, keeps, parameters, log, chance)))
        await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return log


async def _user(port: int, version: str, keeps: bool, parameters: Parameters, log: _Log, chance: random.Random) -> None:
    low, high = parameters["pacing"]
    while True:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(parameters["timeout"]):
                await _visit(port, version, keeps)
            log.add(time.monotonic() - begun)
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            log.add(None)
        await asyncio.sleep(max(0.0, begun + chance.uniform(low, high) - time.monotonic()))


async def _visit(port: int, version: str, keeps: bool) -> None:
    """Load the page and what it embeds over two connections, which are new for each request unless one ``keeps``."""
    objects = [f"/{version}/i{number}.png" for number in range(VERSIONS[version].requests - 1)]
    await _fetch_all(port, [f"/{version}/index.html"], keeps)
    halves = [objects[::2], objects[1::2]]
    await asyncio.gather(*(_fetch_all(port, half, keeps) for half in halves))


async def _fetch_all(port: int, paths: Sequence[str], keeps: bool) -> None:
    for group in _groups(paths, len(paths) if keeps else 1):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for path in group:
                await fetch(reader, writer, path)
        finally:
            writer.close()


def _groups(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[place : place + size] for place in range(0, len(values), size))


# ---- the page


def show_growing(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show Table 1, and times and rates against the number of users."""
    printed, table, charts = published["growing"], list[Sequence[Value]](), list[Chart]()
    runs = {(row["configuration"], row["version"]): [] for row in rows}
    for row in rows:
        runs[row["configuration"], row["version"]].append(row)
    for version in VERSIONS:
        done, failed, mean = _totals(runs["default", version])
        there = printed[version]
        table.append((version, there["seconds"], there["done"], there["failed"], mean, done, failed))
    normal, optimized = (_totals(runs["default", version]) for version in VERSIONS)
    for configuration, figure in (("default", 2), ("enhanced", 3)):
        series = [
            Series(version, _points(own, "mean_ms"))
            for (name, version), own in runs.items()
            if name == configuration and _points(own, "mean_ms")
        ]
        title = f"Figure {figure}: time of a page, {configuration} configuration"
        charts.append(Chart(f"growing-{configuration}", title, "users", "milliseconds", series, y_scale="log"))
    rates = [Series(version, _points(own, "done")) for (name, version), own in runs.items() if name == "enhanced"]
    charts.append(Chart("growing-rate", "Figure 4: pages a second, enhanced", "users", "pages a second", rates))
    more, less = optimized[0] / normal[0] - 1, 1 - (optimized[2] or 0) / (normal[2] or 1)
    return [
        f"Published: {printed['where']}. {printed['says']}",
        Table(
            ("default configuration", "published, s a page", "done", "failed", "here, s a page", "done", "failed"),
            table, 2,
        ),
        Claim(
            f"As published: of the optimized pages more are loaded ({100 * more:.0f} % here, 116.6 % there), and each "
            f"takes less time ({100 * less:.0f} % here, 52 % there).",
            more > 0.2 and less > 0.2,
        ),
        *charts,
    ]  # fmt: skip


def _totals(rows: Sequence[Row]) -> tuple[int, int, float | None]:
    done = sum(row["done"] for row in rows)
    taken = sum(row["done"] * row["mean_ms"] for row in rows if row["mean_ms"])
    return int(done), int(sum(row["failed"] for row in rows)), taken / done / 1000 if done else None


def _points(rows: Sequence[Row], key: str) -> list[tuple[float, float]]:
    """Return means over some seconds, by the number of users."""
    points = []
    for group in _groups(rows, GROUP):
        values = [row[key] for row in group if row[key] is not None]
        if values:
            points.append((float(group[-1]["users"]), statistics.mean(values)))
    return points
