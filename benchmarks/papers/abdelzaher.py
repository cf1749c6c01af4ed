"""Abdelzaher, Shin and Bhatti 2002: utilization, isolation, priority, excess capacity; service time against size."""

from __future__ import annotations

import random
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence

from adaptc.daemons.control.machine import Estimator, Loop, advance, learn, tuned
from benchmarks.papers.blocks import Block, Chart, Published, Series, Table
from benchmarks.papers.control_loads import SCENARIOS
from benchmarks.papers.controlled_sites import BOUND, DEGRADED, PAGE, run
from benchmarks.papers.experiment import Experiment, Parameters, Part, Row, Section
from benchmarks.papers.limited_apache import (
    MODULES,
    LimitedApache,
    limited_apache,
    open_to_all,
    require_programs,
    shared_folder,
)

# ---- tables 1 to 3, figures 7 and 10: service time against size

COMPRESSED = """
<Directory {folder}/site/compressed>
    SetOutputFilter DEFLATE
</Directory>
"""


def service(parameters: Parameters) -> Iterator[Row]:
    """Yield the CPU time of a request by size, sent as it is and compressed, each with a connection of its own."""
    require_programs("ab")
    kinds = ("plain", "compressed")
    with shared_folder() as folder:
        for kind in kinds:
            (folder / "site" / kind).mkdir(parents=True)
            for size in parameters["kilobytes"]:
                noise = random.Random(size).randbytes(size * 1000)
                (folder / "site" / kind / f"{size}.bin").write_bytes(noise)
        open_to_all(folder)
        with limited_apache(folder, COMPRESSED, (*MODULES, "filter", "deflate")) as server:
            for size in parameters["kilobytes"]:
                for kind in kinds:
                    times = [
                        _cpu_ms(server, f"{kind}/{size}.bin", parameters["requests"])
                        for _ in range(parameters["rounds"])
                    ]
                    yield {
                        "kilobytes": size,
                        "kind": kind,
                        "least_ms": min(times),
                        "median_ms": statistics.median(times),
                    }


def _cpu_ms(server: LimitedApache, path: str, requests: int) -> float:
    before = server.cpu_seconds()
    command = ["ab", "-q", "-c", "2", "-n", str(requests), "-H", "Accept-Encoding: gzip"]
    subprocess.run([*command, f"http://127.0.0.1:{server.port}/{path}"], check=True, capture_output=True)
    return (server.cpu_seconds() - before) / requests * 1000


def show_service(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show service times in multiples of the smallest file, and what an eighth of the size gains."""
    printed, rates = published["service"], published["rates"]
    published_times = dict(zip(printed["kilobytes"], printed["milliseconds"], strict=True))
    plain, compressed = (
        {row["kilobytes"]: row["least_ms"] for row in rows if row["kind"] == kind} for kind in ("plain", "compressed")
    )
    columns = (published_times, plain, compressed)
    table = [(f"{size:g}", *(value for own in columns for value in (own[size], own[size] / own[1]))) for size in plain]
    names = ("published", "here, plain", "here, compressed")
    header = ("size, kB", *(column for name in names for column in (f"{name}, ms", "of 1 kB")))
    relative = [
        Series(name, [(size, own[size] / own[1]) for size in plain], "dashed" if name == "published" else "line")
        for name, own in zip(names, columns, strict=True)
    ]
    gains = [
        Series(
            name,
            [(size, 100 * (own[size] / own[size / 8] - 1)) for size in plain if size / 8 in own],
            "dashed" if name == "published" else "line",
        )
        for name, own in zip(("from Table 1", *names[1:]), columns, strict=True)
    ]
    a, b = _fitted(plain)
    c, d = _fitted(compressed)
    return [
        f"Service time of a file ({printed['where']}). The paper fits {printed['a']} + {printed['b']} x ms to the "
        f"smaller files ({printed['fit']}): a request is worth {printed['a'] / printed['b']:.0f} kB. Here, up to 64 "
        f"kB: {a:.3f} + {b:.5f} x ms as it is, {a / b:.0f} kB; {c:.3f} + {d:.5f} x ms compressed, {c / d:.0f} kB.",
        Table(header, table, 3),
        Chart("service", "Figure 7: service time against that of 1 kB", "size, kB", "times", relative, "log", "log"),
        f"Gain by an eighth of the size. Published ({rates['where']}): {rates['degrade']} requests a second of 64 kB "
        f"and {rates['reject']} of 8 kB, {100 * (rates['reject'] / rates['degrade'] - 1):.0f} % more; {rates['says']}.",
        Chart("payoff", "Figure 10: gain by an eighth of the size", "size, kB", "per cent", gains, "log"),
    ]  # fmt: skip


def _fitted(times: dict[float, float]) -> tuple[float, float]:
    """Return A and B of A + Bx by least squares, up to 64 kB."""
    points = [(size, taken) for size, taken in times.items() if size <= 64]
    line = statistics.linear_regression([x for x, _ in points], [y for _, y in points])
    return line.intercept, line.slope


# ---- figure 3: the estimator


def estimator(parameters: Parameters) -> Iterator[Row]:
    """Yield a and b while they are learnt from samples of three seconds with pages of two sizes, and noise."""
    chance, state = random.Random(parameters["seed"]), Estimator()
    for number in range(1, parameters["samples"] + 1):
        requests = chance.uniform(20, 200) / 1000  # a millisecond
        kilobytes = requests * (1 if number % 2 else 16)
        used = parameters["a"] * requests + parameters["b"] * kilobytes
        measured = max(0.0, used * chance.gauss(1, parameters["noise"]))
        state = learn(state, requests, kilobytes, measured)
        yield {
            "sample": number,
            "requests": 1000 * requests,
            "cpu": measured,
            "a_us": 1000 * state.a,
            "b_us": 1000 * state.b,
        }


def show_estimator(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show how a and b converge."""
    printed, last = published["estimator"], rows[-1]
    rows = rows[2:]  # two unknowns
    curves = [
        Series("a, us", [(row["sample"], row["a_us"]) for row in rows]),
        Series("b, us/kB, times ten", [(row["sample"], 10 * row["b_us"]) for row in rows]),
        Series("a there", [(1, printed["a"]), (last["sample"], printed["a"])], "dashed"),
        Series("b there, times ten", [(1, 10 * printed["b"]), (last["sample"], 10 * printed["b"])], "dashed"),
    ]
    return [
        f"Published ({printed['where']}): a = {printed['a']} us, b = {printed['b']} us/kB. Here, from a modelled "
        f"server with these costs, and noise: {last['a_us']:.0f} and {last['b_us']:.1f} after "
        f"{last['sample']:.0f} samples.",
        Chart("estimator", "Figure 3: the estimate of a and b", "sample", "microseconds", curves),
    ]


# ---- figure 4: a step of the load


def loop(parameters: Parameters) -> Iterator[Row]:
    """Yield U after a step to an overload, on a modelled server: without control, and with two gain margins."""
    rejected, full = parameters["rejected"], parameters["full"]
    for name, margin in (("open", None), ("G = 4", 4.0), ("G = 10", 10.0)):
        state, chance = Loop(1.0, BOUND), random.Random(parameters["seed"])
        for sample in range(parameters["samples"]):
            used = (rejected + (full - rejected) * state.m) * chance.gauss(1, parameters["noise"])
            yield {"control": name, "sample": sample, "utilization": used, "m": state.m}
            if margin is not None:
                state = advance(state, BOUND - used, tuned(1.0, margin, full - rejected), 1.0)


def show_loop(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show U after the step, by gain margin."""
    curves = [
        Series(name, [(row["sample"], row["utilization"]) for row in rows if row["control"] == name])
        for name in dict.fromkeys(row["control"] for row in rows)
    ]
    curves.append(Series("bound", [(0, BOUND), (rows[-1]["sample"], BOUND)], "dashed"))
    return [
        f"Published ({published['loop']['where']}): {published['loop']['says']}",
        Chart("loop", "Figure 4: utilization after a step", "seconds", "utilization", curves),
    ]


# ---- figures 4 and 12 to 16 on a real server


def controlled(parameters: Parameters) -> Iterator[Row]:
    """Yield the samples of the controller, for each site of a scenario."""
    scenario = SCENARIOS[parameters["scenario"]]
    result = run(scenario)
    for sample in result.samples:
        second = result.second(sample)
        if not 0 <= second < scenario.seconds:
            continue
        offered = scenario.rates(second)
        for site in scenario.sites:
            own = sample["sites"][site]
            yield {
                "second": second,
                "site": site,
                "offered": offered[site],
                "delivered_mbs": (own["W"] or 0.0) / 125 / result.scale,
                "m": own["m"],
                "utilization": own["U"],
                "cpu": sample["cpu"],
                "failed": result.seen[site]["failed"],
                "asked": result.seen[site].total(),
            }


def show_step(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show U on the real server, how soon it settled, and how near it stayed."""
    during = [row["utilization"] for row in rows if 15 < row["second"] < 55]
    near = [abs(one - BOUND) <= 0.02 for one in during]
    first = next((place for place in range(len(near) - 2) if all(near[place : place + 3])), len(near) - 1)
    steady, failed = during[first:], 100 * rows[0]["failed"] / rows[0]["asked"]
    curves = [
        Series("U = aR + bW", [(row["second"], row["utilization"]) for row in rows]),
        Series("CPU of Apache", [(row["second"], row["cpu"] or 0.0) for row in rows]),
        Series("m / 2", [(row["second"], row["m"] / 2) for row in rows]),
        Series("bound", [(0, BOUND), (rows[-1]["second"], BOUND)], "dashed"),
    ]
    return [
        f"Published ({published['loop']['where']}): {published['loop']['says']}",
        f"Here `adaptc control` holds a real Apache: 20, 180 and again 20 requests a second for {PAGE} kB, degraded to "
        f"{DEGRADED}. U settled {first} samples after the step; from then on its mean was "
        f"{statistics.mean(steady):.3f} (bound {BOUND}), its mean distance from the bound "
        f"{statistics.mean(abs(one - BOUND) for one in steady):.3f}; {failed:.1f} % of the requests failed.",
        Chart("step", "A step of the load on a real Apache", "seconds", "share", curves),
    ]  # fmt: skip


def delivered(name: str, title: str) -> Callable[[Sequence[Row], Published], Sequence[Block]]:
    """Return what shows offered and delivered bandwidth by site, in means of ten seconds."""

    def show(rows: Sequence[Row], published: Published) -> Sequence[Block]:
        curves, table = [], []
        for site in dict.fromkeys(row["site"] for row in rows):
            own = [row for row in rows if row["site"] == site]
            curves.append(Series(f"{site}, offered", [(row["second"], _megabits(row)) for row in own], "dashed"))
            curves.append(Series(f"{site}, delivered", [(row["second"], row["delivered_mbs"]) for row in own]))
            tail = own[-10:]
            table.append((
                site, tail[-1]["offered"], statistics.mean(map(_megabits, tail)),
                statistics.mean(row["delivered_mbs"] for row in tail), 100 * own[0]["failed"] / own[0]["asked"],
            ))  # fmt: skip
        header = ("the last ten seconds", "requests/s at last", "offered, Mb/s", "delivered, Mb/s", "failed of all, %")
        return [
            f"Published ({published[name]['where']}): {published[name]['says']}",
            Table(header, table, 1),
            Chart(name, title, "seconds", "Mb/s", curves),
        ]

    return show


def _megabits(row: Row) -> float:
    return float(row["offered"] * PAGE / 125)


def _controlled(scenario: str) -> Experiment:
    return Experiment(scenario if scenario == "step" else f"figure-{scenario}", controlled, {"scenario": scenario})


FIGURES = {"12": "isolation", "14": "priority", "15": "excess capacity", "16": "the same with a best-effort load"}
PART = Part(
    "abdelzaher",
    (
        Section(
            Experiment(
                "service", service, {"kilobytes": [2**power for power in range(10)], "requests": 100, "rounds": 7}
            ),
            show_service,
        ),
        Section(
            Experiment("estimator", estimator, {"seed": 1, "samples": 100, "a": 0.83, "b": 0.033, "noise": 0.05}, {}),
            show_estimator,
        ),
        Section(
            Experiment("loop", loop, {"seed": 1, "samples": 30, "rejected": 0.33, "full": 1.5, "noise": 0.01}, {}),
            show_loop,
        ),
        Section(_controlled("step"), show_step),
        *(
            Section(_controlled(number), delivered(f"figure-{number}", f"Figure {number}: {title}"))
            for number, title in FIGURES.items()
        ),
    ),
)
