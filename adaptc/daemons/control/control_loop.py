"""The loop that moves m by the error of each sample, as far as chance does not explain it; and the one by latency."""

from __future__ import annotations

import math

from adaptc.core.values import dataclass, replace

# ---- the PI controller of m (section 4.4 of the paper), tuned in closed form and discretised by Tustin's rule
#
# K_p (1 + K_i / s) against the plant p_max e^(-sT/2), with a controller phase of -pi/6 at the frequency of oscillation:
# omega = 5 pi / (3T), K_i = 5 pi / (3 sqrt(3) T), K_p = sqrt(3) / (2 G p_max). With one sample of delay the true gain
# margin is 4.62 at G = 4; discretised by backward differences it is 1.84, by forward ones 2.28.


@dataclass(frozen=True, slots=True)
class Gains:
    """K_p and K_i (1/s), and the sampling period T in seconds."""

    proportional: float
    integral: float
    period: float

    @property
    def now(self) -> float:
        """c0, the weight of the error now: K_p (1 + K_i T/2)."""
        return self.proportional * (1 + self.integral * self.period / 2)

    @property
    def before(self) -> float:
        """c1, the weight of the error before: K_p (1 - K_i T/2)."""
        return self.proportional * (1 - self.integral * self.period / 2)


def tuned(period: float, margin: float, gain: float) -> Gains:
    """Return the gains for a sampling period in seconds, a gain margin G, and the plant's greatest gain p_max."""
    if period <= 0 or margin <= 0 or gain <= 0:
        raise ValueError(f"period, margin and gain must be above 0: {period}, {margin}, {gain}")
    return Gains(math.sqrt(3) / (2 * margin * gain), 5 * math.pi / (3 * math.sqrt(3) * period), period)


_LEAST_NOISE = 0.005**2  # of what is asked for, relative


@dataclass(frozen=True, slots=True)
class Loop:
    """A control loop: m, and the error of the sample before (None: there was none).

    ``errors`` are those since m was changed last. ``demand`` is what was asked for in the sample before, as the full
    site would use, and ``noise`` how much that varies from sample to sample: its variance as a multiple of its mean,
    which for visitors who come at random is the same at any load.
    """

    m: float
    error: float | None = None
    errors: tuple[float, ...] = ()
    demand: float | None = None
    change: float | None = None
    noise: float = _LEAST_NOISE
    samples: int = 0  # that ``noise`` is known from


# The largest rise of m in a sample, as a share of its range: one sample without load, for instance while logs are
# rotated, must not open a server that is overloaded. A fall is not bounded.
RISE = 1 / 8


def advance(loop: Loop, error: float, gains: Gains, most: float, least: float = 0.0) -> Loop:
    """Return the loop after a sample: m <- clip(m + c0 e - c1 e_prev). Clipping m itself is the anti-windup.

    For the first sample the error before is taken to be the same. m rises by ``RISE`` of its range at most,
    but to ``least`` at once.
    """
    before = error if loop.error is None else loop.error
    m = loop.m + gains.now * error - gains.before * before
    return replace(loop, m=min(max(m, least), max(loop.m + RISE * (most - least), least), most), error=error)


# ---- what chance explains
#
# Visitors come at random, and a sample holds few pages: at a constant load the busy share of a second varies by a tenth
# to a third, and a controller that followed it would send clients up and down. So m is changed by an error that chance
# does not explain: the mean of the last 1, 2, 4 ... samples since the change before is beyond so many standard
# deviations of such a mean (Shewhart's charts with several windows). Where nothing varies every error counts, as in the
# paper. What varies is measured by differences of successive samples (von Neumann): a load that changes is no noise.
# The fewer visitors there are, the further chance goes above the mean: that limit is one of a compound Poisson
# distribution (Cornish and Fisher's first term; a skewness of 1.5 deviations).

SIGMAS = 4.0
_SKEW = 1.5 * (SIGMAS - 1 / SIGMAS) / 6
_LEAST_ERROR = 0.01  # of U
_NOISE_WEIGHT = 0.03  # or the mean of fewer: a variance of ten samples is off by half, and so would the limits be
_LONGEST = 32  # samples


def observed(loop: Loop, demand: float, is_full: bool = False) -> Loop:
    """Return the loop with what a sample tells of noise, by the lesser of two differences: a step is one of them."""
    if is_full:  # it hides what is asked, and what few samples on the way there tell of noise is the way
        loop = loop if loop.samples >= FEW else replace(loop, noise=_LEAST_NOISE, samples=0)
        return replace(loop, demand=None, change=None)
    if loop.demand is None or loop.demand + demand <= 0:
        return replace(loop, demand=demand, change=None)
    change, noise = abs(2 * (demand - loop.demand) / (demand + loop.demand)), loop.noise
    if loop.change is None:
        return replace(loop, demand=demand, change=change)
    demanded = (demand + loop.demand) / 2
    is_still = max(change, loop.change) ** 2 * demanded < _STILL * noise  # what varied was the way to this load
    weight = max(1 / (loop.samples + 1), _NOISE_WEIGHT, 0.3 * is_still)
    most = _OUTLIER * noise if loop.samples >= FEW else math.inf
    noise += weight * (min(_OF_LESSER * min(change, loop.change) ** 2 * demanded, most) - noise)
    return replace(loop, demand=demand, change=change, noise=max(noise, _LEAST_NOISE), samples=loop.samples + 1)


FEW = 5  # samples: then noise is known
_STILL = 0.01  # of that variance: chance keeps to it in one of two hundred pairs of changes
_OUTLIER = 6.0  # times the variance that is known: a sample without CPU, and the way back
_OF_LESSER = 1.1  # the variance of a normal distribution, by the mean square of the lesser of two differences


def unexplained(loop: Loop, error: float, level: float, share: float) -> tuple[Loop, float]:
    """Return the loop after a sample, and the error that chance does not explain at this level of U, 0 where it does.

    ``share`` is the cost at m. What is beyond the limit counts of a single sample, half of the limit besides of a
    longer mean. A sample that shows little may be one in which the server had no CPU: it counts as much as one at the
    limit, and no single one is a reason to rise.
    """
    errors = (*loop.errors, error)[-_LONGEST:]
    before, loop = loop.error, replace(loop, error=error, errors=errors)
    variance, length = loop.noise * share / level, 1
    limit = SIGMAS * math.sqrt(variance) * level
    while length <= len(errors):
        least = max(_LEAST_ERROR, limit / math.sqrt(length))
        most = least * (1 + _SKEW * math.sqrt(variance / length))
        mean = sum(min(each, max(limit, _LEAST_ERROR)) for each in errors[-length:]) / length
        is_alone = length == 1 and (before is None or before < least)
        if mean < -most or (mean >= least and not is_alone):
            found = sum(errors[-length:]) / length
            return replace(loop, errors=()), found - math.copysign(least / min(length, 2), found)
        length *= 2
    return loop, 0.0


# ---- a limiter by the gradient of latency, as those of adaptive concurrency limits (Netflix's Gradient2, Envoy)
#
# The limit of what is served is multiplied by the gradient, tolerance * usual / now, between 1/2 and 1, and grows by a
# little while answers take no longer than usual. It needs no costs and no bound. What is usual is a slow average, which
# falls at once: an overload that lasts must not become what is usual.

_USUAL = 1 / 300
_LEAST_LATENCY = 0.005  # seconds: less is no wait


@dataclass(frozen=True, slots=True)
class Gradient:
    """The seconds that an answer usually takes; None before the first sample."""

    usual: float | None = None

    def after(self, latency: float, tolerance: float) -> tuple[Gradient, float]:
        """Return what is usual after a sample, and the factor of the limit."""
        now = max(latency, _LEAST_LATENCY)
        usual = now if self.usual is None else self.usual
        factor = min(1.0, max(0.5, tolerance * usual / now))
        weight = 1.0 if now < usual else _USUAL if factor == 1.0 else 0.0
        return Gradient(usual + weight * (now - usual)), factor
