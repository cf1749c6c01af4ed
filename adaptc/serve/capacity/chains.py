"""Closed and mixed queueing networks in product form: exact mean value analysis and the convolution algorithm.

Fujita, Murata and Miyahara 1999, section 4.3, after Lavenberg's handbook. Stations are single servers with processor
sharing (or exponential service and FIFO) and are given by their demands: seconds of service a cycle. A cycle also
spends ``think`` seconds where nobody waits (an infinite server).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClosedChain:
    """The steady state of N customers: cycles a second, and per station time a cycle (s) and mean number there."""

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


def normalising_constants(customers: int, think: float, demands: Sequence[float]) -> list[float]:
    """Return G(0)..G(N) by convolution: G_0(n) = Z^n / n!, then G(n) += D_k G(n-1) station by station.

    The throughput is G(N-1) / G(N). The constants leave the range of floats for hundreds of customers; use
    ``solve_closed`` there.
    """
    _check(customers, think, demands)
    constants = [1.0]
    for n in range(1, customers + 1):
        constants.append(constants[-1] * think / n)
    for demand in demands:
        for n in range(1, customers + 1):
            constants[n] += demand * constants[n - 1]
    return constants


@dataclass(frozen=True, slots=True)
class MixedNetwork:
    """A closed chain beside an open one; ``open_times`` are seconds of an open customer at each station."""

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
