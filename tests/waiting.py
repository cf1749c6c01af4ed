"""Waiting for what other programs and threads do: on a condition, with a bound that only a hang reaches."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds after which something is wrong, on the slowest and busiest machine


def wait_until(holds: Callable[[], object], said: Callable[[], object] = lambda: "nothing happened") -> None:
    """Wait until ``holds`` is true; what never comes true fails the test with what was ``said``."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, said()
        time.sleep(0.005)
