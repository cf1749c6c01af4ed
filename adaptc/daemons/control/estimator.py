"""Recursive least squares for a and b of U = aR + bW (section 4.3 of the paper), with exponential forgetting.

R in requests a millisecond and W in kB a millisecond, so that a and b are milliseconds and the initial covariance of
1000 is far above them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

INITIAL = 1000.0
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
    return Estimator(before.a + gain_a * error, before.b + gain_b * error, covariance, information, before.samples + 1)
