"""The harm of a level, measured on what was built: pages are compared with their sources, image by image.

Measured are up to ``SAMPLE`` pages, evenly spread over those that have files at degraded levels, each weighted by its
views where there are logs. No browser is needed, and nothing that passes report is believed. What it cannot see: fonts,
motion, what scripts draw, and images of other sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.labels import SiteReader, count_uses, label_page, sample, site_pages
from adaptc.compile.analyse.decorations.rules import configured_rules
from adaptc.compile.analyse.harm import ShownImage
from adaptc.core import media
from adaptc.core.urls import SiteAddress
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.site.docroot import load_site
from adaptc.workflow.planning.losses import PageContent, harm_of_losses
from adaptc.workflow.planning.matching import Matcher, Picture
from adaptc.workflow.planning.shown_files import ShownFiles

if TYPE_CHECKING:
    from adaptc.config.config import Config

SAMPLE = 60


@dataclass(frozen=True, slots=True)
class _Original:
    """What a page of the docroot shows: its content, and each image file with the largest box that shows it."""

    content: PageContent
    images: Mapping[str, ShownImage]


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
        self._originals: dict[str, _Original] = {}

    def of_level(self, tree: Path) -> float:
        """Return the mean harm of a page view at a level; ``tree`` is its directory of files without a coding."""
        built = _BuiltFiles(self, tree)
        weights = {path: self.views[path] for path in self.pages}
        harm = sum(weight * self.of_page(path, built) for path, weight in weights.items())
        return harm / sum(weights.values()) if weights else 0.0

    def of_page(self, path: str, built: _BuiltFiles) -> float:
        """Return the harm of a page; one that has no file at the level is sent as it is."""
        content = built.page(path)
        if content is None or content == self.tree.read(path):
            return 0.0
        original = self._original(path)
        tree = parse(_text(content))
        shown = [self.matcher.picture(each) for each in built.shown.of(path, tree)]
        content_now = PageContent.of(tree, has_styles=built.shown.has_styles(path, tree))
        losses = harm_of_losses(original.content, content_now)
        return losses + sum(
            image.harm(self._likeness(file, image, shown, built)) for file, image in original.images.items()
        )

    def _likeness(self, path: str, image: ShownImage, shown: list[Picture], built: _BuiltFiles) -> float:
        """Return how like itself an image of the original is; one in SVG is itself where its file is shown."""
        if self.site.sources[path].media_type == media.SVG:
            own = built.read(path)
            digests = {picture.digest for picture in shown}
            if own is not None and self.matcher.picture(own).digest in digests:
                return 1.0
        return self.matcher.likeness(self.matcher.picture(self.tree.read(path)), shown, image.width)

    def _source(self, path: str) -> bytes | None:
        file = self.site.find(path)
        return None if file is None else self.tree.read(file)

    def _original(self, path: str) -> _Original:
        if path not in self._originals:
            tree = parse(_text(self.tree.read(path)))
            content = PageContent.of(tree, has_styles=self.sources.has_styles(path, tree))
            self._originals[path] = _Original(content, self._images(path))
        return self._originals[path]

    def _images(self, path: str) -> dict[str, ShownImage]:
        uses = self.reader.uses(path)
        evidence = self.reader.images(uses)
        labels = {each.ref: each.label for each in label_page(path, uses, evidence, self.counts, self.rules)}
        images: dict[str, ShownImage] = {}
        for use in uses:
            file = evidence.get(use.path or "")
            size = Case(use, file, self.counts, self.rules).size
            shown = ShownImage.of(labels[use.ref], size, file)
            if use.path and shown is not None and (use.path not in images or shown.worth > images[use.path].worth):
                images[use.path] = shown
        return images


class _BuiltFiles:
    """The files of a level as a visitor gets them; what is not in its tree comes from the docroot."""

    def __init__(self, meter: HarmMeter, tree: Path) -> None:
        self.meter, self.tree = meter, tree
        address: SiteAddress = meter.site.address
        self.shown = ShownFiles(address, self.read)

    def page(self, path: str) -> bytes | None:
        """Return a page at the level, ``None`` where it has none."""
        file = self.tree / path
        return file.read_bytes() if file.is_file() else None

    def read(self, path: str) -> bytes | None:
        """Return the file that a path of the site leads to."""
        found = self.meter.site.find(path) or path
        built = self.page(found)
        if built is not None or found not in self.meter.site.sources:
            return built
        return self.meter.tree.read(found)


def _text(content: bytes) -> str:
    try:
        return read_page(content).text
    except Irreversible:
        return content.decode("utf-8", "replace")
