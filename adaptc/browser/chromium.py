"""An installed Chromium, started without a window and driven by Playwright."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from adaptc.browser.answers import Server
from adaptc.browser.tab import BrowserError, Tab, saying_why

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

T = TypeVar("T")

EXTRA = "adaptc[browser]"
_FLAGS = (
    "--disable-lcd-text", "--mute-audio", "--disable-gpu", "--disable-quic", "--disable-checker-imaging",
    # what has sockets of its own: WebRTC (the first is the switch of today, the second that of old), what the browser
    # itself asks for, names that are looked up ahead
    "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking", "--dns-prefetch-disable",
    # an animated image stays at its first frame: another one would look like a difference between two levels
    "--blink-settings=imageAnimationPolicy=2", "--disable-image-animation-resync",
    # pages are looked at side by side, all of them as if in front
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-threaded-animation",
    "--disable-threaded-scrolling", "--disable-new-content-rendering-timeout",
)  # fmt: skip
# Of several --disable-features the last counts: those of Playwright are repeated. Each context has a window, for which
# Chromium draws the two pages of its address bar: half a second of CPU time; and a browser loads a page of its frame
# ahead, for .15 s
_FEATURES_OF_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect", "TcpPortRandomizationWin", "OptimizationHints", "NetworkTimeServiceQuerying",
    "AimEnabled", "PreconnectToSearch",
)  # fmt: skip
_OF_WINDOWS = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "PreloadTopChromeWebUI")
_WITH_SOCKETS = ("WebTransport", "DnsOverHttps", "AsyncDns", "DirectSockets")
_NO_FEATURES = ",".join((*_FEATURES_OF_PLAYWRIGHT, *_OF_WINDOWS, *_WITH_SOCKETS))
_NO_HOSTS = "--host-resolver-rules=MAP * ~NOTFOUND"
_LOOPBACK_ONLY = f"{_NO_HOSTS}, EXCLUDE 127.0.0.1"
_PATIENCE = 30.0  # seconds for the browser to start
# Gives a program a network of its own, with no other end: as root, and as any user where the system lets users
_UNSHARE = ("unshare", "--net")
_UNSHARE_AS_USER = ("unshare", "--user", "--map-current-user", "--net")


class Chromium:
    """A browser that is started anew when it ended. ``program`` is its path; ``advance`` takes a number of pages done.

    It runs in its sandbox unless that cannot be had: as root, or where the kernel forbids it (``is_sandboxed``). It
    knows the address of no host, but for 127.0.0.1 with ``reaches_loopback``. Without that it has no network at all
    where the system has namespaces (``has_own_network``): it is driven by a pipe, and all its requests are answered by
    that. Where there are none, as in most containers, only its switches keep it from the network.
    """

    def __init__(
        self,
        program: str,
        advance: Callable[[int], None],
        *,
        reaches_loopback: bool = False,
        driver: Driver | None = None,
    ) -> None:
        self.program, self.advance, self._driver = program, advance, driver or Driver()
        self._owns_driver = driver is None
        self._flags = (*_FLAGS, f"--disable-features={_NO_FEATURES}", _LOOPBACK_ONLY if reaches_loopback else _NO_HOSTS)
        self.is_sandboxed = os.geteuid() != 0
        self.has_own_network = not reaches_loopback and bool(_unshare())
        self._programs: tempfile.TemporaryDirectory[str] | None = None
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        """Whether the browser was started and has not ended."""
        return self._browser is not None and self._browser.is_connected()

    async def start(self) -> Browser:
        """Return the browser, which runs. Raises ``BrowserError``."""
        async with self._starting:
            if self._browser is None or not self.is_running:
                self._browser = await self._launch()
            return self._browser

    async def _launch(self) -> Browser:
        *safer, last = self._ways()
        for self.is_sandboxed, self.has_own_network in safer:
            with contextlib.suppress(BrowserError):
                return await self._launch_once()
        self.is_sandboxed, self.has_own_network = last
        return await self._launch_once()

    def _ways(self) -> list[tuple[bool, bool]]:
        """Return how it may be started, the safest way first: whether in its sandbox, and in a network of its own."""
        return [
            (sandboxed, own_network)
            for sandboxed in ((True, False) if self.is_sandboxed else (False,))
            for own_network in ((True, False) if self.has_own_network else (False,))
        ]

    def _started_program(self) -> str:
        """Return the program to start: that of the browser, or a script that gives it a network of its own."""
        if not self.has_own_network:
            return self.program
        if self._programs is None:
            self._programs = tempfile.TemporaryDirectory(prefix="adaptc-browser-")
        script = Path(self._programs.name, "browser")
        script.write_text(f'#!/bin/sh\nexec {shlex.join(_unshare())} -- {shlex.quote(self.program)} "$@"\n')
        script.chmod(0o700)
        return os.fspath(script)

    async def _launch_once(self) -> Browser:
        playwright = await self._driver.start()
        with saying_why():
            return await playwright.chromium.launch(
                executable_path=self._started_program(),
                args=list(self._flags),
                chromium_sandbox=self.is_sandboxed,
                timeout=1000 * _PATIENCE,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )

    @contextlib.asynccontextmanager
    async def tab(self, server: Server, width: int, height: int, *, is_drawn: bool = True) -> AsyncIterator[Tab]:
        """Open a tab in a context of its own (no cookies, no cache); ``width`` and ``height`` are CSS pixels.

        ``is_drawn`` says that pictures of it can be taken. Raises ``BrowserError``.
        """
        browser = await self.start()
        with saying_why():
            tab = await Tab.opened(browser, server, width, height, is_drawn=is_drawn)
        try:
            yield tab
        finally:
            await tab.close()

    async def close(self) -> None:
        """End the browser, and Playwright if no other browser is driven by it."""
        if self._browser is not None:
            with contextlib.suppress(BrowserError), saying_why():
                await self._browser.close()
        if self._owns_driver:
            await self._driver.stop()
        if self._programs is not None:
            self._programs.cleanup()


@cache
def _unshare() -> tuple[str, ...]:
    """Return the command that starts a program in a network of its own; nothing if the system has none to give."""
    for command in (_UNSHARE, _UNSHARE_AS_USER):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            if subprocess.run((*command, "--", "true"), capture_output=True, timeout=_PATIENCE).returncode == 0:
                return command
    return ()


class Driver:
    """Playwright, a process of its own, in the event loop in which it is started."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self.tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> Playwright:
        """Return it, which runs. Raises ``BrowserError`` where it is not installed."""
        if self._playwright is None:
            try:
                from playwright.async_api import async_playwright
            except ImportError:
                raise BrowserError(f"Playwright is not installed: pip install '{EXTRA}'") from None
            before = asyncio.all_tasks()
            self._playwright = await async_playwright().start()
            self.tasks = asyncio.all_tasks() - before
        return self._playwright

    async def stop(self) -> None:
        """End it."""
        if self._playwright is not None:
            await self._playwright.stop()
        self._playwright, self.tasks = None, set()


# The driver of several browsers, and the event loop in which it runs while one of these does
_SHARED: ContextVar[tuple[Driver, asyncio.AbstractEventLoop] | None] = ContextVar("shared driver", default=None)


@contextlib.contextmanager
def one_driver() -> Iterator[None]:
    """Have one Playwright drive the browsers that ``in_chromium`` starts meanwhile in this thread, one after the other.

    To start another takes half a second of the processor.
    """
    driver, loop = Driver(), asyncio.new_event_loop()
    token = _SHARED.set((driver, loop))
    try:
        yield
    finally:
        _SHARED.reset(token)
        loop.run_until_complete(driver.stop())
        _end_tasks(loop)
        loop.close()


def in_chromium(
    program: str,
    work: Callable[[Chromium], Awaitable[T]],
    advance: Callable[[int], None] = lambda _: None,
    *,
    reaches_loopback: bool = False,
) -> T:
    """Give ``work`` a browser, end it, and return the result of ``work``.

    ``work`` runs in a thread of its own, so that the caller may have an event loop; ``Chromium.advance(n)`` calls
    ``advance(n)`` in the thread of the caller. Playwright and the browser start when the first tab is opened. Raises
    ``BrowserError``, also where Playwright is not installed.
    """

    driver, loop = _SHARED.get() or (None, None)

    async def run(note: Callable[[int], None]) -> T:
        browser = Chromium(program, note, reaches_loopback=reaches_loopback, driver=driver)
        try:
            return await work(browser)
        finally:
            await browser.close()

    if driver is None or loop is None:
        with contextlib.closing(asyncio.new_event_loop()) as own:
            return _in_thread(run, advance, own)
    return _in_thread(run, advance, loop, driver)


def _in_thread(
    run: Callable[[Callable[[int], None]], Coroutine[Any, Any, T]],
    advance: Callable[[int], None],
    loop: asyncio.AbstractEventLoop,
    driver: Driver | None = None,
) -> T:
    """Run a coroutine in a thread, and cancel it when the caller is interrupted; what it notes goes to ``advance``.

    The tasks of the ``driver`` stay.
    """
    result: Future[T] = Future()
    notes: SimpleQueue[int | None] = SimpleQueue()
    task = loop.create_task(run(notes.put))

    def main() -> None:
        try:
            result.set_result(loop.run_until_complete(task))
        except BaseException as error:  # the thread that waits raises it
            result.set_exception(error)
        finally:
            try:
                _end_tasks(loop, driver)
            finally:
                notes.put(None)

    thread = threading.Thread(target=main, name="browser")
    thread.start()
    try:
        while (note := notes.get()) is not None:
            advance(note)
    except BaseException:
        with contextlib.suppress(RuntimeError):  # it has just ended
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()
    return result.result()


def _end_tasks(loop: asyncio.AbstractEventLoop, driver: Driver | None = None) -> None:
    """End what runs in a loop but for the driver's tasks; answers to pages that were closed meanwhile are given up."""
    # what is cancelled may start other tasks
    while rest := asyncio.all_tasks(loop) - (driver.tasks if driver is not None else set()):
        for task in rest:
            task.cancel()
        loop.run_until_complete(asyncio.wait(rest))
