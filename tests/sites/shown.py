"""Pages in memory that a tab of the browser shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.tab import Tab

T = TypeVar("T")
URL = "https://site.invalid/"


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
    served = site({"index.html": server}) if isinstance(server, str) else server

    async def work(browser: Chromium) -> T:
        async with browser.tab(served, width, 200, is_drawn=is_drawn) as tab:
            await tab.load(URL)
            return await look(tab)

    return in_chromium(program, work)
