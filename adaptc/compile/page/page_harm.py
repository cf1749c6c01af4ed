"""The harm of a page: what it shows at a level is compared with its source, by its images, words and controls.

Nothing that passes report is believed, so that every level is measured in the same way, whatever made it. The same
measure chooses the frame of a page (``adaptc.compile.engine.page_choice``) and judges levels that were built
(``adaptc.workflow.planning.trials``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.harm import ShownImage
from adaptc.compile.page.losses import PageContent, harm_of_losses
from adaptc.compile.page.shown_files import ShownFiles
from adaptc.core import media
from adaptc.formats.html.document import Irreversible, parse, read_page

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.compile.analyse.decorations.evidence import ImageEvidence, UsageLookup, UseEvidence
    from adaptc.compile.analyse.decorations.labels import ImageLabel
    from adaptc.compile.analyse.decorations.rules import DecorationRules
    from adaptc.compile.page.matching import Matcher, Picture
    from adaptc.core.urls import SiteAddress


class LevelFiles(Protocol):
    """The files of a site at one level, next to their sources."""

    def read(self, path: str) -> bytes | None:
        """Return the file that a path of the site leads to, ``None`` where there is none."""

    def source(self, path: str) -> bytes:
        """Return a file of the docroot."""

    def media_type(self, path: str) -> str:
        """Return the media type of a file of the docroot."""


@dataclass(frozen=True, slots=True)
class OriginalPage:
    """What a page of the docroot shows: its content, and each image file with the largest box that shows it."""

    content: PageContent
    images: Mapping[str, ShownImage]


def largest_boxes(
    uses: Iterable[UseEvidence],
    evidence: Mapping[str, ImageEvidence],
    labels: Iterable[ImageLabel],
    usage: UsageLookup,
    rules: DecorationRules,
) -> dict[str, ShownImage]:
    """Return the images that ``uses`` of a page show, by path, each as the use shows it that is worth the most.

    Images of other screens and of states are left out, as they are in the bytes of a page.
    """
    by_reference = {each.ref: each.label for each in labels}
    images: dict[str, ShownImage] = {}
    for use in (use for use in uses if use.is_loaded):
        file = evidence.get(use.path or "")
        shown = ShownImage.of(by_reference[use.ref], Case(use, file, usage, rules).size, file)
        if use.path and shown is not None and (use.path not in images or shown.worth > images[use.path].worth):
            images[use.path] = shown
    return images


class HarmOfPages:
    """Measures pages of one level against their sources; what was read of sheets is kept."""

    def __init__(self, address: SiteAddress, files: LevelFiles, matcher: Matcher) -> None:
        self.files, self.matcher = files, matcher
        self.shown = ShownFiles(address, files.read)

    def of(self, path: str, original: OriginalPage, content: bytes) -> float:
        """Return the harm of ``content`` in the place of the page at ``path``."""
        tree = page_tree(content)
        shown = [self.matcher.picture(each) for each in self.shown.of(path, tree)]
        now = PageContent.of(tree, has_styles=self.shown.has_styles(path, tree))
        images = original.images.items()
        lost = sum(image.harm(self._likeness(file, image, shown)) for file, image in images)
        return harm_of_losses(original.content, now) + lost

    def _likeness(self, path: str, image: ShownImage, shown: list[Picture]) -> float:
        """Return how like itself an image of the original is; one in SVG is itself where its file is shown."""
        if self.files.media_type(path) == media.SVG:
            own = self.files.read(path)
            if own is not None and self.matcher.picture(own) in shown:
                return 1.0
        return self.matcher.likeness(self.matcher.picture(self.files.source(path)), shown, image.width)


def page_tree(content: bytes) -> Document:
    """Return the tree of a page; bytes that its encoding has no characters for are replaced."""
    try:
        return parse(read_page(content).text)
    except Irreversible:
        return parse(content.decode("utf-8", "replace"))
