"""Capacity of a ladder of levels: the load that each level can carry, and the mixture of levels for a given load.

The cost of a page is p + aR + bW with R requests and W kB a page: aR + bW are of Abdelzaher, Shin and Bhatti 2002,
section 4.3, and p is for its connection. Delays are those of Fujita, Murata and Miyahara 1999, a request being a job of
a processor-sharing server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adaptc.core.values import dataclass
from adaptc.report.manifest import Manifest
from adaptc.serve.capacity.queueing import (
    BACKBONE,
    Overload,
    Provider,
    SharedServer,
    solve_mixed,
    solve_provider,
    stationary,
)
from adaptc.serve.capacity.utilization import BOUND, Cost


@dataclass(frozen=True, slots=True)
class Rung:
    """A level as the mean of its pages: requests and kB per page, embedded files included."""

    name: str
    requests: float
    kilobytes: float

    def cost_of(self, cost: Cost) -> float:
        """Return the seconds that a page takes at the bottleneck."""
        return cost.of_view(self.requests, self.kilobytes)


@dataclass(frozen=True, slots=True)
class RungCapacity:
    """The capacity of a level: seconds per page, pages per second at the bound, that rate over the first level's."""

    rung: Rung
    page_cost: float
    page_rate: float
    factor: float


def capacities(ladder: Sequence[Rung], cost: Cost, bound: float = BOUND) -> list[RungCapacity]:
    """Return the capacity of each level; ``ladder`` begins with the full site."""
    full = ladder[0].cost_of(cost)
    result = []
    for rung in ladder:
        page_cost = rung.cost_of(cost)
        result.append(RungCapacity(rung, page_cost, bound / page_cost, full / page_cost))
    return result


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays at a load: utilization, share of rejected requests, seconds per request at the server and on the line.

    ``line`` is None without a line, and when the line cannot carry the load.
    """

    utilization: float
    blocked: float
    server: float
    line: float | None


def delays(rung: Rung, cost: Cost, page_rate: float, workers: int, line: float | None = None) -> Delays:
    """Return the delays of a level at ``page_rate`` pages per second; ``line`` is in bits per second."""
    rate = page_rate * rung.requests
    at_server = stationary(SharedServer(rung.cost_of(cost) / rung.requests, workers), rate)
    carried = rate * (1 - at_server.blocked)
    on_line = _line_time(rung.kilobytes * 8000 / rung.requests / line, carried) if line else None
    return Delays(rung.cost_of(cost) * page_rate, at_server.blocked, at_server.time, on_line)


def _line_time(transfer: float, rate: float) -> float | None:
    try:
        return stationary(SharedServer(transfer), rate).time
    except Overload:
        return None


@dataclass(frozen=True, slots=True)
class Users:
    """A fixed number of users, who think for ``think`` seconds between two pages; the closed chain of the paper.

    ``line`` is what they share, in bits per second, None for none, and ``others`` are the pages a second that the
    server gets from elsewhere. With a ``hit_ratio`` a caching proxy is before the line, and the Internet behind it,
    which takes ``backbone`` seconds. ``workers`` are requests that the web server serves at once.
    """

    count: int
    think: float
    line: float | None = None
    hit_ratio: float | None = None
    others: float = 0.0
    backbone: float = BACKBONE
    workers: int = 256


@dataclass(frozen=True, slots=True)
class UserDelays:
    """Pages a second of all users; seconds of a page at the server, on the line and at the proxy; the busy share.

    What there is not is None: ``proxy`` and ``line_of_a_miss`` without a proxy, ``line`` without a line, ``others``
    (seconds of a page of somebody else at the server) without others.
    """

    page_rate: float
    server: float
    line: float | None
    utilization: float
    proxy: float | None = None
    line_of_a_miss: float | None = None
    others: float | None = None


def user_delays(rung: Rung, cost: Cost, users: Users) -> UserDelays:
    """Return what the users of a level get: a closed network, a mixed one with ``others``, or that of a proxy.

    Raises ``Overload`` where the others alone take all of the server, and ``ValueError`` for a proxy without a line.
    """
    page_cost = rung.cost_of(cost)
    if users.hit_ratio is not None:
        return _behind_proxy(rung, page_cost, users)
    demands = (page_cost, *([rung.kilobytes * 8000 / users.line] if users.line else []))
    others = (page_cost, *([0.0] if users.line else []))
    if users.others * page_cost >= 1:
        raise Overload(f"{users.others:g} pages a second are more than the server can do")
    network = solve_mixed(users.count, users.think, demands, users.others, others)
    closed = network.closed
    return UserDelays(
        closed.throughput,
        closed.times[0],
        closed.times[1] if users.line else None,
        (closed.throughput + users.others) * page_cost,
        others=network.open_times[0] if users.others else None,
    )


def _behind_proxy(rung: Rung, page_cost: float, users: Users) -> UserDelays:
    if users.line is None or users.hit_ratio is None:
        raise ValueError("a proxy needs a line behind it")
    web, size = SharedServer(page_cost / rung.requests, users.workers), 1000 * rung.kilobytes / rung.requests
    provider = Provider(
        users.count, users.think, size, users.line, web, users.hit_ratio, users.backbone, rung.requests,
        users.others * rung.requests,
    )  # fmt: skip
    found = solve_provider(provider)
    others = stationary(web, found.throughput * found.missed * rung.requests + provider.others).time * rung.requests
    return UserDelays(
        found.throughput,
        found.web,
        found.line,
        found.web_load,
        found.proxy,
        found.line_of_a_miss,
        others if users.others else None,
    )


def mixture(ladder: Sequence[Rung], cost: Cost, page_rate: float, bound: float = BOUND) -> float:
    """Return the largest m in [0, M] at which ``page_rate`` pages per second stay within the bound (section 4.2).

    m = I + F: a share F of the clients gets level I + 1, the others level I; M is the full site, 0 rejects. A
    rejected visitor costs one request. The result is 0 even where rejecting everybody exceeds the bound.
    """
    costs = [cost.rejection, *(rung.cost_of(cost) for rung in reversed(ladder))]
    loads = [page_rate * page_cost for page_cost in costs]
    for lower in range(len(ladder) - 1, -1, -1):
        if loads[lower + 1] <= bound:
            return float(lower + 1)
        if loads[lower] <= bound:
            return lower + (bound - loads[lower]) / (loads[lower + 1] - loads[lower])
    return 0.0


# The level for the highest load has no number, since it is no step between others, but it is the last rung.
LAST_RUNG = "text"


def ladder_names(numbers: Mapping[str, int | None]) -> tuple[str, ...]:
    """Return the ladder of some levels, the full site first: those with a number by it, then ``text``."""
    ranked = sorted((name for name in numbers if numbers[name] is not None), key=lambda name: -(numbers[name] or 0))
    return (*ranked, *(name for name in numbers if name == LAST_RUNG and numbers[name] is None))


def ladder_of(manifest: Manifest, names: Sequence[str] | None = None) -> list[Rung]:
    """Return the levels of a build, the full site first, each as its mean page in the best coding.

    The means are over page views where the build knew access logs. ``names`` are those of the ladder that was emitted;
    None: ``ladder_names``. Levels without pages are left out; without pages the ladder is empty.
    """
    levels = {level.name: level for level in manifest.levels if level.pages}
    chosen = ladder_names({name: level.number for name, level in levels.items()}) if names is None else names
    ranked = [levels[name] for name in chosen if name in levels]
    return [Rung(level.name, level.mean.requests, level.mean.transfer / 1000) for level in ranked]


def buckets_of(manifest: Manifest) -> Counter[Bucket]:
    """Return the number of pages by bucket of the paper's Table 2, as they are at the first level, uncompressed."""
    first = manifest.level_names[0]
    counts: Counter[Bucket] = Counter()
    for resource in manifest.resources.values():
        page = resource.pages.get(first)
        if page is not None:
            objects, embedded = int(page.requests) - 1, int(page.bytes) - resource.size
            counts[bucket_of(resource.size, objects, max(0, embedded))] += 1
    return counts


# A level that carries less than so many times the visitors is no help in a crowd: the papers gain 1.5 to 4.
_USEFUL = 1.5


def weakness(ladder: Sequence[Rung], reachable: Sequence[str]) -> str:
    """Return why the levels in reach help little in a crowd, in a sentence; "" where they do, or nothing was built.

    What a level saves is the geometric mean of its requests and its kB against the full site: costs differ by server.
    """
    if not ladder:
        return ""
    full = ladder[0]
    gains = {
        rung.name: (full.requests / rung.requests * full.kilobytes / max(rung.kilobytes, 0.001)) ** 0.5
        for rung in ladder
    }
    best = max(reachable, key=lambda name: gains.get(name, 1.0))
    if gains.get(best, 1.0) >= _USEFUL:
        return ""
    return (
        f"the lowest level in reach, {best}, carries {gains.get(best, 1.0):.1f} times the visitors of the full site: "
        "build moderate, extreme and text, too (adaptc init --profile crowd has the settings)"
    )


# The time that an action on a page saves: the measurements of Krishnamurthy, Zhang, Wills and Vishwanath 2003.
#
# Table 2 there counts popular pages by bucket, Tables 4 to 8 give the savings; here are the means of the savings,
# weighted by time and by Table 2.


SIZES = ("S", "M", "L")

# Percent of popular pages by (embedded objects, embedded bytes, container bytes): Table 2.
PAGE_SHARES: dict[tuple[str, str, str], int] = {
    (objects, embedded, container): share
    for objects, rows in (
        ("S", ((20, 6, 2), (4, 1, 0), (0, 0, 0))),
        ("M", ((2, 3, 1), (5, 7, 8), (2, 5, 3))),
        ("L", ((0, 0, 0), (1, 2, 4), (1, 8, 14))),
    )
    for embedded, row in zip(SIZES, rows, strict=True)
    for container, share in zip(SIZES, row, strict=True)
}


@dataclass(frozen=True, slots=True)
class Bucket:
    """Small, medium or large: container bytes, number of embedded objects, bytes of those, as in Tables 4 to 8."""

    container: str
    objects: str
    embedded: str

    def __str__(self) -> str:
        return f"{self.container}-{self.objects}-{self.embedded}"

    @property
    def paper_share(self) -> int:
        """Percent of the paper's popular pages that are in this bucket."""
        return PAGE_SHARES[self.objects, self.embedded, self.container]


def bucket_of(container_bytes: int, objects: int, embedded_bytes: int) -> Bucket:
    """Return the bucket of a page (section 4.1): K is 1,000 bytes."""
    return Bucket(
        "S" if container_bytes < 12_000 else "M" if container_bytes < 30_000 else "L",
        "S" if objects < 7 else "M" if objects <= 22 else "L",
        "S" if embedded_bytes < 20_000 else "M" if embedded_bytes < 55_000 else "L",
    )


ACTIONS = ("pipeline", "gzip", "bundle", "bundle.gz", "baseonly", "halfobject", "halfres")


@dataclass(frozen=True, slots=True)
class Savings:
    """A pair of client and server: seconds of an unchanged page, and the percentage that each of ``ACTIONS`` saves."""

    base: float
    percent: tuple[float, ...]


SAVINGS: dict[str, Savings] = {
    "uk-wpi": Savings(10.96, (8.5, 23.1, 12.1, 21.5, 78.1, 27.0, 10.0)),
    "uk-icir": Savings(20.49, (28.6, 14.3, 21.5, 28.4, 77.3, 29.5, 3.8)),
    "modem-att": Savings(11.73, (6.6, 5.3, 14.9, 18.0, 82.9, 35.1, 26.3)),
    "de-att": Savings(7.89, (47.4, 3.7, 69.4, 70.0, 89.9, 33.3, 9.2)),
    "cable-wpi": Savings(2.14, (53.0, 8.1, 52.6, 56.4, 84.8, 29.5, 3.9)),
}
