"""Pages in memory that tabs of the browser show."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.tab import Tab

T = TypeVar("T")
URL = "https://site.invalid/"
# Tabs that are open side by side: a page waits for its own rest most of the time
_TABS = 6


def site(files: dict[str, str | bytes]) -> Server:
    """A server of ``files`` by name, pages and scripts by their ending."""
    types = {"html": "text/html", "js": "text/javascript", "gif": "image/gif", "css": "text/css"}
    types |= {"jpg": "image/jpeg", "webp": "image/webp", "avif": "image/avif"}

    def answer(url: str) -> Answer | None:
        name = url.removeprefix(URL)
        content = files.get(name or "index.html")
        if content is None:
            return None
        body = content if isinstance(content, bytes) else content.encode()
        return Answer(body, types[(name or "index.html").rpartition(".")[2]])

    return answer


def visit(
    program: str, server: Server | str, look: Callable[[Tab], Awaitable[T]], width: int = 300, *, is_drawn: bool = True
) -> T:
    """Load a page in a tab and return what ``look`` sees."""
    return in_chromium(program, lambda browser: _visit(browser, server, look, width, is_drawn=is_drawn))


def visits(program: str, servers: Iterable[Server | str], look: Callable[[Tab], Awaitable[T]]) -> list[T]:
    """Load pages side by side, each in a tab of its own; return what ``look`` sees of each, in order."""
    return side_by_side(program, (lambda browser, server=server: _visit(browser, server, look) for server in servers))


async def _visit(
    browser: Chromium,
    server: Server | str,
    look: Callable[[Tab], Awaitable[T]],
    width: int = 300,
    *,
    is_drawn: bool = True,
) -> T:
    served = site({"index.html": server}) if isinstance(server, str) else server
    async with browser.tab(served, width, 200, is_drawn=is_drawn) as tab:
        await tab.load(URL)
        return await look(tab)


def side_by_side(program: str, looks: Iterable[Callable[[Chromium], Awaitable[T]]]) -> list[T]:
    """Look at several pages at once in one browser; return what each look found, in order."""
    tabs = asyncio.Semaphore(_TABS)

    async def one(browser: Chromium, look: Callable[[Chromium], Awaitable[T]]) -> T:
        async with tabs:
            return await look(browser)

    async def work(browser: Chromium) -> list[T]:
        return await asyncio.gather(*(one(browser, look) for look in looks))

    return in_chromium(program, work)
