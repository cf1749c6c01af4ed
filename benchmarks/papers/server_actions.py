"""Tables 4 to 8 of Krishnamurthy and others 2003: what server actions save on emulated lines."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.papers.blocks import Block, Published, Table
from benchmarks.papers.bucket_pages import Load, build_pages
from benchmarks.papers.emulated_line import Line, Origin, parallel, pipelined, run_virtual, serial
from benchmarks.papers.experiment import Parameters, Row
from benchmarks.papers.limited_apache import fetch, limited_apache, open_to_all, shared_folder

BUCKETS = ("S-S-S", "S-M-M", "M-M-M", "M-M-L", "M-L-L", "L-M-M", "L-L-M", "L-L-L")  # those of the tables
ACTIONS = ("pipe-1.1", "compress", "bundle", "bundle.gz", "baseonly", "halfobject", "halfres")
Loader = Callable[[Line, Origin, str, Sequence[str]], Awaitable[None]]


def actions(parameters: Parameters) -> Iterator[Row]:
    """Yield the seconds of each page, line and action: levels of adaptc, from a real Apache over emulated lines.

    With the origin ``sizes`` the same in virtual time, without a server.
    """
    with shared_folder() as folder:
        loads = build_pages(folder, parameters["buckets"])
        open_to_all(folder)
        if parameters["origin"] == "sizes":
            times = run_virtual(_load_all(_from_files(folder), loads, parameters))
        else:
            with limited_apache(folder, f"DocumentRoot {folder}\n") as server:
                times = asyncio.run(_load_all(_from_server(server.port), loads, parameters))
    for (pair, bucket, action), seconds in times.items():
        yield {"pair": pair, "bucket": bucket, "action": action, "seconds": seconds}


def _from_files(folder: Path) -> Origin:
    async def origin(path: str) -> int:
        return (folder / path).stat().st_size

    return origin


def _from_server(port: int) -> Origin:
    async def origin(path: str) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return len(await fetch(reader, writer, f"/{path}"))
        finally:
            writer.close()

    return origin


async def _load_all(
    origin: Origin, loads: Mapping[str, Mapping[str, Load]], parameters: Parameters
) -> dict[tuple[str, str, str], float]:
    """Load everything at the same time, each on a line of its own, begun within ``spread`` seconds."""
    chance, times = random.Random(parameters["seed"]), dict[tuple[str, str, str], float]()

    async def load(pair: str, bucket: str, action: str, delay: float) -> None:
        await asyncio.sleep(delay)
        loader: Loader = {"serial-1.1": serial, "pipe-1.1": pipelined}.get(action, parallel)
        clock = asyncio.get_running_loop()
        started = clock.time()
        await loader(Line(*parameters["lines"][pair]), origin, *loads[bucket][action])
        times[pair, bucket, action] = clock.time() - started

    cases = [(pair, bucket, action) for pair in parameters["lines"] for bucket in loads for action in loads[bucket]]
    await asyncio.gather(*(load(*case, chance.uniform(0, parameters["spread"])) for case in cases))
    return {case: times[case] for case in cases}


def show_actions(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show Tables 4 to 8, and the mean savings by action."""
    times = {(row["pair"], row["bucket"], row["action"]): row["seconds"] for row in rows}
    pairs, buckets = (list(dict.fromkeys(row[key] for row in rows)) for key in ("pair", "bucket"))
    blocks: list[Block] = ["Per cent of the time of para-1.0 that an action saves: published → here."]
    means = dict[str, list[str]]()
    for pair in pairs:
        printed = published[pair]
        column = {bucket: BUCKETS.index(bucket) for bucket in buckets}
        table = [
            (
                "para-1.0, s",
                *(f"{printed['para-1.0'][column[one]]} → {times[pair, one, 'para-1.0']:.2f}" for one in buckets),
            )
        ]
        for action in ACTIONS:
            saved = {one: 100 * (1 - times[pair, one, action] / times[pair, one, "para-1.0"]) for one in buckets}
            table.append((action, *(f"{printed[action][column[one]]} → {round(saved[one])}" for one in buckets)))
            there = statistics.mean(printed[action][column[one]] for one in buckets)
            means.setdefault(action, []).append(f"{round(there)} → {round(statistics.mean(saved.values()))}")
        blocks += [f"{printed['where']}, {pair}", Table((pair, *buckets), table)]
    serial_saved = [
        1 - times[pair, one, "serial-1.1"] / times[pair, one, "para-1.0"] for pair in pairs for one in buckets
    ]
    return [
        "Mean over the buckets of the tables below, per cent saved: published → here.",
        Table(("action", *pairs), [(action, *cells) for action, cells in means.items()]),
        f"serial-1.1 saved little and is not in the tables: {100 * statistics.mean(serial_saved):.0f} % on average.",
        *blocks,
    ]
