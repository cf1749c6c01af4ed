"""The pictures of a composed page: logo, lead image, images of cards and figures, in the page, as far as bytes allow.

All of them are small copies as data URIs, so that the page stays one request. Each has a place of its own: no word is
laid over one. A transparent picture that is drawn for a dark or a light ground gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.page_images import stated_length
from adaptc.compile.page.context import PageContext
from adaptc.compile.page.inlining import data_uri
from adaptc.compile.view import DerivedFile, DerivingView
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.core.values import dataclass, field
from adaptc.formats.css.references import css_references
from adaptc.formats.html.syntax import attribute_markup, parse_srcset
from adaptc.formats.html.visible_text import image_text
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["CARD", "FIGURE", "LEAD", "LOGO", "NO_PICTURES", "THUMBNAIL", "PagePictures", "Pictures"]

# An image or an element with one as its background, and what it is in the page -> its markup, ``""`` without one
Pictures = Callable[["Element", "Role"], str]


@dataclass(frozen=True, slots=True)
class Role:
    """What an image is in a page: pixels of its copy, at most, of the original, at least, and bytes, at most."""

    name: str
    width: int
    least: int
    bytes: int
    has_words: bool = True


LOGO = Role("logo", 240, 16, 6_000)
LEAD = Role("lead", 480, 200, 24_000)
CARD = Role("card", 240, 48, 8_000, has_words=False)
FIGURE = Role("figure", 400, 160, 12_000)
THUMBNAIL = Role("thumbnail", 84, 48, 4_000)
_MOST_HEIGHT = 480  # pixels of the page: half of a small window, so that the words below are seen
_ICON = 64  # pixels a side, up to which an image is a mark in a line of text
_ADDRESSES = ("data-src", "data-original", "data-lazy-src", "src")


def NO_PICTURES(image: Element, role: Role) -> str:  # noqa: N802
    """Return no picture: the page is text."""
    return ""


@dataclass(slots=True)
class PagePictures:
    """The pictures of one page, ``budget`` bytes together. The first that has a role of one place takes it."""

    page: PageContext
    view: DerivingView
    budget: int
    actions: list[Action] = field(default_factory=list)
    _used: set[str] = field(default_factory=set)

    def __call__(self, image: Element, role: Role) -> str:
        """Return the markup of an image; nothing for one whose size hides it."""
        if any((image.attr(side) or "").strip() in ("0", "1", "0px", "1px") for side in ("width", "height")):
            return ""
        for url in _addresses(image):
            path = self.view.follow(self.page.base, url).path
            if path is not None and self.view.media_type(path).startswith("image/"):
                return "" if path in self._used else self._written(image, path, role)
        return ""

    def _written(self, image: Element, path: str, role: Role) -> str:
        if self.view.media_type(path) == media.SVG:
            return self._drawing(image, path, role)
        natural = _natural_size(self.view.read(path))
        width, height = _shown_size(image, natural)
        if natural[0] < role.least or natural[1] < role.least / 2 or min(width, height) < min(role.least, _ICON) / 2:
            return ""
        copy, own = self.view.derive(path, "hard", {"max_width": role.width}), self.view.artifact(path)
        if isinstance(copy, DerivedFile) and copy.size < len(own):
            content, media_type = self.view.copy_content(copy), copy.media_type
        elif len(own) > role.bytes:
            return ""
        else:  # no copy would be smaller
            content, media_type = own, self.view.media_type(path)
        scale = min(1.0, 2 * role.width / width, _MOST_HEIGHT / height)
        size = round(width * scale), round(height * scale)
        is_portrait = role is CARD and size[0] < 1.1 * size[1]
        has_ground = self.view.media_type(path) != media.JPEG
        ground = " class=p" if is_portrait else _ground(content) if has_ground else ""
        if ground.endswith(("k", "w")) and role.name != LOGO.name and image.attr("alt") == "":
            return ""  # fog, a shadow: it decorates what it lies over
        return self._markup(image, path, data_uri(content, media_type), role, size, ground)

    def _drawing(self, image: Element, path: str, role: Role) -> str:
        """Return an image in SVG as it is."""
        content = self.view.artifact(path)
        if role.name != LOGO.name and role is not FIGURE:
            return ""
        is_light = b"#fff" in content.lower() and content.lower().count(b"fill=") <= content.lower().count(b"#fff")
        return self._markup(
            image, path, data_uri(content, media.SVG), role, None, " class=k" if is_light else " class=w"
        )

    def _markup(
        self, image: Element, path: str, uri: str, role: Role, size: tuple[int, int] | None, ground: str
    ) -> str:
        if len(uri) > role.bytes * 4 // 3 or len(uri) > self.budget:
            self.actions.append(Action("compose", "left out", path, f"its copy has {len(uri):,} bytes"))
            return ""
        self.budget -= len(uri)
        self._used.add(path)
        self.actions.append(Action("compose", "shown", path, role.name))
        words = image_text(image) if role.has_words and image.tag == "img" else ""
        sides = f" width={size[0]} height={size[1]}" if size is not None else ""
        return f'<img{ground} src="{uri.replace(chr(34), "%22")}" {attribute_markup("alt", words)}{sides}>'


def _shown_size(image: Element, natural: tuple[int, int]) -> tuple[int, int]:
    """Return the CSS pixels that an image takes at most, by its file and what its attributes say."""
    stated = zip((stated_length(image, side) for side in ("width", "height")), natural, strict=True)
    scale = min((length / pixels for length, pixels in stated if length and pixels), default=1.0)
    return (round(natural[0] * min(1.0, scale)), round(natural[1] * min(1.0, scale)))


def _natural_size(content: bytes) -> tuple[int, int]:
    """Return the CSS pixels of an image, none of one that cannot be read."""
    facts = probe(content, LIMIT_PIXELS)
    return facts.natural_size if isinstance(facts, ImageFacts) else (0, 0)


def _addresses(image: Element) -> Iterator[str]:
    """Yield where an image may be: as a script would load it, as it is loaded, in its style."""
    if image.tag == "img":
        yield from (value for name in _ADDRESSES if (value := image.attr(name)) and not value.startswith("data:"))
        for name in ("srcset", "data-srcset"):
            yield from (each.url for each in parse_srcset(image.attr(name) or "")[:1])
    else:
        yield from (each.url for each in css_references(image.attr("style") or "", declarations=True))


_LIGHT = 170  # of 255, of the pixels that are not transparent
_MOST_OPAQUE = 0.95


def _ground(content: bytes) -> str:
    """Return the class of the ground that a picture needs: ``k`` for a light one, ``w`` for other transparent ones."""
    from PIL import Image, ImageStat

    with Image.open(BytesIO(content)) as opened:
        pixels = opened.convert("RGBA").resize((32, 16))
    alpha = pixels.getchannel("A")
    if ImageStat.Stat(alpha).mean[0] > _MOST_OPAQUE * 255:
        return ""
    mask = alpha.point(lambda value: 255 * (value > 128))
    if mask.getbbox() is None:
        return " class=w"
    return " class=k" if ImageStat.Stat(pixels.convert("L"), mask).mean[0] > _LIGHT else " class=w"
