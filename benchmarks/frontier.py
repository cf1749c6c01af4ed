"""A crawl of a million URLs that are only simulated: time and memory of everything but the network and the files.

Every page lists a thousand URLs; every thousandth URL is a page, so that the site is a tree of three levels. Memory is
the largest resident size of the process, printed as the crawl grows: what it needs must not grow with the site.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import deque
from pathlib import Path

from adaptc.crawl.crawl import CrawlProgress, crawl
from adaptc.crawl.http import Head, Request, Response
from adaptc.crawl.options import CrawlOptions, UpdateOptions

LINKS = 1000
PAGE = Head(200, (("content-type", "text/html"),))
FILE = Head(200, (("content-type", "image/png"),))


class Simulated:
    """Answers every request at once, the first first."""

    def __init__(self, urls: int) -> None:
        self.urls, self._asked = urls, deque[Request]()

    @property
    def active(self) -> int:
        """How many requests are under way."""
        return len(self._asked)

    def start(self, request: Request) -> None:
        """Begin a request."""
        self._asked.append(request)

    def poll(self, _timeout: float) -> list[Response]:
        """Return what has ended."""
        found = [self._answer(request) for request in self._asked]
        self._asked.clear()
        return found

    def close(self) -> None:
        """Nothing is open."""

    def _answer(self, request: Request) -> Response:
        path = request.url.partition("://")[2].partition("/")[2]
        if path == "robots.txt":
            return Response(request, Head(404))
        number = int(path[1:] or 0) if path else 0
        if number % LINKS:
            return Response(request, FILE, b"x", size=1)
        first = number if number else 0
        links = range(first + 1, first + LINKS) if number else range(0, self.urls, LINKS)
        body = "".join(f"<a href=/u{n}>x</a>" for n in (*links, *range(1, LINKS if not number else 1)))
        return Response(request, PAGE, body.encode(), size=len(body))


def peak() -> float:
    """Return the largest resident size so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    arguments = parser.parse_args()
    shown = 0

    def watch(now: CrawlProgress) -> None:
        nonlocal shown
        if now.files >= shown:
            shown = now.files + arguments.urls // 10
            print(
                f"{now.files:9,} fetched, {now.waiting:9,} wait, {now.seconds:5.0f} s, peak {peak():4.0f} MB",
                flush=True,
            )

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "m"
        options = CrawlOptions(("http://site.invalid/",), output, update=UpdateOptions(delete_after=True))
        start = time.perf_counter()
        result = crawl(options, fetcher=Simulated(arguments.urls), watch=watch)
        seconds = time.perf_counter() - start
        size = (output / ".adaptc/crawl.sqlite").stat().st_size / 1e6
    print(f"{result.stored:,} URLs in {seconds:.0f} s ({result.stored / seconds:,.0f} a second), ", end="")
    print(f"peak {peak():.0f} MB of memory, {size:.0f} MB of frontier on disk")


if __name__ == "__main__":
    main()
