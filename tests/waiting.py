"""Waiting for what other programs and threads do, on a condition, with a bound that only a hang reaches; and for
ourselves, with a bound that only what is out of proportion reaches."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 120.0  # seconds after which something is wrong, on the slowest and busiest machine


def wait_until(holds: Callable[[], object], said: Callable[[], object] = lambda: "nothing happened") -> None:
    """Wait until ``holds`` is true; what never comes true fails the test with what was ``said``."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, said()
        time.sleep(0.005)


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End what takes many times the CPU time that it needs: what is quadratic takes minutes."""

    def end(_number: int, _frame: object) -> None:
        raise TimeoutError("the time is out of proportion to the length")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
