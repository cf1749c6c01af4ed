"""How much a site is asked for, from its access logs: requests, rejections and kB since the last look."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adaptc.accesslog.parser import LineParser
from adaptc.runtime.classify.follow import Follower, Mark
from adaptc.runtime.control.machine import Load

BATCH = 64 << 20  # bytes of a log in one sample; a server that writes more has other problems
_REJECTED = 503


class LogMissing(Exception):
    """A log is not there or cannot be read: nothing is known of the load."""


@dataclass(slots=True)
class _Sum:
    requests: int = 0
    rejected: int = 0
    octets: int = 0


class Meter:
    """The load of one site. What the logs hold already when it is made is not counted."""

    def __init__(self, logs: Sequence[Path], parser: LineParser) -> None:
        self._followers = [Follower(path, _end(path)) for path in logs]
        self._parse = parser.parse

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LogMissing``."""
        total = _Sum()
        for follower in self._followers:
            self._add(follower, total)
        return Load(total.requests / elapsed, total.rejected / elapsed, total.octets / 1000 / elapsed)

    def _add(self, follower: Follower, total: _Sum) -> None:
        try:
            if not follower.path.exists():
                raise LogMissing(f"there is no log {follower.path}")
            for line in follower.lines(BATCH):
                entry = self._parse(line)
                if entry is not None:
                    total.requests += 1
                    total.rejected += entry.status == _REJECTED
                    total.octets += entry.size
        except OSError as error:
            raise LogMissing(f"log {follower.path} cannot be read ({error.strerror})") from error


def _end(path: Path) -> Mark | None:
    with suppress(OSError):
        status = os.stat(path)
        return Mark(status.st_dev, status.st_ino, status.st_size)
    return None
