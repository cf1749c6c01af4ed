"""The harm of a level, measured on what was built: pages are compared with their sources, image by image.

Measured are up to ``SAMPLE`` pages, evenly spread over those that have files at degraded levels, each weighted by its
views where there are logs. No browser is needed, and nothing that passes report is believed. What it cannot see: fonts,
motion, what scripts draw, and images of other sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.labels import SiteReader, count_uses, label_page, sample, site_pages
from adaptc.compile.analyse.decorations.rules import configured_rules
from adaptc.compile.page.page_harm import (
    HarmOfPages,
    Matcher,
    OriginalPage,
    PageContent,
    ShownFiles,
    largest_boxes,
    page_tree,
)
from adaptc.site.docroot import load_site

if TYPE_CHECKING:
    from adaptc.compile.analyse.harm import ShownImage
    from adaptc.config.config import Config

SAMPLE = 60


class HarmMeter:
    """Measures levels of one site; ``views`` are those of its pages by path, ``None`` without logs."""

    def __init__(self, config: Config, views: Mapping[str, int] | None) -> None:
        self.tree, self.site = load_site(config)
        self.rules = configured_rules(config).rules
        self.reader = SiteReader(self.tree, self.site, self.rules)
        self.matcher = Matcher()
        self.sources = ShownFiles(self.site.address, self._source)
        every = site_pages(self.site)
        self.counts = count_uses(self.reader.uses, sample(every, ()))
        viewed = [path for path in every if views.get(path)] if views else every
        self.pages = viewed[:: max(1, -(-len(viewed) // SAMPLE))]
        self.views = views or dict.fromkeys(every, 1)
        self._originals: dict[str, OriginalPage] = {}

    def of_level(self, tree: Path) -> float:
        """Return the mean harm of a page view at a level; ``tree`` is its directory of files without a coding."""
        files = _BuiltFiles(self, tree)
        pages = HarmOfPages(self.site.address, files, self.matcher)
        weights = {path: self.views[path] for path in self.pages}
        harm = sum(weight * self.of_page(path, files, pages) for path, weight in weights.items())
        return harm / sum(weights.values()) if weights else 0.0

    def of_page(self, path: str, files: _BuiltFiles, pages: HarmOfPages) -> float:
        """Return the harm of a page; one that has no file at the level is sent as it is."""
        content = files.built(path)
        if content is None or content == self.tree.read(path):
            return 0.0
        return pages.of(path, self._original(path), content)

    def _source(self, path: str) -> bytes | None:
        file = self.site.find(path)
        return None if file is None else self.tree.read(file)

    def _original(self, path: str) -> OriginalPage:
        if path not in self._originals:
            tree = page_tree(self.tree.read(path))
            content = PageContent.of(tree, has_styles=self.sources.has_styles(path, tree))
            self._originals[path] = OriginalPage(content, self._images(path))
        return self._originals[path]

    def _images(self, path: str) -> dict[str, ShownImage]:
        uses = self.reader.uses(path)
        evidence = self.reader.images(uses)
        labels = label_page(path, uses, evidence, self.counts, self.rules)
        return largest_boxes(uses, evidence, labels, self.counts, self.rules)


class _BuiltFiles:
    """The files of a level as a visitor gets them; what is not in its tree comes from the docroot."""

    def __init__(self, meter: HarmMeter, tree: Path) -> None:
        self.meter, self.tree = meter, tree

    def built(self, path: str) -> bytes | None:
        """Return a file of the level, ``None`` where it has none."""
        file = self.tree / path
        return file.read_bytes() if file.is_file() else None

    def read(self, path: str) -> bytes | None:
        """Return the file that a path of the site leads to."""
        found = self.meter.site.find(path) or path
        built = self.built(found)
        if built is not None or found not in self.meter.site.sources:
            return built
        return self.source(found)

    def source(self, path: str) -> bytes:
        """Return a file of the docroot."""
        return self.meter.tree.read(path)

    def media_type(self, path: str) -> str:
        """Return the media type of a file of the docroot."""
        return self.meter.site.sources[path].media_type
