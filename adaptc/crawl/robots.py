"""robots.txt of each origin (RFC 9309), fetched before anything else there and obeyed for the run.

protego gives the longest match, wildcards, Crawl-delay and sitemaps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from adaptc.core.values import dataclass, field, replace
from adaptc.crawl.discover.content import SITEMAP
from adaptc.crawl.frontier import Frontier, MetUrl
from adaptc.crawl.http import Fetcher, Request, Response, received_content
from adaptc.crawl.options import USER_AGENT, CrawlOptions, product_token
from adaptc.crawl.report import NO_RESPONSE, RobotsFailure, failure_bytes, failure_of
from adaptc.crawl.schedule import Pace, Task, retry_wait
from adaptc.crawl.scope import Refusal
from adaptc.crawl.settle import Settler
from adaptc.crawl.weburl import parts_of, resolved

LONGEST = 500 * 1024  # bytes that are read of a robots.txt (RFC 9309, section 2.5)
MOST_REDIRECTS = 5  # section 2.3.1.2
LONGEST_DELAY = 60.0  # seconds; a robots.txt that asks for more would have a crawl of a small site take days
_SERVER_ERROR = 500
_MOST_RECEIVED = 5 << 20  # bytes, after which it is cut off
_CUT = Refusal("robots", "is longer than a robots.txt is read")
_EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin for the group ``group``. ``rules`` is protego's, ``None`` where there are none.

    ``failure`` is set when robots.txt could not be fetched: then nothing may be asked for.
    """

    rules: Any = None
    group: str = _EVERYBODY
    failure: RobotsFailure | None = None
    sitemaps: tuple[str, ...] = field(default=())

    def allows(self, url: str) -> bool:
        """Whether the URL may be asked for."""
        return self.failure is None and (self.rules is None or bool(self.rules.can_fetch(url, self.group)))

    @property
    def delay(self) -> float:
        """Seconds to leave between requests: Crawl-delay, not of the standard but in common use, up to a minute."""
        asked = float(self.rules.crawl_delay(self.group) or 0.0) if self.rules is not None else 0.0
        return min(asked, LONGEST_DELAY) if asked > 0 else 0.0  # "nan" is no number of seconds


def robots_of(status: int, content: bytes, token: str = product_token(USER_AGENT)) -> Robots:
    """Return the rules of a response for ``/robots.txt`` (section 2.3.1), for the product ``token``.

    2xx is read; 4xx (and redirects that do not end) means no rules; 5xx is a failure.
    """
    if status >= _SERVER_ERROR:
        return Robots(failure=failure_of(status, content))
    if not 200 <= status < 300:
        return Robots()
    from protego import Protego

    text = content[:LONGEST].decode("utf-8-sig", "replace")
    rules = Protego.parse(text)
    return Robots(rules, _group(text, token), sitemaps=tuple(rules.sitemaps))


_USER_AGENT = re.compile(r"\s*user[- ]?agent\s*[:\s]\s*([^#]*)", re.IGNORECASE)


def _group(text: str, token: str) -> str:
    """Return the name of the group for a product token, as written; ``*`` where there is none.

    The whole token is compared, in any letter case (section 2.2.1). protego also takes a group whose name is a part of
    ours, and is asked for a group that is known to exist.
    """
    lines = (_USER_AGENT.match(line) for line in text.splitlines())
    names = (match[1].strip() for match in lines if match is not None)
    return next((name for name in names if token and product_token(name) == token), _EVERYBODY)


@dataclass(frozen=True, slots=True)
class RobotsTask:
    """A request for an origin's robots.txt, perhaps where it was redirected to; ``at`` is when it may be made."""

    origin: str
    host: str
    url: str
    hops: int = 0
    tried: int = 0
    at: float = 0.0


class Origins:
    """What the origins of a crawl allow. ``clock`` gives the time of ``RobotsTask.at``."""

    def __init__(
        self, options: CrawlOptions, frontier: Frontier, fetcher: Fetcher, settler: Settler, pace: Pace
    ) -> None:
        self.options, self.frontier, self.fetcher = options, frontier, fetcher
        self.token = options.network.agent
        self.settler, self.pace = settler, pace
        self._known: dict[str, Robots] = {}
        self.delays: dict[str, float] = {}  # what robots.txt asks for, by host
        self._requested: set[str] = set()
        self._again: dict[str, RobotsTask] = {}

    def is_ready(self, origin: str, host: str, now: float) -> bool:
        """Whether an origin's rules are known; else ask for them."""
        if not self.options.robots or origin in self._known:
            return True
        if origin in self._requested:
            self._ask_again(origin, now)
            return False
        stored = self.frontier.robots(origin)
        if stored is not None and stored[0] < _SERVER_ERROR:  # after a failure, a resumed crawl asks again
            self._learn(origin, robots_of(*stored, self.token))
            return True
        self._requested.add(origin)
        self._ask(RobotsTask(origin, host, origin + "/robots.txt"), now)
        return False

    def forbids(self, task: Task) -> bool:
        """Settle a URL that robots.txt forbids, or that cannot be judged; what the user named is asked for anyway."""
        robots = self._known.get(task.origin) if self.options.robots else None
        if robots is None or task.row.place == "start" or robots.allows(task.row.url):
            return False
        if robots.failure is None:
            self.settler.refuse(task.row, "robots", "robots.txt forbids it")
        else:
            self.settler.fail(task.row, robots.failure.kind, robots.failure.reason)
        return True

    def arrived(self, task: RobotsTask, response: Response, clock: Callable[[], float]) -> None:
        """Follow a redirect, try again, or learn the rules."""
        self.settler.record(response)
        head, now = response.head, clock()
        target = resolved(task.url, head.get("location") or "") if 300 <= head.status < 400 else None
        if target is not None and task.hops < MOST_REDIRECTS:
            self._ask(RobotsTask(task.origin, parts_of(target).host, target, task.hops + 1), now)
        elif self._may_try_again(task, response):
            wait = retry_wait(task.tried + 1, self.options.network.retry_wait)
            self._again[task.origin] = replace(task, tried=task.tried + 1, at=now + wait)
        else:
            self._settle(task.origin, response)

    def _may_try_again(self, task: RobotsTask, response: Response) -> bool:
        """Whether nothing is known yet: a server error, for which a whole site would count as forbidden."""
        tries = self.options.network.tries
        if response.is_final or (tries and task.tried + 1 >= tries):
            return False
        return bool(response.error) or response.head.status == 429 or response.head.status >= 500

    def _ask_again(self, origin: str, now: float) -> None:
        task = self._again.get(origin)
        if task is not None and task.at <= now:
            del self._again[origin]
            self._ask(task, now)

    def _ask(self, task: RobotsTask, now: float) -> None:
        self.pace.started(task.host, now)
        self.fetcher.start(Request(task, task.url, most=_MOST_RECEIVED, excess=_CUT))

    def _settle(self, origin: str, response: Response) -> None:
        status = NO_RESPONSE if response.error else response.head.status
        is_raw = self.settler.archive is not None
        body = received_content(response, is_raw=is_raw) if 200 <= status < 300 else failure_bytes(origin, response)
        robots = robots_of(status, body, self.token)
        self._learn(origin, robots)
        with self.frontier:
            self.frontier.remember_robots(origin, status, body)
            if parts_of(origin + "/").host in self.settler.scope.hosts:
                self._sitemaps_of(origin, robots, response, body)

    def _learn(self, origin: str, robots: Robots) -> None:
        self._known[origin] = robots
        if robots.delay:
            self.delays[parts_of(origin + "/").host] = robots.delay
        self.pace.slow_down(parts_of(origin + "/").host, robots.delay)

    def _sitemaps_of(self, origin: str, robots: Robots, response: Response, body: bytes) -> None:
        """Keep a robots.txt as a file of the site, and enter the sitemaps that it names."""
        if robots.rules is not None:
            self.settler.keep_robots(origin + "/robots.txt", response, body)
        if self.options.sitemaps:
            sitemaps = (resolved(origin + "/", written) for written in robots.sitemaps)
            links = [MetUrl(url, 1, requisite=False, place=SITEMAP) for url in sitemaps if url is not None]
            self.settler.links.add_sitemaps(links)
