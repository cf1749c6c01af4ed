"""Looking at a page: it is loaded at each of ``WIDTHS``, and what is seen becomes evidence."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from adaptc.browser.answers import Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.coverage import RuleCoverage
from adaptc.browser.covers import covers_without_scripts
from adaptc.browser.evidence import HEIGHTS, WIDTHS, ImageSeen, PageEvidence, WidthEvidence
from adaptc.browser.tab import BrowserError, Tab, script

# Seconds for a page at one width
_PATIENCE = 45.0
_SHIFT_DIGITS = 3
_RESTLESS = "it does not come to rest"

PathOf = Callable[[str], str | None]
"""Returns the file of the docroot that a URL leads to."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of a page: its evidence, its markup after scripts, and the URLs that it asked for."""

    evidence: PageEvidence
    document: bytes | None
    urls: frozenset[str]

    def evidence_with(self, document: str | None) -> PageEvidence:
        """Return the evidence with the digest of the document."""
        return replace(self.evidence, document=document)


class NotSeen(Exception):
    """A page that cannot be looked at, and the URLs that it asked for.

    ``is_final`` says that it would go the same way again: it does not depend on time or memory.
    """

    def __init__(self, reason: str, urls: Iterable[str] = (), *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.urls, self.is_final = frozenset(urls), is_final


async def look_at(browser: Chromium, server: Server, url: str, path_of: PathOf) -> Look:
    """Look at a page. Raises ``NotSeen``, and ``BrowserError`` where the browser ended."""
    urls: set[str] = set()
    widths = []
    document = None
    for width in WIDTHS:
        async with browser.tab(server, width, HEIGHTS[width]) as tab:
            try:
                async with asyncio.timeout(_PATIENCE):
                    seen, document = await _look(tab, server, url, path_of)
            except (BrowserError, TimeoutError) as error:
                if not browser.is_running:
                    raise BrowserError("it ended") from None
                raise NotSeen(str(error) or _RESTLESS) from None
            urls |= {load.url for load in tab.seen.loads}
            if tab.seen.departure is not None:
                raise NotSeen(f"it goes to {tab.seen.departure}", urls, is_final=True)
            if tab.seen.is_late:
                raise NotSeen(_RESTLESS)
            widths.append(seen)
    if document is not None:
        widths = await _with_covers(browser, server, url, document, widths)
    return Look(PageEvidence(tuple(widths)), document, frozenset(urls))


async def _with_covers(
    browser: Chromium, server: Server, url: str, document: bytes, widths: list[WidthEvidence]
) -> list[WidthEvidence]:
    """Return what was seen with what lies over the text without scripts, as far as that can be seen."""
    try:
        async with asyncio.timeout(_PATIENCE):
            covers = await covers_without_scripts(browser, server, url, document)
    except (BrowserError, TimeoutError):
        if not browser.is_running:
            raise BrowserError("it ended") from None
        return widths
    return [replace(seen, covers=covers[seen.width]) for seen in widths]


async def _look(tab: Tab, server: Server, url: str, path_of: PathOf) -> tuple[WidthEvidence, bytes | None]:
    await tab.send("Page.enable")
    observer = {"source": script("observe"), "worldName": "adaptc"}
    await tab.send("Page.addScriptToEvaluateOnNewDocument", observer)
    coverage = await RuleCoverage.started(tab)
    await tab.load(url)
    document = await tab.run(script("document"))
    sent = server(url) if document is not None else None
    markup = None if sent is None else base64.b64encode(sent.body).decode()
    seen = await tab.run(script("look"), {"markup": markup})
    selectors = await coverage.selectors()
    evidence = WidthEvidence(
        tab.width,
        seen["height"],
        _images(seen["images"], tab, path_of),
        selectors,
        frozenset(seen["names"]),
        tuple(dict.fromkeys(tab.seen.errors)),
        path_of(seen["largest"]) if seen["largest"] else None,
        round(seen["shift"], _SHIFT_DIGITS),
    )
    return evidence, None if document is None else document.encode("utf-8", "replace")


def _images(found: list[dict[str, Any]], tab: Tab, path_of: PathOf) -> tuple[ImageSeen, ...]:
    """Return the images by path; those that were loaded and are in no box have the size 0."""
    images: dict[str, ImageSeen] = {}
    for image in found:
        path = path_of(image["url"])
        if path is not None:
            images[path] = _joined(images.get(path), _image(path, image))
    for load in tab.seen.loads:
        path = path_of(load.url) if load.kind == "image" and load.status == 200 else None
        if path is not None and path not in images:
            images[path] = ImageSeen(path, 0, 0)
    return tuple(images[path] for path in sorted(images))


def _image(path: str, image: dict[str, Any]) -> ImageSeen:
    flags = (image["isFirst"], image["isBackground"], image["isByScript"])
    return ImageSeen(path, image["width"], image["height"], *flags)


def _joined(known: ImageSeen | None, image: ImageSeen) -> ImageSeen:
    """Return what two URLs of the same file show of it."""
    if known is None:
        return image
    largest = max(known, image, key=lambda one: one.width * one.height)
    return ImageSeen(
        image.path,
        largest.width,
        largest.height,
        known.is_first or image.is_first,
        known.is_background or image.is_background,
        known.is_by_script or image.is_by_script,
    )
