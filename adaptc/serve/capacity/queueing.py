"""Queueing models of web systems: Fujita, Murata and Miyahara 1999.

1. A server that shares itself among at most K jobs, M/G/1/PS: the web server and the access line (section 4). Processor
   sharing is insensitive: only the mean of the service time matters, not its distribution.
2. Closed and mixed networks in product form, by exact mean value analysis and the convolution algorithm (section 4.3,
   after Lavenberg's handbook). Stations are single servers with processor sharing (or exponential service and FIFO) and
   are described by their demands: seconds of service per cycle. A cycle also spends ``think`` seconds without queueing
   (an infinite server).
3. Whole systems: an open site (figure 9), and an Internet provider with a caching proxy (figure 11).

Times are in seconds, sizes in bytes, lines in bits per second.
"""

from __future__ import annotations

from collections.abc import Sequence

from adaptc.core.values import dataclass

# ---- 1. a shared server


@dataclass(frozen=True, slots=True)
class SharedServer:
    """A processor-sharing server: mean service time in seconds, and the most jobs at once (None: no limit)."""

    service: float
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.service <= 0:
            raise ValueError(f"a service time must be above 0, not {self.service}")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"a limit of jobs must be at least 1, not {self.limit}")


@dataclass(frozen=True, slots=True)
class Stationary:
    """The steady state: share of rejected arrivals, mean number of jobs, mean time in the server in seconds."""

    blocked: float
    jobs: float
    time: float

    def time_of(self, service: float, mean_service: float) -> float:
        """Return the mean time of a job that needs ``service`` seconds: under PS, proportional to it."""
        return self.time * service / mean_service


class Overload(Exception):
    """The load of a server without limit is 1 or more: there is no steady state."""


def stationary(server: SharedServer, rate: float) -> Stationary:
    """Return the steady state at ``rate`` arrivals per second (Poisson).

    pi_n is proportional to rho^n for n = 0..K; B = pi_K, L = sum n pi_n, T = L / (rate (1 - B)). The limit of no
    arrivals is an empty server, in which a job takes its service time. Raises ``Overload``.
    """
    if rate < 0:
        raise ValueError(f"a rate must not be negative: {rate}")
    if rate == 0:
        return Stationary(0.0, 0.0, server.service)
    load = rate * server.service
    if server.limit is None:
        return _unlimited(server, load)
    return _limited(load, rate, server.limit)


def _unlimited(server: SharedServer, load: float) -> Stationary:
    if load >= 1:
        raise Overload(f"offered load {load:.3g}: the server can do less than 1")
    return Stationary(0.0, load / (1 - load), server.service / (1 - load))


def _limited(load: float, rate: float, limit: int) -> Stationary:
    # Weights relative to the most likely state: rho^n overflows for a load of 10 and a limit of 400.
    states = range(limit + 1)
    weights = [load**n for n in states] if load <= 1 else [load ** (n - limit) for n in states]
    total = sum(weights)
    blocked = weights[-1] / total
    jobs = sum(n * weight for n, weight in enumerate(weights)) / total
    accepted = sum(weights[:-1]) / total  # 1 - B, without cancellation where nearly all arrivals are rejected
    return Stationary(blocked, jobs, jobs / (rate * accepted))


# ---- 2. networks of queues


@dataclass(frozen=True, slots=True)
class ClosedChain:
    """The steady state of N customers: cycles per second; time per cycle (s) and mean customers of each station."""

    throughput: float
    times: tuple[float, ...]
    queues: tuple[float, ...]


def solve_closed(customers: int, think: float, demands: Sequence[float]) -> ClosedChain:
    """Return the steady state by exact MVA: R_k = D_k (1 + Q_k), X = n / (Z + sum R), Q_k = X R_k."""
    _check(customers, think, demands)
    throughput, times, queues = 0.0, [0.0] * len(demands), [0.0] * len(demands)
    for population in range(1, customers + 1):
        times = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        throughput = population / (think + sum(times))
        queues = [throughput * time for time in times]
    return ClosedChain(throughput, tuple(times), tuple(queues))


@dataclass(frozen=True, slots=True)
class MixedNetwork:
    """A closed and an open chain; ``open_times`` are the seconds of an open customer at each station."""

    closed: ClosedChain
    open_times: tuple[float, ...]


def solve_mixed(
    customers: int, think: float, demands: Sequence[float], open_rate: float, open_demands: Sequence[float]
) -> MixedNetwork:
    """Return the steady state of a closed chain that shares its stations with Poisson arrivals.

    The closed chain sees demands D / (1 - rho_open); an open customer takes S (1 + Q) / (1 - rho_open). Raises
    ``ValueError`` when the open arrivals alone fill a station.
    """
    loads = [open_rate * demand for demand in open_demands]
    if any(load >= 1 for load in loads):
        raise ValueError(f"open arrivals alone fill a station: loads {loads}")
    closed = solve_closed(customers, think, [demand / (1 - load) for demand, load in zip(demands, loads, strict=True)])
    times = tuple(
        demand * (1 + queue) / (1 - load)
        for demand, queue, load in zip(open_demands, closed.queues, loads, strict=True)
    )
    return MixedNetwork(closed, times)


def _check(customers: int, think: float, demands: Sequence[float]) -> None:
    if customers < 0 or think < 0 or any(demand < 0 for demand in demands):
        raise ValueError("customers, think time and demands must not be negative")
    if think + sum(demands) == 0:
        raise ValueError("a cycle must take some time")


# ---- 3. whole systems

BACKBONE = 0.195  # mean delay coast to coast, seconds (section 4.1)
HIT_RATIO = 0.51  # of the proxy (section 4.2)
# The paper prints a = 0.01121 and b = 0.0002329 for g(x) = ax + b; only the other way round do they give the curve
# that it describes, flat below some 20 kB and then linear.
PROXY_FIXED = 0.01121  # seconds per request
PROXY_PER_KILOBYTE = 0.0002329  # seconds per kB


def proxy_demand(size: float) -> float:
    """Return the work of the proxy for a document of ``size`` bytes, in seconds: g(x) of section 3.2."""
    return PROXY_FIXED + PROXY_PER_KILOBYTE * size / 1000


@dataclass(frozen=True, slots=True)
class Provider:
    """Users of an Internet provider behind a proxy (figure 11).

    They load documents of ``objects`` files, of ``size`` bytes each: one in the paper. A page and what it embeds cross
    the backbone one after the other, so twice where there is more than one file. ``others`` are requests a second that
    the web server gets from elsewhere, an open chain.
    """

    users: int
    think: float
    size: float
    line: float
    web: SharedServer
    hit_ratio: float = HIT_RATIO
    backbone: float = BACKBONE
    objects: float = 1.0
    others: float = 0.0


@dataclass(frozen=True, slots=True)
class ProviderDelays:
    """Documents per second, and mean seconds per document at the proxy, on the access line, and at the web server.

    ``line`` and ``web`` are averaged over hits and misses, as the paper's figures have them. ``missed`` is the share of
    documents that cross the line, ``web_load`` the share of the web server's time that is used, ``blocked`` the share
    of requests that it rejects.
    """

    throughput: float
    proxy: float
    line: float
    web: float
    missed: float = 1.0
    web_load: float = 0.0
    blocked: float = 0.0

    @property
    def line_of_a_miss(self) -> float | None:
        """Seconds on the access line of a document that crosses it; None where all are hits."""
        return self.line / self.missed if self.missed else None


def solve_provider(provider: Provider) -> ProviderDelays:
    """Return the delays by the approximation of section 4.3: the web server is a delay that depends on its rate.

    The rate at the web server follows from its delay and the delay from the rate: a fixed point. A longer delay
    means a lower rate, so there is exactly one, found by bisection. Against simulation (docs/papers) the
    delay at the web server is 6 % too long at 1.5 Mb/s, 7 % at 6 Mb/s, and the throughput 0.2 % off.
    """
    low, high = 0.0, provider.users / (provider.think + provider.objects * proxy_demand(provider.size))
    for _ in range(60):
        rate = (low + high) / 2
        closed = _closed(provider, rate)
        low, high = (rate, high) if closed.throughput * _misses(provider) > rate else (low, rate)
    web = _web(provider, low)
    web_delay = _misses(provider) * provider.objects * web.time
    load = min(1.0, (low * provider.objects + provider.others) * (1 - web.blocked) * provider.web.service)
    return ProviderDelays(
        closed.throughput, closed.times[0], closed.times[1], web_delay, _misses(provider), load, web.blocked
    )


def _misses(provider: Provider) -> float:
    return 1 - provider.hit_ratio


def _web(provider: Provider, documents: float) -> Stationary:
    return stationary(provider.web, documents * provider.objects + provider.others)


def _closed(provider: Provider, documents: float) -> ClosedChain:
    """Return the chain of the users where so many documents a second come from the web server."""
    web, trips = _web(provider, documents), min(provider.objects, 2.0)
    delay = provider.think + _misses(provider) * (trips * provider.backbone + provider.objects * web.time)
    line = _misses(provider) * provider.objects * provider.size * 8 / provider.line
    return solve_closed(provider.users, delay, (provider.objects * proxy_demand(provider.size), line))
