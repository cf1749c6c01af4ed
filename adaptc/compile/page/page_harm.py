"""The harm of a page: what it shows at a level is compared with its source, by its images, words and controls.

Nothing that passes report is believed, so that every level is measured in the same way, whatever made it. The same
measure chooses the frame of a page (``adaptc.compile.engine.page_choice``) and judges levels that were built
(``adaptc.workflow.planning.meter``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.harm import WINDOW_HEIGHT, WINDOW_WIDTH, ShownImage
from adaptc.compile.page.shown_files import ShownFiles
from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.model import Role
from adaptc.formats.html.class_names import class_names
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.html.forms import control_type, pointed_at, script_controls
from adaptc.formats.html.references import script_role
from adaptc.formats.html.visible_text import is_followable, rendered_texts

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from adaptc.compile.analyse.decorations.evidence import ImageEvidence, UsageLookup, UseEvidence
    from adaptc.compile.analyse.decorations.labels import ImageLabel
    from adaptc.compile.analyse.decorations.rules import DecorationRules
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


# ---- What a page lost besides its images: words, links, controls, embedded media, scripts and styles, from two trees


# The harm where all of a kind is lost, in windows of content. Judgements, like the weights of labels: a page without
# its words is as bad as ten windows of pictures that are gone.
WORDS, LINKS, CONTROLS, STYLES, SCRIPTS = 10.0, 2.0, 2.0, 2.0, 0.25

_CONTROLS = ("input", "select", "textarea", "button")
_MEDIA = ("iframe", "video", "audio", "object", "embed")
_MEDIA_SIZE = (640, 360)  # CSS pixels where the markup has none


@dataclass(frozen=True, slots=True)
class PageContent:
    """What counts of a page besides images.

    ``controls`` are without buttons that only open a part of the page. ``media`` is what frames and media cover, in
    windows; ``classes`` counts elements by tag and class name.
    """

    words: Counter[str]
    links: frozenset[str]
    controls: Counter[tuple[str, str, str]]
    media: float
    classes: Counter[tuple[str, str]]
    has_scripts: bool
    has_styles: bool

    @classmethod
    def of(cls, tree: Document, *, has_styles: bool) -> PageContent:
        """Read a page."""
        return cls(
            Counter(word for text in rendered_texts(tree) for word in text.split()),
            frozenset(link for each in tree.iter_elements("a") if is_followable(link := each.attr("href")) and link),
            Counter(_controls(tree)),
            sum(_area(each) for each in tree.iter_elements(_MEDIA)),
            Counter(_classes(tree)),
            any(
                script_role(each) in (Role.SCRIPT, Role.MODULE) and _runs(each) for each in tree.iter_elements("script")
            ),
            has_styles,
        )


def harm_of_losses(before: PageContent, after: PageContent) -> float:
    """Return the harm of what ``after`` lacks."""
    looks = _kept(before.classes, after.classes) if after.has_styles else 0.0
    return (
        WORDS * (1 - _kept(before.words, after.words))
        + LINKS * (1 - _share(len(before.links & after.links), len(before.links)))
        + CONTROLS * (1 - _kept(before.controls, after.controls))
        + max(0.0, before.media - after.media)
        + (STYLES * (1 - looks) if before.has_styles else 0.0)
        + (SCRIPTS if before.has_scripts and not after.has_scripts else 0.0)
    )


def _kept(before: Counter[Any], after: Counter[Any]) -> float:
    return _share((before & after).total(), before.total())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _controls(tree: Document) -> Iterator[tuple[str, str, str]]:
    openers = set(_openers(tree))
    for each in tree.iter_elements(_CONTROLS):
        kind = control_type(each)
        if kind != "hidden" and "disabled" not in each.attrs and each not in openers:
            yield each.tag, each.attr("name") or "", kind


def _openers(tree: Document) -> Iterator[Element]:
    """Yield the buttons that open a part of the page and do nothing else.

    They count by the words, links and controls of that part: a level without scripts may show it all the time, or put a
    link in their place.
    """
    identities = {each.attr("id") for each in tree.select("[id]")}
    for each in script_controls(tree):
        does_send = control_type(each) == "submit" and each.closest("form") is not None
        if each.tag == "button" and not does_send and not identities.isdisjoint(pointed_at(each)):
            yield each


def _area(element: Element) -> float:
    if element.tag != "video" and not any(element.attr(name) for name in ("src", "data", "srcdoc")):
        return 0.0
    sides = (_pixels(element.attr(name), usual) for name, usual in zip(("width", "height"), _MEDIA_SIZE, strict=True))
    width, height = sides
    return min(width, WINDOW_WIDTH) * height / (WINDOW_WIDTH * WINDOW_HEIGHT)


def _pixels(value: str | None, usual: int) -> int:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 5 else usual


def _classes(tree: Document) -> Iterator[tuple[str, str]]:
    elements: Iterable[Element] = tree.select("body [class]")
    return ((each.tag, name) for each in elements for name in class_names(each))


def _runs(script: Element) -> bool:
    return bool(script.attr("src")) or bool(script.text.strip())


# ---- Which of the images that a page shows stands for an image of the original, and how like it that is


_THUMBNAIL = 16  # pixels a side
# The mean difference of the samples of two thumbnails up to which they may show the same, of 255
_NEAR = 24
# How much the ratio of the sides may differ: a copy has whole pixels
_RATIO = 0.15
# Images that are remembered
_MOST = 1024


@dataclass(frozen=True)
class Picture:
    """An image: its bytes, and their digest."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, content: bytes) -> Picture:
        """Return the image of a file."""
        return cls(content, digest_bytes(content))

    @cached_property
    def thumbnail(self) -> tuple[float, bytes] | None:
        """The ratio of its sides and a few of its pixels over gray, ``None`` where it cannot be drawn."""
        from adaptc.formats.image.vips import decode_upright, resize_to_srgb, vips

        try:
            image = decode_upright(self.content)
            small = resize_to_srgb(image, (_THUMBNAIL, _THUMBNAIL))
            flat = small.flatten(background=[128, 128, 128]) if small.hasalpha() else small
            return image.width / image.height, bytes(flat.cast("uchar").write_to_memory())
        except vips().Error:
            return None


@dataclass(slots=True)
class Matcher:
    """Compares images, each pair once."""

    _pictures: dict[str, Picture] = field(default_factory=dict)
    _known: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def picture(self, content: bytes) -> Picture:
        """Return the image of a file, with what is known of it already."""
        picture = Picture.of(content)
        if len(self._pictures) >= _MOST:
            self._pictures.clear()
            self._known.clear()
        return self._pictures.setdefault(picture.digest, picture)

    def likeness(self, original: Picture, shown: Iterable[Picture], width: int) -> float:
        """Return the likeness of the image of ``shown`` that is most like ``original``, 0 where none is it.

        ``width`` is that of its box in CSS pixels.
        """
        pictures = {picture.digest: picture for picture in shown}
        if original.digest in pictures:
            return 1.0
        near = [picture for picture in pictures.values() if _is_near(original, picture)]
        return max((self._compare(original, picture, width) for picture in near), default=0.0)

    def _compare(self, original: Picture, picture: Picture, width: int) -> float:
        from adaptc.formats.image.likeness import likeness

        key = (original.digest, picture.digest, width)
        if key not in self._known:
            self._known[key] = likeness(original.content, picture.content, width)
        return self._known[key]


def _is_near(original: Picture, picture: Picture) -> bool:
    first, second = original.thumbnail, picture.thumbnail
    if first is None or second is None or abs(first[0] - second[0]) > _RATIO * first[0]:
        return False
    if len(first[1]) != len(second[1]):
        return False
    return sum(abs(a - b) for a, b in zip(first[1], second[1], strict=True)) <= _NEAR * len(first[1])
