"""The PI controller of m (section 4.4 of the paper), tuned in closed form and discretised by Tustin's rule.

K_p (1 + K_i / s) against the plant p_max e^(-sT/2), with a controller phase of -pi/6 at the frequency of oscillation:
omega = 5 pi / (3T), K_i = 5 pi / (3 sqrt(3) T), K_p = sqrt(3) / (2 G p_max). With one sample of delay the true gain
margin is 4.62 at G = 4; discretised by backward differences it is 1.84, by forward ones 2.28.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Loop:
    """A control loop: m, and the error of the sample before (None: there was none)."""

    m: float
    error: float | None = None


# The largest rise of m in a sample, as a share of its range: one sample without load, for instance while logs are
# rotated, must not open a server that is overloaded. A fall is not bounded.
RISE = 1 / 8


def advance(loop: Loop, error: float, gains: Gains, most: float, least: float = 0.0) -> Loop:
    """Return the loop after a sample: m <- clip(m + c0 e - c1 e_prev). Clipping m itself is the anti-windup.

    For the first sample the error before is taken to be the same. m rises by ``RISE`` of its range at most.
    """
    before = error if loop.error is None else loop.error
    m = loop.m + gains.now * error - gains.before * before
    return Loop(min(max(m, least), loop.m + RISE * (most - least), most), error)
