"""Looking at a page: it is loaded at each of ``WIDTHS``, and what is seen becomes evidence."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from adaptc.browser.answers import Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.covers import BarePage, look_without_scripts
from adaptc.browser.evidence import HEIGHTS, WIDTHS, ImageSeen, PageEvidence, WidthEvidence
from adaptc.browser.interaction import interact
from adaptc.browser.tab import PATIENCE, RESTLESS, BrowserError, Tab, script

# What libraries make of the clock that freeze.js shows: names that no other load has
_TIME = re.compile(r"1700000\d{6}")

T = TypeVar("T")

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
    views = [await _visit(browser, server, width, lambda tab: _view(tab, server, url, path_of)) for width in WIDTHS]
    urls = frozenset[str]().union(*(urls for _, urls in views))
    view, widths = views[-1][0], tuple(view.evidence for view, _ in views)
    if view.document is None:
        return Look(PageEvidence(widths), None, urls)
    bare = await _bare(browser, server, url, view.document)
    if bare is None:
        return Look(PageEvidence(widths), view.document, urls)
    widths = tuple(replace(seen, covers=bare.covers[seen.width]) for seen in widths)
    return Look(PageEvidence(widths, None, bare.shown == view.shown), view.document, urls)


async def _bare(browser: Chromium, server: Server, url: str, document: bytes) -> BarePage | None:
    """Return what is seen of a page without its scripts, as far as that can be seen."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await look_without_scripts(browser, server, url, document)
    except (BrowserError, TimeoutError):
        if not browser.is_running:
            raise BrowserError("it ended") from None
        return None


async def _visit(
    browser: Chromium, server: Server, width: int, look: Callable[[Tab], Awaitable[T]]
) -> tuple[T, frozenset[str]]:
    """Open a page in a tab; return what ``look`` sees, and the URLs that were asked for. Raises as ``look_at``."""
    async with browser.tab(server, width, HEIGHTS[width]) as tab:
        try:
            async with asyncio.timeout(PATIENCE):
                seen = await look(tab)
        except (BrowserError, TimeoutError) as error:
            if not browser.is_running:
                raise BrowserError("it ended") from None
            raise NotSeen(str(error) or RESTLESS) from None
        return seen, frozenset(load.url for load in tab.seen.loads)


@dataclass(frozen=True, slots=True)
class _View:
    """A page at one width, its markup after scripts and what it shows (``show.js``)."""

    evidence: WidthEvidence
    document: bytes | None
    shown: str


async def _view(tab: Tab, server: Server, url: str, path_of: PathOf) -> _View:
    await tab.send("Page.enable")
    await tab.send("Page.addScriptToEvaluateOnNewDocument", {"source": script("observe"), "worldName": "adaptc"})
    await tab.load(url)
    urls = {load.url for load in tab.seen.loads}
    if tab.seen.departure is not None:
        raise NotSeen(f"it goes to {tab.seen.departure}", urls, is_final=True)
    if tab.seen.is_late:
        raise NotSeen(RESTLESS)
    document = await tab.run(script("document"))
    sent = server(url) if document is not None else None
    markup = None if sent is None else base64.b64encode(sent.body).decode()
    await tab.run(script("look"), {"markup": markup})
    shown = await tab.run(script("show"))
    await interact(tab, has_scripts=document is not None)
    after = await tab.run("() => globalThis.adaptc.result()")
    evidence = WidthEvidence(
        tab.width,
        _images(after["images"], tab, path_of),
        frozenset(name for name in after["names"] if not _TIME.search(name)),
    )
    return _View(evidence, None if document is None else document.encode("utf-8", "replace"), shown)


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
