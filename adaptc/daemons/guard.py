"""The guard: a small process that resets flags and buckets when their daemon dies or hangs.

A daemon that is killed cannot clean up after itself, and its flag would keep the site degraded for ever. So the
daemon starts ``python -m adaptc.daemons.guard SILENCE GRACE RUN...`` with its run directories and writes a byte to its
standard input at each step. After ``SILENCE`` seconds without a byte the guard resets the directories, and at the end
of the input where no other daemon reports within ``GRACE`` seconds: one that is started again in a crowd goes on where
the first one was, and the full site in between would be more than the server carries. ``FAREWELL`` as the last byte
means that the daemon has left things as they should be.

Under systemd the whole control group dies at once, guard included; there the unit's ``ExecStopPost`` starts the guard
with an empty input and without grace (templates/adaptc.service.j2).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from adaptc.daemons.run_directory import MODE_DAEMONS, RunDirectory

BEAT, FAREWELL = b".", b"q"
SILENCE = 10.0  # seconds without a step after which a daemon is taken for dead
GRACE = 8.0  # seconds within which one that was killed may have a successor
_PATIENCE = 0.1


def watch(descriptor: int, silence: float, runs: Sequence[RunDirectory], grace: float = 0.0) -> None:
    """Reset ``runs`` once ``descriptor`` ends or is silent; return at a farewell or the end."""
    is_hanging = False
    while True:
        readable, _, _ = select.select([descriptor], [], [], silence)
        received = os.read(descriptor, 4096) if readable else BEAT
        if received.endswith(FAREWELL):
            return
        if not readable or not received:
            last = {run: _reports(run) for run in runs}
            for run in runs:
                if is_hanging or not readable or not _has_successor(run, last[run], grace):
                    with contextlib.suppress(OSError):
                        run.reset()
        is_hanging = not readable
        if not received:
            return


def _has_successor(run: RunDirectory, last: Sequence[int], grace: float) -> bool:
    """Whether a daemon that sets the mode reports after the ``last`` reports of one that died, within so many seconds.

    Times of files are compared with themselves alone: the clock may be set meanwhile.
    """
    end = time.monotonic() + grace
    while _reports(run) == last:
        if time.monotonic() >= end:
            return False
        time.sleep(_PATIENCE)
    return True


def _reports(run: RunDirectory) -> list[int]:
    """Return when each daemon that sets the mode has reported last, in nanoseconds; 0 where none did."""
    found = []
    for name in MODE_DAEMONS:
        try:
            found.append((run.path / f"{name}.json").stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return found


def main() -> None:
    """Guard run directories; signals of the terminal are meant for the daemon."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    silence, grace, *paths = sys.argv[1:]
    watch(0, float(silence), [RunDirectory(Path(path)) for path in paths], float(grace))


class Guard:
    """The daemon's side: starts the guard and sends it heartbeats."""

    def __init__(self, runs: Sequence[RunDirectory], silence: float, grace: float = GRACE) -> None:
        paths = [str(run.path.absolute()) for run in runs]
        self._command = [sys.executable, "-P", "-m", "adaptc.daemons.guard", str(silence), str(grace), *paths]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # From "/", since -m puts the working directory on the path; in a session of its own, so that a terminal that
        # closes does not end it first.
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True, cwd="/")

    def beat(self) -> None:
        """Send a heartbeat; a guard that died is started again."""
        if self._process.poll() is not None or not self._send(BEAT):
            self._process = self._start()

    def close(self) -> None:
        """End the guard: flags and buckets are as they should be."""
        self._send(FAREWELL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _send(self, byte: bytes) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(byte)
        except BrokenPipeError:
            return False
        return True


if __name__ == "__main__":
    main()
