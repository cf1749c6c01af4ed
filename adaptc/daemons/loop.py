"""The driver of every daemon: steps until it is stopped, with signals and systemd.

A daemon has a ``step`` that reads, decides and acts. The loop keeps the time, catches the signals, notifies systemd
that the daemon is alive, and calls ``stop`` at the end, whatever the end is.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Protocol


class Daemon(Protocol):
    """What the loop drives. Times are seconds: ``clock`` only goes forward, ``epoch`` is the time of day."""

    def step(self, clock: float, epoch: float) -> None:
        """Read, decide and act once. Raises ``OSError`` when its files cannot be written."""

    def stop(self, epoch: float) -> None:
        """Leave things as the policy for the end of the daemon says."""


def run(daemon: Daemon, interval: float, before_step: Sequence[Callable[[], None]] = ()) -> None:
    """Step every ``interval`` seconds until SIGTERM, SIGINT or SIGHUP. What a step delays is not made up for.

    What is done ``before_step`` holds the locks, and raises ``Busy`` where another daemon has one.
    """
    stopping = threading.Event()
    before = _catch(stopping)
    try:
        notify("READY=1")
        due = time.monotonic()
        while not stopping.is_set():
            for call in before_step:
                call()
            daemon.step(time.monotonic(), time.time())
            notify("WATCHDOG=1")
            due = max(due + interval, time.monotonic())
            stopping.wait(due - time.monotonic())
    finally:
        notify("STOPPING=1")
        daemon.stop(time.time())
        for number, handler in before.items():
            signal.signal(number, handler)


def _catch(stopping: threading.Event) -> dict[signal.Signals, signal._HANDLER]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    wanted = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    chosen = [number for number in wanted if signal.getsignal(number) != signal.SIG_IGN]  # nohup(1) ignores some
    return {number: signal.signal(number, stop) for number in chosen}


def notify(message: str) -> None:
    """Send ``READY=1``, ``WATCHDOG=1`` or ``STOPPING=1`` to systemd; nothing happens outside of it.

    A missing socket is ignored: systemd restarts a service that does not report.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # the abstract namespace (unix(7))
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.setblocking(False)
        try:
            channel.sendto(message.encode("ascii"), address)
        except OSError:
            return
