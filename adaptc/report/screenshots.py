"""Screenshots of a sample of pages at each level for the report; levels that look the same share a picture."""

from __future__ import annotations

import heapq
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.engine.reporting import Progress
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.core.model import IDENTITY
from adaptc.core.urls import Reach
from adaptc.report.chromium import NAMES, Answer, BrowserError, Chromium, Server, find_chromium, running
from adaptc.report.figures import PageFigures, PageShots, Shot
from adaptc.site.site import Site

if TYPE_CHECKING:
    from PIL import Image

# CSS pixels: what a laptop shows of a page
WIDTH, HEIGHT = 1280, 960

Sample = Sequence[tuple[str, Mapping[str, PageFigures]]]


@dataclass(frozen=True, slots=True)
class Trees:
    """The levels and where they are; ``csp`` is the Content-Security-Policy that pages are sent with."""

    output: Path
    docroot: Path
    levels: tuple[str, ...]
    site: Site
    csp: str | None = None

    def servers(self) -> dict[str, Server]:
        """Return what answers for each level."""
        headers = {"Content-Security-Policy": self.csp} if self.csp else {}
        return {level: level_server(self.output, self.docroot, level, self.site, headers) for level in self.levels}


def take_screenshots(
    trees: Trees, sample: Sample, progress: Progress
) -> tuple[tuple[PageShots, ...], list[Diagnostic]]:
    """Return screenshots of the pages of ``sample`` at each level; without a browser, the diagnostic that says so."""
    program = find_chromium()
    if program is None:
        return (), [diagnose("browser-missing", names=", ".join(NAMES))]
    taken: list[PageShots] = []
    progress.begin("drawing", len(sample), 0)
    try:
        with running(program) as browser:
            for path, figures in sample:
                taken.append(_page_shots(browser, trees, path, figures))
                progress.advance(1, 0, 0)
    except BrowserError as error:
        return tuple(taken), [diagnose("browser-failed", program=program, reason=error)]
    finally:
        progress.end()
    return tuple(taken), []


def _page_shots(browser: Chromium, trees: Trees, path: str, figures: Mapping[str, PageFigures]) -> PageShots:
    url = trees.site.address.url_of(path)
    shots = {level: browser.picture(url, server, WIDTH, HEIGHT) for level, server in trees.servers().items()}
    alike: dict[bytes, list[str]] = {}
    for level, png in shots.items():
        alike.setdefault(png, []).append(level)
    original = shots[trees.levels[0]]
    return PageShots(path, tuple(_shot(png, original, levels, figures) for png, levels in alike.items()))


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


# ---- a level as its server sends it: the files of its tree, and where it has none the original


def level_server(output: Path, docroot: Path, level: str, site: Site, headers: Mapping[str, str]) -> Server:
    """Return what answers for a level; ``headers`` go with every page."""
    tree = output / level / IDENTITY

    def answer(url: str) -> Answer | None:
        target = site.address.resolve(site.address.base, url)
        if target.reach is not Reach.LOCAL:
            return None
        path = site.find(target.path) or target.path
        body = _first(_reader(tree, path), _reader(docroot, path) if path in site.sources else None)
        if body is None:
            return None
        media_type = site.sources[path].media_type if path in site.sources else media.by_name(path) or media.BINARY
        return Answer(body, media_type, tuple(headers.items()) if media_type == media.HTML else ())

    return answer


def _reader(root: Path, path: str) -> Callable[[], bytes | None]:
    def read() -> bytes | None:
        if ".." in path.split("/"):
            return None
        try:
            return Path(os.path.join(root, path)).read_bytes()
        except OSError:
            return None

    return read


def _first(*readers: Callable[[], bytes | None] | None) -> bytes | None:
    return next((body for read in readers if read is not None and (body := read()) is not None), None)


# ---- pictures for the report: WebP, half as wide as they were taken

SCALE = 2
# Shades of 255 by which some channel of a pixel differs when an eye sees it; recompressed textures stay below
_VISIBLE = 24
# Tried in this order until the picture is no larger than LARGEST bytes; the last counts in any case
_QUALITIES = (72, 50, 25)
LARGEST = 60_000


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
    return Picture(_webp(shot), *shot.size, _difference(shot, compared))


def _webp(image: Image.Image) -> bytes:
    for quality in _QUALITIES:
        out = io.BytesIO()
        image.save(out, "WEBP", quality=quality, method=4)
        if out.tell() <= LARGEST:
            break
    return out.getvalue()


def _difference(shot: Image.Image, reference: Image.Image) -> float:
    """Return the share of pixels that differ visibly in some channel."""
    from PIL import ImageChops

    bands = ImageChops.difference(shot, reference).split()
    brightest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(brightest.histogram()[_VISIBLE:]) / (shot.width * shot.height)
