"""What the images of a page are for, which blocks its author drops, and which requests rules and filter lists block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.evidence import DecidedUsage, UseEvidence, tag_in_force
from adaptc.compile.analyse.decorations.filters import Request
from adaptc.compile.analyse.decorations.image_rules import SheetImages
from adaptc.compile.analyse.decorations.labels import ImageLabel, Label, label_page
from adaptc.compile.analyse.decorations.page_images import page_uses
from adaptc.compile.analyse.decorations.surroundings import ATTRIBUTE, read_tags
from adaptc.compile.page.context import PageContext, is_isolated
from adaptc.compile.view import View
from adaptc.core.urls import Reach, join
from adaptc.core.values import dataclass, replace
from adaptc.formats.html.edit import Editor, EditRefused

if TYPE_CHECKING:
    from turbohtml import Document, Element


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
    places_of: dict[str, list[UseEvidence]] = {}
    for place in places:
        places_of.setdefault(place.ref, []).append(place)
    images = {}
    for use in uses:
        own_places = tuple(places_of.get(use.ref, ()))
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


# ---- blocks that their author drops: data-adapt="drop"

# There the attribute says it of the image itself, or these are the page
_NO_BLOCKS = frozenset({"img", "picture", "source", "input", "svg", "image", "area", "html", "head", "body", "main"})


def dropped_blocks(tree: Document, text: str, levels: Sequence[str]) -> Iterator[tuple[Element, str | None]]:
    """Yield the blocks that their author drops at a level, with the reason why one stays.

    It stays where a part of it is to be kept, or where the page links to it; then its images go alone. ``text`` is what
    the tree was parsed from.
    """
    gone: list[Element] = []
    for element in tree.select(f"[{ATTRIBUTE}]"):
        if element.tag in _NO_BLOCKS or is_isolated(element, text) or _verdict(element, levels) != "drop":
            continue
        if any(ancestor in gone for ancestor in element.ancestors):
            continue
        reason = _reason_to_stay(element, tree, levels)
        if reason is None:
            gone.append(element)
        yield element, reason


def may_drop_blocks(text: str) -> bool:
    """Whether the text of a page has such an attribute at all; names of attributes have no case."""
    return ATTRIBUTE in text.lower()


def without_dropped_blocks(text: str, levels: Sequence[str]) -> str:
    """Return the text of a page without the blocks that its author drops."""
    editor = Editor(text)
    for element, reason in dropped_blocks(editor.tree, editor.text, levels):
        if reason is None:
            editor.remove_element(element)
    try:
        return text if editor.is_unused else editor.apply().text
    except EditRefused:  # then they stay
        return text


def _verdict(element: Element, levels: Sequence[str]) -> str:
    tag = tag_in_force(tuple(read_tags(element.attr(ATTRIBUTE) or "")), levels)
    return "" if tag is None else tag.verdict


def _reason_to_stay(element: Element, tree: Document, levels: Sequence[str]) -> str | None:
    if any(_verdict(each, levels) == "keep" for each in element.select(f"[{ATTRIBUTE}]")):
        return "a part of it is to be kept"
    names = {name for each in (element, *element.select("[id]")) if (name := each.attr("id"))}
    links = (link.attr("href") or "" for link in tree.iter_elements("a"))
    target = next((link for link in links if link.startswith("#") and link[1:] in names), None)
    return None if target is None else f"the page links to {target}"
