"""Gopshtein and Feitelson 2010: throughput and latency of the versions, the step of the load, hysteresis, the rules."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from adaptc.daemons.sensors.panel import Sample
from adaptc.daemons.switch.policies import Gopshtein, Mode, Steady
from benchmarks.papers.blocks import Block, Chart, Published, Series, Table, Value
from benchmarks.papers.experiment import Experiment, Parameters, Part, Row, Section
from benchmarks.papers.growing_users import growing, show_growing
from benchmarks.papers.limited_apache import (
    NAME,
    LimitedApache,
    limited_apache,
    open_to_all,
    shared_folder,
)
from benchmarks.papers.page_loads import VERSIONS, load
from benchmarks.papers.request_rounds import request_rounds

SWITCHED = """
RewriteEngine On
RewriteCond {folder}/opt/run/opt.do -f
RewriteCond {folder}/opt/extreme%{{REQUEST_URI}} -f
RewriteRule ^ {folder}/opt/extreme%{{REQUEST_URI}} [L]
"""


# ---- figures 6 to 10: throughput and latency


def levels(parameters: Parameters) -> Iterator[Row]:
    """Yield what visitors saw, by version of the page and rate, on an Apache whose limit is that of the paper's.

    The share of the CPU is such that ``regular`` pages alone would take all of it at ``full_at`` a second. Times are
    ``shorter`` than in the paper, its timeout of 25 s too.
    """
    with shared_folder() as folder:
        for name, version in VERSIONS.items():
            version.write(folder / "site" / name, name)
        open_to_all(folder)
        with limited_apache(folder) as server:
            costs = {name: asyncio.run(_cost(server, f"/{name}", parameters)) for name in VERSIONS}
            share = parameters["full_at"] * costs["regular"]
            server.limit(share)
            for name, rates in parameters["rates"].items():
                for rate in rates:
                    row = asyncio.run(_at_rate(server, f"/{name}", rate, parameters))
                    yield {"version": name, "cpu_ms": 1000 * costs[name], "share": share, "rate": rate, **row}


async def _cost(server: LimitedApache, path: str, parameters: Parameters) -> float:
    """Return the CPU seconds of a page, the least of some rounds of a second each."""
    found = []
    for number in range(parameters["rounds"]):
        before = server.cpu_seconds()
        (seen,) = await load(server.port, [20], random.Random(number), 25, path=path)
        found.append((server.cpu_seconds() - before) / max(1, seen.done))
    return min(found)


async def _at_rate(server: LimitedApache, path: str, rate: float, parameters: Parameters) -> Row:
    seconds, used = parameters["seconds"], [server.cpu_seconds()]
    chance = random.Random(f"{path} {rate} {parameters['seed']}")
    each = await load(
        server.port,
        [rate] * seconds,
        chance,
        25 / parameters["shorter"],
        lambda: used.append(server.cpu_seconds()),
        path,
    )
    done, failed = sum(one.done for one in each), sum(one.failed for one in each)
    times = [taken for one in each for taken in one.times]
    return {
        "attempted": done + failed,
        "done": done,
        "mean_ms": 1000 * sum(times) / len(times) if times else None,
        "cpu_per_second": (used[-1] - used[0]) / seconds,
    }


def show_levels(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show success, throughput and latency by version."""
    sustained, latency, printed = published["sustained"], published["latency"], published["versions"]
    table, success, times = [], [], []
    for name in VERSIONS:
        own = [row for row in rows if row["version"] == name]
        kept = [row["rate"] for row in own if row["done"] >= 0.99 * row["attempted"]]
        capacity = own[0]["share"] / own[0]["cpu_ms"] * 1000
        table.append(
            (
                f"{name}: {printed[name]}",
                sustained[name],
                max(kept, default=0),
                capacity,
                latency[name],
                own[0]["mean_ms"],
            )
        )
        success.append(Series(name, [(row["rate"], 100 * row["done"] / row["attempted"]) for row in own]))
        times.append(Series(name, [(row["rate"], row["mean_ms"]) for row in own if row["mean_ms"]]))
        if isinstance(sustained[name], int):
            success.append(Series(f"{name}, published", [(sustained[name], 99.0)], "dots"))
        points = [(own[0]["rate"], latency[name]), (latency["second_at"][name], 1000)]
        times.append(Series(f"{name}, published", points, "dots"))
    header = (
        "version",
        "published, pages/s",
        "here, 99 % served",
        "here, CPU alone",
        "published, ms at light load",
        "here, ms",
    )
    return [
        f"Published: versions in {printed['where']}, rates in {sustained['where']}, times in {latency['where']}. Here "
        f"a regular page takes {rows[0]['cpu_ms']:.1f} ms of CPU, and Apache has {rows[0]['share']:.3f} of a CPU, what "
        "regular pages take at the published rate. The other rates and all times are measured.",
        Table(header, table, 1),
        Chart("success", "Figure 9: pages that were served in time", "pages a second", "per cent", success),
        Chart("latency", "Figure 10: time of a page", "pages a second", "milliseconds", times, y_scale="log"),
    ]  # fmt: skip


# ---- figures 11 to 13: the step of the load


def step(parameters: Parameters) -> Iterator[Row]:
    """Yield each second of a step of the load under each policy of ``adaptc switch``.

    Apache has the share of a CPU of which 15 regular pages a second take half, as in the paper.
    """
    rates = _profile(**parameters["profile"])
    for policy in parameters["policies"]:
        with shared_folder() as folder:
            VERSIONS["regular"].write(folder / "site", "regular")
            VERSIONS["extreme"].write(folder / "opt/extreme", "extreme")
            (folder / "opt/run").mkdir()
            open_to_all(folder)
            with limited_apache(folder, SWITCHED) as server:
                cost = asyncio.run(_cost(server, "", parameters))
                share = parameters["half_at"] * cost * 2
                server.limit(share)
                yield from _stepped(server, folder, policy, rates, share, parameters)


def _profile(low: float, high: float, before: int, rise: int, during: int, after: int) -> list[float]:
    ramp = [low + (high - low) * (second + 1) / rise for second in range(rise)]
    return [low] * before + ramp + [high] * during + [low] * after


def _stepped(
    server: LimitedApache, folder: Path, policy: str, rates: Sequence[float], share: float, parameters: Parameters
) -> Iterator[Row]:
    cpu = [server.cpu_seconds()]
    with _switching(folder, server.port, policy, parameters["intervals"][policy]):
        started = time.time()
        chance = random.Random(parameters["seed"])
        each = asyncio.run(load(server.port, rates, chance, 25, lambda: cpu.append(server.cpu_seconds())))
    modes = _modes(folder / "opt/run/audit-switch.jsonl", started, len(rates))
    for second, (rate, seen) in enumerate(zip(rates, each, strict=True)):
        yield {
            "policy": policy,
            "second": second,
            "rate": rate,
            "done": seen.done,
            "failed": seen.failed,
            "optimized_pages": seen.optimized,
            "mean_ms": seen.mean_ms,
            "cpu": (cpu[second + 1] - cpu[second]) / share,
            "optimized": modes[second],
        }


@contextlib.contextmanager
def _switching(folder: Path, port: int, policy: str, interval: float) -> Iterator[None]:
    status = f"status_url=http://127.0.0.1:{port}/server-status?auto"
    settings = [status, f"cgroup={NAME}", f"interval={interval}"]
    command = [sys.executable, "-m", "adaptc", "switch", "-o", str(folder / "opt"), "--policy", policy]
    daemon = subprocess.Popen([*command, *(word for one in settings for word in ("--set", one))])
    try:
        time.sleep(3)
        yield
    finally:
        daemon.terminate()
        daemon.wait(20)


def _modes(audit: Path, started: float, seconds: int) -> list[int]:
    """Return 1 for each second at whose end the optimized version was served."""
    entries = [json.loads(line) for line in audit.read_text().splitlines()]
    switches = [(one["at"] - started, one["event"]) for one in entries if one["event"] in ("normal", "optimized")]
    return [
        int(([event for at, event in switches if at <= second + 1] or ["normal"])[-1] == "optimized")
        for second in range(seconds)
    ]


def show_step(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show the load, the CPU, the mode and the delays of each policy."""
    printed, blocks, table = published["step"], list[Block](), []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy]
        table.append((policy, *_step_figures(own)))
        pages = [
            Series("served", [(row["second"], row["done"]) for row in own]),
            Series("offered", [(row["second"], row["rate"]) for row in own], "dashed"),
        ]
        end, switched = own[-1]["second"], next((row["second"] for row in own if row["optimized"]), None)
        shares = [
            Series("CPU", [(row["second"], 100 * row["cpu"]) for row in own]),
            Series(
                "published, normal", [(0, printed["cpu_before"]), (switched or end, printed["cpu_before"])], "dashed"
            ),
            Series("optimized pages", [(row["second"], 100 * row["optimized"]) for row in own], "steps"),
        ]
        if switched is not None:
            published_end = [(switched, printed["cpu_optimized"]), (end, printed["cpu_optimized"])]
            shares.insert(2, Series("published, optimized", published_end, "dashed"))
        blocks += [
            Chart(f"step-{policy}", f"Figure 11: pages, policy {policy}", "seconds", "pages a second", pages),
            Chart(f"step-{policy}-cpu", f"Figure 12: CPU and mode, policy {policy}", "seconds", "per cent", shares),
        ]
    delays = [
        Series(policy, [(row["second"], row["mean_ms"]) for row in rows if row["policy"] == policy and row["mean_ms"]])
        for policy in dict.fromkeys(row["policy"] for row in rows)
    ]
    blocks.append(Chart("step-delays", "Figure 13: time of a page", "seconds", "milliseconds", delays, y_scale="log"))
    first = ("published", *(printed[key] for key in STEP_FIGURES))
    return [
        f"Published values: {printed['where']}.",
        Table(("policy", *STEP_FIGURES.values()), [first, *table], 1),
        *blocks,
    ]


STEP_FIGURES = {
    "after_s": "switched after, s",
    "cpu_before": "CPU before, %",
    "cpu_optimized": "CPU optimized, %",
    "factor": "pages per CPU, factor",
    "switches": "switches",
    "failed": "failed, %",
}


def _step_figures(rows: Sequence[Row]) -> tuple[Value, ...]:
    """Return ``STEP_FIGURES`` of a run; seconds are from the begin of the rise, None what was never seen."""
    low, high = rows[0]["rate"], max(row["rate"] for row in rows)
    begin = next(row["second"] for row in rows if row["rate"] > low)
    switched = next((row["second"] - begin for row in rows if row["optimized"] and row["second"] >= begin), "never")
    if rows[int(begin) - 1]["optimized"]:
        switched = "before the rise"
    calm = [row for row in rows if row["second"] < begin and not row["optimized"]]
    peak = [row for row in rows if row["rate"] == high and row["optimized"] and row["optimized_pages"] == row["done"]]
    before, during = (100 * statistics.mean(row["cpu"] for row in one) if one else None for one in (calm, peak))
    factor = (high / during) / (low / before) if during and before else None
    switches = sum(row["optimized"] != after["optimized"] for row, after in itertools.pairwise(rows))
    failed = 100 * sum(row["failed"] for row in rows) / sum(row["failed"] + row["done"] for row in rows)
    return switched, before, during, factor, switches, failed


# ---- hysteresis, without a server


def hysteresis(parameters: Parameters) -> Iterator[Row]:
    """Yield the modes of both policies on a modelled server: a slow rise and fall, and loads that stay.

    15 regular or 170 optimized pages a second take half of the CPU, as in section 4.4.4.
    """
    for policy in ("gopshtein", "steady"):
        top, minutes = parameters["top"], parameters["minutes"]
        rise = [top * second / (60 * minutes) for second in range(1, 60 * minutes)]
        yield from _modelled(policy, "rise and fall", [*rise, *reversed(rise)], parameters, every=5)
        for rate in parameters["rates"]:
            yield from _modelled(policy, f"{rate}", [rate] * 3600, parameters, every=3600)


def _modelled(policy: str, case: str, rates: Sequence[float], parameters: Parameters, every: int) -> Iterator[Row]:
    rule, interval = {"gopshtein": (Gopshtein(), 5), "steady": (Steady(), 1)}[policy]
    chance, state, switches = random.Random(f"{policy} {case} {parameters['seed']}"), rule.start(), 0
    for second, rate in enumerate(rates, 1):
        if second % interval == 0:
            seen = rate * chance.gauss(1, parameters["noise"])
            is_normal = state.mode is Mode.NORMAL
            cpu = min(1.0, seen / (30 if is_normal else 340))
            state, decisions = rule.step(state, Sample(second, cpu, seen * (2 if is_normal else 1), 10))
            switches += len(decisions)
        if second % every == 0:
            optimized, known = int(state.mode is Mode.OPTIMIZED), {"policy": policy, "case": case}
            yield {**known, "second": second, "rate": rate, "optimized": optimized, "switches": switches}


def show_hysteresis(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show the loop of each policy, and its switches at loads that stay."""
    blocks: list[Block] = [f"Published ({published['hysteresis']['where']}): {published['hysteresis']['says']}"]
    loops, table = [], dict[float, list[float]]()
    for number, policy in enumerate(("gopshtein", "steady")):
        loop = [row for row in rows if row["policy"] == policy and row["case"] == "rise and fall"]
        points = [(row["rate"], row["optimized"] + number * 1.5) for row in loop]
        loops.append(Series(f"{policy}{' (+ 1.5)' * number}", points))
        for row in rows:
            if row["policy"] == policy and row["case"] != "rise and fall":
                table.setdefault(row["rate"], []).append(row["switches"])
    blocks.append(
        Chart("hysteresis", "Modes while the load rises and falls", "pages a second", "0 normal, 1 optimized", loops)
    )
    lines = [(f"{rate:g} pages/s", *(int(one) for one in counts)) for rate, counts in sorted(table.items())]
    return [*blocks, Table(("load that stays for an hour", "gopshtein, switches", "steady, switches"), lines)]


# ---- figure 1: the rules


def show_rules(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show the distribution of the cost of a request, with and without rules."""
    curves, table = [], list[tuple[Value, ...]]()
    quarters = {name: statistics.quantiles([row[name] for row in rows], n=4)[0] for name in SETTINGS}
    for name in SETTINGS:
        found = sorted(row[name] for row in rows)
        shown = found[: len(found) * 95 // 100]
        curves.append(Series(name, [(value, 100 * (place + 1) / len(found)) for place, value in enumerate(shown)]))
        table.append((name, found[0], quarters[name], 100 * (quarters[name] / quarters["plain"] - 1)))
    return [
        f"Published ({published['rules']['where']}): {published['rules']['says']}",
        f"CPU time of a request on one Apache, {len(rows)} rounds of each in turn.",
        Table(("rules", "least, us", "first quartile, us", "more than plain, %"), table, 1),
        Chart(
            "rules",
            "Figure 1: cost of a request, with and without rules",
            "microseconds of CPU",
            "per cent of rounds",
            curves,
        ),
    ]


RATES: Mapping[str, list[int]] = {
    "regular": [5, 10, 15, 20, 23, 26, 30, 40, 55],
    "moderate": [5, 15, 25, 35, 40, 45, 50, 60, 75],
    "extreme": [5, 25, 50, 75, 100, 150, 200, 250, 300],
}
SETTINGS = ["plain", "flag absent", "flag set"]
SEED = {"seed": 1}
PROFILE = {"low": 15, "high": 85, "before": 40, "rise": 20, "during": 60, "after": 80}

GROWING = {
    "configurations": ["default", "enhanced"],
    "full_at": 5,
    "turn": 40,
    "users_per_second": [0.5, 1.0],
    "seconds": 60,
    "pacing": [1.5, 2.5],
    "timeout": 12,
    "rounds": 3,
}
PART = Part(
    "gopshtein",
    (
        Section(Experiment("growing", growing, {**SEED, **GROWING}), show_growing),
        Section(
            Experiment(
                "levels", levels, {**SEED, "full_at": 23, "rounds": 5, "seconds": 10, "shorter": 6, "rates": RATES}
            ),
            show_levels,
        ),
        Section(
            Experiment(
                "step",
                step,
                {
                    **SEED,
                    "half_at": 15,
                    "rounds": 5,
                    "profile": PROFILE,
                    "policies": ["gopshtein", "steady"],
                    "intervals": {"gopshtein": 5, "steady": 0.5},
                },
                version=2,
            ),
            show_step,
        ),
        Section(
            Experiment(
                "hysteresis",
                hysteresis,
                {**SEED, "top": 60, "minutes": 20, "noise": 0.1, "rates": [15, 20, 22, 24, 26, 28, 30, 40, 85]},
                {"minutes": 2, "rates": [15, 26]},
                version=3,
            ),
            show_hysteresis,
        ),
        Section(
            Experiment(
                "rules",
                request_rounds,
                {"settings": SETTINGS, "rounds": 200, "requests": 400},
            ),
            show_rules,
        ),
    ),
)
