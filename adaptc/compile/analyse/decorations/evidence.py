"""What the image classifier knows: the pixels of a file, a use on a page, and how the site uses a file.

The pixels are measured on a thumbnail, once for each file.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Flag
from typing import TYPE_CHECKING, Any, Protocol

from adaptc.core import media
from adaptc.core.shortage import raise_shortage
from adaptc.core.values import dataclass, field, replace

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True, slots=True)
class ImageEvidence:
    """An image file by itself; ``width`` and ``height`` in CSS pixels as shown, ``None`` if unknown.

    The rest is measured on a thumbnail of at most 64x64 pixels of the first frame. ``entropy`` is that of its
    luminance in bits (0 flat, 8 noise); ``colours`` counts colours of 4 bits a channel; ``transparent`` is the share of
    pixels that are mostly see-through and ``opaque`` of those that hide what is behind them; ``colour`` stands for all
    that can be seen (sRGB, 0 to 255). For SVG nothing is drawn: they are ``None``, ``shapes`` counts elements, and
    ``is_wordless`` says that none of them is text, an image or HTML.
    """

    media_type: str
    size: int
    width: float | None = None
    height: float | None = None
    frames: int = 1
    has_alpha: bool = False
    entropy: float | None = None
    colours: int | None = None
    transparent: float | None = None
    shapes: int | None = None
    is_wordless: bool = False
    opaque: float | None = None
    colour: tuple[int, int, int] | None = None

    @property
    def is_vector(self) -> bool:
        """Whether it is drawn from shapes."""
        return self.shapes is not None


@dataclass(frozen=True, slots=True)
class Tag:
    """A statement of the author (``data-adapt``) or the user (a rule): "keep" or "drop", and at which levels.

    No levels means all of them. ``stated_by`` is the attribute or rule.
    """

    verdict: str
    levels: tuple[str, ...] = ()
    stated_by: str = "data-adapt"


def tag_in_force(tags: Sequence[Tag], levels: Sequence[str]) -> Tag | None:
    """Return the first of the ``tags`` of an image that applies to a level, ``None`` if none does.

    ``levels`` are the level and those that it extends, the nearest first (``adaptc.config.rulebook.Level.lineage``).
    Tags that name levels apply by the first of these that any tag names; to an unknown level, ``()``, they do not.
    """
    named = next((level for level in levels if any(level in tag.levels for tag in tags)), None)
    return next((tag for tag in tags if not tag.levels or named in tag.levels), None)


@dataclass(frozen=True, slots=True)
class UseEvidence:
    """One image at one place of a page.

    ``ref`` is as written; ``path`` the file in the docroot, ``None`` when there is none; ``url`` the absolute URL of
    one outside the site. ``kind`` is img, input, source, background or svg. Sizes are in px as the markup or the rule
    says. ``region`` is the nearest landmark: header, nav, footer, aside, main or "". ``names`` are the words of class
    and id of the element and of the elements around it, nearest first.
    """

    ref: str
    kind: str
    path: str | None
    url: str = ""
    width: float | None = None
    height: float | None = None
    alt: str | None = None
    hidden: bool = False  # aria-hidden, role=presentation or none
    region: str = ""
    names: tuple[str, ...] = ()
    link: str = ""  # "home", "page", "anchor", "image", "outside", "button", or "" for none
    alone_in_link: bool = False  # nothing else to see in the link
    link_alike: bool = False  # another link nearby leads to the same place and has text
    host: str = ""  # where a link to another host leads
    hosts: int = 0  # other hosts to which images alone in their links lead, in such places or under the same heading
    heading: tuple[str, ...] = ()  # the words of the nearest heading before it
    figure: bool = False  # in a figure, by its element or by class names
    alone: bool = False  # its block has no text of its own
    text_length: int = 0  # characters of text in its block
    near_length: int = 0  # characters of the smallest element around it that has text, of three
    part_length: int = 0  # characters of the part of the page that has it and one heading; 0 for none
    alt_repeats: bool = False  # that text says the same as its alternative text
    in_cell: bool = False
    in_heading: bool = False
    in_text: bool = False  # between words, like a character
    alike: int = 1  # different images in the same kind of place on this page
    times: int = 1  # uses of the same file on this page
    order: int = 0  # position among the images of the page's markup
    before_heading: bool = False  # before the page's first h1 or h2, or there is none
    is_inline: bool = False  # the background of a style attribute
    property: str = ""
    repeat: str = ""
    pseudo: bool = False
    is_loaded: bool = True  # browsers load it with the page, in a wide window
    body: bool = False  # the background of html or body
    places: int = 1  # elements that the rule matches, at most 50 counted
    holds_text: int = 0  # characters of text in the element with the background
    control: bool = False  # the element with the background is a control without text of its own
    replaces_text: bool = False  # the rule of the background hides the text of its element
    siblings: int = 1  # different backgrounds of elements of the same kind side by side
    usemap: bool = False
    tags: tuple[Tag, ...] = ()  # the nearest first; those of the user before those of the page


class SiteUsage(Flag):
    """How a site uses a file: on half of its pages or more, on several, on one alone, as the first image of many."""

    NONE = 0
    EVERYWHERE = 1
    SHARED = 2
    UNIQUE = 4
    FIRST = 8


class UsageLookup(Protocol):
    """Knows how a site uses its files."""

    def usage(self, path: str | None, limits: Mapping[str, float], /) -> SiteUsage:
        """Return how the site uses a file."""

    def sentence(self, path: str | None, usage: SiteUsage, /) -> str:
        """Return a usage in words."""


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """How many pages there are, and how many of them use each file: at all, and as their first image in the markup."""

    pages: int = 0
    uses: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)

    def share(self, path: str | None) -> float:
        """Return the share of pages that use a file, 0 to 1."""
        return self.uses.get(path or "", 0) / max(self.pages, 1)

    def usage(self, path: str | None, limits: Mapping[str, float], /) -> SiteUsage:
        """Return how the site uses a file; ``limits`` are those of the rules."""
        uses, first, share = self.uses.get(path or "", 0), self.first.get(path or "", 0), self.share(path)
        enough = self.pages >= limits["pages"]
        flags = {
            SiteUsage.EVERYWHERE: enough and share >= 0.5,
            SiteUsage.SHARED: share < 0.5 and uses >= limits["shared"],
            SiteUsage.UNIQUE: enough and uses == 1,
            SiteUsage.FIRST: first >= max(3, self.pages * limits["first_share"]) and first >= 0.5 * uses,
        }
        return SiteUsage(sum(flag.value for flag, holds in flags.items() if holds))

    def sentence(self, path: str | None, usage: SiteUsage, /) -> str:
        """Return a usage in words, with the figures."""
        if usage is SiteUsage.UNIQUE:
            return _SENTENCES[usage]
        if usage is SiteUsage.FIRST:
            return f"the first image of {self.first.get(path or '', 0):,} pages"
        return f"used by {self.uses.get(path or '', 0):,} of {self.pages:,} pages"


@dataclass(frozen=True, slots=True)
class DecidedUsage:
    """How a site uses its files, without figures, which change with every page; ``of`` returns the usage of a path."""

    of: Callable[[str], SiteUsage]

    def usage(self, path: str | None, _limits: Mapping[str, float], /) -> SiteUsage:
        """Return how the site uses a file; the limits were applied before."""
        return self.of(path) if path else SiteUsage.NONE

    def sentence(self, _path: str | None, usage: SiteUsage, /) -> str:
        """Return a usage in words."""
        return _SENTENCES[usage]


_SENTENCES = {
    SiteUsage.EVERYWHERE: "used by most pages",
    SiteUsage.SHARED: "used by several pages",
    SiteUsage.UNIQUE: "used by this page alone",
    SiteUsage.FIRST: "the first image of many pages",
}


Colour = tuple[int, int, int]
THUMBNAIL = 64  # px a side: enough to tell a photograph from a drawing, and 0.1 ms to count
_WORDS = ("{*}text", "{*}image", "{*}foreignObject")  # of an SVG: these may say something
_COMMON = 0.25  # share of the pixels from which a colour is that of the image
_HIDES = 250  # alpha from which a pixel hides the background
_SEE_THROUGH = 64  # alpha below this is mostly background
_LENGTH = re.compile(r"\s*(\d*\.?\d+)(px|pt|pc|mm|cm|in|em|ex)?\s*")
_PX = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "em": 16.0, "ex": 8.0}


def image_evidence(content: bytes, media_type: str, limit_pixels: int | None = None) -> ImageEvidence:
    """Measure an image file. For one that cannot be read only the type and the size in bytes are known.

    Images of more than ``limit_pixels`` (by default ``adaptc.formats.image.probe.LIMIT_PIXELS``) are not decoded.
    """
    from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe

    if media_type == media.SVG:
        return _vector(content)
    facts = probe(content, LIMIT_PIXELS if limit_pixels is None else limit_pixels)
    if not isinstance(facts, ImageFacts):
        return ImageEvidence(media_type, len(content))
    width, height = facts.natural_size
    measured = _measured(content)
    kind, frames, has_alpha = facts.media_type, facts.frames, facts.has_alpha
    evidence = ImageEvidence(kind, len(content), width, height, frames, has_alpha)
    return replace(evidence, **measured)


def _measured(content: bytes) -> dict[str, Any]:
    """Return what the thumbnail shows, by the fields of ``ImageEvidence``."""
    from adaptc.formats.image.probe import BROKEN, open_image

    try:
        with open_image(content) as image:
            image.draft("RGB", (THUMBNAIL, THUMBNAIL))  # JPEG decodes at an eighth of the size
            thumbnail = _thumbnail(image)
    except BROKEN as error:
        raise_shortage(error)
        return {}
    pixels = _pixels(thumbnail)
    seen = [(r, g, b) for r, g, b, alpha in pixels if alpha >= _SEE_THROUGH]
    transparent = 1 - len(seen) / max(len(pixels), 1)
    coarse = Counter((r >> 4, g >> 4, b >> 4) for r, g, b in seen)
    return {
        "entropy": _entropy(seen),
        "colours": len(coarse),
        "transparent": round(transparent, 3),
        "opaque": round(sum(pixel[3] >= _HIDES for pixel in pixels) / max(len(pixels), 1), 3),
        "colour": _dominant(seen, coarse),
    }


def _dominant(seen: Sequence[Colour], coarse: Counter[Colour]) -> Colour | None:
    """Return the mean of the pixels of the commonest coarse colour; where none is common, that of all pixels."""
    if not seen:
        return None
    commonest, count = max(coarse.items(), key=lambda item: (item[1], item[0]))
    alike = [pixel for pixel in seen if (pixel[0] >> 4, pixel[1] >> 4, pixel[2] >> 4) == commonest]
    chosen = alike if count >= _COMMON * len(seen) else seen
    red, green, blue = (round(sum(channel) / len(chosen)) for channel in zip(*chosen, strict=True))
    return red, green, blue


def _thumbnail(image: Image.Image) -> Image.Image:
    """Return RGBA of at most 64x64. Large images lose most pixels before the conversion, which costs the most."""
    step = max(1, min(image.width, image.height) // (4 * THUMBNAIL))
    if step > 1 and image.mode in ("L", "RGB", "RGBA", "CMYK", "LA"):
        image = image.reduce(step)
    colours = image.convert("RGBA")
    colours.thumbnail((THUMBNAIL, THUMBNAIL))
    return colours


def _pixels(image: Image.Image) -> Sequence[tuple[int, int, int, int]]:
    raw = image.tobytes()
    return [(raw[at], raw[at + 1], raw[at + 2], raw[at + 3]) for at in range(0, len(raw), 4)]


def _entropy(pixels: Sequence[tuple[int, int, int]]) -> float:
    """Return the entropy in bits of the luminance (ITU-R BT.601) in 256 steps."""
    counts = [0] * 256
    for red, green, blue in pixels:
        counts[(299 * red + 587 * green + 114 * blue) // 1000] += 1
    total = max(len(pixels), 1)
    return round(-sum(n / total * math.log2(n / total) for n in counts if n), 2)


def _vector(content: bytes) -> ImageEvidence:
    from adaptc.formats.svg.parse import SvgMalformedError, parse_svg

    try:
        root = parse_svg(content, recover=True)
    except SvgMalformedError:
        return ImageEvidence(media.SVG, len(content))
    width, height = _natural_size(root)
    shapes = sum(1 for _ in root.iter("{*}*")) - 1
    is_wordless = next(root.iter(*_WORDS), None) is None
    return ImageEvidence(media.SVG, len(content), width, height, has_alpha=True, shapes=shapes, is_wordless=is_wordless)


def _natural_size(root: Any) -> tuple[float | None, float | None]:
    """Return the size of an SVG; one dimension and the view box give the other (SVG 2, section 8.12)."""
    width, height = parse_length(root.get("width")), parse_length(root.get("height"))
    box = [float(part) for part in re.findall(r"-?\d*\.?\d+", root.get("viewBox") or "")]
    if len(box) != 4 or box[2] <= 0 or box[3] <= 0:
        return width, height
    if width is None and height is None:
        return box[2], box[3]
    ratio = box[2] / box[3]
    return width or (height or 0) * ratio, height or (width or 0) / ratio


def parse_length(value: str | None) -> float | None:
    """Return an absolute length in px, ``None`` for others."""
    match = _LENGTH.fullmatch(value or "")
    return float(match[1]) * _PX[match[2] or ""] if match else None
