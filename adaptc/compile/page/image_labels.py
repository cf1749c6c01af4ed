"""What the images of a page are for, and which requests the rules and the user's filter lists block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.evidence import DecidedUsage, UseEvidence, tag_in_force
from adaptc.compile.analyse.decorations.filters import Request
from adaptc.compile.analyse.decorations.image_rules import SheetImages
from adaptc.compile.analyse.decorations.labels import ImageLabel, Label, label_page
from adaptc.compile.analyse.decorations.page_images import page_uses
from adaptc.compile.page.context import PageContext
from adaptc.compile.view import View
from adaptc.core.urls import Reach, join

if TYPE_CHECKING:
    from turbohtml import Document


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """A reference of a page to an image: its label, and the evidence of each place that uses it.

    ``is_dropped`` says that the author or the user wants to drop it. ``size`` is its largest in CSS pixels, if known.
    """

    use: ImageLabel
    places: tuple[UseEvidence, ...]
    is_dropped: bool = False
    size: tuple[float, float] | None = None

    @property
    def path(self) -> str | None:
        """The file, ``None`` if it is missing or on another site."""
        return self.use.path

    @property
    def subject(self) -> str:
        """Its name in actions: its file, or the reference."""
        return self.path or self.use.ref

    @property
    def is_ad(self) -> bool:
        """Whether it is an advertisement or a tracker."""
        return self.use.label is Label.AD

    @property
    def is_decoration(self) -> bool:
        """Whether it is decoration."""
        return self.use.label is Label.DECORATION

    @property
    def reason(self) -> str:
        """Why it has its label, the two weightiest reasons."""
        return f"{self.use.label.value}: {'; '.join(self.use.reasons[:2])}"

    @property
    def is_all_of_a_link(self) -> bool:
        """Whether it is the only visible content of a link or button in some place."""
        return any(place.alone_in_link and not place.link_alike for place in self.places)


def labelled_images(tree: Document, page: PageContext, view: View) -> dict[str, LabelledImage]:
    """Return the images of a page's markup and style elements by reference as written.

    Images of linked sheets are missing: they are decided for the sheet, which other pages share. Where the base of
    the page's URLs is not on the site, nothing is labelled.
    """
    if page.base_path is None:
        return {}
    rules = view.labelling.rules
    places = page_uses(tree, page.path, view, lambda _: SheetImages(), rules)
    evidence = {place.path: view.evidence(place.path) for place in places if place.path}
    labelled_uses = label_page(page.path, places, evidence, DecidedUsage(view.usage), rules, view.labelling.levels)
    blocking, levels = Blocking(page, view), view.labelling.levels
    wanted = {place.ref for place in places if has_tag("keep", place, levels)}
    uses = [use if use.ref in wanted else _filtered(use, blocking) for use in labelled_uses]
    images = {}
    for use in uses:
        own_places = tuple(place for place in places if place.ref == use.ref)
        cases = [Case(place, evidence.get(use.path or ""), DecidedUsage(view.usage), rules) for place in own_places]
        size = max(filter(None, (case.size for case in cases)), default=None)
        is_dropped = any(has_tag("drop", place, levels) for place in own_places)
        images[use.ref] = LabelledImage(use, own_places, is_dropped, size)
    return images


def has_tag(verdict: str, place: UseEvidence, levels: Sequence[str]) -> bool:
    """Whether the tag in force for an image, of the user or the author, is ``verdict`` ("keep" or "drop")."""
    tag = tag_in_force(place.tags, levels)
    return tag is not None and tag.verdict == verdict


def _filtered(use: ImageLabel, blocking: Blocking) -> ImageLabel:
    """Return an image as an advertisement where a filter of the user's lists blocks it."""
    blocking_filter = blocking.blocking_filter(use.ref, "image")
    return use if blocking_filter is None else replace(use, label=Label.AD, reasons=(f"the filter {blocking_filter}",))


class Blocking:
    """Applies rules and filters to the addresses that one page loads."""

    def __init__(self, page: PageContext, view: View) -> None:
        self.page, self.view = page, view
        self.rules = view.labelling.rules
        self.host = view.url_of(page.path).partition("//")[2].partition("/")[0].partition(":")[0]

    def is_external(self, address: str) -> bool:
        """Whether an address, as written, is on another site."""
        return self.view.follow(self.page.base, address).target.reach is Reach.EXTERNAL

    def url(self, address: str) -> str:
        """Return the absolute URL of an address as written."""
        return join(self.page.base, address) or address

    def reason(self, address: str, kind: str) -> str | None:
        """Return why a load of this kind (an option of filters: "script", "image") is blocked, or ``None``."""
        url, is_external = self.url(address), self.is_external(address)
        request = Request(url, kind, self.host, is_external)
        if self.rules.filters.allows(request):
            return None
        blocking_filter = self.rules.filters.blocks(request)
        if blocking_filter is not None:
            return f"the filter {blocking_filter}"
        ads = self.rules.ads
        # a hint may name the host alone
        is_known = ads.urls.match(url) or ads.widgets.match(url) or ads.urls.match(f"{url}/")
        return "of an advertiser, tracker or social network" if is_external and is_known else None

    def blocking_filter(self, address: str, kind: str) -> str | None:
        """Return the filter of the user's lists that blocks a load, or ``None``."""
        return self.rules.filters.blocks(Request(self.url(address), kind, self.host, self.is_external(address)))
