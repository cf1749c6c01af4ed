"""A robots.txt that cannot be fetched: a failure of its origin, where nothing else is asked for (RFC 9309, 2.3.1.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from adaptc.crawl.frontier import Frontier
from adaptc.crawl.http import Response
from adaptc.crawl.weburl import parts_of

NO_RESPONSE = 599  # the status stored for an origin whose robots.txt got no complete response


@dataclass(frozen=True, slots=True)
class RobotsFailure:
    """``kind`` is the class of the error; ``is_host_down`` says that no connection could be made at all."""

    kind: str
    message: str
    is_host_down: bool = False

    @property
    def reason(self) -> str:
        """Why a URL of the origin is not asked for; of a host that is down, what any request would get."""
        if self.is_host_down:
            return f"could not be fetched: {self.message}"
        return f"is not asked for: robots.txt {self.message} (RFC 9309, 2.3.1.4)"


def failure_of(status: int, content: bytes) -> RobotsFailure:
    """Return the failure that ``failure_bytes`` wrote for a status."""
    if status == NO_RESPONSE:
        return RobotsFailure(*json.loads(content)) if content else RobotsFailure("network", "could not be fetched")
    return RobotsFailure("server", f"is answered with {status}")


def failure_bytes(origin: str, response: Response) -> bytes:
    """Return what a response without a status says, for the frontier; nothing for any other."""
    if not response.error:
        return b""
    is_own = parts_of(response.request.url).origin == origin  # not where its robots.txt was redirected to
    if response.is_unreachable and is_own:
        return json.dumps([response.error, response.message, True]).encode()
    return json.dumps([response.error, f"could not be fetched: {response.message}", False]).encode()


def robots_failures(frontier: Frontier) -> Iterator[tuple[str, RobotsFailure]]:
    """Yield the origins of this run whose robots.txt could not be fetched."""
    for origin, status, content in frontier.robots_errors():
        yield origin, failure_of(status, content)
