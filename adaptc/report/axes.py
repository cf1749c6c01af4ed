"""Axes of charts: from amounts to places on paper, and the labels along them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MOST_TICKS = 7
ROUND = (1, 2, 5)  # round numbers are these, times a power of ten


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis for amounts from ``low`` to ``high``, drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[Tick, ...] = ()

    def at(self, amount: float) -> float:
        """Return the place of an amount; what is beyond the axis stands at its end."""
        inside = min(max(amount, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return round(self.start + (self.end - self.start) * share, 1)


def log_axis(amounts: Iterable[float], start: float, end: float, write: Callable[[float], str]) -> Axis:
    """Return an axis that holds all ``amounts`` (those below 1 as 1), with ticks that ``write`` labels."""
    present = {max(amount, 1) for amount in amounts} or {1}
    low, high = min(present), max(present)
    if high < 4 * low:  # one page, or pages all alike: an axis still, not a point
        low, high = low / 2, high * 2
    bare = Axis(low / 1.1, high * 1.1, start, end)
    ticks = tuple(Tick(bare.at(amount), write(amount)) for amount in _round_between(bare.low, bare.high))
    return Axis(bare.low, bare.high, start, end, ticks)


def _round_between(low: float, high: float) -> list[float]:
    """Return round amounts in a range: 1, 2, 5, 10, ...; or powers of ten, or every second one of them."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [mantissa * 10.0**exponent for exponent in exponents for mantissa in ROUND]
    coarse = [10.0**exponent for exponent in exponents]
    for candidates in (fine, coarse, coarse[::2]):
        inside = [amount for amount in candidates if low <= amount <= high]
        if len(inside) <= MOST_TICKS:
            break
    return inside


def count_ticks(most: int, start: float, end: float) -> tuple[Tick, ...]:
    """Return ticks of a linear axis from 0 to ``most`` (at least 1): three to seven round whole numbers."""
    step = next(step for step in _steps() if most / step < MOST_TICKS)
    place = (end - start) / most
    return tuple(Tick(round(start + place * count, 1), f"{count:,}") for count in range(0, most + 1, step))


def _steps() -> Iterable[int]:
    return (mantissa * 10**exponent for exponent in range(12) for mantissa in ROUND)
