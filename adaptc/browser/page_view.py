"""What a page shows at one width: the value that ``adaptc.browser.judge`` compares."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.evidence import HEIGHTS
from adaptc.browser.tab import RESTLESS, BrowserError, Load, script
from adaptc.core.digest import digest_parts

# The icon that a browser asks for by itself, and now and then after the page was drawn
_ICON = "/favicon.ico"


@dataclass(frozen=True, slots=True)
class PageView:
    """A page that was loaded, scrolled through and made still.

    ``picture`` is the whole page as a PNG. ``texts`` are the first characters of every element with text and where
    they begin, ``images`` the boxes of images (left, top, width, height), in CSS pixels. ``missing`` are images of the
    site that could not be shown, ``fonts`` the families of fonts that could not be loaded, ``replaced`` counts U+FFFD.
    ``names`` are ids and anchors, ``links`` the targets of links, ``fields`` the controls of forms (tag, type, name).

    ``seen``, ``seen_links`` and ``seen_fields`` are the text, links and controls that a reader sees, ``content`` and
    the like those of the content, without navigation. ``covered`` are those of ``samples`` pieces of the content that
    lie under something else.

    ``answers`` has the digest of the answer for each URL that was asked for. ``requests`` and ``size`` are the number
    of requests and the bytes of their answers.
    """

    mode: str
    text: str
    width: int
    height: int
    texts: tuple[tuple[str, float, float], ...] = ()
    images: tuple[tuple[float, float, float, float], ...] = ()
    missing: tuple[str, ...] = ()
    fonts: tuple[str, ...] = ()
    replaced: int = 0
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    forms: int = 0
    fields: tuple[str, ...] = ()
    seen: str = ""
    seen_links: tuple[str, ...] = ()
    seen_fields: tuple[str, ...] = ()
    content: str = ""
    content_links: tuple[str, ...] = ()
    content_fields: tuple[str, ...] = ()
    samples: int = 0
    covered: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    departure: str | None = None
    requests: int = 0
    size: int = 0
    picture: bytes = b""
    answers: Mapping[str, str] = field(default_factory=dict)


async def view_page(browser: Chromium, server: Server, url: str, width: int) -> PageView:
    """Load a page in a tab of its own and return what it shows. Raises ``BrowserError``."""
    recorder = Recorder(server)
    async with browser.tab(recorder, width, HEIGHTS[width]) as tab:
        try:
            async with asyncio.timeout(tab.patience):
                await tab.load(url)
                record = await tab.run(script("collect"))
                picture = await tab.picture()
        except TimeoutError:
            raise BrowserError(RESTLESS) from None
        seen = tab.seen
    loads = _counted(seen.loads)
    return PageView(
        **_values(record),
        errors=tuple(seen.errors),
        failed=tuple(sorted({load.url for load in loads if load.status >= 400})),
        departure=seen.departure,
        requests=len(loads),
        size=sum(load.size for load in loads),
        picture=picture,
        answers=recorder.digests,
    )


def _values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``collect.js`` found, by the names of fields."""
    names = {_camel(each.name): each.name for each in fields(PageView)}
    return {names[key]: _frozen(value) for key, value in record.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _counted(loads: list[Load]) -> list[Load]:
    """Return the loads that count: not the icon, and a file that is not there once, however often it is asked for."""
    counted: dict[object, Load] = {}
    for number, load in enumerate(loads):
        if not load.url.endswith(_ICON):
            counted.setdefault(load.url if load.status >= 400 else number, load)
    return list(counted.values())


# ---- what was answered


class Recorder:
    """A server that remembers the digests of its answers."""

    def __init__(self, server: Server) -> None:
        self._server, self.digests = server, dict[str, str]()

    def __call__(self, url: str) -> Answer | None:
        answer = self._server(url)
        self.digests[url] = answer_digest(answer)
        return answer


def answer_digest(answer: Answer | None) -> str:
    """Return the digest of all that a browser may get, whatever it accepts; that of no answer is empty."""
    if answer is None:
        return ""
    headers = (f"{name}: {value}" for name, value in answer.headers)
    alternates = (part for alternate in answer.alternates for part in alternate)
    return digest_parts(answer.body, answer.media_type, str(answer.status), *headers, *alternates)
