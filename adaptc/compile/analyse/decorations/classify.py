"""A whole site in two rounds: count who uses what, then label page by page. Memory holds counts, not pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteCounts, UseEvidence
from adaptc.compile.analyse.decorations.labels import ImageUse, label_page
from adaptc.compile.analyse.decorations.page import page_uses
from adaptc.compile.analyse.decorations.pixels import image_evidence
from adaptc.compile.analyse.decorations.rules import DecorationRules
from adaptc.compile.analyse.decorations.sheets import SheetImages, sheet_images
from adaptc.core import media
from adaptc.core.fs import Tree
from adaptc.formats.css.sheet_text import decode_sheet
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.site.site import Found, Site

# Enough to tell what is used everywhere and what once; of 32,000 pages that saves three minutes of four.
SAMPLED_PAGES = 2000
_PAGES = frozenset({media.HTML, media.XHTML})


def classify_site(
    tree: Tree,
    site: Site,
    rules: DecorationRules,
    pages: Iterable[str] | None = None,
    level: str | None = None,
) -> Iterator[ImageUse]:
    """Yield the labelled images of ``pages``, or of all pages, page by page.

    Use counts are those of the whole site; of more than ``SAMPLED_PAGES`` pages every n-th is counted, and those asked
    for. Raises ``OSError`` as ``tree`` does.
    """
    every = site_pages(site)
    wanted = every if pages is None else [page for page in pages if page in site.sources]
    reader = _Reader(tree, site, rules)
    counts = count_uses(reader.uses, sample(every, [] if pages is None else wanted))
    for page in wanted:
        uses = reader.uses(page)
        yield from label_page(page, uses, reader.images(uses), counts, rules, level)


def site_pages(site: Site) -> list[str]:
    """Return the pages of a site in order; a page behind a symbolic link counts once."""
    return [path for path, found in site.sources.items() if found.media_type in _PAGES and found.alias_of is None]


def sample(every: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Return every n-th page so that there are at most ``SAMPLED_PAGES``, and the ``wanted`` ones."""
    step = max(1, -(-len(every) // SAMPLED_PAGES))
    return list(dict.fromkeys((*every[::step], *wanted)))


def count_uses(uses_of: Callable[[str], list[UseEvidence]], pages: Sequence[str]) -> SiteCounts:
    """Count which files the pages use."""
    uses: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for page in pages:
        found = uses_of(page)
        uses.update({use.path for use in found if use.path})
        first.update({use.path for use in found if use.path and use.order == 0 and use.kind != "background"})
    return SiteCounts(len(pages), uses, first)


def _text(content: bytes) -> str:
    """Return the text of a page. Nothing is written back here, so damaged characters do no harm."""
    try:
        return read_page(content).text
    except Irreversible:
        return content.decode("utf-8", "replace")


@dataclass(slots=True)
class _Reader:
    """Reads pages, sheets and images of a tree; sheets and images once."""

    tree: Tree
    site: Site
    rules: DecorationRules
    _sheets: dict[str, SheetImages] = field(default_factory=dict)
    _images: dict[str, ImageEvidence] = field(default_factory=dict)

    def url_of(self, path: str) -> str:
        return self.site.address.url_of(path)

    def follow(self, base: str, reference: str) -> Found:
        return self.site.follow(base, reference)

    def uses(self, page: str) -> list[UseEvidence]:
        """Return the images of a page."""
        return page_uses(parse(_text(self.tree.read(page))), page, self, self.sheet, self.rules)

    def sheet(self, path: str) -> SheetImages:
        if path not in self._sheets:
            self._sheets[path] = sheet_images(decode_sheet(self.tree.read(path), "utf-8").text)
        return self._sheets[path]

    def images(self, uses: Iterable[UseEvidence]) -> dict[str, ImageEvidence]:
        """Return the evidence of the files of ``uses``, by path."""
        return {use.path: self._image(use.path) for use in uses if use.path}

    def _image(self, path: str) -> ImageEvidence:
        if path not in self._images:
            real = self.site.sources[path].alias_of or path
            if path != real:
                self._images[path] = self._image(real)
            else:
                self._images[path] = image_evidence(self.tree.read(path), self.site.sources[path].media_type)
        return self._images[path]
