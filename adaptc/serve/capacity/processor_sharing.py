"""A server that shares itself among at most K jobs: M/G/1/PS with a limited number of jobs.

The model of a web server and of an access line in Fujita, Murata and Miyahara 1999, section 4. Processor sharing is
insensitive: only the mean of the service time matters, not its distribution.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """The steady state: share of arrivals turned away, mean number of jobs, mean time in the server in seconds."""

    blocked: float
    jobs: float
    time: float

    def time_of(self, service: float, mean_service: float) -> float:
        """Return the mean time of a job that needs ``service`` seconds: under PS, proportional to it."""
        return self.time * service / mean_service


class Overload(Exception):
    """A server without limit is offered more than it can do: there is no steady state."""


def stationary(server: SharedServer, rate: float) -> Stationary:
    """Return the steady state at ``rate`` arrivals a second (Poisson).

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
    accepted = sum(weights[:-1]) / total  # 1 - B, without the cancellation of a server that turns nearly all away
    return Stationary(blocked, jobs, jobs / (rate * accepted))
