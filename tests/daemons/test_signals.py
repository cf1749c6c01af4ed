"""What signals do to daemons."""

from __future__ import annotations

import os
import signal

import pytest

from adaptc.daemons import loop


class Ending:
    """A daemon that gets a signal in its first step."""

    def __init__(self, number: signal.Signals) -> None:
        self.number, self.steps, self.stops = number, 0, 0

    def step(self, clock: float, epoch: float) -> None:
        self.steps += 1
        if self.steps == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), self.number)

    def stop(self, epoch: float) -> None:
        self.stops += 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_daemon_ends_as_its_policy_says(number: signal.Signals) -> None:
    """As in a terminal: whoever runs the tests may ignore signals."""
    before, daemon = signal.signal(number, signal.SIG_DFL), Ending(number)
    try:
        loop.run(daemon, 0.001)
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert (daemon.steps, daemon.stops) == (1, 1)


def test_a_daemon_under_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        daemon = Ending(signal.SIGHUP)
        loop.run(daemon, 0.001)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (daemon.steps, daemon.stops) == (3, 1)
