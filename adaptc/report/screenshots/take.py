"""Take screenshots of a sample of pages at each level, and put those that look the same together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.reporting import Progress
from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.report.figures import PageFigures, PageShots, Shot
from adaptc.report.screenshots.chromium import NAMES, BrowserError, Chromium, Server, find_chromium, running
from adaptc.report.screenshots.picture import small_picture
from adaptc.report.screenshots.tree import level_server
from adaptc.site.site import Site

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
