"""A tab of the browser: one page, loaded, made still, and looked at."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from adaptc.browser.answers import Server
from adaptc.core.fs import package_file
from adaptc.core.model import HELD_TYPE
from adaptc.core.values import dataclass, field

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, ConsoleMessage, Dialog, Page, Request, Route

# Widths below this are those of phones, whose browsers obey <meta name=viewport>
PHONE = 600
# CSS pixels of a page that are drawn at most
TALLEST = 10_000
# Seconds, on an idle machine: for the load event; for the requests after it to end; for a script in the page, a picture
# and others
_LOAD, _IDLE, _ANSWER = 20.0, 8.0, 20.0
# Seconds for the requests of a page that was not idle in time once: it may never be, and a robot waits for it often
_IDLE_AGAIN = 1.0
# Seconds without a request until a page counts as idle: scripts may wait for less before they ask for more
_QUIET, _QUIET_WITHOUT_SCRIPTS = 0.25, 0.05
# Steps of 50 ms that a page takes after it was loaded, and after it was scrolled through; and how many times at most
_STEPS, _STEPS_AT_LAST, _ROUNDS = 40, 20, 3
_MOST_ERRORS = 50
# Seconds for all that is done with a page in a tab, and what a page is that takes longer
_PATIENCE = 45.0
# Seconds that opening a tab takes, at most, on an idle machine: where it takes so many times as long, everything may;
# and the most of that factor, and of it for quiet
_OPENING, _SLOWEST, _SLOWEST_QUIET = 0.5, 8.0, 4.0
RESTLESS = "it does not come to rest"
SKETCH = 0.1
"""How large a tab draws of which no picture is taken. Layout stays; drawing was a quarter of the CPU time of a look."""
# Playwright's name of requests for icons and of what is fetched for later pages
_BY_BROWSER = "other"
# What is held until a document was parsed, if that is wanted, by Playwright's names, and for how many seconds at most
_HELD, _LONGEST_HOLD = frozenset({"image", "font", "media"}), 2.0
_SHARED = "adaptcShared"
_FORGET = """() => {
  window.name = ''
  try { sessionStorage.clear() } catch { /* it may store nothing */ }
  return location.origin
}"""
_WAKE = """(type) => {
  const isHeld = document.querySelector(`script[type=${type}]`) !== null
  if (isHeld) window.dispatchEvent(new Event(type))
  return isHeld
}"""
_HEIGHT = "() => Math.max(document.documentElement.scrollHeight, document.body?.scrollHeight ?? 0)"


class BrowserError(Exception):
    """The browser could not be started, ended, or did not answer; or a page could not be looked at."""


@contextlib.contextmanager
def saying_why() -> Iterator[None]:
    """Turn what Playwright raises into ``BrowserError``."""
    from playwright.async_api import Error

    try:
        yield
    except TimeoutError:
        raise BrowserError("it does not answer") from None
    except Error as error:
        reason = _first_line(error.message).partition(": ")[2] or _first_line(error.message)  # "Page.goto: ..."
        raise BrowserError("it ended" if "has been closed" in reason else reason) from None


@dataclass(frozen=True, slots=True)
class Load:
    """A request of a page.

    ``kind`` is Playwright's name of its resource type (``document``, ``script``, ``image`` ...), ``size`` the number of
    bytes of its answer, 0 with ``status`` 404.
    """

    url: str
    kind: str
    status: int
    size: int


@dataclass(slots=True)
class Seen:
    """What a page did while it was open.

    ``errors`` are uncaught exceptions and errors that it wrote to the console. ``departure`` is the address to which it
    tried to leave, and ``is_late`` says that it was not idle in time.
    """

    loads: list[Load] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    departure: str | None = None
    is_late: bool = False
    is_crashed: bool = False


class Tab:
    """One page in a context of its own. Every method raises ``BrowserError``.

    The page is frozen: its clock and its random numbers are the same in each load, timers of two seconds and more do
    not fire, service workers are not registered, dialogs are dismissed, and it cannot leave its address.
    """

    def __init__(self, context: BrowserContext, page: Page, cdp: CDPSession, server: Server, scale: float) -> None:
        self._context, self._page, self._cdp, self._server, self._scale = context, page, cdp, server, scale
        self.width = 0
        self.seen, self._forgotten = Seen(), set[str]()
        self.pace, self._quiet = 1.0, _QUIET
        self._url = ""
        self._active, self._last = 0, time.monotonic()
        self._world: int | None = None
        self._answers: set[asyncio.Task[Any]] = set()
        self._failure: Exception | None = None
        self._parsed: asyncio.Event | None = None

    @classmethod
    async def opened(cls, browser: Browser, server: Server, width: int, height: int, *, is_drawn: bool) -> Tab:
        """Open a tab of ``width`` by ``height`` CSS pixels; ``is_drawn`` says that pictures of it can be taken."""
        begun = time.monotonic()
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=1,
            is_mobile=width < PHONE,
            locale="en-US",
            timezone_id="UTC",
            accept_downloads=False,
            service_workers="block",
        )
        page = await context.new_page()
        cdp = await context.new_cdp_session(page)
        tab = cls(context, page, cdp, server, 1 if is_drawn else SKETCH)
        await context.add_init_script(script("freeze"))
        await context.route("**/*", tab._answer)
        context.on("page", lambda other: asyncio.ensure_future(_closed(other, page)))
        context.on("dialog", _dismiss)
        page.on("console", tab._take_message)
        page.on("pageerror", lambda error: tab._take_error(error.message))
        page.on("crash", lambda _: tab._take_crash())
        await tab.resize(width, height)
        tab.pace = min(max(1.0, (time.monotonic() - begun) / _OPENING), _SLOWEST)
        return tab

    async def close(self) -> None:
        """Close the tab, and forget all that the page stored."""
        with contextlib.suppress(BrowserError), saying_why():
            await asyncio.wait_for(self._context.close(), _ANSWER)
        answers = tuple(self._answers)
        for task in answers:  # what they wait for does not come any more
            task.cancel()
        if answers:
            await asyncio.wait(answers, timeout=_ANSWER)

    @property
    def urls(self) -> set[str]:
        """The URLs that were asked for."""
        return self._forgotten | {load.url for load in self.seen.loads}

    @property
    def patience(self) -> float:
        """Seconds for all that is done with a page: more of them the busier the machine is."""
        return _PATIENCE * self.pace

    # ---- loading

    def serve(self, server: Server, *, runs_scripts: bool = True) -> None:
        """Take the next answers from another server; ``runs_scripts`` says whether pages of it run any."""
        self._server, self._quiet = server, _QUIET if runs_scripts else _QUIET_WITHOUT_SCRIPTS

    def hold_images(self) -> None:
        """Have images and fonts from now on come once the document was parsed.

        What scripts measure while it is does not depend then on how fast these come. A proof compares pages in which
        some of them are inside the page with pages in which they are not, and holds none.
        """
        self._parsed = parsed = asyncio.Event()
        self._page.on("domcontentloaded", lambda _: parsed.set())

    async def stay(self) -> None:
        """Have the page from now on not even be loaded again: its own address counts as a departure, too.

        Nothing is left in the history to go back to, either.
        """
        self._url = ""
        await self.send("Page.resetNavigationHistory")

    async def resize(self, width: int, height: int) -> None:
        """Give the window another size, in CSS pixels; a phone obeys what the page says of its viewport."""
        self.width, is_phone = width, width < PHONE
        size = {"width": width, "height": height, "screenWidth": width, "screenHeight": height}
        orientation = {"angle": 0, "type": "portraitPrimary" if is_phone else "landscapePrimary"}
        more = {"deviceScaleFactor": 1, "mobile": is_phone, "screenOrientation": orientation, "scale": self._scale}
        await self.send("Emulation.setDeviceMetricsOverride", {**size, **more})

    async def load(self, url: str) -> None:
        """Load a page, give it two seconds of its own time, scroll so that it loads what it loads late, and stop it."""
        await self.open(url)
        await self.advance(_STEPS)
        await self.scroll()
        await self.advance(_STEPS_AT_LAST)
        await self.settle()

    async def open(self, url: str) -> None:
        """Load a page and wait until it asks for nothing more."""
        from playwright.async_api import TimeoutError as Late

        self._url, self._world = urldefrag(url).url, None
        if self._parsed is not None:
            self._parsed.clear()
        with saying_why():
            try:
                await self._page.goto(url, wait_until="load", timeout=1000 * _LOAD * self.pace)
            except Late:
                self.seen.is_late = True
        await self.idle(_IDLE)

    async def advance(self, steps: int) -> None:
        """Have the timers and frames of the page go on by ``steps`` of 50 ms, and again while it loads something."""
        for _ in range(_ROUNDS):
            known = self._noticed_loads()
            await self.run(script("advance"), {"steps": steps})
            await self.idle(_IDLE)
            if self._noticed_loads() == known:
                return

    def _noticed_loads(self) -> int:
        """Return how many requests a page may wait for: not that for its icon, which the browser makes at some time."""
        return sum(load.kind != _BY_BROWSER for load in self.seen.loads)

    async def scroll(self) -> None:
        """Scroll through the page and back to its top."""
        await self.run(script("scroll"), {"tallest": TALLEST})
        await self.idle(_IDLE)

    async def wake(self) -> bool:
        """Have scripts run that wait for a visitor, as after ``load``; returns whether the page has any."""
        if not await self.run(_WAKE, HELD_TYPE):
            return False
        await self.advance(_STEPS)
        await self.scroll()
        await self.advance(_STEPS_AT_LAST)
        await self.settle()
        return True

    async def settle(self) -> None:
        """Wait for fonts and images, then stop all movement."""
        await self.run(script("settle"), {"pace": self.pace})
        await self.idle(_IDLE / 2)

    async def idle(self, most: float) -> None:
        """Wait until nothing was asked for during a quarter of a second, at most ``most`` seconds.

        A page that was not idle in time before gets a second. All are longer on a busy machine; without scripts, a page
        that asked for nothing rests sooner. Raises what the server raised.
        """
        await asyncio.sleep(0)  # who waits for something, and calls this again and again, can be stopped
        most = min(most, _IDLE_AGAIN) if self.seen.is_late else most
        end, quiet = time.monotonic() + most * self.pace, self._quiet * min(self.pace, _SLOWEST_QUIET)
        while (self._active or time.monotonic() - self._last < quiet) and not self.seen.is_crashed:
            if time.monotonic() > end:
                self.seen.is_late = True
                return
            await asyncio.sleep(0.02)
        if self._failure is not None:
            raise self._failure
        if self.seen.is_crashed:
            raise BrowserError("the page crashed")

    async def answer(self) -> None:
        """Wait while the page answers what was done to it: what it imports and promises takes none of its own time."""
        self._last = time.monotonic()
        await self.idle(_IDLE)

    async def forget(self) -> None:
        """Forget what the page stored and did, which runs no scripts: the next one finds what it would in a new tab."""
        origin = await self.run(_FORGET)
        await self.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        self._forgotten, self.seen = self.urls, Seen()

    # ---- looking

    async def run(self, source: str, argument: object = None) -> Any:
        """Call a JavaScript function, given as its source, and return its result as a JSON value.

        Its arguments are ``argument`` and what ``shared.js`` returns. It runs in a world of its own: it sees the
        document, and nothing that the page's scripts redefined.
        """
        world = await self._own_world()
        return await self._evaluate(f"({source})({json.dumps(argument)}, globalThis.{_SHARED})", world)

    async def _evaluate(self, expression: str, world: int) -> Any:
        options = {"contextId": world, "awaitPromise": True, "returnByValue": True}
        reply = await self.send("Runtime.evaluate", {"expression": expression, **options})
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise BrowserError(_first_line(details.get("exception", {}).get("description") or details["text"]))
        return reply["result"].get("value")

    async def _own_world(self) -> int:
        if self._world is None:
            tree = await self.send("Page.getFrameTree")
            frame = tree["frameTree"]["frame"]["id"]
            world = await self.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "adaptc"})
            self._world = int(world["executionContextId"])
            await self._evaluate(f"void (globalThis.{_SHARED} = ({script('shared')})({self.pace}))", self._world)
        return self._world

    # ---- acting, as a person does

    async def point(self, x: float, y: float, *, is_click: bool = False) -> None:
        """Move the mouse to a place in the window, in CSS pixels, and click there."""
        mouse = self._page.mouse
        with saying_why():
            await asyncio.wait_for(mouse.click(x, y) if is_click else mouse.move(x, y), _ANSWER * self.pace)

    async def press(self, key: str) -> None:
        """Press a key, by its name in the DOM."""
        with saying_why():
            await asyncio.wait_for(self._page.keyboard.press(key), _ANSWER * self.pace)

    async def type(self, text: str) -> None:
        """Type a text where the focus is."""
        with saying_why():
            await asyncio.wait_for(self._page.keyboard.type(text), _ANSWER * self.pace)

    async def send(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """Call a method of the Chrome DevTools Protocol and return its result."""
        with saying_why():
            return await asyncio.wait_for(self._cdp.send(method, parameters), _ANSWER * self.pace)

    async def picture(self, height: int | None = None) -> bytes:
        """Return the top of the page as a PNG, ``height`` CSS pixels high or the whole page."""
        if height is None:
            height = max(1, min(int(await self.run(_HEIGHT)), TALLEST))
        clip = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
        shot = {"format": "png", "captureBeyondViewport": True, "optimizeForSpeed": True, "clip": clip}
        reply = await self.send("Page.captureScreenshot", shot)
        return base64.b64decode(reply["data"])

    # ---- what the page does

    async def _answer(self, route: Route) -> None:
        from playwright.async_api import Error

        self._active, self._last = self._active + 1, time.monotonic()
        task = asyncio.current_task()
        assert task is not None
        self._answers.add(task)
        try:
            await self._fulfil(route, route.request)
        except Error:  # the page was closed meanwhile, or gave the request up
            await _give_up(route)
        finally:
            self._answers.discard(task)
            self._active, self._last = self._active - 1, time.monotonic()

    async def _fulfil(self, route: Route, request: Request) -> None:
        url = request.url
        if self._leaves(request):
            self.seen.departure = self.seen.departure or url
            await route.fulfill(status=204)  # no content: the page stays
            return
        if self._parsed is not None and request.resource_type in _HELD:
            with contextlib.suppress(TimeoutError):  # a module may wait for a font while the document waits for it
                await asyncio.wait_for(self._parsed.wait(), _LONGEST_HOLD * self.pace)
        try:
            answer = await asyncio.to_thread(self._server, url)  # a file of a level may have to be built first
        except Exception as error:  # a full disk, as a rule: ``idle`` raises it
            self._failure = error
            await route.fulfill(status=500, body="failed")  # a page that is empty would be no page
            return
        if answer is None:
            self.seen.loads.append(Load(url, request.resource_type, 404, 0))
            await route.fulfill(status=404, body="")
            return
        answer = answer.for_client(request.headers.get("accept", ""))
        body = b"" if request.method == "HEAD" else answer.body  # routers ask so which page a link leads to
        self.seen.loads.append(Load(url, request.resource_type, answer.status, len(body)))
        headers = dict(answer.headers)
        if answer.media_type:
            headers["Content-Type"] = answer.media_type
        await route.fulfill(status=answer.status, body=body, headers=headers)

    def _leaves(self, request: Request) -> bool:
        """Whether the page goes elsewhere; the redirect of a directory to its slash is no departure."""
        if not request.is_navigation_request() or request.frame != self._page.main_frame:
            return False
        return urldefrag(request.url).url.rstrip("/") != self._url.rstrip("/")

    def _take_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "assert"):
            self._take_error(message.text)

    def _take_error(self, text: str) -> None:
        # a request that fails is in the list of requests
        if not text.startswith("Failed to load resource") and len(self.seen.errors) < _MOST_ERRORS:
            self.seen.errors.append(_first_line(text))

    def _take_crash(self) -> None:
        self.seen.is_crashed = True


@cache
def script(name: str) -> str:
    """Return the source of a script of this package, the function ``NAME.js``."""
    return package_file("adaptc.browser", f"{name}.js").read_text("utf-8")


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")[:400]


async def _give_up(route: Route) -> None:
    """End the handling of a request that nobody waits for, which Playwright would otherwise wait for without end."""
    from playwright.async_api import Error

    try:
        await route.abort()
    except Error:  # there is nothing left to abort
        with contextlib.suppress(Error):
            await route.fallback()


async def _closed(other: Page, page: Page) -> None:
    """Close what a page opens."""
    if other != page:
        with contextlib.suppress(BrowserError), saying_why():
            await other.close()


async def _dismiss(dialog: Dialog) -> None:
    with contextlib.suppress(BrowserError), saying_why():
        await dialog.dismiss()
