"""Krishnamurthy, Zhang, Wills and Vishwanath 2003: classes of clients and server actions on emulated lines."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.papers.blocks import Block, Chart, Published, Series, Table
from benchmarks.papers.bucket_pages import page_of, stream, table_2
from benchmarks.papers.client_classes import classes, show_classes
from benchmarks.papers.emulated_line import Line, parallel, run_virtual
from benchmarks.papers.experiment import Experiment, Parameters, Part, Row, Section
from benchmarks.papers.limited_apache import require_programs
from benchmarks.papers.logged_classes import logged, show_logged
from benchmarks.papers.request_rounds import request_rounds
from benchmarks.papers.server_actions import BUCKETS, actions, show_actions
from benchmarks.papers.texts import read_texts

PAIRS = ("uk-wpi", "uk-icir", "modem-att", "de-att", "cable-wpi")  # those of Tables 4 to 8


# ---- table 1 and figure 2: overhead


def show_overhead(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show what classes add to a request."""
    printed = published["overhead"]
    table: list[tuple[str, float | None, float]] = [("published", None, printed["mean_us"])]
    for name in list(rows[0])[2:]:
        added = [row[name] - row["plain"] for row in rows]
        table.append(
            (f"here, {name}", statistics.quantiles([row["plain"] for row in rows], n=4)[0], statistics.median(added))
        )
    return [
        f"CPU time that a request takes more. Published ({printed['where']}): mean {printed['mean_us']} us, median "
        f"{printed['median_us']}. Here the median of {len(rows)} rounds in turn; of plain requests the first quartile.",
        Table(("run", "plain request, us", "added, us"), table, 1),
    ]  # fmt: skip


def stress(parameters: Parameters) -> Iterator[Row]:
    """Yield the CPU time of a small request by number of connections, without and with classes and buckets."""
    from benchmarks.serving import stressed

    require_programs("apache2", "ab")
    found = stressed("apache", parameters["rounds"], parameters["connections"], parameters["requests"])
    for connections, plain, full in found:
        yield {"connections": connections, "plain_us": plain, "classes_us": full}


def show_stress(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show the overhead by number of connections."""
    printed, points = published["stress"], []
    for number in dict.fromkeys(row["connections"] for row in rows):
        own = [row for row in rows if row["connections"] == number]
        points.append((number, 100 * (statistics.median(row["classes_us"] / row["plain_us"] for row in own) - 1)))
    mean = statistics.mean(percent for _, percent in points)
    bound = [(end, printed["percent"]) for end in (points[0][0], points[-1][0])]
    series = [Series("here", points), Series("published mean", bound, "dashed")]
    return [
        f"Published ({printed['where']}): on average {printed['percent']} % more, less beyond 600 connections. Here "
        f"{mean:.0f} % on average.",
        Chart("stress", "Figure 2: overhead by number of connections", "connections", "per cent more CPU time", series),
    ]


# ---- table 2: the pages


def pages(parameters: Parameters) -> Iterator[Row]:
    """Yield the buckets with their published shares, and how often a stream of pages has them."""
    drawn = Counter(stream(parameters["pages"], parameters["seed"]))
    for bucket, share in table_2():
        page = page_of(bucket)
        yield {
            "bucket": bucket,
            "published_percent": share,
            "drawn_percent": 100 * drawn[bucket] / parameters["pages"],
            "container": page.container,
            "objects": len(page.objects),
            "embedded": sum(page.objects),
        }


def show_pages(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show Table 2."""
    header = ("bucket", "published, %", "drawn, %", "container, bytes", "objects", "their bytes")
    used = [row for row in rows if row["published_percent"]]
    table = [
        (
            row["bucket"],
            *(row[key] for key in ("published_percent", "drawn_percent", "container", "objects", "embedded")),
        )
        for row in used
    ]
    return [
        f"Published: {published['pages']['where']}. Buckets are container, objects, bytes of these.",
        Table(header, table, 0),
    ]


# ---- figure 3: the lines


def lines(parameters: Parameters) -> Iterator[Row]:
    """Yield the rate and round-trip time at which the pages of a pair take what the paper measured, by least squares.

    Errors are of logarithms. In virtual time.
    """
    for pair in parameters["pairs"]:
        wanted = parameters["seconds"][pair]
        found = [
            (_misfit(rate, rtt, wanted), rate, rtt)
            for rate in _steps(*parameters["rates"])
            for rtt in _steps(*parameters["rtts"])
        ]
        misfit, rate, rtt = min(found)
        for bucket, seconds in wanted.items():
            emulated = _seconds(Line(rate, rtt), bucket)
            found_line = {"pair": pair, "rate": rate, "rtt_s": rtt, "misfit": misfit}
            yield {**found_line, "bucket": bucket, "published_s": seconds, "emulated_s": emulated}


def _steps(low: float, high: float, count: int) -> list[float]:
    return [float(f"{low * (high / low) ** (number / (count - 1)):.3g}") for number in range(count)]


def _misfit(rate: float, rtt: float, wanted: Mapping[str, float]) -> float:
    errors = [math.log(_seconds(Line(rate, rtt), bucket) / seconds) ** 2 for bucket, seconds in wanted.items()]
    return math.sqrt(statistics.mean(errors))


def _seconds(line: Line, bucket: str) -> float:
    """Return the seconds that the page of a bucket takes as "para-1.0", in virtual time."""
    page = page_of(bucket)
    sizes = {"page": page.container, **{str(number): octets for number, octets in enumerate(page.objects)}}

    async def origin(path: str) -> int:
        return sizes[path]

    async def load() -> float:
        await parallel(line, origin, "page", list(sizes)[1:])
        return asyncio.get_running_loop().time()

    return run_virtual(load())


def show_lines(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show the lines, and how well they give the paper's times."""
    printed = published["lines"]
    first = {row["pair"]: row for row in rows[::-1]}
    table = [
        (pair, first[pair]["rate"] / 1000, 1000 * first[pair]["rtt_s"], 100 * first[pair]["misfit"])
        for pair in PAIRS
        if pair in first
    ]
    dots = [Series(pair, [(rate, rtt)], "dots") for pair, rate, rtt, _ in table]
    return [
        f"Published ({printed['where']}): {printed['says']}",
        Table(("pair", "kbit/s", "round trip, ms", "error of page times, %"), table, 0),
        Chart("lines", "Figure 3: the lines, calibrated", "kbit/s", "round trip, ms", dots, "log", "log"),
    ]


# What ``lines`` calibrates: bit/s and seconds
LINES = {
    "uk-wpi": (72_500.0, 0.207),
    "uk-icir": (87_200.0, 1.05),
    "modem-att": (72_500.0, 0.356),
    "de-att": (182_000.0, 0.426),
    "cable-wpi": (457_000.0, 0.0843),
}
BROWSING = {
    "lines": LINES,
    "seed": 1,
    "jitter": {"uk": 0.85, "modem": 0.85, "de": 0.25, "cable": 0.25},
    "rate_jitter": 0.25,
}
PRINTED = read_texts("krishnamurthy")["published"]
PARA_10 = {pair: dict(zip(BUCKETS, PRINTED[pair]["para-1.0"], strict=True)) for pair in PAIRS}

PART = Part(
    "krishnamurthy",
    (
        Section(
            Experiment(
                "overhead",
                request_rounds,
                {"settings": ["plain", "classes", "buckets and classes"], "rounds": 200, "requests": 400},
            ),
            show_overhead,
        ),
        Section(
            Experiment(
                "stress",
                stress,
                {"connections": [1, 10, 100, 200, 400, 600, 800, 1000], "rounds": 3, "requests": 10_000},
            ),
            show_stress,
        ),
        Section(Experiment("pages", pages, {"pages": 200, "seed": 1}, {}), show_pages),
        Section(
            Experiment(
                "lines",
                lines,
                {"pairs": PAIRS, "seconds": PARA_10, "rates": [2e4, 5e6, 31], "rtts": [0.02, 1.5, 25]},
                {"pairs": PAIRS[:2], "rates": [2e4, 5e6, 3], "rtts": [0.02, 1.5, 3]},
            ),
            show_lines,
        ),
        Section(
            Experiment(
                "classes",
                classes,
                {**BROWSING, "pages": 200, "pause": 5.0},
                {"pages": 20},
            ),
            show_classes,
        ),
        Section(
            Experiment("log", logged, {**BROWSING, "pages": 1000, "pause": 2.0, "visitors": 4, "seconds": 420}),
            show_logged,
        ),
        Section(
            Experiment(
                "actions",
                actions,
                {"lines": LINES, "buckets": BUCKETS, "origin": "apache", "spread": 10, "seed": 1},
                {"buckets": ["S-S-S"], "origin": "sizes"},
            ),
            show_actions,
        ),
    ),
)
