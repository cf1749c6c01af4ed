"""A client that views pages as browsers do, in a process of its own, so that its work is not that of the measurement.

A view is a connection: the page is requested, then what a browser loads with it, and the connection is closed. Several
browsers, threads of the process, view at once. libcurl is the client, which adaptc needs for crawls in any case: it
speaks TLS and HTTP/2 too, and its work is done without Python's lock.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from adaptc.core.interpreter import hide_working_directory
from adaptc.core.values import dataclass, field

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PATIENCE = 30  # seconds that an answer may take
# What browsers send in addition to Host and Accept-Encoding
FIELDS = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    "Accept-Language: en-US,en;q=0.9",
)


@dataclass(frozen=True, slots=True)
class View:
    """The URLs that a browser requests over one connection, and the Accept-Encoding that it sends; empty: none.

    ``fields`` are more lines of the header. ``allowed`` has for each URL what may answer it: status and X-Adapt, as in
    "200 full/br"; None is any answer. ``by_level`` has the rest of the view by the level that X-Adapt of the page has.
    """

    urls: tuple[str, ...]
    accept: str = ""
    fields: tuple[str, ...] = ()
    allowed: tuple[frozenset[str] | None, ...] = ()
    by_level: Mapping[str, View] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """Views to make in turn, once each or until ``seconds`` have passed, by ``browsers`` at once, one each at least.

    With ``has_visitors`` each view comes from another address of loopback, as 127.0.0.0/8 has on Linux.
    """

    views: tuple[View, ...]
    browsers: int = 1
    seconds: float = 0.0
    protocol: str = "http1"
    has_visitors: bool = False


@dataclass(slots=True)
class Outcome:
    """What came of a job.

    ``answers`` counts answers by status and by the field X-Adapt; ``octets`` are those of bodies as sent; ``times``
    are the seconds of each view; ``cpu`` and ``clock`` are seconds of the client. ``errors`` counts requests without
    an answer by reason, ``wrong`` answers that a view does not allow, by URL and what came.
    """

    answers: Counter[tuple[int, str]] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    octets: int = 0
    times: list[float] = field(default_factory=list)
    cpu: float = 0.0
    clock: float = 0.0
    is_http2: bool = False


class LoadClient:
    """The process of the client; it lives from job to job."""

    def __init__(self, link: Connection) -> None:
        self._link = link

    def run(self, job: Job) -> Outcome:
        """Do a job and return what came of it. Raises ``EOFError`` when the process has ended."""
        self._link.send(job)
        outcome: Outcome = self._link.recv()
        return outcome


@contextmanager
def load_client() -> Iterator[LoadClient]:
    """Run a client; it ends with this process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with hide_working_directory():
        process = context.Process(target=_serve_jobs, args=(there,), daemon=True)
        process.start()
    there.close()
    try:
        yield LoadClient(here)
    finally:
        here.close()
        process.join()


def _serve_jobs(link: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the command, which closes the link
    with suppress(EOFError, ConnectionError):
        while True:
            link.send(do(link.recv()))


def do(job: Job) -> Outcome:
    """Do a job in this process."""
    outcome, started, cpu = Outcome(), time.perf_counter(), time.process_time()
    end = started + job.seconds if job.seconds else None
    views = enumerate(job.views if end is None else itertools.cycle(job.views))
    browsers = [_Browser(job, views, end) for _ in range(job.browsers)]
    threads = [Thread(target=browser.view_all) for browser in browsers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for browser in browsers:
        _add(outcome, browser.outcome)
    outcome.clock, outcome.cpu = time.perf_counter() - started, time.process_time() - cpu
    return outcome


def _add(total: Outcome, part: Outcome) -> None:
    total.answers += part.answers
    total.errors += part.errors
    total.wrong += part.wrong
    total.octets += part.octets
    total.times += part.times
    total.is_http2 |= part.is_http2


class _Browser:
    """A thread that takes numbered views from an iterator, which all browsers share (``next`` is atomic)."""

    def __init__(self, job: Job, views: Iterator[tuple[int, View]], end: float | None) -> None:
        self.job, self.views, self.end, self.outcome = job, views, end, Outcome()
        self._adapted = ""

    def view_all(self) -> None:
        """Make views until there are no more, or the time is over."""
        import pycurl

        curl = self._handle()
        for number, view in self.views:
            started = time.perf_counter()
            if self.job.has_visitors:
                curl.setopt(pycurl.INTERFACE, f"host!{visitor(number)}")
            self._view(curl, view)
            ended = time.perf_counter()
            self.outcome.times.append(ended - started)
            if self.end is not None and ended >= self.end:
                break
        self.outcome.is_http2 = curl.getinfo(pycurl.INFO_HTTP_VERSION) == pycurl.CURL_HTTP_VERSION_2
        curl.close()

    def _handle(self) -> Any:
        import pycurl

        curl = pycurl.Curl()
        versions = {"http1": pycurl.CURL_HTTP_VERSION_1_1, "http2": pycurl.CURL_HTTP_VERSION_2TLS}
        curl.setopt(pycurl.HTTP_VERSION, versions[self.job.protocol])
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.MAXCONNECTS, 1)
        curl.setopt(pycurl.TIMEOUT, PATIENCE)
        curl.setopt(pycurl.SSL_VERIFYPEER, 0)  # the certificate is of a server on this machine
        curl.setopt(pycurl.SSL_VERIFYHOST, 0)
        curl.setopt(pycurl.SSL_SESSIONID_CACHE, 0)  # each view is of another visitor
        curl.setopt(pycurl.WRITEFUNCTION, self._count)
        curl.setopt(pycurl.HEADERFUNCTION, self._read_field)
        return curl

    def _view(self, curl: Any, view: View) -> None:
        """Request a page, and what it embeds at the level that was sent; a page that fails embeds nothing."""
        import pycurl

        encoding = (f"Accept-Encoding: {view.accept}",) if view.accept else ()
        curl.setopt(pycurl.HTTPHEADER, [*FIELDS, *encoding, *view.fields])
        curl.setopt(pycurl.FRESH_CONNECT, 1)
        status = self._request(curl, view, 0)
        curl.setopt(pycurl.FRESH_CONNECT, 0)
        rest = view.by_level.get(self._adapted.partition("/")[0], view)
        for number in range(1, len(rest.urls)) if 200 <= status < 400 else ():
            self._request(curl, rest, number)

    def _request(self, curl: Any, view: View, number: int) -> int:
        """Request a URL of a view, count the answer and return its status, 0 without one."""
        import pycurl

        curl.setopt(pycurl.FORBID_REUSE, number == len(view.urls) - 1 and not view.by_level)
        curl.setopt(pycurl.URL, view.urls[number])
        self._adapted = ""
        try:
            curl.perform()
        except pycurl.error as error:
            self.outcome.errors[str(error.args[1])] += 1
            return 0
        status = int(curl.getinfo(pycurl.RESPONSE_CODE))
        self.outcome.answers[status, self._adapted] += 1
        allowed = view.allowed[number] if view.allowed else None
        answer = f"{status} {self._adapted}".strip()
        if allowed is not None and answer not in allowed:
            self.outcome.wrong[view.urls[number], answer] += 1
        return status

    def _count(self, body: bytes) -> None:
        self.outcome.octets += len(body)

    def _read_field(self, line: bytes) -> None:
        if line[:8].lower() == b"x-adapt:":
            self._adapted = line[8:].strip().decode("latin-1")


def visitor(number: int) -> str:
    """Return an address of loopback for the visitor of that number; they repeat after 60,000."""
    return f"127.1.{number // 250 % 240}.{1 + number % 250}"
