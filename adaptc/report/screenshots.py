"""Screenshots of a sample of pages at each level for the report; levels that look the same share a picture."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.browser import find_chromium, names_tried
from adaptc.browser.answers import Server, level_server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.pictures import SCALE, small_webp
from adaptc.browser.tab import BrowserError
from adaptc.compile.engine.reporting import Progress
from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.core.values import dataclass
from adaptc.report.figures import PageFigures, PageShots, Shot
from adaptc.site.header_rules import NO_HEADERS, PageHeaders
from adaptc.site.site import Site

if TYPE_CHECKING:
    from PIL import Image

# CSS pixels: what a laptop shows of a page
WIDTH, HEIGHT = 1280, 960

_LOSS = "screenshots are missing in the report"

Sample = Sequence[tuple[str, Mapping[str, PageFigures]]]


@dataclass(frozen=True, slots=True)
class Trees:
    """The levels and where they are.

    ``headers`` are what pages are sent with, ``browser`` the name or path of the browser, empty for the one that is
    found.
    """

    output: Path
    docroot: Path
    levels: tuple[str, ...]
    site: Site
    headers: PageHeaders = NO_HEADERS
    browser: str = ""

    def servers(self) -> dict[str, Server]:
        """Return what answers for each level."""
        places = (self.output, self.docroot)
        return {level: level_server(*places, level, self.site, self.headers) for level in self.levels}


def take_screenshots(
    trees: Trees, sample: Sample, progress: Progress
) -> tuple[tuple[PageShots, ...], list[Diagnostic]]:
    """Return screenshots of the pages of ``sample`` at each level; without a browser, the diagnostic that says so."""
    program = find_chromium(trees.browser)
    if program is None:
        return (), [diagnose("browser-missing", names=names_tried(trees.browser), loss=_LOSS)]
    taken: list[PageShots] = []

    async def take(browser: Chromium) -> None:
        for path, figures in sample:
            taken.append(await _page_shots(browser, trees, path, figures))
            browser.advance(1)

    progress.begin("drawing", len(sample), 0)
    try:
        in_chromium(program, take, lambda pages: progress.advance(pages, 0, 0))
    except BrowserError as error:
        return tuple(taken), [diagnose("browser-failed", program=program, reason=error, loss=_LOSS)]
    finally:
        progress.end()
    return tuple(taken), []


async def _page_shots(browser: Chromium, trees: Trees, path: str, figures: Mapping[str, PageFigures]) -> PageShots:
    url = trees.site.url_for_readers(path)
    shots = {level: await take_picture(browser, url, server) for level, server in trees.servers().items()}
    alike: dict[bytes, list[str]] = {}
    for level, png in shots.items():
        alike.setdefault(png, []).append(level)
    original = shots[trees.levels[0]]
    return PageShots(path, tuple(_shot(png, original, levels, figures) for png, levels in alike.items()))


async def take_picture(browser: Chromium, url: str, server: Server) -> bytes:
    """Return the top of a page as a PNG. Raises ``BrowserError``."""
    async with browser.tab(server, WIDTH, HEIGHT) as tab:
        await tab.load(url)
        return await tab.picture(HEIGHT)


def _shot(png: bytes, original: bytes, levels: Sequence[str], figures: Mapping[str, PageFigures]) -> Shot:
    picture = small_picture(png, original)
    pages = tuple((level, figures.get(level)) for level in levels)
    return Shot(pages, picture.webp, picture.width, picture.height, picture.difference)


# ---- the sample: the most viewed pages, and without views those that save most


def sample_pages(pages: Iterable[PageFigures], first: str, count: int) -> list[tuple[str, dict[str, PageFigures]]]:
    """Return ``count`` pages with their figures by level: by views, then by the bytes saved from ``first``.

    ``pages`` come in the order of paths, as a ``Collector`` gives them.
    """
    rows = (
        (path, {page.level: page for page in levels}) for path, levels in groupby(pages, key=lambda page: page.path)
    )

    def order(row: tuple[str, dict[str, PageFigures]]) -> tuple[int, int, str]:
        path, levels = row
        sent = [page.transfer_bytes for page in levels.values()]
        original = levels[first].transfer_bytes if first in levels else max(sent)
        return (-next(iter(levels.values())).views, min(sent) - original, path)

    return heapq.nsmallest(count, rows, key=order)


# ---- pictures for the report

# Shades of 255 by which some channel of a pixel differs when an eye sees it; recompressed textures stay below
_VISIBLE = 24


@dataclass(frozen=True, slots=True)
class Picture:
    """A screenshot: WebP bytes, size in pixels, and the share of its area that differs visibly from a reference."""

    webp: bytes
    width: int
    height: int
    difference: float


def small_picture(png: bytes, reference: bytes) -> Picture:
    """Return a screenshot made small, compared with ``reference``, a screenshot of the same size."""
    from adaptc.formats.image.probe import open_image

    shot, compared = (open_image(content).convert("RGB").reduce(SCALE) for content in (png, reference))
    return Picture(small_webp(shot), *shot.size, _difference(shot, compared))


def _difference(shot: Image.Image, reference: Image.Image) -> float:
    """Return the share of pixels that differ visibly in some channel."""
    from PIL import ImageChops

    bands = ImageChops.difference(shot, reference).split()
    brightest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(brightest.histogram()[_VISIBLE:]) / (shot.width * shot.height)
