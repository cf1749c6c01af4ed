"""Abdelzaher, Shin and Bhatti 2002: utilization, isolation, priority, excess capacity; service time against size."""

from __future__ import annotations

import random
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence

from adaptc.daemons.control.control_loop import Loop, advance, tuned
from adaptc.serve.capacity.utilization import Estimator, learn
from benchmarks.papers.blocks import Block, Chart, Claim, Published, Series, Table
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
from benchmarks.papers.overload import overload, show_overload

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
    charts = [
        Chart(
            name, f"Figure 3: the estimate of {key}", "sample", unit,
            [
                Series("here", [(row["sample"], row[f"{key}_us"]) for row in rows]),
                Series("published", [(1, printed[key]), (last["sample"], printed[key])], "dashed"),
            ],
        )
        for name, key, unit in (("estimator", "a", "microseconds"), ("estimator-b", "b", "microseconds a kB"))
    ]  # fmt: skip
    return [
        f"Published ({printed['where']}): a = {printed['a']} us, b = {printed['b']} us/kB. Here, from a modelled "
        f"server with these costs, and noise: {last['a_us']:.0f} and {last['b_us']:.1f} after "
        f"{last['sample']:.0f} samples.",
        *charts,
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
    """Yield each second of a scenario, for each site: what visitors got, and what controller and kernel count.

    ``estimate`` is aR + bW + cR(1-f) of the site with the costs that were measured before; the last second is that of
    the answers that came late, too.
    """
    scenario = SCENARIOS[parameters["scenario"]]
    result = run(scenario)
    samples = {result.second(sample): sample for sample in result.samples}
    for second, seen in enumerate(result.seconds):
        offered, sample = scenario.rates(second), samples.get(second)
        for site in scenario.sites:
            own, got = sample["sites"][site] if sample else {}, seen[site]
            served = got["200"] * result.costs.request + got["octets"] / 1000 * result.costs.kilobyte
            yield {
                "second": second,
                "site": site,
                "offered": offered[site],
                "served": got["200"],
                "delivered_mbs": got["octets"] / 125_000 / result.scale,
                "rejected": got["503"],
                "failed": got["failed"],
                "m": own.get("m"),
                "utilization": own.get("U"),
                "estimate": (served + got["503"] * result.costs.rejection) / 1000,
                "cpu": result.cpu[second] / result.share,
            }


def _percent(rows: Sequence[Row], kind: str) -> float:
    """Return the share of all answers that were of a kind."""
    return 100 * sum(row[kind] for row in rows) / max(1, sum(row[key] for row in rows for key in KINDS))


KINDS = ("served", "rejected", "failed")


def show_step(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show U on the real server, how soon it settled, and how near it stayed."""
    known = [row for row in rows if row["utilization"] is not None]
    during = [row["utilization"] for row in known if 15 < row["second"] < 55]
    settled = next((place for place in range(len(during) - 2) if _is_near(during[place : place + 3])), len(during) - 1)
    steady, off = statistics.mean(during[settled:]), statistics.mean(abs(one - BOUND) for one in during[settled:])
    return [
        f"Published ({published['loop']['where']}): {published['loop']['says']}",
        f"Here `adaptc control` holds a real Apache: 20, 180 and again 20 requests a second for {PAGE} kB, degraded to "
        f"{DEGRADED}. U settled {settled} samples after the step; from then on its mean was {steady:.3f} (bound "
        f"{BOUND}), its mean distance from the bound {off:.3f}; "
        f"{_percent(rows, 'rejected'):.1f} % of the answers were rejections, {_percent(rows, 'failed'):.1f} % failed.",
        Claim(
            "As published: U comes to the bound within six samples, and stays there without a steady error.",
            settled <= 6 and abs(steady - BOUND) <= 0.05,
        ),
        _used(rows, "step"),
        Chart(
            "step-m", "m after the step", "seconds", "m",
            [Series("m, of 2", [(row["second"], row["m"]) for row in known], "steps")],
        ),
    ]  # fmt: skip


def _is_near(shares: Sequence[float]) -> bool:
    return all(abs(one - BOUND) <= 0.05 for one in shares)


def _used(rows: Sequence[Row], name: str) -> Chart:
    """Return the chart of what Apache used, by the kernel's count, by the controller and by the paper's equation."""
    sites = list(dict.fromkeys(row["site"] for row in rows))
    seconds = [list(rows[place : place + len(sites)]) for place in range(0, len(rows), len(sites))]
    last = rows[-1]["second"]
    curves = [
        Series("CPU of Apache", [(each[0]["second"], each[0]["cpu"]) for each in seconds]),
        Series("aR + bW", [(each[0]["second"], sum(row["estimate"] for row in each)) for each in seconds]),
        Series("bound", [(0, BOUND), (last, BOUND)], "dashed"),
    ]
    known = [each for each in seconds if all(row["utilization"] is not None for row in each)]
    if known:
        used = [(each[0]["second"], sum(row["utilization"] for row in each)) for each in known]
        curves.insert(1, Series("U of adaptc", used))
    return Chart(f"{name}-cpu", "Share of the server that is used", "seconds", "share", curves)


Judge = Callable[[Mapping[str, Sequence[Row]]], Claim]


def delivered(name: str, title: str, judge: Judge) -> Callable[[Sequence[Row], Published], Sequence[Block]]:
    """Return what shows offered and delivered bandwidth by site, and what ``judge`` makes of the last ten seconds."""

    def show(rows: Sequence[Row], published: Published) -> Sequence[Block]:
        curves, table, tails, printed = [], [], {}, published[name]
        for site in dict.fromkeys(row["site"] for row in rows):
            own = [row for row in rows if row["site"] == site]
            curves.append(Series(f"{site}, offered", [(row["second"], _megabits(row)) for row in own], "dashed"))
            curves.append(Series(f"{site}, delivered", [(row["second"], row["delivered_mbs"]) for row in own[:-1]]))
            if site in printed.get("delivered", {}):
                point = [(own[-1]["second"], printed["delivered"][site])]
                curves.append(Series(f"{site}, published", point, "dots"))
            tails[site] = tail = own[-11:-1]
            table.append((
                site, tail[-1]["offered"], _mean(tail, _megabits), _mean(tail), _percent(tail, "rejected"),
                _percent(tail, "failed"),
            ))  # fmt: skip
        header = (
            "the last ten seconds", "requests/s at last", "offered, Mb/s", "delivered, Mb/s", "rejected, %", "failed, %"
        )  # fmt: skip
        return [
            f"Published ({printed['where']}): {printed['says']}",
            Table(header, table, 1),
            judge(tails),
            Chart(name, title, "seconds", "Mb/s", curves),
            _used(rows, name),
        ]

    return show


def _mean(rows: Sequence[Row], amount: Callable[[Row], float] = lambda row: float(row["delivered_mbs"])) -> float:
    return statistics.mean(map(amount, rows))


def _share(rows: Sequence[Row]) -> float:
    """Return what was delivered of what was offered, by bytes."""
    return _mean(rows) / _mean(rows, _megabits)


def _megabits(row: Row) -> float:
    return float(row["offered"] * PAGE / 125)


def _controlled(scenario: str) -> Experiment:
    name = scenario if scenario == "step" else f"figure-{scenario}"
    return Experiment(name, controlled, {"scenario": scenario}, version=2)


def _got(tails: Mapping[str, Sequence[Row]]) -> dict[str, float]:
    """Return per cent of what each site asks for that it gets, by bytes."""
    return {site: 100 * _share(tail) for site, tail in tails.items()}


def isolated(tails: Mapping[str, Sequence[Row]]) -> Claim:
    """Figure 12: sites within their guarantees get what they ask for."""
    got = _got(tails)
    text = (
        f"V1 and V2, which keep to what is promised, get {got['V1']:.0f} and {got['V2']:.0f} % of what they ask for "
        f"(there all of it), the best-effort load {got['rest']:.0f} %."
    )
    return Claim(text, min(got["V1"], got["V2"]) > 3 * got["rest"])


def unprotected(tails: Mapping[str, Sequence[Row]]) -> Claim:
    """Figure 13: without adaptation all are served alike, and wait alike."""
    got = _got(tails)
    said = ", ".join(f"{site} {percent:.0f} %" for site, percent in got.items())
    text = f"As published there is no isolation without adaptation: of what they ask for get {said}."
    return Claim(text, got["rest"] > 0.8 * min(got["V1"], got["V2"]))


def differentiated(tails: Mapping[str, Sequence[Row]]) -> Claim:
    """Figure 14: basic clients are degraded first."""
    got = _got(tails)
    text = (
        f"As published: basic clients are degraded before premium ones ({got['basic']:.0f} and {got['premium']:.0f} % "
        "of what they ask for)."
    )
    return Claim(text, got["premium"] > 2 * got["basic"])


def shared(tails: Mapping[str, Sequence[Row]]) -> Claim:
    """Figure 15: excess capacity goes to who asks for more than is promised."""
    text = (
        f"As published: V2 gets {_mean(tails['V2']):.1f} Mb/s, more than the 13 that it is promised; V1 gets "
        f"{_got(tails)['V1']:.0f} % of what it asks for."
    )
    return Claim(text, _mean(tails["V2"]) > 13 and _share(tails["V1"]) > 0.7)


def policed(tails: Mapping[str, Sequence[Row]]) -> Claim:
    """Figure 16: a site that asks for more than is promised falls below its guarantee, by degradation."""
    text = (
        "As published: V2, which asks for more requests than are promised, is held below the 13 Mb/s of its guarantee, "
        f"by degradation ({_mean(tails['V2']):.1f} Mb/s). V1, which keeps to its own, gets {_got(tails)['V1']:.0f} % "
        "of what it asks for."
    )
    is_served = _percent(tails["V2"], "served") > 90
    return Claim(text, is_served and _mean(tails["V2"]) < 13 and _share(tails["V1"]) > 2 * _share(tails["V2"]))


FIGURES = {
    "12": ("isolation", isolated),
    "13": ("the same without adaptation", unprotected),
    "14": ("priority", differentiated),
    "15": ("excess capacity", shared),
    "16": ("the same with a best-effort load", policed),
}
RATES = (80, 140, 180, 240, 320)
CASES = [(48, 64, RATES), (192, 64, RATES), (768, 64, RATES), (48, 8, (140, 240, 320, 460, 600))]
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
        Section(Experiment("overload", overload, {"cases": CASES, "milliseconds": 6.25, "seconds": 6}), show_overload),
        Section(_controlled("step"), show_step),
        *(
            Section(_controlled(number), delivered(f"figure-{number}", f"Figure {number}: {title}", judge))
            for number, (title, judge) in FIGURES.items()
        ),
    ),
)
