"""Table 3 of Krishnamurthy and others 2003: the classes of clients on emulated lines, page after page."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from adaptc.daemons.classify.hits import Hit
from adaptc.daemons.classify.settings import ClassifySettings
from benchmarks.papers.blocks import Block, Chart, Published, Series, Table
from benchmarks.papers.bucket_pages import paths_of, size_of, stream
from benchmarks.papers.emulated_line import Line, Origin, parallel, run_virtual
from benchmarks.papers.experiment import Parameters, Row

CLASSES = ("poor", "normal", "rich")


def classes(parameters: Parameters) -> Iterator[Row]:
    """Yield the class of each pair's client after each page, by the published rule and by adaptc's, in virtual time.

    Round trips and rates vary from page to page as much as section 4.2 says. The published rule sees whole seconds, as
    the logs of the time had them.
    """
    hits = sorted((hit for pair in parameters["lines"] for hit in _log(pair, parameters)), key=lambda hit: hit.at)
    for rule, settings, whole in (
        ("published", ClassifySettings(warm_up=1, patience=1, normalise=False), True),
        ("adaptc", ClassifySettings(), False),
    ):
        classifier, counts = settings.classifier(), Counter[str]()
        seen = (hit._replace(at=float(int(hit.at))) for hit in hits) if whole else iter(hits)
        for client, at, believed in [*classifier.feed(seen), *classifier.finish()]:
            counts[client] += 1
            yield {"rule": rule, "pair": client, "page": counts[client], "at": at, "class": believed}


def _log(pair: str, parameters: Parameters) -> list[Hit]:
    """Return what a client asks for in virtual time; its address is the name of its pair."""
    hits: list[Hit] = []

    async def origin(path: str) -> int:
        hits.append(Hit(pair, asyncio.get_running_loop().time(), path, 200, size_of(path), False, None))
        return size_of(path)

    run_virtual(browse(pair, origin, parameters, f"{pair} {parameters['seed']}"))
    return hits


async def browse(pair: str, origin: Origin, parameters: Parameters, seed: str, seconds: float = math.inf) -> None:
    """Load the stream of pages over the line of a pair, which varies from page to page, for some seconds at most."""
    chance, clock = random.Random(seed), asyncio.get_running_loop()
    rate, rtt = parameters["lines"][pair]
    jitter, end = parameters["jitter"][pair.split("-")[0]], clock.time() + seconds
    for bucket in stream(parameters["pages"], parameters["seed"]):
        if clock.time() > end:
            return
        line = Line(rate * _varied(chance, parameters["rate_jitter"]), rtt * _varied(chance, jitter))
        await parallel(line, origin, *paths_of(bucket))
        await asyncio.sleep(parameters["pause"])


def _varied(chance: random.Random, deviation: float) -> float:
    """Return a factor of mean 1 with a standard deviation (gamma distribution)."""
    return chance.gammavariate(deviation**-2, deviation**2)


def show_classes(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show Table 3, classes over time, and how often they change."""
    printed, table, curves = published["classes"], [], []
    for number, pair in enumerate(dict.fromkeys(row["pair"] for row in rows)):
        own = {
            rule: [row for row in rows if row["pair"] == pair and row["rule"] == rule]
            for rule in ("published", "adaptc")
        }
        counts = {rule: Counter(row["class"] for row in found) for rule, found in own.items()}
        shares = [
            [f"{100 * count[name] / max(1, sum(count[name] for name in CLASSES)):.0f}" for name in CLASSES]
            for count in counts.values()
        ]
        changes = [
            sum(one["class"] != other["class"] for one, other in pairwise(found) if one["class"])
            for found in own.values()
        ]
        table.append((pair, " ".join(map(str, printed[pair])), *map(" ".join, shares), *changes))
        points = [
            (row["page"], CLASSES.index(row["class"]) + number * 0.08) for row in own["published"] if row["class"]
        ]
        curves.append(Series(pair, points, "steps"))
    header = (
        "pair",
        "published: poor normal rich, %",
        "its rule here",
        "adaptc's rule",
        "changes, its rule",
        "changes, adaptc's",
    )
    return [
        f"Published: {printed['where']}. Shares of the pages after which a client was in a class.",
        Table(header, table),
        Chart("classes", "Classes over time, by the published rule", "page", "0 poor, 1 normal, 2 rich", curves),
    ]  # fmt: skip
