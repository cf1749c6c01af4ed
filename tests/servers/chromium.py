"""One Chromium for all tests of a process that look at pages by ``in_chromium``.

To start the browser and what drives it takes a second of the processor, to open a tab a tenth. Every tab has a context
of its own (no cookies, no cache), so tests do not see each other's pages. Only the given program is shared: what tests
start in place of a browser starts each time, as for users.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

from adaptc.browser import chromium
from adaptc.browser.chromium import Chromium

if TYPE_CHECKING:
    from playwright.async_api import Browser

T = TypeVar("T")

_in_thread, _launch, _close, _one_driver = chromium._in_thread, Chromium._launch, Chromium.close, chromium.one_driver


class SharedChromium:
    """Browsers of one program, by how they were started, in a thread with an event loop that lasts."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="shared browser", daemon=True)
        self.owners: dict[tuple[object, ...], Chromium] = {}
        self.lasting: set[asyncio.Task[Any]] = set()
        self.running = 0

    def run(
        self, run: Callable[[Callable[[int], None]], Coroutine[Any, Any, T]], advance: Callable[[int], None], _: object
    ) -> T:
        """Do what ``adaptc.browser.chromium._in_thread`` does, in the thread that lasts."""
        notes: SimpleQueue[int | None] = SimpleQueue()
        done = asyncio.run_coroutine_threadsafe(self._tidy(run(notes.put)), self.loop)
        done.add_done_callback(lambda _: notes.put(None))
        try:
            while (note := notes.get()) is not None:
                advance(note)
        except BaseException:
            done.cancel()
            while notes.get() is not None:
                pass
            raise
        return done.result()

    async def _tidy(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work; tabs and tasks that it leaves are ended."""
        self.running += 1
        try:
            return await work
        finally:
            self.running -= 1
            if not self.running:
                await self._end_rest()

    async def _end_rest(self) -> None:
        for owner in self.owners.values():
            for context in list(owner._browser.contexts) if owner._browser and owner.is_running else ():
                with contextlib.suppress(Exception):
                    await context.close()
        for task in asyncio.all_tasks() - self.lasting - {asyncio.current_task()}:
            task.cancel()

    async def launch(self, browser: Chromium) -> Browser:
        """Return the browser that runs already, for ``Chromium._launch``."""
        if browser.program != self.program or browser in self.owners.values():
            return await _launch(browser)
        key = (browser._flags, browser.is_sandboxed, browser.has_own_network)
        if key not in self.owners:
            owner = Chromium(browser.program, lambda _: None)
            owner._flags, owner.is_sandboxed, owner.has_own_network = key[0], *key[1:]
            self.owners[key] = owner
        owner = self.owners[key]
        if not owner.is_running:
            before = asyncio.all_tasks()
            await owner.start()
            self.lasting |= asyncio.all_tasks() - before
        browser.is_sandboxed, browser.has_own_network = owner.is_sandboxed, owner.has_own_network
        assert owner._browser is not None
        return owner._browser

    async def close(self, browser: Chromium) -> None:
        """End the browser unless others go on with it, for ``Chromium.close``."""
        if all(browser._browser is not owner._browser for owner in self.owners.values()):
            await _close(browser)

    async def _close_all(self) -> None:
        for owner in self.owners.values():
            await _close(owner)


@contextlib.contextmanager
def _patched(run: object, launch: object, close: object) -> Iterator[None]:
    with (
        mock.patch.object(chromium, "_in_thread", run),
        mock.patch.object(Chromium, "_launch", launch),
        mock.patch.object(Chromium, "close", close),
        mock.patch.object(chromium, "one_driver", contextlib.nullcontext if run is not _in_thread else _one_driver),
    ):
        yield


def own_chromium() -> contextlib.AbstractContextManager[None]:
    """Have ``in_chromium`` start a browser and end it, as for users."""
    return _patched(_in_thread, _launch, _close)


@contextlib.contextmanager
def shared_chromium(program: str) -> Iterator[None]:
    """Have ``in_chromium`` go on with the browser that runs, until the context ends."""
    shared = SharedChromium(program)
    shared.thread.start()
    with _patched(shared.run, lambda browser: shared.launch(browser), lambda browser: shared.close(browser)):
        yield
    asyncio.run_coroutine_threadsafe(shared._close_all(), shared.loop).result()
    shared.loop.call_soon_threadsafe(shared.loop.stop)
    shared.thread.join()
    shared.loop.close()
