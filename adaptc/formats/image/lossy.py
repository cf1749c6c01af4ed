"""Encoding with a measured loss: an encoder for each format, and a search for the quality that reaches a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.exact import exact_png, jpeg_refusal
from adaptc.formats.image.probe import ImageFacts, read_exif
from adaptc.formats.image.refusal import Refusal, broken, unchanged
from adaptc.formats.image.score import Reference
from adaptc.formats.image.vips import decode_srgb, load, to_pillow, vips

LOWEST, HIGHEST = 20, 97


@dataclass(frozen=True, slots=True)
class Point:
    """A point of an image's curve: the encoder's quality, the size in bytes and the score in [0, 1]."""

    quality: int
    size: int
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search: the encoding that reaches the target, or ``None``, and all measured points."""

    content: bytes | None
    best: Point | None
    points: tuple[Point, ...]


def search_quality(
    encode: Callable[[int], bytes],
    score: Callable[[bytes], float],
    target: float,
    *,
    lowest: int = LOWEST,
    highest: int = HIGHEST,
) -> Search:
    """Find the lowest quality in ``lowest``..``highest`` whose score is at least ``target``, by bisection.

    The score is expected to rise with the quality; where it does not, the result still reaches the target. The default
    range takes seven encodings at most.
    """
    points: list[Point] = []
    content: bytes | None = None
    best: Point | None = None
    while lowest <= highest:
        quality = (lowest + highest) // 2
        encoded = encode(quality)
        points.append(Point(quality, len(encoded), score(encoded)))
        if points[-1].score >= target:
            content, best, highest = encoded, points[-1], quality - 1
        else:
            lowest = quality + 1
    return Search(content, best, tuple(sorted(points, key=lambda point: point.quality)))


# Encodes a libvips image of sRGB pixels with an effort and a quality of 0 to 100
Encoder = Callable[[Any, Effort, int], bytes]


def lossy(
    content: bytes, facts: ImageFacts, effort: Effort, target: float, encoder: Encoder | None = None
) -> Search | Refusal:
    """Return the smallest encoding that scores at least ``target``, of the same media type or by ``encoder``.

    The score compares with the original as a browser shows it: upright, in sRGB, 8 bits a sample.
    """
    refusal = _refusal(content, facts)
    if refusal is not None:
        return refusal
    try:
        image = decode_srgb(content)
        reference = Reference(to_pillow(image))
        encode = partial(encoder or ENCODERS[facts.media_type], image, effort)
        return search_quality(encode, lambda encoded: reference.score(to_pillow(load(encoded))), target)
    except vips().Error as problem:
        return broken(facts.media_type, problem)


def _refusal(content: bytes, facts: ImageFacts) -> Refusal | None:
    """Return why the colours or the natural size would be lost, or ``None``."""
    if facts.is_animated:
        return unchanged("it is animated")
    if facts.media_type == media.PNG:
        if b"acTL" in png.chunk_names(content):
            return unchanged("it is an animated PNG")
        return None if facts.has_icc or png.is_plain_srgb(content) else unchanged("its colours are not those of sRGB")
    if facts.media_type != media.JPEG:
        return None
    exif = jpeg.exif_segment(content)
    if exif is not None and read_exif(exif.content).has_density:
        return unchanged("its metadata gives it another natural size")
    return jpeg_refusal(content)


def encode_jpeg(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode with mozjpeg's tables and trellis: 14 % smaller than libjpeg at equal quality; no trellis when fast."""
    slow = effort != "fast"
    options = {"optimize_coding": True, "interlace": True, "quant_table": 3, "keep": "none"}
    trellis = {"trellis_quant": slow, "overshoot_deringing": slow, "optimize_scans": slow}
    return bytes(image.jpegsave_buffer(Q=quality, **options, **trellis))


def encode_png(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode with at most 256 colours by imagequant, dithered, as small as the effort allows."""
    palette = bytes(image.pngsave_buffer(palette=True, Q=quality, dither=1.0, effort=7, keep="none"))
    smaller = exact_png(palette, "fast" if effort == "fast" else "default")
    return palette if isinstance(smaller, Refusal) else min(palette, smaller, key=len)


def encode_webp(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode as WebP with sharp chroma, which keeps red text on blue crisp."""
    return bytes(image.webpsave_buffer(Q=quality, effort=_WEBP_EFFORTS[effort], smart_subsample=True, keep="none"))


def encode_avif(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode as AV1 in 8 bits; libheif halves the colour planes below quality 90."""
    options = {"compression": "av1", "bitdepth": 8, "effort": _AVIF_EFFORTS[effort], "keep": "none"}
    return bytes(image.heifsave_buffer(Q=quality, **options))


_AVIF_EFFORTS: dict[Effort, int] = {"fast": 1, "default": 4, "max": 7}
_WEBP_EFFORTS: dict[Effort, int] = {"fast": 2, "default": 4, "max": 6}
# Media types whose images are replaced by smaller ones: not AVIF, whose source is usually an image that the site lacks
ENCODERS: dict[str, Encoder] = {
    media.JPEG: encode_jpeg,
    media.PNG: encode_png,
    media.WEBP: encode_webp,
}
