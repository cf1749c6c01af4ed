"""Requests for tasks: method, fields, retries, and the partial files that they continue.

A file that was cut off is kept with its validators, and a range request fetches the rest (RFC 9110, section 14).

``Budget`` is what a crawl may still fetch.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from adaptc.core import media
from adaptc.crawl.discover.content import PARSED, kind_of
from adaptc.crawl.frontier import Frontier, Row
from adaptc.crawl.http import Head, Request, Response, is_coded
from adaptc.crawl.mirror import Mirror, http_date
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.schedule import LONGEST_RETRY_AFTER, Task, retry_after, retry_wait
from adaptc.crawl.scope import TOO_LARGE, Refusal, Scope, ScopeOptions, too_large
from adaptc.crawl.weburl import parts_of

_SIZEABLE = 1 << 20  # bytes; a larger file that was cut off is continued


class RequestFactory:
    """Makes requests of tasks."""

    def __init__(self, options: CrawlOptions, scope: Scope, frontier: Frontier, mirror: Mirror, budget: Budget) -> None:
        self.options, self.scope, self.frontier, self.mirror = options, scope, frontier, mirror
        self.budget = budget

    def prepared(self, task: Task) -> Task:
        """Complete a task: the method, and the fields of a conditional request."""
        row, update = task.row, self.options.update
        if self.options.spider:
            task.method = "GET" if _may_hold_links(row) else "HEAD"
        elif update.timestamping and row.name is not None:
            task.headers = self._conditions(row, row.name)
            task.conditional = bool(task.headers)
        return task

    def _conditions(self, row: Row, name: str) -> tuple[str, ...]:
        """Return the fields that ask for a file only when it changed (RFC 9110, section 13.1)."""
        size = self.mirror.size(name)
        if size is None:
            return ()
        if row.etag is None and row.modified is None:
            modified = self.mirror.modified(name)
            return (f"If-Modified-Since: {http_date(modified)}",) if row.status is None and modified else ()
        if row.disk != size:
            return ()  # cut short, or changed by another program: the whole file is requested
        fields = [f"If-None-Match: {row.etag}"] if row.etag else []
        return (*fields, *([f"If-Modified-Since: {row.modified}"] if row.modified else []))

    def _range(self, task: Task) -> tuple[str, ...]:
        """Return the fields that ask for the rest of a file that was cut off, nothing where the whole is asked for."""
        row, task.leftover = task.row, None
        if task.conditional or task.is_whole or task.method != "GET":
            return ()
        part = Path(part_of(self.mirror.spool, row.id)) if self.frontier.is_partial(row.id) else None
        if part is not None and part.exists():
            condition = self.frontier.partial(row.id)
            return range_fields(part.stat().st_size, condition) if condition else ()
        leftover = row.name if self.options.update.continue_partial and row.status is None else None
        if leftover is None or not self.mirror.size(leftover):
            return ()
        copied = shutil.copyfile(self.mirror.path(leftover), part_of(self.mirror.spool, row.id))
        task.leftover = os.stat(copied).st_size
        return range_fields(task.leftover, None)

    def request(self, task: Task) -> Request:
        """Return the request of a task."""
        request = Request(
            task, task.row.url, task.method, self._fields(task), spool=part_of(self.mirror.spool, task.row.id)
        )
        request.admit = lambda head: self._admit(task, head)
        limit = self.options.scope.max_filesize
        if limit is not None:
            request.most, request.excess = limit, too_large(limit)
        return request

    def _fields(self, task: Task) -> tuple[str, ...]:
        referrer = self.options.network.referer
        if referrer is None and task.row.parent is not None and task.row.place != "sitemap loc":
            referrer = _referrer(self.frontier.url_of(task.row.parent), task.row.url)
        fields = (*task.headers, *self._range(task))
        return (*fields, f"Referer: {referrer}") if referrer else fields

    def _admit(self, task: Task, head: Head) -> Refusal | None:
        """Return why a body is not wanted, now that its head is there."""
        if not 200 <= head.status < 300:
            return None
        refused = self.scope.response_refusal(task.row.url, head.media_type, total(head) or head.length)
        if refused is not None and (task.row.place != "start" or refused.rule == TOO_LARGE):
            return refused
        if self.options.spider and kind_of(head.media_type, task.row.place or "", b"") not in PARSED:
            return Refusal("spider", "is there")
        if head.length is not None:
            self.budget.announce(task.row.id, head.length)
        if (head.length or 0) > _SIZEABLE and head.status == 200 and not self.options.spider:
            with self.frontier:
                self.frontier.remember_partial(task.row.id, validator(head))
        return None

    def pause(self, task: Task, response: Response) -> float | None:
        """Return the seconds after which to try again, ``None`` when the response is final."""
        network = self.options.network
        if self._asks_otherwise(task, response):
            task.tried -= 1
            return 0.0
        if response.refused is not None or (network.tries and task.tried + 1 >= network.tries):
            return None
        if response.is_dropped:
            return 0.0  # a server may close an idle connection at any time
        if response.is_final or not (response.error or response.head.status in network.retry_on):
            return None
        requested = retry_after(response.head.get("retry-after"), time.time())
        if requested is not None and requested > LONGEST_RETRY_AFTER:
            return None
        return requested if requested is not None else retry_wait(task.tried + 1, network.retry_wait)

    def _asks_otherwise(self, task: Task, response: Response) -> bool:
        """Change a request that the server cannot answer: HEAD to GET, a rest to the whole file."""
        if task.method == "HEAD" and self._needs_get(task, response):
            task.method = "GET"
            return True
        if response.head.status == 416 and not task.is_whole and not is_whole(response.head, task.leftover):
            task.is_whole = True
            Path(part_of(self.mirror.spool, task.row.id)).unlink(missing_ok=True)
            return True
        return False

    def _needs_get(self, task: Task, response: Response) -> bool:
        """Whether a GET must follow: the server does not support HEAD, or the file holds links."""
        if response.error:
            return False
        if response.head.status in (403, 405, 501):
            return True
        is_parsed = kind_of(response.head.media_type, task.row.place or "", b"") in PARSED
        return is_parsed and response.refused is None and 200 <= response.head.status < 300


def _referrer(parent: str, url: str) -> str | None:
    """Return the Referer of a request; none from a page over TLS to a URL without it (Referrer Policy's default)."""
    return None if parent.startswith("https:") and url.startswith("http:") else parent


def _may_hold_links(row: Row) -> bool:
    """Whether a URL's name may be that of a page, a sheet, or anything else with links."""
    known = media.by_name(parts_of(row.url).file)
    return known is None or kind_of(known, row.place or "", b"") in PARSED


# ---- partial files

_UNSATISFIED = re.compile(r"bytes\s+\*/(\d+)\s*$", re.IGNORECASE)
_RANGE = re.compile(r"bytes\s+(\d+)-(\d+)/(\d+|\*)\s*$", re.IGNORECASE)


def part_of(spool: str, number: int) -> str:
    """Return where the part of a URL's file is, if there is one; ``number`` is the URL's id."""
    return f"{spool}/{number}.part"


def validator(head: Head) -> str | None:
    """Return the value for ``If-Range``: a strong ETag, else Last-Modified; ``None`` where no part can be continued."""
    if is_coded(head):
        return None
    etag = head.get("etag")
    return etag if etag is not None and not etag.startswith("W/") else head.get("last-modified")


def range_fields(size: int, condition: str | None) -> tuple[str, ...]:
    """Return the fields that ask for the rest after ``size`` bytes."""
    fields = (f"Range: bytes={size}-", "Accept-Encoding: identity")
    return (*fields, f"If-Range: {condition}") if condition else fields


def continues(head: Head, size: int) -> bool:
    """Whether a 206 is the rest after ``size`` bytes."""
    match = _RANGE.match(head.get("content-range") or "")
    return match is not None and int(match[1]) == size


def is_whole(head: Head, size: int | None) -> bool:
    """Whether a 416 says that the file has ``size`` bytes: there is no rest (RFC 9110, section 15.5.17)."""
    match = _UNSATISFIED.match(head.get("content-range") or "")
    return head.status == 416 and match is not None and int(match[1]) == size


def total(head: Head) -> int | None:
    """Return the size of the whole file that a 206 is a part of."""
    match = _RANGE.match(head.get("content-range") or "")
    return int(match[3]) if match is not None and match[3] != "*" else None


# ---- what a crawl may still fetch: ``--quota`` and ``--max-pages``
#
# Nothing is started beyond them, and what is under way when one is used up is kept. So requests under way count before
# they end: a file with what its head announces, or else with the mean of the files so far; any of them may be a page.


class Budget:
    """The files that came, and those that are under way. ``spent`` is set when a limit is used up, and says which."""

    def __init__(self, scope: ScopeOptions) -> None:
        self.quota, self.max_pages = scope.quota, scope.max_pages
        self.max_total, self.max_time = scope.max_total, scope.max_time
        self.is_bounded = self.quota is not None or self.max_pages is not None
        self.spent: Refusal | None = None
        self.files = self.pages = self.received = 0
        self._announced: dict[int, int] = {}  # bytes by the id of the URL

    def announce(self, number: int, size: int) -> None:
        """Note how many bytes a response under way has."""
        if self.quota is not None:
            self._announced[number] = size

    def forget(self, number: int) -> None:
        """Note that a response is not under way any more."""
        self._announced.pop(number, None)

    def count(self, size: int, *, is_page: bool) -> None:
        """Count a file that came, of ``size`` bytes."""
        self.files += 1
        self.pages += is_page
        self.received += size
        if self.quota is not None and self.received >= self.quota:
            self.spent = Refusal("quota", f"--quota {self.quota} is used up")
        if self.max_total is not None and self.received >= self.max_total:
            self.spent = Refusal("max-total", f"--max-total {self.max_total} is used up")
        if self.max_pages is not None and self.pages >= self.max_pages:
            self.spent = Refusal("max-pages", f"--max-pages {self.max_pages} is reached")

    def note_time(self, seconds: float) -> bool:
        """Return whether the time is over, after ``seconds`` of this process."""
        if self.max_time is not None and seconds >= self.max_time:
            self.spent = self.spent or Refusal("max-time", f"--max-time {self.max_time:g} is over")
            return True
        return False

    def may_start(self, active: int) -> bool:
        """Whether a request may start while ``active`` others are under way."""
        if self.spent is not None:
            return False
        if self.max_pages is not None and self.pages + active >= self.max_pages:
            return False
        return self.quota is None or self.received + self._expected(active) < self.quota

    def _expected(self, active: int) -> float:
        mean = self.received / self.files if self.files else 0.0
        return sum(self._announced.values()) + max(0, active - len(self._announced)) * mean
