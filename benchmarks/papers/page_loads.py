"""Page loads as the load generator of Gopshtein and Feitelson made them: an open system of users that load one page."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.papers.limited_apache import fetch


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A version of the page (section 4.3.1): requests, bytes of the page and of all, connections of a visitor."""

    requests: int
    page: int
    total: int
    connections: int

    def write(self, root: Path, mark: str) -> None:
        """Write the page and its objects, which share the bytes that are left."""
        root.mkdir(parents=True)
        images = "".join(f"<img src=i{number}.png>" for number in range(self.requests - 1))
        head = f"<!DOCTYPE html><title>{mark}</title>{images}"
        (root / "index.html").write_text(head + "x" * (self.page - len(head)))
        size = (self.total - self.page) // (self.requests - 1)
        for number in range(self.requests - 1):
            (root / f"i{number}.png").write_bytes(random.Random(number).randbytes(size))


VERSIONS = {
    "regular": PageVersion(59, 37_900, 322_000, 2),
    "moderate": PageVersion(29, 37_900, 188_000, 2),
    "extreme": PageVersion(3, 55_200, 65_000, 1),
}


@dataclass
class Seen:
    """What the visitors that came at one rate, or in one second, saw; times in seconds."""

    done: int = 0
    failed: int = 0
    optimized: int = 0
    times: list[float] = field(default_factory=list)

    @property
    def mean_ms(self) -> float | None:
        """The mean time of a page that was loaded."""
        return 1000 * sum(self.times) / len(self.times) if self.times else None


async def visit(port: int, seen: Seen, path: str, timeout: float) -> None:
    """Load a page as a browser with two connections does; one that is marked as optimized over one connection."""
    start = time.monotonic()
    try:
        async with asyncio.timeout(timeout):
            is_optimized = await _load(port, path)
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        seen.failed += 1
        return
    seen.done += 1
    seen.optimized += is_optimized
    seen.times.append(time.monotonic() - start)


async def _load(port: int, path: str) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        page = await fetch(reader, writer, f"{path}/index.html")
        objects = [f"{path}/i{number}.png" for number in range(page.count(b"<img"))]
        is_optimized = b"<title>extreme" in page
        half = len(objects) if is_optimized else len(objects) // 2
        async with asyncio.TaskGroup() as group:
            if objects[half:]:
                group.create_task(_fetch_all(port, objects[half:]))
            for one in objects[:half]:
                await fetch(reader, writer, one)
    except* (OSError, ValueError, asyncio.IncompleteReadError) as errors:
        raise OSError(str(errors)) from errors
    finally:
        writer.close()
    return is_optimized


async def _fetch_all(port: int, paths: Sequence[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for path in paths:
            await fetch(reader, writer, path)
    finally:
        writer.close()


async def load(
    port: int,
    rates: Sequence[float],
    chance: random.Random,
    timeout: float,
    each_second: Callable[[], None] = lambda: None,
    path: str = "",
) -> list[Seen]:
    """Start Poisson visits at the rate of each second; return what the visitors of each second saw.

    ``each_second`` is called at the end of each, when visits may still be under way.
    """
    found, visits, start = [], set[asyncio.Task[None]](), time.monotonic()
    for second, rate in enumerate(rates):
        seen = Seen()
        found.append(seen)
        moment = chance.expovariate(rate)
        while moment < 1:
            await asyncio.sleep(max(0.0, start + second + moment - time.monotonic()))
            task = asyncio.create_task(visit(port, seen, path, timeout))
            visits.add(task)
            task.add_done_callback(visits.discard)
            moment += chance.expovariate(rate)
        await asyncio.sleep(max(0.0, start + second + 1 - time.monotonic()))
        each_second()
    await asyncio.gather(*visits)
    return found
