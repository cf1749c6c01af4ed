"""How soon a phone on a slow line shows a page: paints, layout shifts, blocking time, bytes before the first paint.

The line to a server on loopback is emulated by Chromium (Network.emulateNetworkConditions of its DevTools protocol);
the processor is slowed down by 4, as Lighthouse does, if that is wanted: Chromium has it do nothing but count for three
quarters of the time, also while a page waits for the line. Times are those of the machine, and no two loads take the
same.

``loopback_host`` sends what a ``Server`` answers, as static hosts do: HTTP/1.1, with Brotli for text.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import statistics
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.tab import SKETCH, BrowserError, saying_why, script
from adaptc.core import media
from adaptc.core.values import dataclass, fields
from adaptc.formats.codings import encode

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Route, WebSocketRoute

_PHONE = {"width": 412, "height": 823}
_DENSITY, _SLOWDOWN = 1.75, 4
# Seconds: for a page to load, and for paints after its load event
_PATIENCE, _SETTLED = 120.0, 1.5


@dataclass(frozen=True, slots=True)
class Line:
    """A line: the ms from a request to its answer, and bits a second down and up."""

    latency: int
    down: int
    up: int


# The profiles of WebPageTest with these names
LINES = {
    "2g": Line(800, 280_000, 256_000),
    "3g": Line(300, 1_600_000, 768_000),
    "4g": Line(170, 9_000_000, 9_000_000),
}


@dataclass(frozen=True, slots=True)
class Paint:
    """A load of a page: ms to the first and to the largest contentful paint, -1 where nothing was painted.

    ``shift`` is its cumulative layout shift (web.dev/cls: the worst window of shifts), ``blocking`` its total blocking
    time in ms (web.dev/tbt: what each task after the first paint took beyond 50 ms), -1 where nothing was painted.
    ``before`` are the bytes that had arrived at the first paint, headers included, ``size`` all that arrived.
    """

    first: float
    largest: float
    shift: float
    blocking: float
    before: int
    size: int


def median_paint(paints: Iterable[Paint]) -> Paint:
    """Return the median of each figure."""
    loads = list(paints)
    values = {each.name: statistics.median_low(getattr(load, each.name) for load in loads) for each in fields(Paint)}
    return Paint(**values)


async def load_by_phone(browser: Chromium, server: Server, url: str, line: Line, *, is_slow: bool = True) -> Paint:
    """Load a page that ``server`` answers, with nothing in the cache, by phone. Raises ``BrowserError``.

    ``is_slow`` says that the processor is slowed down. Else the page is drawn small: with nothing to draw by but the
    processor, a page that moves took a third more of its time, and is shown as soon either way.

    The browser must reach loopback. Other hosts have no answer.
    """
    address = urlsplit(url)
    origin = f"{address.scheme}://{address.netloc}"
    with loopback_host(server, origin) as host:
        async with phone(browser, host, line, origin, is_slow=is_slow) as opened:
            return await opened.load(host + url.removeprefix(origin))


@contextlib.asynccontextmanager
async def phone(
    browser: Chromium, host: str, line: Line, origin: str = "", *, is_slow: bool = True
) -> AsyncIterator[Phone]:
    """Open a tab on a phone that reaches ``host`` by a line, and nothing else; ``origin`` leads there, too."""

    async def answer(route: Route) -> None:
        url = route.request.url
        if url.startswith(host + "/"):
            await route.continue_()
        elif origin and url.startswith(origin + "/"):
            location = {"Location": host + url.removeprefix(origin), "Access-Control-Allow-Origin": "*"}
            await route.fulfill(status=307, headers=location)
        else:
            await route.abort()

    with saying_why():
        context = await (await browser.start()).new_context(
            viewport=_PHONE,  # type: ignore[arg-type]
            device_scale_factor=_DENSITY,
            is_mobile=True,
            has_touch=True,
            accept_downloads=False,
            service_workers="block",
        )
        try:
            await context.route("**/*", answer)
            await context.route_web_socket("**/*", _refuse)
            page = await context.new_page()
            yield Phone(page, await _slowed(await context.new_cdp_session(page), line, is_slow))
        finally:
            await context.close()


async def _refuse(socket: WebSocketRoute) -> None:
    await socket.close()


async def _slowed(cdp: CDPSession, line: Line, is_slow: bool) -> CDPSession:
    await cdp.send("Network.enable")
    await cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
    speed = {"downloadThroughput": line.down / 8, "uploadThroughput": line.up / 8}
    await cdp.send("Network.emulateNetworkConditions", {"offline": False, "latency": line.latency, **speed})
    if is_slow:
        await cdp.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWDOWN})
    else:
        drawn = {**_PHONE, "deviceScaleFactor": _DENSITY, "mobile": True, "scale": SKETCH}
        await cdp.send("Emulation.setDeviceMetricsOverride", drawn)
    return cdp


class Phone:
    """A tab on a phone; ``page`` is Playwright's."""

    def __init__(self, page: Page, cdp: CDPSession) -> None:
        self.page, self._traffic = page, _Traffic()
        cdp.on("Network.requestWillBeSent", self._traffic.begin)
        cdp.on("Network.dataReceived", self._traffic.take)
        cdp.on("Network.loadingFinished", self._traffic.end)

    async def load(self, url: str) -> Paint:
        """Load a page and wait until it is painted. Raises ``BrowserError``."""
        with saying_why():
            async with asyncio.timeout(2 * _PATIENCE):
                await self.page.goto(url, wait_until="load", timeout=1000 * _PATIENCE)
                await asyncio.sleep(_SETTLED)
                seen = await self.page.evaluate(f"({script('paint')})()")
        if not self._traffic.is_begun:
            raise BrowserError("it loaded nothing")
        before = self._traffic.before(seen["origin"] + seen["first"]) if seen["first"] >= 0 else 0
        return Paint(seen["first"], seen["largest"], seen["shift"], seen["blocking"], before, self._traffic.size)


class _Traffic:
    """What arrived when: the events of Chromium's network, whose times are seconds of a clock of its own."""

    def __init__(self) -> None:
        self._offset: float | None = None
        # of each request: the times and decoded bytes of its pieces, and the bytes on the line when it has ended
        self._pieces: dict[str, list[tuple[float, int]]] = {}
        self._sizes: dict[str, int] = {}

    @property
    def is_begun(self) -> bool:
        """Whether anything was asked for."""
        return self._offset is not None

    @property
    def size(self) -> int:
        """All bytes that arrived."""
        return sum(self._size(request) for request in self._pieces)

    def before(self, time: float) -> int:
        """Return the bytes that had arrived at a time in ms since 1970; pieces count by their share of the content."""
        clock = time / 1000 - (self._offset or 0)
        arrived = 0.0
        for request, pieces in self._pieces.items():
            content = sum(size for _, size in pieces)
            share = sum(size for at, size in pieces if at <= clock) / content if content else 0.0
            arrived += share * self._size(request)
        return round(arrived)

    def _size(self, request: str) -> int:
        return self._sizes.get(request) or sum(size for _, size in self._pieces[request])

    def begin(self, event: dict[str, Any]) -> None:
        """Note the two clocks."""
        if self._offset is None:
            self._offset = event["wallTime"] - event["timestamp"]

    def take(self, event: dict[str, Any]) -> None:
        """Note a piece of an answer."""
        self._pieces.setdefault(event["requestId"], []).append((event["timestamp"], event["dataLength"]))

    def end(self, event: dict[str, Any]) -> None:
        """Note the size of an answer."""
        self._pieces.setdefault(event["requestId"], [])
        self._sizes[event["requestId"]] = int(event["encodedDataLength"])


# ---- a web server on loopback that sends what a ``Server`` answers

_MISSING = Answer(b"", "", status=404)


@contextlib.contextmanager
def loopback_host(server: Server, origin: str) -> Iterator[str]:
    """Serve what ``server`` answers for URLs of ``origin``; yield the origin on loopback that stands for it."""
    with _Host(server, origin) as host:
        threading.Thread(target=host.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{host.server_address[1]}"
        finally:
            host.shutdown()


class _Host(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, server: Server, origin: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._server, self._origin = server, origin

    def answer(self, path: str) -> Answer:
        """Return the answer for a path, with its query."""
        return self._server(self._origin + path) or _MISSING

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, but for connections that the browser closed: it may do so at any time."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # the header and the body are two packets: neither waits for the other to be acknowledged
    disable_nagle_algorithm = True
    server: _Host

    def do_GET(self) -> None:
        """Send the answer, encoded where that is usual."""
        answer = self.server.answer(self.path).for_client(self.headers.get("Accept", ""))
        body, headers = answer.body, dict(answer.headers)
        if answer.media_type:
            headers["Content-Type"] = answer.media_type
        if body and media.is_compressible(answer.media_type):
            body, headers["Content-Encoding"] = _encoded(body), "br"
        # fonts ask for it where a page names the origin that the loopback stands for
        headers.update({"Content-Length": str(len(body)), "Access-Control-Allow-Origin": "*"})
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@lru_cache(maxsize=256)
def _encoded(content: bytes) -> bytes:
    return encode(content, "br", "fast")
