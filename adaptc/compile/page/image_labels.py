"""What the images of a page are for, and which requests the rules and the user's filter lists block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.evidence import DecidedUsage, UseEvidence, tag_in_force
from adaptc.compile.analyse.decorations.filters import Request
from adaptc.compile.analyse.decorations.image_rules import SheetImages
from adaptc.compile.analyse.decorations.labels import ImageLabel, Label, best_logo_and_story, label_page
from adaptc.compile.analyse.decorations.page_images import page_uses
from adaptc.compile.page.context import PageContext
from adaptc.compile.view import View
from adaptc.core.urls import Reach, join

if TYPE_CHECKING:
    from turbohtml import Document


# A value of the option "keep": every image goes but these two
LOGO_STORY = "logo-story"


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """A reference of a page to an image: its label, and the evidence of each place that uses it.

    ``is_wanted`` and ``is_dropped`` say that the author or the user wants to keep or drop it, ``is_foreign`` that its
    names are those of marks of sponsors, clients and the like. ``size`` is its largest in CSS pixels, if known.
    """

    use: ImageLabel
    places: tuple[UseEvidence, ...]
    is_wanted: bool = False
    is_dropped: bool = False
    is_foreign: bool = False
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
    def is_missing(self) -> bool:
        """Whether there is no such file: a browser would show its alternative text."""
        return self.path is None and not any(place.url for place in self.places)

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
        is_foreign = any(case.named("foreign", case.all_words | case.alt_words) for case in cases)
        size = max(filter(None, (case.size for case in cases)), default=None)
        is_dropped = any(has_tag("drop", place, levels) for place in own_places)
        images[use.ref] = LabelledImage(use, own_places, use.ref in wanted, is_dropped, is_foreign, size)
    return images


def has_tag(verdict: str, place: UseEvidence, levels: Sequence[str]) -> bool:
    """Whether the tag in force for an image, of the user or the author, is ``verdict`` ("keep" or "drop")."""
    tag = tag_in_force(place.tags, levels)
    return tag is not None and tag.verdict == verdict


def _filtered(use: ImageLabel, blocking: Blocking) -> ImageLabel:
    """Return an image as an advertisement where a filter of the user's lists blocks it."""
    blocking_filter = blocking.blocking_filter(use.ref, "image")
    return use if blocking_filter is None else replace(use, label=Label.AD, reasons=(f"the filter {blocking_filter}",))


def logo_and_story(labelled: dict[str, LabelledImage]) -> frozenset[str]:
    """Return the references of the one logo and the one story of a page, every form of them."""
    return frozenset(_forms(labelled))


def _forms(labelled: dict[str, LabelledImage]) -> Iterator[str]:
    available = [image for image in labelled.values() if not image.is_missing]
    logo, story = best_logo_and_story(image.use for image in available if not _is_mark_of_others(image))
    is_at_top = logo is not None and any(place.before_heading for place in labelled[logo.ref].places)
    for chosen in (logo if is_at_top else _masthead(available) or logo, story):
        if chosen is not None:
            yield from (
                ref
                for ref, image in labelled.items()
                if ref == chosen.ref or (image.path and image.path == chosen.path)
            )


def _is_mark_of_others(image: LabelledImage) -> bool:
    """Whether a mark is that of a sponsor and the like: it leads away, and is not where a page begins."""
    leads_away = all(place.link == "outside" for place in image.places) or image.is_foreign
    return image.use.label is Label.LOGO and leads_away and not any(place.before_heading for place in image.places)


# A masthead in CSS pixels: the least length and height of a name that can be read, and the most height of a banner
_NAME_LENGTH, _NAME_HEIGHT, _BANNER_HEIGHT = 60, 14, 220


def _masthead(images: list[LabelledImage]) -> ImageLabel | None:
    """Return the picture with which a page begins where it has no logo: its site may have no other name."""
    for image in images:
        place, size = image.places[0], image.size
        if place.kind == "background" or image.is_ad or size is None:
            continue
        is_wide = size[0] >= max(_NAME_LENGTH, size[1]) and _NAME_HEIGHT <= size[1] <= _BANNER_HEIGHT
        if is_wide and _is_at_top(place):
            return image.use
    return None


def _is_at_top(place: UseEvidence) -> bool:
    """Whether an image without alternative text is alone at the top of its page."""
    is_named = bool((place.alt or "").strip()) or place.hidden or place.link_alike
    is_alone = (place.alone or place.alone_in_link) and not place.figure and place.link in ("", "home", "page")
    return is_alone and not is_named and place.before_heading and (place.region == "header" or place.order == 0)


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
