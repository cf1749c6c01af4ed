"""Evidence for a page at which no browser looked, from pages of its template: what held on all of them.

- names are those that any of them had. A pass that reduces sheets adds those of the page's own markup, and waits for
  all others: being wrong costs a request, not a rule;
- images are known by their places. Where every page that was seen has an image, and no script wrote one of them (or
  changed one), scripts leave that of another page alone. The size is known only of a file that all of them show, in
  the same places;
- a page shows the same without scripts if all of them do. The passes then still read the page itself;
- boxes over the text count if all of them have the same ones, under the least share of the text;
- the markup after scripts is never inferred: it has the words of the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from adaptc.browser.evidence import CoverSeen, ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.page.skeleton import ImagePlaces

__all__ = ["FEWEST_SEEN", "Likeness"]

FEWEST_SEEN = 2
"""Pages that must have been seen before anything is inferred from them."""


class Likeness:
    """What held on all pages of a template that were seen, given with the places of their images."""

    def __init__(self, seen: Sequence[tuple[PageEvidence, ImagePlaces]]) -> None:
        self._seen = seen
        self._quiet, self._unchanged = (
            frozenset.intersection(*(_places_without(flag, evidence, places) for evidence, places in seen))
            for flag in ("is_by_script", "is_changed")
        )
        self._widths = tuple(map(_common_width, zip(*(evidence.widths for evidence, _ in seen), strict=True)))
        self._is_same = all(evidence.is_same_without_scripts for evidence, _ in seen)

    def evidence_for(self, images: ImagePlaces) -> PageEvidence:
        """Return the evidence for another page of the template, with its images."""
        alone = [(path, places) for path, places in images.files.items() if path not in images.apart]
        known = [(path, places) for path, places in alone if places <= self._quiet]
        widths = (
            WidthEvidence(
                width.width,
                tuple(self._image(path, places, number) for path, places in known),
                width.names,
                width.covers,
            )
            for number, width in enumerate(self._widths)
        )
        return PageEvidence(tuple(widths), None, self._is_same)

    def _image(self, path: str, places: frozenset[str], number: int) -> ImageSeen:
        """Return an image at one of the widths; without a size where another page may show it at another one."""
        is_changed = not places <= self._unchanged
        if any(each.files.get(path) != places for _, each in self._seen):
            return ImageSeen(path, 0, 0, is_changed=is_changed)
        found = [image for evidence, _ in self._seen for image in evidence.widths[number].images if image.path == path]
        largest = max(found, key=lambda image: (image.width * image.height, image.width))
        is_background = any(each.is_background for each in found)
        return ImageSeen(path, largest.width, largest.height, is_background=is_background, is_changed=is_changed)


def _places_without(flag: str, evidence: PageEvidence, places: ImagePlaces) -> frozenset[str]:
    """Return the places all of whose images were seen at every width, and without a flag."""
    quiet, loud = set[str](), set[str]()
    for path, own in places.files.items():
        seen = [image for width in evidence.widths for image in width.images if image.path == path]
        is_quiet = len(seen) == len(evidence.widths) and not any(getattr(image, flag) for image in seen)
        (quiet if is_quiet else loud).update(own)
    return frozenset(quiet - loud)


def _common_width(widths: tuple[WidthEvidence, ...]) -> WidthEvidence:
    names = frozenset[str]().union(*(width.names for width in widths))
    return WidthEvidence(widths[0].width, (), names, tuple(_common_covers(width.covers for width in widths)))


def _common_covers(pages: Iterable[Sequence[CoverSeen]]) -> list[CoverSeen]:
    shares = [_shares(covers) for covers in pages]
    common = set(shares[0]).intersection(*shares[1:])
    return [CoverSeen(*key, min(share[key] for share in shares)) for key in sorted(common)]


def _shares(covers: Sequence[CoverSeen]) -> dict[tuple[str, str], float]:
    shares = defaultdict[tuple[str, str], float](float)
    for cover in covers:
        key = (cover.selector, cover.classes)
        shares[key] = max(shares[key], cover.share)
    return shares
