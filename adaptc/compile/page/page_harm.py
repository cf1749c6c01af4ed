"""The harm of a page: what it shows at a level is compared with its source, by its images, words and controls.

Nothing that passes report is believed, so that every level is measured in the same way, whatever made it. The same
measure chooses the frame of a page (``adaptc.compile.engine.unit.choices``) and judges levels that were built
(``adaptc.workflow.planning.trials``).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote_to_bytes

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.harm import WINDOW_HEIGHT, WINDOW_WIDTH, ShownImage
from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.model import Role
from adaptc.core.urls import Reach, SiteAddress, document_base, join
from adaptc.core.values import dataclass, field
from adaptc.formats.css.images import image_declarations
from adaptc.formats.css.references import css_references
from adaptc.formats.css.sheet_text import decode_sheet
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.html.forms import control_type, pointed_at, script_controls
from adaptc.formats.html.links import applied_in_page, applies_to_screen
from adaptc.formats.html.references import base_href, passed_over_references, references, script_role
from adaptc.formats.html.syntax import class_names
from adaptc.formats.html.visible_text import is_followable, rendered_texts

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from adaptc.compile.analyse.decorations.evidence import ImageEvidence, UsageLookup, UseEvidence
    from adaptc.compile.analyse.decorations.labels import ImageLabel
    from adaptc.compile.analyse.decorations.rules import DecorationRules


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

    def thumbnail(self) -> Thumbnail | None:
        """Return what is compared first, ``None`` where it cannot be drawn."""
        from adaptc.formats.image.vips import decode_upright, resize_to_srgb, vips

        try:
            image = decode_upright(self.content)
            small = resize_to_srgb(image, (_THUMBNAIL, _THUMBNAIL))
            flat = small.flatten(background=[128, 128, 128]) if small.hasalpha() else small
            return image.width / image.height, bytes(flat.cast("uchar").write_to_memory()).hex()
        except vips().Error:
            return None


# The ratio of the sides of an image, and a few of its pixels over gray, as hexadecimal digits
Thumbnail = tuple[float, str]
# Returns what is known by a name and digests, or what the function finds, as a JSON value
Remember = Callable[[tuple[str, ...], Callable[[], Any]], Any]


@dataclass(slots=True)
class Matcher:
    """Compares images, each pair once; ``remember`` may know what others found."""

    remember: Remember = lambda _, find: find()
    _pictures: dict[str, Picture] = field(default_factory=dict)
    _thumbnails: dict[str, Thumbnail | None] = field(default_factory=dict)
    _near: dict[tuple[str, str], bool] = field(default_factory=dict)
    _known: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def picture(self, content: bytes) -> Picture:
        """Return the image of a file, with what is known of it already."""
        picture = Picture.of(content)
        if len(self._pictures) >= _MOST:
            for known in (self._pictures, self._thumbnails, self._near, self._known):
                known.clear()
        return self._pictures.setdefault(picture.digest, picture)

    def likeness(self, original: Picture, shown: Iterable[Picture], width: int) -> float:
        """Return the likeness of the image of ``shown`` that is most like ``original``, 0 where none is it.

        ``width`` is that of its box in CSS pixels.
        """
        pictures = {picture.digest: picture for picture in shown}
        if original.digest in pictures:
            return 1.0
        near = [picture for picture in pictures.values() if self._is_near(original, picture)]
        return max((self._compare(original, picture, width) for picture in near), default=0.0)

    def _compare(self, original: Picture, picture: Picture, width: int) -> float:
        from adaptc.formats.image.copiers import likeness

        key = (original.digest, picture.digest, width)
        if key not in self._known:
            names = ("likeness", original.digest, picture.digest, str(width))
            self._known[key] = self.remember(names, lambda: likeness(original.content, picture.content, width))
        return self._known[key]

    def _is_near(self, original: Picture, picture: Picture) -> bool:
        key = (original.digest, picture.digest)
        if key not in self._near:
            self._near[key] = _are_near(self._thumbnail(original), self._thumbnail(picture))
        return self._near[key]

    def _thumbnail(self, picture: Picture) -> Thumbnail | None:
        if picture.digest not in self._thumbnails:
            self._thumbnails[picture.digest] = self.remember(("thumbnail", picture.digest), picture.thumbnail)
        return self._thumbnails[picture.digest]


def _are_near(first: Thumbnail | None, second: Thumbnail | None) -> bool:
    if first is None or second is None or abs(first[0] - second[0]) > _RATIO * first[0]:
        return False
    pixels, others = bytes.fromhex(first[1]), bytes.fromhex(second[1])
    if len(pixels) != len(others):
        return False
    return sum(abs(a - b) for a, b in zip(pixels, others, strict=True)) <= _NEAR * len(pixels)


# ---- The contents of the images that a page shows: by its markup, by the sheets that it loads, and as data URIs

# Returns the bytes of the file that a path of the site leads to, ``None`` where there is none
Read = Callable[[str], bytes | None]

_SHOWING = frozenset({Role.IMAGE, Role.OBJECT, Role.LAZY})
_DATA = re.compile(r"data:image/[-+.\w]+((?:;[^,;]*)*),(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class ShownFiles:
    """Finds the images that pages of one level show; sheets are read once."""

    address: SiteAddress
    read: Read
    _sheets: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)

    def of(self, path: str, tree: Document) -> Iterator[bytes]:
        """Yield the contents of the images of the page at ``path``; an image may come more than once."""
        base = document_base(self.address.url_of(path), base_href(tree))
        passed_over = frozenset(passed_over_references(tree))
        for reference in references(tree):
            if reference.role in _SHOWING and reference not in passed_over:
                yield from self._content(base, reference.url)
        for sheet in filter(applies_to_screen, applied_in_page(tree)):
            if sheet.tag == "style":
                yield from self._shown_by(base, sheet.text, declarations=False)
            else:
                yield from self._linked(join(base, sheet.attr("href") or ""), ())
        for element in tree.select('[style*="("]'):
            yield from self._shown_by(base, element.attr("style") or "", declarations=True)

    def has_styles(self, path: str, tree: Document) -> bool:
        """Whether the page at ``path`` has styles of its own, or a style sheet that exists or is on another site."""
        base = document_base(self.address.url_of(path), base_href(tree))
        urls = (sheet.attr("href") or "" for sheet in applied_in_page(tree) if sheet.tag == "link")
        return tree.select_one("style, [style]") is not None or any(self._exists(base, url) for url in urls)

    def _exists(self, base: str, url: str) -> bool:
        target = self.address.resolve(base, url)
        return target.reach is Reach.EXTERNAL or (target.reach is Reach.LOCAL and self.read(target.path) is not None)

    def _linked(self, url: str | None, seen: tuple[str, ...]) -> Iterator[bytes]:
        """Yield the images of a sheet and of those that it imports."""
        if url is None or url in seen:
            return
        if url not in self._sheets:
            content = self._file(url, "")
            text = "" if content is None else decode_sheet(content, "utf-8").text
            self._sheets[url] = tuple(shown_urls(text)), tuple(_imports(text))
        shown, imported = self._sheets[url]
        for reference in shown:
            yield from self._content(url, reference)
        for reference in imported:
            yield from self._linked(join(url, reference), (*seen, url))

    def _shown_by(self, base: str, text: str, *, declarations: bool) -> Iterator[bytes]:
        for url in shown_urls(text, declarations=declarations):
            yield from self._content(base, url)
        for url in _imports(text) if not declarations else ():
            yield from self._linked(join(base, url), ())

    def _content(self, base: str, url: str) -> Iterator[bytes]:
        content = data_content(url) if url[:5].lower() == "data:" else self._file(base, url)
        if content:
            yield content

    def _file(self, base: str, url: str) -> bytes | None:
        target = self.address.resolve(base, url or base)
        return self.read(target.path) if target.reach is Reach.LOCAL else None


def data_content(url: str) -> bytes | None:
    """Return the content of a data URI of an image (RFC 2397), ``None`` for others and malformed ones."""
    match = _DATA.fullmatch(url.strip())
    if match is None:
        return None
    content = unquote_to_bytes(match[2])
    if not match[1].lower().endswith(";base64"):
        return content
    try:
        return base64.b64decode(content)
    except binascii.Error:
        return None


def shown_urls(text: str, *, declarations: bool = False) -> Iterator[str]:
    """Yield the URLs that CSS may show.

    A declaration does not count that the next one overrides with an ``image-set()`` for the same property.
    """
    overridden = {
        reference.start
        for declaration in image_declarations(text, declarations=declarations)
        if declaration.is_overridden
        for reference in declaration.urls
    }
    for reference in css_references(text, declarations=declarations):
        if reference.role is Role.CSS_URL and reference.start not in overridden:
            yield reference.url


def _imports(text: str) -> Iterator[str]:
    return (reference.url for reference in css_references(text) if reference.role is Role.IMPORT)
