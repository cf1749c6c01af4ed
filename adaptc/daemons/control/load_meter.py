"""How much a site is asked for.

Requests, rejections and kB since the last reading, from access logs or a status page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adaptc.daemons.control.machine import Load
from adaptc.daemons.follow import Follower, Mark
from adaptc.daemons.sensors.status_page import ServerStatus, StatusPage
from adaptc.formats.accesslog.parser import LineParser

BATCH = 64 << 20  # bytes of a log in one sample; a server that writes more has other problems
_REJECTED = 503
_FORMAT_CHECK_LINES = 10  # as many lines in another format are no accident: single ones are requests that are not HTTP


class LoadUnknown(Exception):
    """A log or a status page is not there or cannot be read; the text says which."""


class Meter(Protocol):
    """Where the load of a site is read. What was before it was made is not counted."""

    @property
    def sees_rejections(self) -> bool:
        """Whether rejected requests are counted apart; else they count as served."""

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LoadUnknown``."""


@dataclass(slots=True)
class _Sum:
    lines: int = 0
    requests: int = 0
    rejected: int = 0
    octets: int = 0


class LogMeter:
    """The load of one site by its access logs."""

    sees_rejections = True

    def __init__(self, logs: Sequence[Path], parser: LineParser) -> None:
        self._followers = [Follower(path, _end(path)) for path in logs]
        self._parse = parser.parse

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LoadUnknown``."""
        total = _Sum()
        for follower in self._followers:
            self._add(follower, total)
        if total.lines >= _FORMAT_CHECK_LINES and not total.requests:
            names = ", ".join(str(follower.path) for follower in self._followers)
            raise LoadUnknown(f"no line of {names} is in the format that log_format names")
        return Load(total.requests / elapsed, total.rejected / elapsed, total.octets / 1000 / elapsed)

    def _add(self, follower: Follower, total: _Sum) -> None:
        try:
            if not follower.path.exists():
                raise LoadUnknown(f"there is no log {follower.path}")
            for line in follower.lines(BATCH):
                total.lines += 1
                entry = self._parse(line)
                if entry is not None:
                    total.requests += 1
                    total.rejected += entry.status == _REJECTED
                    total.octets += entry.size
        except OSError as error:
            raise LoadUnknown(f"log {follower.path} cannot be read ({error.strerror})") from error


def _end(path: Path) -> Mark | None:
    with suppress(OSError):
        status = os.stat(path)
        return Mark(status.st_dev, status.st_ino, status.st_size)
    return None


class StatusMeter:
    """The load of one server by mod_status."""

    sees_rejections = False

    def __init__(self, page: StatusPage) -> None:
        self._page = page
        self._before: ServerStatus | None = None
        with suppress(LoadUnknown):
            self._before = self._read_page()

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LoadUnknown``."""
        before, self._before = self._before, None
        now = self._before = self._read_page()
        requests, kilobytes = now.requests or 0, now.kilobytes or 0
        if before is None or requests < (before.requests or 0):
            raise LoadUnknown(f"{self._page.url} counts from here")
        rate = (requests - (before.requests or 0)) / elapsed
        return Load(rate, 0.0, (kilobytes - (before.kilobytes or 0)) / elapsed)

    def _read_page(self) -> ServerStatus:
        try:
            status = self._page.read()
        except (OSError, ValueError) as error:
            raise LoadUnknown(f"{self._page.url} cannot be read ({error})") from error
        if status.requests is None or status.kilobytes is None:
            raise LoadUnknown(f"{self._page.url} has no numbers of requests and kB (mod_status with ExtendedStatus)")
        return status
