"""A crawl from its start URLs to the last file: level by level, several connections at once, one thread.

The loop asks for what may be asked for now, waits for the network, and settles what came (``settle``). Parsing is
fast enough for one thread (380 MB/s); what would not be is bookkeeping, so it is one transaction a response.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from adaptc.crawl.asking import Asking
from adaptc.crawl.claims import Claims
from adaptc.crawl.discover.feeds import SITEMAP
from adaptc.crawl.fetch import Fetcher, Request, Response
from adaptc.crawl.frontier import Frontier
from adaptc.crawl.names import name_of
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.pace import Pace
from adaptc.crawl.robots import MOST_REDIRECTS, UNREACHABLE, Robots, robots_of
from adaptc.crawl.rows import Found, Row, State
from adaptc.crawl.settle import Settler
from adaptc.crawl.waiting import Task, Waiting
from adaptc.crawl.weburl import parts_of, resolved

_WINDOW = 1000  # rows of the frontier that are held
_TOGETHER = 16  # responses that are settled in one transaction: a killed crawl asks for no more than these again
_PATIENCE = 1.0  # seconds between looks at the clock when nothing happens


@dataclass(slots=True)
class _RobotsTask:
    """A request for an origin's robots.txt, perhaps where it was redirected to."""

    origin: str
    host: str
    url: str
    hops: int = 0
    tried: int = 0


class Engine:
    """Fetches what the frontier holds until nothing is left, or ``is_stopped`` says so."""

    def __init__(
        self, options: CrawlOptions, frontier: Frontier, fetcher: Fetcher, settler: Settler, claims: Claims
    ) -> None:
        self.options, self.frontier, self.fetcher = options, frontier, fetcher
        self.settler, self.claims = settler, claims
        self.asking = Asking(options, settler.scope, frontier, settler.mirror)
        network = options.network
        self.pace = Pace(network.wait, network.random_wait, network.connections, network.all_connections)
        self.waiting = Waiting()
        self.clock: Callable[[], float] = time.monotonic
        self.is_stopped: Callable[[], bool] = lambda: False
        self.on_settled: Callable[[], None] = lambda: None
        self._robots: dict[str, Robots | None] = {}  # None while it is asked for
        self._loaded = -1  # the rank up to which the level's rows are in ``waiting``
        self._is_drained = False
        self._arrived: deque[Response] = deque()

    def run(self) -> None:
        """Fetch every level. Raises ``KeyboardInterrupt`` when stopped; the frontier then holds what is left."""
        self._begin_level()
        while True:
            self._fetch_level()
            if self.settler.limit is not None or self.frontier.next_level() is None:
                break
            self._begin_level()

    # ---- levels

    def _begin_level(self) -> None:
        self._loaded, self._is_drained = -1, False
        if not self.options.spider:
            self._claim_names()

    def _claim_names(self) -> None:
        """Give a name to every URL of the level before the first is asked for, in the order of ranks."""
        last = -1
        while rows := self.frontier.queued(last, _WINDOW):
            with self.frontier:
                self.frontier.set_names([(self._claimed(row), row.id) for row in rows if row.name is None])
            last = rows[-1].rank or 0

    def _claimed(self, row: Row) -> str:
        return self.claims.claim(name_of(self._named_after(row), self.options.names))

    def _named_after(self, row: Row) -> str:
        """Return the URL that gives the name: what was redirected keeps the name that was asked for (as in wget).

        But not where only a slash was added, since the name would stand in the way of what is below.
        """
        origin = row
        is_redirected = (row.place or "").startswith("redirect")
        while is_redirected and not self.options.names.trust_server_names and origin.parent is not None:
            parent = self.frontier.by_id(origin.parent)
            if parent is None or parent.state != State.REDIRECTED or parent.target != origin.id:
                break
            if origin.url == parent.url + "/":
                break
            origin = parent
        return origin.url

    # ---- one level

    def _fetch_level(self) -> None:
        while True:
            if self.is_stopped():
                raise KeyboardInterrupt
            self._fill()
            self._start()
            if not (self.fetcher.active or self.waiting or self._arrived):
                return
            self._arrived.extend(self._ended(self._patience()))
            with self.frontier:
                self._settle_arrived()

    def _settle_arrived(self) -> None:
        """Settle what came together in one transaction.

        The next requests go out before a page is parsed, so that the network does not wait for it.
        """
        for _ in range(_TOGETHER):
            if not self._arrived:
                return
            if len(self._arrived) < _TOGETHER:
                self._start()
            self._arrived.extend(self._ended(0.0))
            self._settle(self._arrived.popleft())
            self.on_settled()

    def _ended(self, patience: float) -> list[Response]:
        responses = self.fetcher.poll(patience)
        for response in responses:
            self.pace.ended(response.request.key.host, response.connected, response.head.closes)
        return responses

    def _fill(self) -> None:
        """Take rows of the level into memory while there is room."""
        if self.settler.limit is not None:
            self.waiting = Waiting()
            return
        if self._is_drained or len(self.waiting) > _WINDOW // 2:
            return
        rows = self.frontier.queued(self._loaded, _WINDOW)
        self._is_drained = not rows
        for row in rows:
            found = parts_of(row.url)
            self.waiting.add(self.asking.prepared(Task(row, found.origin, found.host)))
            self._loaded = row.rank or 0

    def _start(self) -> None:
        """Start what may start now, one request an origin in turn."""
        now = self.clock()
        self.waiting.wake(now)
        has_started = True
        while has_started and self.pace.active < self.pace.total:
            has_started = False
            for origin, line in self.waiting.lines():
                if self.pace.may_start(line[0].host, now) and self._is_ready(origin, line[0].host, now):
                    has_started = self._begin(self.waiting.take(origin), now) or has_started
        self.waiting.rotate()

    def _begin(self, task: Task, now: float) -> bool:
        refused = self._forbidden(task)
        if refused:
            self.settler.refuse(task.row, "robots", refused)
            return True
        if self.settler.from_disk(task.row):
            return True
        self.pace.started(task.host, now)
        self.fetcher.start(self.asking.request(task))
        return True

    def _forbidden(self, task: Task) -> str:
        """Return why robots.txt forbids a URL, nothing when it does not; what the user named is asked for anyway."""
        robots = self._robots.get(task.origin) if self.options.robots else None
        if robots is None or task.row.place == "start" or robots.allows(task.row.url):
            return ""
        return robots.reason

    def _patience(self) -> float:
        """Return how long to wait for the network: until something may start that may not now."""
        if self._arrived:
            return 0.0
        now = self.clock()
        soonest = now + _PATIENCE
        wake = self.waiting.next_wake()
        if wake is not None:
            soonest = min(soonest, wake)
        for _, line in self.waiting.lines():
            wait = self.pace.ready_in(line[0].host, now)
            if wait > 0:
                soonest = min(soonest, now + wait)
        return max(0.0, soonest - now)

    # ---- robots.txt

    def _is_ready(self, origin: str, host: str, now: float) -> bool:
        """Whether an origin's rules are known; else ask for them."""
        if not self.options.robots:
            return True
        if origin in self._robots:
            return self._robots[origin] is not None
        known = self.frontier.robots(origin)
        if known is not None:
            self._robots[origin] = robots_of(*known)
            self.pace.slow_down(host, self._robots[origin].delay)  # type: ignore[union-attr]
            return True
        self._robots[origin] = None
        self._ask_robots(_RobotsTask(origin, host, origin + "/robots.txt"), now)
        return False

    def _ask_robots(self, task: _RobotsTask, now: float) -> None:
        self.pace.started(task.host, now)
        self.fetcher.start(Request(task, task.url))

    def _robots_arrived(self, task: _RobotsTask, response: Response) -> None:
        head = response.head
        target = resolved(task.url, head.get("location") or "") if 300 <= head.status < 400 else None
        if target is not None and task.hops < MOST_REDIRECTS:
            host = parts_of(target).host
            self._ask_robots(_RobotsTask(task.origin, host, target, task.hops + 1), self.clock())
            return
        status = UNREACHABLE if response.error else head.status
        body = self.settler.keeping.decoded(response) if 200 <= status < 300 else b""
        robots = robots_of(status, body)
        self._robots[task.origin] = robots
        self.pace.slow_down(parts_of(task.origin + "/").host, robots.delay)
        with self.frontier:
            self.frontier.remember_robots(task.origin, status, body)
            if parts_of(task.origin + "/").host in self.settler.scope.hosts:
                self._robots_found(task.origin, robots, response, body)

    def _robots_found(self, origin: str, robots: Robots, response: Response, body: bytes) -> None:
        if robots.rules is not None:
            self.settler.keep_robots(origin + "/robots.txt", response, body)
        if self.options.sitemaps:
            self._add_sitemaps(robots, origin)

    def _add_sitemaps(self, robots: Robots, origin: str) -> None:
        found = (resolved(origin + "/", written) for written in robots.sitemaps)
        links = [Found(url, 1, requisite=False, place=SITEMAP) for url in found if url is not None]
        self.settler.links.add_sitemaps(links)

    # ---- what came

    def _settle(self, response: Response) -> None:
        task = response.request.key
        if isinstance(task, _RobotsTask):
            self._robots_arrived(task, response)
            return
        if self.settler.limit is not None:  # it was under way when the limit was reached
            self.settler.refuse(task.row, *self.settler.limit)
            return
        pause = self.asking.pause(task, response)
        if pause is None:
            self.settler.settle(task, response)
            return
        now = self.clock()
        if response.head.status in (429, 503):
            self.pace.back_off(task.host, now + pause)
        task.tried += 1
        self.waiting.postpone(task, now + pause)
