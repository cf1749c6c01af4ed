"""Fujita, Murata and Miyahara 1999: response time against load, access line and cache; simulation and formulas."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from adaptc.serve.capacity.queueing import (
    BACKBONE,
    HIT_RATIO,
    PROXY_FIXED,
    PROXY_PER_KILOBYTE,
    Provider,
    SharedServer,
    proxy_demand,
    solve_provider,
    stationary,
)
from benchmarks.papers.blocks import Block, Chart, Claim, Published, Series, Table
from benchmarks.papers.experiment import Experiment, Parameters, Part, Row, Section, Unavailable

if TYPE_CHECKING:
    import simpy

    from benchmarks.papers.shared_station import Route

SIZE = 10 * 1024  # bytes of a document
WEB = SharedServer(0.04, 16)  # the paper's server: 16 helper processes; its service time is not in the text
LINES = {"768 kb/s": 768e3, "1.5 Mb/s": 1.5e6, "6 Mb/s": 6e6}


def simulation() -> Any:
    """Return the module of the simulation, which needs simpy. Raises ``Unavailable``."""
    try:
        from benchmarks.papers import shared_station
    except ImportError as error:
        raise Unavailable(f"{error}; install the extra: pip install '.[papers]'") from error
    return shared_station


# ---- response time against load


def shared_server(parameters: Parameters) -> Iterator[Row]:
    """Yield delay and loss of one server, by distribution of the service time and load."""
    stations = simulation()
    for name in parameters["distributions"]:
        for load in parameters["loads"]:
            rate, chance = load / WEB.service, random.Random(f"{name} {load} {parameters['seed']}")
            tally = stations.simulate_open(
                rate,
                lambda world, name=name, chance=chance: _only_web(world, name, chance),
                parameters["customers"],
                parameters["seed"],
            )
            formula = stationary(WEB, rate)
            yield {
                "service": name,
                "load": load,
                "formula_s": formula.time,
                "simulated_s": tally.means()["web"],
                "formula_lost": formula.blocked,
                "simulated_lost": tally.lost / parameters["customers"],
            }


def _only_web(world: simpy.Environment, name: str, chance: random.Random) -> Callable[[dict[str, float]], Route]:
    stations = simulation()
    web, draw = stations.SharedStation(world, WEB.limit, loses=True), stations.DISTRIBUTIONS[name]

    def route(delays: dict[str, float]) -> Route:
        started = world.now
        done = web.serve(draw(chance, WEB.service))
        if done is None:
            delays["lost"] = 1
            return
        yield done
        delays["web"] = world.now - started

    return route


def show_shared_server(rows: Sequence[Row], _: Published) -> Sequence[Block]:
    """Show delay against load."""
    names = list(dict.fromkeys(row["service"] for row in rows))
    formula = [(row["load"], row["formula_s"]) for row in rows if row["service"] == names[0]]
    dots = [
        Series(f"{name} service", [(row["load"], row["simulated_s"]) for row in rows if row["service"] == name], "dots")
        for name in names
    ]
    worst = max(abs(row["simulated_s"] / row["formula_s"] - 1) for row in rows)
    return [
        "M/G/1/PS with at most 16 jobs (sections 1 and 4.1): time in the server by the formula (line), simulated with "
        f"other distributions of the service time (dots). The greatest difference of a point is {worst:.1%}.",
        Chart(
            "load", "Time in the server against load", "offered load", "seconds", [Series("formula", formula), *dots]
        ),
    ]


# ---- figure 10: an open site


@dataclass(frozen=True, slots=True)
class OpenDelays:
    """Mean delays of a request in seconds, and the share of requests that the web server rejects."""

    web: float
    line: float
    backbone: float
    blocked: float

    @property
    def total(self) -> float:
        """The delay that the user sees."""
        return self.web + self.line + self.backbone


def open_site(rate: float, size: float, line: float, web: SharedServer, backbone: float = BACKBONE) -> OpenDelays:
    """Return the delays of a site that is open to the Internet (figure 9), at ``rate`` requests per second.

    Raises ``Overload`` when the line cannot carry the requests.
    """
    at_web = stationary(web, rate)
    on_line = stationary(SharedServer(size * 8 / line), rate * (1 - at_web.blocked))
    return OpenDelays(at_web.time, on_line.time, backbone, at_web.blocked)


def open_web(parameters: Parameters) -> Iterator[Row]:
    """Yield the delays of an open site by line and performance of the server."""
    stations = simulation()
    for line in parameters["lines"]:
        for performance in parameters["performances"]:
            web = replace(WEB, service=WEB.service / performance)
            formula = open_site(parameters["rate"], SIZE, LINES[line], web)
            chance = random.Random(f"{line} {performance} {parameters['seed']}")
            tally = stations.simulate_open(
                parameters["rate"],
                lambda world, web=web, line=line, chance=chance: _open_route(world, web, LINES[line], chance),
                parameters["customers"],
                parameters["seed"],
            )
            means = tally.means()
            yield {
                "line": line,
                "performance": performance,
                **{f"formula_{name}_s": getattr(formula, name) for name in ("web", "line", "backbone", "total")},
                **{f"simulated_{name}_s": means[name] for name in ("web", "line", "backbone")},
                "simulated_total_s": sum(means.values()),
            }


def _open_route(
    world: simpy.Environment, web: SharedServer, line: float, chance: random.Random
) -> Callable[[dict[str, float]], Route]:
    stations = simulation()
    server, access = stations.SharedStation(world, web.limit, loses=True), stations.SharedStation(world)

    def route(delays: dict[str, float]) -> Route:
        started = world.now
        done = server.serve(chance.expovariate(1 / web.service))
        if done is None:
            delays["lost"] = 1
            return
        yield done
        delays["web"], started = world.now - started, world.now
        yield access.serve(chance.expovariate(line / (8 * SIZE)))
        delays["line"] = world.now - started
        delays["backbone"] = stations.erlang(chance, BACKBONE)
        yield world.timeout(delays["backbone"])

    return route


def show_open(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show delays against the performance of the server."""
    series = []
    for line in dict.fromkeys(row["line"] for row in rows):
        at_line = [row for row in rows if row["line"] == line]
        for name in ("total", "line", "web"):
            if name == "web" and series[2:]:
                continue  # the same for both lines
            title = name if name == "web" else f"{name}, {line}"
            series += [Series(title, [(row["performance"], row[f"formula_{name}_s"]) for row in at_line])]
        series += [
            Series(f"simulated, {line}", [(row["performance"], row["simulated_total_s"]) for row in at_line], "dots")
        ]
    worst = max(abs(row["simulated_total_s"] / row["formula_total_s"] - 1) for row in rows)
    printed = published["open"]
    return [
        f"Published ({printed['where']}): {printed['says']}",
        f"Here: the greatest difference of a total between simulation and formula is {worst:.1%}.",
        Chart(
            "open", "Figure 10: delays of an open site", "performance of the web server, relative", "seconds", series
        ),
    ]


# ---- figures 12 to 17: a provider with a caching proxy


def provider(parameters: Parameters) -> Iterator[Row]:
    """Yield the delays of a provider by line and by what varies: ``hits`` or ``backbones`` (seconds)."""
    for line in parameters["lines"]:
        for ratio in parameters["hits"]:
            for backbone in parameters["backbones"]:
                case = Provider(parameters["users"], parameters["think"], SIZE, LINES[line], WEB, ratio, backbone)
                formula = solve_provider(case)
                means, throughput = _simulate(case, parameters)
                yield {
                    "line": line,
                    "hit_ratio": ratio,
                    "backbone_s": backbone,
                    "formula_rate": formula.throughput,
                    "simulated_rate": throughput,
                    **{f"formula_{name}_s": getattr(formula, name) for name in ("proxy", "line", "web")},
                    **{f"simulated_{name}_s": means.get(name, 0.0) for name in ("proxy", "line", "web")},
                }


def _simulate(case: Provider, parameters: Parameters) -> tuple[dict[str, float], float]:
    stations, chance = simulation(), random.Random(f"{case.hit_ratio} {case.backbone} {parameters['seed']}")

    def build(world: simpy.Environment) -> Callable[[dict[str, float]], Route]:
        proxy, line = stations.SharedStation(world), stations.SharedStation(world)
        web = stations.SharedStation(world, case.web.limit)  # a helper process is waited for

        def route(delays: dict[str, float]) -> Route:
            for name, station, work in (
                ("proxy", proxy, proxy_demand(case.size)),
                ("web", web, case.web.service),
                ("line", line, case.size * 8 / case.line),
            ):
                started = world.now
                yield station.serve(chance.expovariate(1 / work))
                delays[name] = world.now - started
                if name == "proxy" and chance.random() < case.hit_ratio:
                    return
            yield world.timeout(stations.erlang(chance, case.backbone))

        return route

    tally, rate = stations.simulate_closed(case.users, case.think, build, parameters["customers"], parameters["seed"])
    return tally.means(), rate


def show_cache(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show the delay on the access line against the hit ratio."""
    series, missed, table, crossing, shown = [], [], [], {}, (0.0, 0.5, 0.9, 1.0)
    for line in dict.fromkeys(row["line"] for row in rows):
        at_line = [row for row in rows if row["line"] == line]
        series += [
            Series(f"formula, {line}", [(row["hit_ratio"], row["formula_line_s"]) for row in at_line]),
            Series(f"simulated, {line}", [(row["hit_ratio"], row["simulated_line_s"]) for row in at_line], "dots"),
        ]
        delays = {row["hit_ratio"]: row["simulated_line_s"] for row in at_line}
        crossing[line] = own = {row["hit_ratio"]: _crossing(row) for row in at_line if row["hit_ratio"] < 1}
        missed += [
            Series(f"formula, {line}", [(row["hit_ratio"], _crossing(row, "formula")) for row in at_line[: len(own)]]),
            Series(f"simulated, {line}", list(own.items()), "dots"),
        ]
        table.append((f"{line}, all documents", *(_ms(delays, ratio) for ratio in shown)))
        table.append((f"{line}, those that cross it", *(_ms(own, ratio) for ratio in shown)))
    printed, slow, fast = published["cache"], crossing[BOTH[0]], crossing[BOTH[1]]
    ends = [min(fast.values()), max(fast.values())]
    return [
        f"Published ({printed['where']}): {printed['says']}",
        Table(("delay on the line, ms", *(f"{ratio:.0%} hits" for ratio in shown)), table, 0),
        Claim(
            f"Of a document that crosses the line the delay at 1.5 Mb/s changes little ({1000 * ends[1]:.0f} to "
            f"{1000 * ends[0]:.0f} ms), as published; at 768 kb/s it falls to "
            f"{min(slow.values()) / max(slow.values()):.0%}, and most of that below a ratio of a half.",
            max(fast.values()) < 1.6 * min(fast.values()) < max(slow.values())
            and slow[0.0] - slow[0.5] > (max(slow.values()) - min(slow.values())) / 2,
        ),
        Chart("cache", "Figure 12: delay on the access line against the hit ratio", "hit ratio", "seconds", series),
        Chart("cache-misses", "The same of a document that crosses the line", "hit ratio", "seconds", missed),
    ]


def _crossing(row: Row, kind: str = "simulated") -> float:
    """Return the seconds on the line of a document that crosses it: a miss."""
    return float(row[f"{kind}_line_s"] / (1 - row["hit_ratio"]))


def _ms(delays: Mapping[float, float], ratio: float) -> float | None:
    return 1000 * delays[ratio] if ratio in delays else None


def show_backbone(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show delays, shares and throughput against the delay of the backbone, and how far the formulas are off."""
    blocks: list[Block] = [f"Published ({published['backbone']['where']}): {published['backbone']['says']}"]
    errors = []
    for line, figure in (("1.5 Mb/s", "13 and 15"), ("6 Mb/s", "16")):
        at_line = [row for row in rows if row["line"] == line]
        series = []
        for name in ("line", "web", "proxy"):
            points = [(row["backbone_s"], row[f"formula_{name}_s"]) for row in at_line]
            dots = [(row["backbone_s"], row[f"simulated_{name}_s"]) for row in at_line]
            series += [Series(name, points), Series(f"{name}, simulated", dots, "dots")]
            errors.append((f"{line}, {name}", _worst(at_line, f"{name}_s")))
        errors.append((f"{line}, documents a second", _worst(at_line, "rate")))
        title = f"Figures {figure}: delays at {line}" if " " in figure else f"Figure {figure}: delays at {line}"
        blocks.append(Chart(f"backbone-{figure[-2:]}", title, "delay of the backbone, seconds", "seconds", series))
    blocks.append(_shares([row for row in rows if row["line"] == "1.5 Mb/s"]))
    rates = [
        Series(
            f"{line}{', simulated' * (kind == 'simulated')}",
            [(row["backbone_s"], row[f"{kind}_rate"]) for row in rows if row["line"] == line],
            style,
        )
        for line in dict.fromkeys(row["line"] for row in rows)
        for kind, style in (("formula", "line"), ("simulated", "dots"))
    ]
    blocks.append(
        Chart("throughput", "Figure 17: throughput", "delay of the backbone, seconds", "documents a second", rates)
    )
    blocks.append(
        Table(
            ("formula against simulation", "mean difference, %", "greatest, %"),
            [(name, *pair) for name, pair in errors],
            1,
        )
    )
    return blocks


def _shares(rows: Sequence[Row]) -> Chart:
    """Return Figure 14: the share of each place in the simulated time of a document, hits and misses averaged."""
    curves = []
    for name in ("backbone", "line", "web", "proxy"):
        points = []
        for row in rows:
            delays = {one: row[f"simulated_{one}_s"] for one in ("line", "web", "proxy")}
            delays["backbone"] = (1 - row["hit_ratio"]) * row["backbone_s"]
            points.append((row["backbone_s"], 100 * delays[name] / sum(delays.values())))
        curves.append(Series(name, points))
    title = "Figure 14: shares of the delays at 1.5 Mb/s, simulated"
    return Chart("shares", title, "delay of the backbone, seconds", "per cent", curves)


def _worst(rows: Sequence[Row], name: str) -> tuple[float, float]:
    off = [100 * abs(row[f"formula_{name}"] / row[f"simulated_{name}"] - 1) for row in rows]
    return sum(off) / len(off), max(off)


# ---- figures 4 and 8: the work of the proxy


def work(parameters: Parameters) -> Iterator[Row]:
    """Yield g(x) by size, with a and b as they are printed and the other way round."""
    for kilobytes in parameters["kilobytes"]:
        yield {
            "kilobytes": kilobytes,
            "printed_s": PROXY_FIXED * kilobytes + PROXY_PER_KILOBYTE,
            "swapped_s": proxy_demand(1000 * kilobytes),
        }


def show_work(rows: Sequence[Row], published: Published) -> Sequence[Block]:
    """Show both readings of g(x)."""
    printed = published["work"]
    return [
        f"Published ({printed['where']}): g(x) = ax + b with a = {printed['a']} and b = {printed['b']}; "
        f"{printed['says']}",
        Chart(
            "work", "Figures 4 and 8: work of the proxy", "size, kB", "seconds",
            [
                Series("0.01121 + 0.0002329 x", [(row["kilobytes"], row["swapped_s"]) for row in rows]),
                Series("as printed", [(row["kilobytes"], row["printed_s"]) for row in rows], "dashed"),
            ],
            "log", "log",
        ),
    ]  # fmt: skip


TENTHS = [round(number / 10, 1) for number in range(11)]
LOADS = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5]
PERFORMANCES = [0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8]
KILOBYTES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
SIMULATED = {"customers": 100_000, "seed": 1}
BOTH = ["768 kb/s", "1.5 Mb/s"]


def _provider(name: str, quick: Parameters, **parameters: Any) -> Experiment:
    return Experiment(name, provider, {**SIMULATED, "think": 1.0, **parameters}, {"customers": 300, **quick})


PART = Part(
    "fujita",
    (
        Section(
            Experiment(
                "load",
                shared_server,
                {**SIMULATED, "distributions": ["constant", "exponential", "mixed"], "loads": LOADS},
                {"customers": 300, "loads": [0.5]},
            ),
            show_shared_server,
        ),
        Section(
            Experiment(
                "open",
                open_web,
                {**SIMULATED, "rate": 5, "lines": BOTH, "performances": PERFORMANCES},
                {"customers": 300, "performances": [1, 2]},
            ),
            show_open,
        ),
        Section(
            _provider("cache", {"hits": [0.0, 0.5]}, users=10, lines=BOTH, hits=TENTHS, backbones=[BACKBONE]),
            show_cache,
        ),
        Section(
            _provider(
                "backbone",
                {"backbones": [0.0, BACKBONE]},
                users=30,
                lines=["1.5 Mb/s", "6 Mb/s"],
                hits=[HIT_RATIO],
                backbones=[0.0, 0.05, 0.1, BACKBONE, 0.3, 0.4],
            ),
            show_backbone,
        ),
        Section(Experiment("work", work, {"kilobytes": KILOBYTES}, {}), show_work),
    ),
)
