"""An Apache without adaptation beyond its capacity: Figures 6, 8, 9 and 11 of Abdelzaher, Shin and Bhatti 2002.

The share of the CPU is such that a request for the large file takes 6.25 ms, as 64 kB did there (160 a second). Each
request has a connection of its own, as with HTTP/1.0; Apache serves few at once, so that the others wait in the queue
of its listener, whose length varies.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.papers.blocks import Block, Chart, Claim, Published, Series, Table
from benchmarks.papers.experiment import Parameters, Row
from benchmarks.papers.limited_apache import MODULES, LimitedApache, limited_apache, open_to_all, shared_folder

LARGE = 64  # kB
SERVED_AT_ONCE = 16
PATIENCE = 10.0  # seconds after which a visitor gives up
TEXT = """
SetOutputFilter DEFLATE
KeepAlive Off
ServerLimit 1
ThreadsPerChild {{workers}}
MaxRequestWorkers {{workers}}
StartServers 1
MinSpareThreads 1
MaxSpareThreads {{workers}}
ListenBacklog {{queue}}
"""


def overload(parameters: Parameters) -> Iterator[Row]:
    """Yield what visitors got, by length of the queue, size of the file and rate."""
    for queue, size, rates in parameters["cases"]:
        with shared_folder() as folder:
            (folder / "site").mkdir()
            for kilobytes in {size, LARGE}:
                (folder / "site" / f"{kilobytes}.bin").write_bytes(random.Random(kilobytes).randbytes(kilobytes * 1000))
            open_to_all(folder)
            text = TEXT.replace("{{workers}}", str(SERVED_AT_ONCE)).replace("{{queue}}", str(queue))
            with limited_apache(folder, text, (*MODULES, "filter", "deflate")) as server:
                share = asyncio.run(_cost(server)) / parameters["milliseconds"] * 1000
                server.limit(share)
                for rate in rates:
                    row = asyncio.run(_at_rate(server, f"/{size}.bin", rate, parameters["seconds"]))
                    yield {"queue": queue, "kilobytes": size, "rate": rate, "share": share, **row}


async def _cost(server: LimitedApache) -> float:
    """Return the CPU seconds of a request for the large file, the least of three seconds."""
    found = []
    for _ in range(3):
        before = server.cpu_seconds()
        row = await _at_rate(server, f"/{LARGE}.bin", 60, 1)
        found.append((server.cpu_seconds() - before) / max(1.0, row["served"]))
    return min(found)


async def _at_rate(server: LimitedApache, path: str, rate: float, seconds: float) -> Row:
    """Send requests evenly, and return what came of those after the first third."""
    times, octets, failed, tasks = list[float](), list[int](), list[int](), list[asyncio.Task[None]]()
    begun, count = time.monotonic(), round(rate * seconds)

    async def ask(counts: bool) -> None:
        started = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(f"GET {path} HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n".encode())
                body = await reader.read(-1)
                writer.close()
        except (OSError, TimeoutError):
            failed.append(counts)
            return
        if counts and b" 200 " in body[:20]:
            times.append(time.monotonic() - started)
            octets.append(len(body))

    for number in range(count):
        await asyncio.sleep(max(0.0, begun + number / rate - time.monotonic()))
        tasks.append(asyncio.create_task(ask(number >= count / 3)))
    late = max(0.0, time.monotonic() - begun - count / rate)
    counted = count - -(-count // 3)
    spent = (seconds + late) * counted / count
    await asyncio.gather(*tasks)
    await asyncio.sleep(1.0)  # the queue is empty
    return {
        "asked": counted,
        "served": len(times),
        "failed": sum(failed),
        "mean_ms": 1000 * statistics.mean(times) if times else None,
        "delivered_mbs": sum(octets) / 125_000 / spent,
        "late_s": late,
    }


# Rows in which the load generator, on the same machine, was late for longer than a fifth of the time are not shown
_MOST_LATE = 1.2


def show_overload(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show response times by queue and by size, and the bandwidth that is delivered."""
    printed, kept = published["overload"], [row for row in rows if row["late_s"] <= _MOST_LATE]
    large, small = ([row for row in kept if (row["kilobytes"] == LARGE) is is_large] for is_large in (True, False))
    by_queue: dict[float, list[Row]] = {}
    for row in large:
        by_queue.setdefault(row["queue"], []).append(row)
    short = by_queue[min(by_queue)]
    best = max(large, key=lambda row: row["delivered_mbs"])
    table = [(f"{row['rate']:g}", *(_at(own, row["rate"]) for own in by_queue.values())) for row in short]
    failed = sum(row["failed"] for row in kept)
    return [
        f"Published ({printed['where']}): {printed['says']}",
        Table(("64 kB, requests/s", *(f"queue of {queue:g}, ms" for queue in by_queue)), table, 0),
        *_claims(by_queue, small),
        Claim(f"No request failed: {failed:g} of {sum(row['asked'] for row in kept):,.0f}.", failed == 0),
        _times("queues", "Figure 8: time of an answer by the length of the queue, 64 kB", by_queue, "queue of {:g}"),
        _times("sizes", "Figure 9: time of an answer by size", {LARGE: short, small[0]["kilobytes"]: small}, "{:g} kB"),
        Chart(
            "overload-bandwidth", "Figure 11: delivered bandwidth, 64 kB", "requests a second", "Mb/s",
            [
                *(
                    Series(f"queue of {queue:g}", [(row["rate"], row["delivered_mbs"]) for row in own])
                    for queue, own in by_queue.items()
                ),
                Series("published maximum", [(printed["threshold"], printed["megabits"])], "dots"),
            ],
        ),
        f"Published: at most {printed['megabits']} Mb/s at {printed['threshold']} requests a second. Here: "
        f"{best['delivered_mbs']:.0f} Mb/s, at {best['rate']:g}.",
    ]  # fmt: skip


def _claims(by_queue: Mapping[float, Sequence[Row]], small: Sequence[Row]) -> list[Claim]:
    short = by_queue[min(by_queue)]
    idle, full, common = short[0], short[-1], min(max(row["rate"] for row in own) for own in (short, small))
    times = {queue: _at(own, full["rate"]) for queue, own in by_queue.items()}
    said = ", ".join(f"{ms:,.0f} ms with a queue of {queue:g}" for queue, ms in times.items())
    return [
        Claim(
            f"As published: the time of an answer is short until the server is full ({idle['mean_ms']:.0f} ms at "
            f"{idle['rate']:g} requests a second, {full['mean_ms']:.0f} at {full['rate']:g}).",
            full["mean_ms"] > 5 * idle["mean_ms"],
        ),
        Claim(
            f"Otherwise than there the queue does not decide how long answers take at {full['rate']:g} requests a "
            f"second: {said}.",
            sorted(times.values()) != list(times.values()),
        ),
        Claim(
            f"As published: smaller files take a higher rate (at {common:g} requests a second 8 kB take "
            f"{_at(small, common):.0f} ms, 64 kB {_at(short, common):.0f}).",
            2 * _at(small, common) < _at(short, common),
        ),
    ]


def _times(name: str, title: str, groups: Mapping[float, Sequence[Row]], label: str) -> Chart:
    curves = [Series(label.format(key), [(row["rate"], row["mean_ms"]) for row in own]) for key, own in groups.items()]
    return Chart(f"overload-{name}", title, "requests a second", "milliseconds", curves, y_scale="log")


def _at(rows: Sequence[Row], rate: float) -> float:
    return float(next(row["mean_ms"] for row in rows if row["rate"] == rate))
