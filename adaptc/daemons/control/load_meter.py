"""How much a site is asked for.

Requests, rejections and kB since the last reading, from access logs or a status page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from adaptc.core.values import dataclass
from adaptc.daemons.classify.hits import container
from adaptc.daemons.control.machine import GROWTH, SMOOTHING, Load
from adaptc.daemons.follow import Follower, Mark
from adaptc.daemons.sensors.status_page import ServerStatus, StatusReader, Unanswered
from adaptc.formats.accesslog.parser import LineParser

BATCH = 64 << 20  # bytes of a log in one sample; a server that writes more has other problems
_REJECTED = 503
# How the emitted log formats say how long an answer took
_TOOK = re.compile(r" took=(\d+(?:\.\d+)?)(us|s|)(?![^ ])")
_UNITS = {"us": 1e6, "": 1e3, "s": 1.0}  # HAProxy's format cannot say its unit
# A log that is written in batches (nginx: buffer, flush) is silent between them: silence means nothing for as many
# usual batches, and at most for so many seconds.
_BATCHES, _LONGEST_SILENCE = 2.5, 30.0
_FORMAT_CHECK_LINES = 10  # as many lines in another format are no accident: single ones are requests that are not HTTP


class LoadUnknown(Exception):
    """A log or a status page is not there or cannot be read; the text says which."""


class Silent(LoadUnknown):
    """The status page does not answer, and is not gone: the server is busy."""


class Meter(Protocol):
    """Where the load of a site is read. What was before it was made is not counted.

    ``age`` is how old what it knows is, in seconds.
    """

    age: float

    @property
    def sees_rejections(self) -> bool:
        """Whether rejected requests are counted apart; else they count as served."""

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LoadUnknown``."""


@dataclass(slots=True)
class _Sum:
    lines: int = 0
    requests: int = 0
    pages: int = 0
    rejected: int = 0
    octets: int = 0
    timed: int = 0
    seconds: float = 0.0


class LogMeter:
    """The load of one site by its access logs.

    What a batch of lines holds came since the batch before; until the next one is due, the load stays what it was. The
    first lines after a longer silence came in the time of one sample: nobody knows yet that they are a batch.
    """

    sees_rejections = True

    def __init__(self, logs: Sequence[Path], parser: LineParser) -> None:
        self._followers = [Follower(path, _end(path)) for path in logs]
        self._parse = parser.parse
        self._load = Load(0.0, 0.0, 0.0)
        self._silence = self._batch = 0.0  # seconds since the last line, and usually between two batches
        self._total, self._unseen = _Sum(), 0.0  # since the last reading; seconds since ``growth`` saw any lines
        self._recent, self._usual = list[tuple[float, int]](), 0.0  # seconds and pages in them; pages a second
        self.age = 0.0

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LoadUnknown``."""
        self._gather()
        total, self._total = self._total, _Sum()
        if total.lines >= _FORMAT_CHECK_LINES and not total.requests:
            names = ", ".join(str(follower.path) for follower in self._followers)
            raise LoadUnknown(f"no line of {names} is in the format that log_format names")
        return self._spread(total, elapsed)

    def growth(self, elapsed: float) -> float:
        """Return how many times as many pages as usual are asked for in ``GROWTH`` seconds; 0 where that is not known.

        ``elapsed`` is the time since the last call. A batch of lines is from all of the time since the one before.
        Raises ``LoadUnknown``.
        """
        lines, pages = self._total.lines, self._total.pages
        self._unseen += elapsed
        self._gather()
        if self._total.lines == lines:
            return 0.0
        self._recent.append((self._unseen, self._total.pages - pages))
        while sum(seconds for seconds, _ in self._recent[1:]) >= GROWTH:
            del self._recent[0]
        self._unseen, seconds = 0.0, sum(seconds for seconds, _ in self._recent)
        rate = sum(count for _, count in self._recent) / seconds
        return rate / self._usual if self._usual and seconds >= GROWTH else 0.0

    def _gather(self) -> None:
        for follower in self._followers:
            self._add(follower, self._total)

    def _spread(self, total: _Sum, elapsed: float) -> Load:
        span, self._silence = self._silence + elapsed, self._silence + elapsed
        self.age = self._silence
        is_silent = span > min(_BATCHES * self._batch, _LONGEST_SILENCE)  # nobody came, rather than a batch is due
        if total.requests:
            batch, span = span, elapsed if is_silent else span
            seconds = total.seconds / total.timed if total.timed else None
            self._load = Load(total.requests / span, total.rejected / span, total.octets / 1000 / span, seconds)
            rate = total.pages / span
            self._usual += SMOOTHING * (rate - self._usual) if self._usual else rate
            self._batch = batch if batch > self._batch else self._batch + (batch - self._batch) / 4
            self._silence = self.age = 0.0
        elif is_silent:
            self._load = Load(0.0, 0.0, 0.0)
        return self._load

    def _add(self, follower: Follower, total: _Sum) -> None:
        try:
            if not follower.path.exists():
                raise LoadUnknown(f"there is no log {follower.path}")
            for line in follower.lines(BATCH):
                total.lines += 1
                entry = self._parse(line)
                if entry is not None:
                    total.requests += 1
                    total.pages += container(entry.path) is not None
                    total.rejected += entry.status == _REJECTED
                    total.octets += entry.size
                    took = _TOOK.search(line)
                    if took is not None:
                        total.timed += 1
                        total.seconds += float(took[1]) / _UNITS[took[2]]
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

    def __init__(self, page: StatusReader) -> None:
        self._page = page
        self.age = 0.0
        self._before: ServerStatus | None = None
        with suppress(LoadUnknown):
            self._before = self._read_page()

    def read(self, elapsed: float) -> Load:
        """Return the load of the last ``elapsed`` seconds. Raises ``LoadUnknown``."""
        before, self._before = self._before, None
        try:
            now = self._before = self._read_page()
        except Silent:
            self._before = before  # the next page is compared with it, and with its time
            raise
        requests, kilobytes = now.requests or 0, now.kilobytes or 0
        if before is None or requests < (before.requests or 0):
            raise LoadUnknown(f"{self._page.url} counts from here")
        elapsed = now.at - before.at or elapsed
        rate = (requests - (before.requests or 0)) / elapsed
        return Load(rate, 0.0, (kilobytes - (before.kilobytes or 0)) / elapsed, now.seconds or None)

    def _read_page(self) -> ServerStatus:
        try:
            status = self._page.read()
        except Unanswered as error:
            raise Silent(f"{self._page.url}: {error}") from error
        except (OSError, ValueError) as error:
            raise LoadUnknown(f"{self._page.url} cannot be read ({error})") from error
        if status.requests is None or status.kilobytes is None:
            raise LoadUnknown(f"{self._page.url} has no numbers of requests and kB (mod_status with ExtendedStatus)")
        return status
