"""Table 3 of Krishnamurthy and others 2003 from the log of a real Apache, by ``adaptc classify --replay``."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.papers.blocks import Block, Published, Table
from benchmarks.papers.bucket_pages import paths_of, size_of, table_2
from benchmarks.papers.client_classes import CLASSES, browse
from benchmarks.papers.emulated_line import Origin
from benchmarks.papers.experiment import Parameters, Row
from benchmarks.papers.limited_apache import fetch, limited_apache, open_to_all, shared_folder

# The combined format, and with the time that ``adaptc emit`` adds to it
LOGS = """
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"-\\" \\"-\\"" combined
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"-\\" \\"-\\" at=%{{sec}}t.%{{msec_frac}}t served=-/-" timed
CustomLog {folder}/combined.log combined
CustomLog {folder}/timed.log timed
"""
READINGS = {
    "published rule, whole seconds": ("combined", ["warm_up=1", "patience=1", "normalise=false"]),
    "adaptc, whole seconds": ("combined", []),
    "adaptc, milliseconds": ("timed", []),
}


def logged(parameters: Parameters) -> Iterator[Row]:
    """Yield how often the clients of each pair were believed to be of each class, by log and rule."""
    with shared_folder() as folder:
        (folder / "site").mkdir()
        for bucket, _ in table_2():
            page, objects = paths_of(bucket)
            for path in (page, *objects):
                (folder / f"site{path}").write_bytes(random.Random(path).randbytes(size_of(path)))
        open_to_all(folder)
        with limited_apache(folder, LOGS) as server:
            asyncio.run(_browse_all(server.port, parameters))
        for reading, (log, settings) in READINGS.items():
            for pair, counts in _replay(folder / f"{log}.log", settings, list(parameters["lines"])).items():
                yield {"reading": reading, "pair": pair, **counts}


async def _browse_all(port: int, parameters: Parameters) -> None:
    """Let the visitors of each pair, each with an address of its own, browse at the same time."""
    visitors = []
    for network, pair in enumerate(parameters["lines"]):
        for number in range(1, parameters["visitors"] + 1):
            address = f"127.1.{network}.{number}"
            visitors.append(browse(pair, _server(port, address), parameters, address, parameters["seconds"]))
    await asyncio.gather(*visitors)


def _server(port: int, address: str) -> Origin:
    async def origin(path: str) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        try:
            return len(await fetch(reader, writer, path))
        finally:
            writer.close()

    return origin


def _replay(log: Path, settings: Sequence[str], pairs: Sequence[str]) -> dict[str, dict[str, int]]:
    given = [word for one in settings for word in ("--set", one)]
    command = [sys.executable, "-m", "adaptc", "classify", str(log), "--replay", "--format", "json", *given]
    replayed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    found = {pair: dict.fromkeys(CLASSES, 0) for pair in pairs}
    for client in replayed["clients"]:
        counts = found[pairs[int(client["client"].split(".")[2])]]
        for name in CLASSES:
            counts[name] += client[name]
    return found


def show_logged(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show Table 3 by log and rule."""
    table = []
    for pair in dict.fromkeys(row["pair"] for row in rows):
        own = {row["reading"]: [row[name] for name in CLASSES] for row in rows if row["pair"] == pair}
        shares = [" ".join(f"{100 * count / max(1, sum(counts)):.0f}" for count in counts) for counts in own.values()]
        pages = max(int(sum(counts)) for counts in own.values())
        table.append((pair, pages, " ".join(map(str, published["classes"][pair])), *shares))
    return [
        f"Published: {published['classes']['where']}. Poor, normal and rich, per cent of the pages.",
        Table(("pair", "pages", "published", *READINGS), table),
    ]
