"""Sensors whose value alone can tell that the server is strained.

Such a sensor is a module of this package with one ``LimitSensor``, named in ``LIMIT_SENSORS`` of the package. Its name
is the key of ``[daemons.switch]`` that sets its limit, and the key of its value in samples, traces and metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from adaptc.config.schema import Check


class Counter(Protocol):
    """A place to read a number from."""

    def read(self) -> float:
        """Return the number. Raises ``OSError`` and ``ValueError``."""


@dataclass(frozen=True, slots=True)
class LimitSensor:
    """A sensor with a limit: above it the server counts as strained.

    ``check`` is that of the key. ``off`` is the default of the limit: the sensor is opened for lower limits only.
    ``open`` takes the control group of the server ("" for the host). ``value`` turns two readings and the seconds
    between them into the value of a sample, None when they do not give one. ``help`` is that of the metric.
    """

    name: str
    help: str
    check: Check
    off: float
    open: Callable[[str], Counter]
    value: Callable[[float | None, float | None, float], float | None]


def rate(before: float | None, now: float | None, elapsed: float) -> float | None:
    """Return a counter's increase a second; None when it is missing or went back: the server was restarted."""
    if before is None or now is None or now < before or elapsed <= 0:
        return None
    return (now - before) / elapsed
