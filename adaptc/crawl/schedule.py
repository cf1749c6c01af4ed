"""When URLs may be fetched: ``--wait``, Crawl-delay, connections, back-off; and what waits, by origin and rank."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Iterator

from adaptc.core.values import dataclass, field
from adaptc.crawl.frontier import Row

LONGEST_RETRY_AFTER = 3600.0  # seconds; a server that asks for more is not waited for
# The first SYN that a full queue of connections drops is sent again after a second (RFC 6298): a connection that
# takes this long met a server with a short queue. Python's http.server queues five: eight at once took 2.3 s where four
# took 0.3.
_DROPPED = 0.9
_PROMPT = 32  # connections in a row that were not dropped, after which one more is tried
_SPACING = 0.001  # seconds between two connections to a server that keeps none, so that it can accept one by one


@dataclass(slots=True)
class Host:
    """One host: requests under way, when the next may start, and the seconds between two requests.

    ``most`` is how many requests at once its queue takes; ``prompt`` counts connections since one was dropped.
    """

    active: int = 0
    ready_at: float = 0.0
    delay: float = 0.0
    most: int = 1
    prompt: int = 0
    spacing: float = 0.0


class Pace:
    """The pace of a crawl. ``seed`` makes ``--random-wait`` repeatable in tests."""

    def __init__(self, wait: float, random_wait: bool, connections: int, total: int, seed: int | None = None) -> None:
        self.wait, self.random_wait = wait, random_wait
        self.connections, self.total = connections, total
        self.active = 0
        self._hosts: dict[str, Host] = {}
        self._random = random.Random(seed)

    def host(self, name: str) -> Host:
        """Return what is known of a host."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(delay=self.wait, most=self.connections)
        return host

    def slow_down(self, name: str, delay: float) -> None:
        """Leave at least ``delay`` seconds between requests to a host (Crawl-delay)."""
        host = self.host(name)
        host.delay = max(host.delay, delay)

    def may_start(self, name: str, now: float) -> bool:
        """Whether a request to the host may start now."""
        host = self.host(name)
        most = 1 if host.delay else host.most
        return self.active < self.total and host.active < most and host.ready_at <= now

    def ready_in(self, name: str, now: float) -> float:
        """Return the seconds until the host may be asked, as far as time alone decides."""
        return max(0.0, self.host(name).ready_at - now)

    def started(self, name: str, now: float) -> None:
        """Note that a request to the host started."""
        host = self.host(name)
        host.active += 1
        self.active += 1
        host.ready_at = max(host.ready_at, now + self._gap(host))

    def _gap(self, host: Host) -> float:
        """Return the seconds to the next request: 0.5 to 1.5 times the wait where it is random (as in wget)."""
        if not host.delay:
            return host.spacing
        return host.delay * self._random.uniform(0.5, 1.5) if self.random_wait else host.delay

    def ended(self, name: str, connected: float = 0.0, closes: bool = False) -> None:
        """Note that a request to the host ended.

        ``connected`` is how many seconds the connection took, 0 for one that was open; ``closes`` that it was not kept.
        """
        host = self.host(name)
        host.active -= 1
        self.active -= 1
        host.spacing = _SPACING if closes else 0.0
        if connected >= _DROPPED:
            host.most, host.prompt = max(1, host.most // 2), 0
        elif connected and host.most < self.connections:
            host.prompt += 1
            if host.prompt >= _PROMPT:
                host.most, host.prompt = host.most + 1, 0

    def back_off(self, name: str, until: float) -> None:
        """Leave the host alone until then."""
        host = self.host(name)
        host.ready_at = max(host.ready_at, until)


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a ``Retry-After`` field asks for (RFC 9110, section 10.2.3); ``now`` is wall time."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    import email.utils

    try:
        date = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - now)


def retry_wait(tried: int, longest: float) -> float:
    """Return the seconds before the next attempt: 1, 2, 3 ... up to ``--waitretry`` (wget's linear back-off)."""
    return min(float(tried), longest)


# ---- tasks


@dataclass(slots=True)
class Task:
    """A URL to fetch. ``method`` is GET, or HEAD with ``--spider``; ``tried`` counts the attempts that failed.

    ``conditional`` says that ``headers`` ask for the file only if it changed. ``leftover`` is the size of a file that
    another program left and whose rest is asked for; ``is_whole`` says that no rest is asked for.
    """

    row: Row
    origin: str
    host: str
    method: str = "GET"
    tried: int = 0
    headers: tuple[str, ...] = ()
    conditional: bool = False
    leftover: int | None = None
    is_whole: bool = False


@dataclass(slots=True)
class TaskQueue:
    """Tasks by origin, taken from each in turn, so that one slow host does not stop the others."""

    by_origin: dict[str, deque[Task]] = field(default_factory=dict)
    later: list[tuple[float, int, Task]] = field(default_factory=list)
    _count: int = 0
    _tie: int = 0

    def __len__(self) -> int:
        return self._count + len(self.later)

    def add(self, task: Task) -> None:
        """Put a task at the end of its origin's line."""
        self.by_origin.setdefault(task.origin, deque()).append(task)
        self._count += 1

    def postpone(self, task: Task, until: float) -> None:
        """Keep a task until then, when it goes to the head of its line."""
        self._tie += 1
        heapq.heappush(self.later, (until, self._tie, task))

    def wake(self, now: float) -> None:
        """Bring back the tasks whose time has come."""
        while self.later and self.later[0][0] <= now:
            task = heapq.heappop(self.later)[2]
            self.by_origin.setdefault(task.origin, deque()).appendleft(task)
            self._count += 1

    def next_wake(self) -> float | None:
        """Return when the first postponed task comes back."""
        return self.later[0][0] if self.later else None

    def lines(self) -> Iterator[tuple[str, deque[Task]]]:
        """Yield the origins that have tasks, with their lines."""
        for origin in list(self.by_origin):
            line = self.by_origin[origin]
            if line:
                yield origin, line
            else:
                del self.by_origin[origin]

    def take(self, origin: str) -> Task:
        """Take the first task of an origin."""
        self._count -= 1
        return self.by_origin[origin].popleft()

    def rotate(self) -> None:
        """Let another origin be the first of the next round."""
        if len(self.by_origin) > 1:
            first = next(iter(self.by_origin))
            self.by_origin[first] = self.by_origin.pop(first)
