"""How busy a server is: U = aR + bW, the bound below which deadlines are met, the service time of a file.

Abdelzaher, Shin and Bhatti 2002, sections 4 and 7. R is in requests per second, W in kB per second, and
coefficients are seconds per request and per kB, so that U is a share: 1 is a busy bottleneck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from adaptc.core.values import dataclass, replace

# Aperiodic tasks under deadline-monotonic scheduling meet their deadlines below 1 / (1 + sqrt(1/2)) = 0.5858
# (section 4.1, rounded down there).
BOUND = 0.58


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of serving: seconds per request (a), per kB (b), per rejected request (c) and per page view (p).

    The paper has no p: with HTTP/1.0 each request has a connection of its own, which is in a. The defaults are those of
    section 4.3. The text there says 33 us a kB and the equation 35; 33 is what the estimator ended at. Where c is not
    measured (``is_rejection_measured``), nothing may be concluded from its being small.
    """

    request: float = 0.00083
    kilobyte: float = 0.000033
    rejection: float = 0.00055
    view: float = 0.0
    is_rejection_measured: bool = True

    def shared_by(self, cpus: float) -> Cost:
        """Return the cost as a share of so many CPUs."""
        amounts = {key: getattr(self, key) / cpus for key in ("request", "kilobyte", "rejection", "view")}
        return replace(self, **amounts)

    def utilization(self, requests: float, kilobytes: float) -> float:
        """Return U = aR + bW (equation 1)."""
        return self.request * requests + self.kilobyte * kilobytes

    def of_view(self, requests: float, kilobytes: float) -> float:
        """Return the seconds p + aR + bW of a page view with these requests and kB."""
        return self.view + self.utilization(requests, kilobytes)


class CapacityExceeded(Exception):
    """The guarantees of the virtual servers together need more than the machine has."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The guarantee of a virtual server: requests per second and kB per second (section 5.1)."""

    requests: float
    kilobytes: float


def allocations(
    guarantees: Mapping[str, Guarantee], cost: Cost, bound: float = BOUND, throughput_only: bool = False
) -> dict[str, float]:
    """Return U*_i = a R_max + b W_max of each virtual server.

    Raises ``CapacityExceeded`` when their sum exceeds ``bound``; where only throughput is guaranteed, not response
    time, the sum may be up to 1.
    """
    targets = {
        name: cost.utilization(guarantee.requests, guarantee.kilobytes) for name, guarantee in guarantees.items()
    }
    limit = 1.0 if throughput_only else bound
    total = sum(targets.values())
    if total > limit:
        parts = ", ".join(f"{name} {target:.4f}" for name, target in targets.items())
        raise CapacityExceeded(f"the guarantees need a utilization of {total:.4f} ({parts}); the bound is {limit:g}")
    return targets


def priority_target(target: float, higher: Iterable[float], lower_rates: Iterable[float], cost: Cost) -> float:
    """Return U*_j = U* - sum of U_i above - sum of c R_l below (section 5.2); negative when nothing is left.

    ``higher`` are the measured utilizations of the higher priorities, ``lower_rates`` the request rates of the
    lower ones, all of which may have to be rejected.
    """
    return target - sum(higher) - cost.rejection * sum(lower_rates)


# ---- recursive least squares for a and b of U = aR + bW (section 4.3 of the paper), with exponential forgetting
#
# R in requests a millisecond and W in kB a millisecond, so that a and b are milliseconds and the initial covariance of
# 1000 is far above them.

INITIAL = 1000.0
_LARGEST = 1e9  # of the covariance: it grows while samples do not tell a from b, and would be infinite after ten hours
# Beyond this the two columns of the samples, scaled to length 1, are so parallel (cosine 0.998) that noise decides
# between a and b: pages of one size.
ILL_CONDITIONED = 30.0

Matrix = tuple[float, float, float]  # symmetric, 2 by 2: (1,1), (1,2), (2,2)


@dataclass(frozen=True, slots=True)
class Estimator:
    """``a`` and ``b`` in milliseconds, the covariance, and the information that samples brought."""

    a: float = 0.0
    b: float = 0.0
    covariance: Matrix = (INITIAL, 0.0, INITIAL)
    information: Matrix = (0.0, 0.0, 0.0)
    samples: int = 0

    @property
    def condition(self) -> float:
        """The condition number of the samples with columns scaled to length 1; infinite for parallel columns."""
        first, mixed, second = self.information
        if first <= 0 or second <= 0:
            return math.inf
        cosine = min(1.0, abs(mixed) / math.sqrt(first * second))
        return math.inf if cosine >= 1 else math.sqrt((1 + cosine) / (1 - cosine))

    @property
    def is_telling(self) -> bool:
        """Whether a and b can be separated, and make sense as costs."""
        return self.samples >= 10 and self.condition < ILL_CONDITIONED and self.a > 0 and self.b > 0


def learn(
    before: Estimator, requests: float, kilobytes: float, utilization: float, forgetting: float = 1.0
) -> Estimator:
    """Return the estimate after a sample; ``forgetting`` is lambda, 1 remembers everything."""
    p11, p12, p22 = before.covariance
    x, y = p11 * requests + p12 * kilobytes, p12 * requests + p22 * kilobytes
    total = forgetting + requests * x + kilobytes * y
    gain_a, gain_b = x / total, y / total
    error = utilization - before.a * requests - before.b * kilobytes
    covariance = ((p11 - gain_a * x) / forgetting, (p12 - gain_a * y) / forgetting, (p22 - gain_b * y) / forgetting)
    i11, i12, i22 = (forgetting * entry for entry in before.information)
    information = (i11 + requests * requests, i12 + requests * kilobytes, i22 + kilobytes * kilobytes)
    a, b = before.a + gain_a * error, before.b + gain_b * error
    return Estimator(a, b, _limited(covariance), information, before.samples + 1)


def _limited(covariance: Matrix) -> Matrix:
    p11, p12, p22 = covariance
    first, second = (math.sqrt(min(1.0, _LARGEST / entry)) if entry > 0 else 1.0 for entry in (p11, p22))
    return p11 * first * first, p12 * first * second, p22 * second * second


@dataclass(frozen=True, slots=True)
class Ratio:
    """The factor between two numbers by least squares, with exponential forgetting: y = value x."""

    xx: float = 0.0
    xy: float = 0.0
    samples: int = 0

    @property
    def value(self) -> float | None:
        """The factor, None before it is known."""
        return self.xy / self.xx if self.samples >= _ENOUGH and self.xx > 0 and self.xy > 0 else None

    def after(self, x: float, y: float, forgetting: float) -> Ratio:
        """Return the estimate after a sample."""
        return Ratio(forgetting * self.xx + x * x, forgetting * self.xy + x * y, self.samples + 1)


_ENOUGH = 10  # samples
