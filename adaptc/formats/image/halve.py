"""Smaller copies of images for the degraded levels: fewer pixels and fewer bytes, under a name of their own.

A copy never replaces the original under its URL: every other page that refers to it would show it smaller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil
from typing import Any

from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.facts import BoundedCache
from adaptc.core.model import Effort
from adaptc.core.values import dataclass, replace
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.degrade import (
    COPY_FORMATS,
    LONGEST_SIDE,
    Encoding,
    Goal,
    Pixels,
    degrade,
    encode_lossless,
    encode_webp_copy,
)
from adaptc.formats.image.exact import jpeg_refusal
from adaptc.formats.image.lossy import OTHER_COLOURS
from adaptc.formats.image.probe import (
    LIMIT_PIXELS,
    ImageFacts,
    Refusal,
    broken,
    density_exif,
    probe,
    read_exif,
    unchanged,
)
from adaptc.formats.image.score import HARD, HARD_QUALITIES, MODERATE, QUALITIES, TEXT_SCALE, Texture, measure_texture
from adaptc.formats.image.vips import (
    decode_frames,
    decode_upright,
    memory_size,
    resize_frames,
    resize_to_srgb,
    to_pillow,
    vips,
)

ALL_FORMATS = tuple(COPY_FORMATS)
# Pixels of all frames of an animation that are worth decoding and encoding again: 20 to 60 ms a megapixel
_ANIMATION_LIMITS: dict[Effort, int] = {"fast": 10_000_000, "default": 30_000_000, "max": 100_000_000}
# Below these, a copy saves less than the markup that refers to it.
_SMALLEST, _NARROWEST = 1500, 32
_MARGIN = 128
_TYPES = frozenset({media.JPEG, media.PNG, media.GIF, media.WEBP, media.AVIF})


@dataclass(frozen=True, slots=True)
class ImageCopy:
    """A smaller copy: its bytes, its pixels, and the size in CSS pixels at which the original is shown.

    Of a copy whose metadata gives it that size, its pixels count as those of the original.

    ``score`` compares it with the lossless copy of the same size (see ``score``): 1.0 for equal pixels, ``None`` if
    not measured. ``reason`` describes the copy for people. ``likeness`` compares it with the original in the box that
    shows it (``adaptc.formats.image.copiers``), ``None`` if not measured.
    """

    content: bytes
    media_type: str
    extension: str
    width: int
    height: int
    natural_width: int
    natural_height: int
    score: float | None
    reason: str
    likeness: float | None = None

    @property
    def slack(self) -> float:
        """Return the difference in height, in CSS pixels, between its box and that of the original."""
        return slack((self.natural_width, self.natural_height), (self.width, self.height))


def halve(
    content: bytes,
    *,
    scale: float = 0.5,
    text_scale: float | None = None,
    target: float | str = MODERATE,
    qualities: tuple[int, int] = QUALITIES,
    effort: Effort = "fast",
    limit_pixels: int = LIMIT_PIXELS,
    formats: Iterable[str] = ALL_FORMATS,
    frozen: bool = False,
) -> ImageCopy | Refusal:
    """Return a copy at ``scale``, upright and in sRGB, or why there is none.

    ``text_scale`` is the scale of images that show text or lines; drawings of a few colours become lossless WebP at
    full size where that is smaller still. ``target`` is a score in [0, 1], reached within ``qualities``, or
    ``"q=60"``. ``formats`` are the formats allowed, of ``ALL_FORMATS``. An animation stays animated, at the middle
    quality, or becomes its first frame with ``frozen``. A copy is at least 128 bytes smaller than the original.
    """
    goal = Goal.parse(target, *qualities)
    sizes = _Sizes(scale, text_scale or scale, text_scale is not None)
    return _Job(content, goal, effort, tuple(formats), sizes).run(limit_pixels, frozen)


def halve_exactly(content: bytes, **options: Any) -> ImageCopy | Refusal:
    """Return what ``halve`` returns, or a copy in JPEG whose metadata gives it the exact size of the original.

    That is for images that have no half of the same shape (500x333), where the size shows: backgrounds repeat. Browsers
    before 2021 do not know the metadata. A JPEG takes 1.4 times the bytes of a WebP image of the same quality.
    """
    copy = halve(content, **options)
    if isinstance(copy, Refusal) or copy.slack <= EXACT:
        return copy
    dense = halve(content, **{**options, "formats": ("jpeg",)})
    if isinstance(dense, Refusal) or dense.media_type != media.JPEG:
        return copy
    natural = (dense.natural_width, dense.natural_height)
    exif = jpeg.Segment(jpeg.APP1, density_exif((dense.width, dense.height), natural))
    return replace(dense, content=jpeg.insert_after_start(dense.content, exif), width=natural[0], height=natural[1])


def recompress_hard(
    content: bytes,
    *,
    max_width: int = 480,
    target: float | str = HARD,
    effort: Effort = "fast",
    limit_pixels: int = LIMIT_PIXELS,
    formats: Iterable[str] = ALL_FORMATS,
) -> ImageCopy | Refusal:
    """Return a copy at most ``max_width`` pixels wide with a visible loss, or why there is none.

    It is at most as large as the copy that ``halve`` makes for the moderate level: half size, 0.71 where there is
    text. Animations become their first frame.
    """
    sizes = _Sizes(0.5, TEXT_SCALE, True, max_width)
    return _Job(content, Goal.parse(target, *HARD_QUALITIES), effort, tuple(formats), sizes).run(
        limit_pixels, frozen=True
    )


# ---- sizes

# CSS pixels by which the height of the box may be off. Browsers lay out in 64ths of a pixel.
CLOSE = 1 / 16
# The same where an image repeats, which shows more
EXACT = 0.25
# The width may be larger by this share (1/16) where that gives a better height.
_SPREAD = 16


def scaled_size(width: int, height: int, scale: float, widest: int | None = None) -> tuple[int, int]:
    """Return width and height of a copy at ``scale`` (0 to 1), both at least 1; the width is rounded up.

    ``widest`` limits the width.

    A browser multiplies both sides by the original's width over the copy's, so the copy's height times that
    should be the original's height. 401 by 301 halved to 201 by 151 would be shown 301.25 high. Of the widths up to a
    sixteenth above the requested one, the first with a height within ``CLOSE`` is chosen, or the closest for its
    pixels.
    """
    first = min(width, widest or width, max(1, ceil(round(width * scale, 6))))
    last = min(width, widest or width, first + first // _SPREAD + 2)
    sizes = [(wide, max(1, round(height * wide / width))) for wide in range(first, last + 1)]
    close = (size for size in sizes if slack((width, height), size) <= CLOSE)
    return next(close, None) or min(sizes, key=lambda size: slack((width, height), size) + size[0] / first)


def slack(natural: tuple[int, int], size: tuple[int, int]) -> float:
    """Return the difference in height, in CSS pixels, between the boxes of a copy and of the original."""
    return abs(size[1] * natural[0] / size[0] - natural[1])


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Rules for the size of a copy. With ``may_keep_size`` a lossless one may have the size of the original."""

    scale: float
    text_scale: float
    may_keep_size: bool
    widest: int | None = None

    def choose(self, natural: tuple[int, int], texture: Texture) -> tuple[int, int]:
        scale = self.text_scale if texture.is_crisp else self.scale
        if self.widest is not None:
            # a sixteenth less, so that there are widths to choose from
            scale = min(scale, self.widest / natural[0] * 15 / 16)
        return scaled_size(*natural, scale, self.widest)


# ---- copies


@dataclass(frozen=True, slots=True)
class _Job:
    """An image and the requirements for its copy."""

    content: bytes
    goal: Goal
    effort: Effort
    formats: tuple[str, ...]
    sizes: _Sizes

    def run(self, limit_pixels: int, frozen: bool) -> ImageCopy | Refusal:
        facts = probe(self.content, limit_pixels)
        if isinstance(facts, Refusal):
            return facts
        stays_animated = facts.is_animated and not frozen
        refusal = _refusal(self.content, facts) or (self._animation_refusal(facts) if stays_animated else None)
        if refusal is not None:
            return refusal
        try:
            encoding, size = self._encode_animation(facts) if stays_animated else self._encode_still(facts)
        except vips().Error as problem:
            return broken(facts.media_type, problem)
        return self._accept(encoding, size, facts)

    def _encode_still(self, facts: ImageFacts) -> tuple[Encoding | None, tuple[int, int]]:
        digest = digest_bytes(self.content)
        texture = _texture(digest, self.content)
        size = self.sizes.choose(facts.natural_size, texture)
        lossy = degrade(_resized(digest, self.content, size), self.goal, self.effort, self.formats)
        if self._may_keep_size(facts, texture):
            lossless = encode_lossless(_resized(digest, self.content, facts.natural_size).image, self.effort)
            if lossy is None or len(lossless.content) <= len(lossy.content):
                return lossless, facts.natural_size
        return lossy, size

    def _may_keep_size(self, facts: ImageFacts, texture: Texture) -> bool:
        fits = max(facts.natural_size) <= LONGEST_SIDE and facts.width <= (self.sizes.widest or facts.width)
        return self.sizes.may_keep_size and texture.is_drawn and "webp" in self.formats and fits

    def _encode_animation(self, facts: ImageFacts) -> tuple[Encoding, tuple[int, int]]:
        size = scaled_size(*facts.natural_size, self.sizes.scale)
        frames = resize_frames(decode_frames(self.content), size)
        quality = (self.goal.lowest + self.goal.highest) // 2
        return Encoding(
            encode_webp_copy(frames, self.effort, quality, is_sharp=self.effort != "fast"), "webp", quality, None
        ), size

    def _animation_refusal(self, facts: ImageFacts) -> Refusal | None:
        if facts.media_type not in (media.GIF, media.WEBP) or "webp" not in self.formats:
            return unchanged("it is animated, and its frames cannot be encoded anew")
        if facts.frames * facts.width * facts.height > _ANIMATION_LIMITS[self.effort]:
            return unchanged("it is animated, and its frames are too many to be encoded anew")
        return None

    def _accept(self, encoding: Encoding | None, size: tuple[int, int], facts: ImageFacts) -> ImageCopy | Refusal:
        if encoding is None:
            return unchanged("no allowed format can hold it")
        if len(encoding.content) + _MARGIN > len(self.content):
            return unchanged("a copy would not be smaller")
        return ImageCopy(
            encoding.content,
            COPY_FORMATS[encoding.format].media_type,
            COPY_FORMATS[encoding.format].extension,
            *size,
            *facts.natural_size,
            encoding.score,
            _describe(encoding, size, facts, len(self.content)),
        )


# A plan asks for copies of one size in several qualities, and for others of an image when it tries the next level: kept
# are textures, by the digest of the image, and pixels, by its size as well. Bytes that a worker keeps
_textures = BoundedCache[str, Texture](1 << 20)
_resized_images = BoundedCache[tuple[str, tuple[int, int]], Pixels](32 << 20)
_TEXTURE = 256  # bytes that one counts for
_WITH_ENCODINGS = 2  # times the bytes of the pixels


def _texture(digest: str, content: bytes) -> Texture:
    texture = _textures.get(digest)
    if texture is None:
        texture = measure_texture(to_pillow(decode_upright(content)))
        _textures.put(digest, texture, _TEXTURE)
    return texture


def _resized(digest: str, content: bytes, size: tuple[int, int]) -> Pixels:
    pixels = _resized_images.get((digest, size))
    if pixels is None:
        pixels = Pixels(resize_to_srgb(decode_upright(content), size))
        _resized_images.put((digest, size), pixels, _WITH_ENCODINGS * memory_size(pixels.image))
    return pixels


def _describe(encoding: Encoding, size: tuple[int, int], facts: ImageFacts, before: int) -> str:
    pixels = "{}x{} of {}x{} pixels".format(*size, *facts.natural_size)
    coding = "lossless" if encoding.quality is None else f"quality {encoding.quality}"
    score = "" if encoding.score is None else f", score {encoding.score:.3f}"
    return f"{pixels}, {encoding.format} {coding}{score}: {len(encoding.content):,} of {before:,} bytes"


def _refusal(content: bytes, facts: ImageFacts) -> Refusal | None:
    """Return why a copy would not look like the original, or would not be worth it."""
    if facts.media_type not in _TYPES:
        return unchanged(f"{facts.media_type} is not made smaller")
    if len(content) < _SMALLEST or min(facts.natural_size) < _NARROWEST:
        return unchanged("it is too small to gain by a smaller copy")
    if facts.media_type == media.PNG:
        return None if png.converts_to_srgb(content) else unchanged(OTHER_COLOURS)
    if facts.media_type == media.AVIF and not facts.has_icc and not _is_srgb_avif(content):
        return unchanged(OTHER_COLOURS)
    return _jpeg_refusal(content, facts) if facts.media_type == media.JPEG else None


# Code points (H.273, 8.1 and 8.2) that Chromium takes for sRGB: of BT.709, BT.601 and sRGB, and unspecified ones
_SRGB_PRIMARIES, _SRGB_TRANSFERS = frozenset({1, 2}), frozenset({1, 2, 6, 13, 14, 15})
_COLOUR_BOX = re.compile(rb"colrnclx(..)(..)", re.DOTALL)


def _is_srgb_avif(content: bytes) -> bool:
    """Whether an AVIF image without a profile says that its colours are those of sRGB (MIAF, 7.3.6.4)."""
    points = [tuple(map(int.from_bytes, match.groups())) for match in _COLOUR_BOX.finditer(content)]
    return bool(points) and all(
        primaries in _SRGB_PRIMARIES and transfer in _SRGB_TRANSFERS for primaries, transfer in points
    )


def _jpeg_refusal(content: bytes, facts: ImageFacts) -> Refusal | None:
    exif = jpeg.exif_segment(content)
    if exif is not None and read_exif(exif.content, (facts.width, facts.height)).has_density:
        return unchanged("its metadata gives it another natural size")
    is_plain = facts.mode != "cmyk" and not jpeg.holds_second_image(content)
    return jpeg_refusal(content) if is_plain else None
