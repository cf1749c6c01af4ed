"""A crawl from its start URLs to the last file: level by level, several connections at once, one thread.

The loop sends the requests that are allowed now, waits for the network, and settles responses (``settle``).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from adaptc.crawl.frontier import Frontier, UnnamedUrl
from adaptc.crawl.http import Fetcher, Response
from adaptc.crawl.names import Claims, name_of
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.request import RequestFactory
from adaptc.crawl.robots import Origins, RobotsTask
from adaptc.crawl.schedule import Pace, Task, TaskQueue
from adaptc.crawl.settle import Settler
from adaptc.crawl.weburl import parts_of

_WINDOW = 1000  # rows of the frontier that are held
_UNSETTLED = 16  # responses that wait to be settled at the most: a killed crawl asks for them again
_TURN = 0.01  # seconds of settling in a row: half of a short way to a server and back
_PATIENCE = 1.0  # seconds between looks at the clock when nothing happens


class Engine:
    """Fetches what the frontier holds until nothing is left, or ``is_stopped`` says so."""

    def __init__(
        self, options: CrawlOptions, frontier: Frontier, fetcher: Fetcher, settler: Settler, claims: Claims
    ) -> None:
        self.options, self.frontier, self.fetcher = options, frontier, fetcher
        self.settler, self.claims = settler, claims
        self.requests = RequestFactory(options, settler.scope, frontier, settler.mirror, settler.budget)
        network = options.network
        self.pace = Pace(network.wait, network.random_wait, network.connections, network.all_connections)
        self.origins = Origins(options, frontier, fetcher, settler, self.pace)
        self.budget = settler.budget
        self.queue = TaskQueue()
        self.clock: Callable[[], float] = time.monotonic
        self.is_stopped: Callable[[], bool] = lambda: False
        self.on_turn: Callable[[], None] = lambda: None
        self._begun = 0.0
        self._loaded = -1  # the rank up to which the level's rows are in ``queue``
        self._is_drained = False
        self._arrived: deque[Response] = deque()

    def run(self) -> None:
        """Fetch every level. Raises ``KeyboardInterrupt`` when stopped; the frontier then holds what is left."""
        self._begun = self.clock()
        self._begin_level()
        while True:
            self._fetch_level()
            if self.budget.spent is not None or self.frontier.next_level() is None:
                break
            self._begin_level()

    # ---- levels

    def _begin_level(self) -> None:
        self._loaded, self._is_drained = -1, False
        if not self.options.spider:
            self._claim_names()

    def _claim_names(self) -> None:
        """Give a name to every URL of the level before the first request, in the order of ranks."""
        last = -1
        while rows := self.frontier.unnamed(last, _WINDOW):
            with self.frontier:
                self.frontier.set_names([(self._claimed(row), row.id) for row in rows])
            last = rows[-1].rank

    def _claimed(self, row: UnnamedUrl) -> str:
        names = self.options.names
        return self.claims.claim(name_of(self.frontier.named_after(row, names.trust_server_names), names))

    # ---- one level

    def _fetch_level(self) -> None:
        while True:
            if self.is_stopped():
                raise KeyboardInterrupt
            if self.budget.note_time(self.clock() - self._begun):
                self._end_in_time()
                return
            self._fill()
            self._start()
            if not (self.fetcher.active or self.queue or self._arrived):
                return
            self._arrived.extend(self._ended(self._patience()))
            self.on_turn()
            if self._arrived:
                self._keep_busy()
                self._settle_arrived()

    def _end_in_time(self) -> None:
        """Settle what came; what is under way is given up, since a server may send a byte now and then for ever."""
        self.queue = TaskQueue()
        with self.frontier:
            while self._arrived:
                self._settle(self._arrived.popleft())

    def _keep_busy(self) -> None:
        """Let the next requests go out before what came is settled, so that the network does not wait for it."""
        if len(self._arrived) < _UNSETTLED and not self.options.network.wait:
            self._start()
            self._arrived.extend(self._ended(0.0))

    def _settle_arrived(self) -> None:
        """Settle what came, in one transaction, but not for so long that the network waits."""
        until = time.monotonic() + _TURN
        with self.frontier:
            while self._arrived:
                self._settle(self._arrived.popleft())
                if time.monotonic() > until:
                    break

    def _ended(self, patience: float) -> list[Response]:
        responses = self.fetcher.poll(patience)
        for response in responses:
            self.pace.ended(response.request.key.host, response.connected, response.head.closes)
        return responses

    def _fill(self) -> None:
        """Take rows of the level into memory while there is room."""
        if self.budget.spent is not None:
            self.queue = TaskQueue()
            return
        if self._is_drained or len(self.queue) > _WINDOW // 2:
            return
        rows = self.frontier.queued(self._loaded, _WINDOW)
        self._is_drained = not rows
        for row in rows:
            parts = parts_of(row.url)
            self.queue.add(self.requests.prepared(Task(row, parts.origin, parts.host)))
            self._loaded = row.rank or 0

    def _start(self) -> None:
        """Start what may start now, one request an origin in turn; nothing while what came waits to be settled."""
        now = self.clock()
        self.queue.wake(now)
        if len(self._arrived) >= _UNSETTLED:
            return
        has_started = True
        while has_started and self.pace.active < self.pace.total:
            has_started = False
            for origin, line in self.queue.lines():
                if not self._may_start():
                    break
                if self.pace.may_start(line[0].host, now) and self.origins.is_ready(origin, line[0].host, now):
                    has_started = self._begin(self.queue.take(origin), now) or has_started
        self.queue.rotate()

    def _may_start(self) -> bool:
        """Whether the budget allows one more request."""
        if not self.budget.is_bounded:
            return True
        return self.budget.may_start(self.pace.active + len(self._arrived))

    def _begin(self, task: Task, now: float) -> bool:
        if self.settler.from_disk(task.row) or self.origins.forbids(task):
            return True
        self.pace.started(task.host, now)
        self.fetcher.start(self.requests.request(task))
        return True

    def _patience(self) -> float:
        """Return how long to wait for the network: until something may start that may not now."""
        if self._arrived:
            return 0.0
        now = self.clock()
        soonest = now + _PATIENCE
        wake = self.queue.next_wake()
        if wake is not None:
            soonest = min(soonest, wake)
        for _, line in self.queue.lines():
            wait = self.pace.ready_in(line[0].host, now)
            if wait > 0:
                soonest = min(soonest, now + wait)
        return max(0.0, soonest - now)

    # ---- what came

    def _settle(self, response: Response) -> None:
        task = response.request.key
        if isinstance(task, RobotsTask):
            self.origins.arrived(task, response, self.clock)
            return
        self.budget.forget(task.row.id)
        pause = self.requests.pause(task, response)
        if pause is None:
            self.settler.settle(task, response)
            return
        if self.budget.spent is not None:  # nothing is tried again
            self.settler.refuse(task.row, *self.budget.spent)
            return
        now = self.clock()
        if response.head.status in (429, 503):
            self.pace.back_off(task.host, now + pause)
        task.tried += 1
        self.queue.postpone(task, now + pause)
