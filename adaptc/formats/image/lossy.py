"""Re-encoding with a measured loss: upright sRGB pixels, an encoder for each media type, a score to reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.exact import exact_png, jpeg_refusal
from adaptc.formats.image.probe import ImageFacts, read_exif
from adaptc.formats.image.refusal import Refusal, broken, left
from adaptc.formats.image.score import ssim
from adaptc.formats.image.vips import load, vips

LOWEST, HIGHEST = 20, 97


@dataclass(frozen=True, slots=True)
class Point:
    """One point of an image's curve: the encoder's quality, the size in bytes and the score in [0, 1]."""

    quality: int
    size: int
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    """What was found: the encoding that reaches the target, or ``None``, and all points measured."""

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
    known: Mapping[int, Point] | None = None,
) -> Search:
    """Find the lowest quality in ``lowest``..``highest`` whose score is at least ``target``, by bisection.

    The score is taken to rise with the quality; where it does not, the result still reaches the target.
    ``known`` are points measured before (a curve that the caller keeps): they are not encoded again. At most
    seven new points for the default range, and one encoding for a result that is known.
    """
    points = dict(known or {})
    made: dict[int, bytes] = {}
    best: Point | None = None
    while lowest <= highest:
        quality = (lowest + highest) // 2
        if quality not in points:
            made[quality] = encode(quality)
            points[quality] = Point(quality, len(made[quality]), score(made[quality]))
        if points[quality].score >= target:
            best, highest = points[quality], quality - 1
        else:
            lowest = quality + 1
    content = None if best is None else made.get(best.quality) or encode(best.quality)
    return Search(content, best, tuple(points[quality] for quality in sorted(points)))


# Encodes a libvips image of sRGB pixels with an effort and a quality of 0 to 100
Encoder = Callable[[Any, Effort, int], bytes]


def lossy(
    content: bytes, facts: ImageFacts, effort: Effort, target: float, encoder: Encoder | None = None
) -> Search | Refusal:
    """Return the smallest encoding that scores at least ``target``, of the same media type or by ``encoder``.

    The reference of the score is the original as a browser shows it: turned upright, in sRGB, 8 bits a
    sample.
    """
    reason = _reason_to_leave(content, facts)
    if reason is not None:
        return reason
    try:
        shown = upright_srgb(content)
        reference = samples(shown)
        encode = partial(encoder or ENCODERS[facts.media_type], shown, effort)
        return search_quality(encode, lambda made: ssim(reference, samples(load(made))), target)
    except vips().Error as problem:
        return broken(facts.media_type, problem)


def upright_srgb(content: bytes) -> Any:
    """Decode to upright sRGB pixels of 8 bits (a libvips image in memory, 3 or 4 bands); alpha is kept."""
    image = load(content).autorot()
    if image.get_typeof("icc-profile-data"):
        image = image.icc_transform("srgb", embedded=True)
    image = image.colourspace("srgb")
    return image.cast("uchar").copy_memory()


def samples(image: Any) -> Any:
    """Return a libvips image as an array of shape (height, width, 3 or 4), 8 bits."""
    return image.colourspace("srgb").cast("uchar").numpy()


def _reason_to_leave(content: bytes, facts: ImageFacts) -> Refusal | None:
    """Return why the colours or the size as shown would not survive, or ``None``."""
    if facts.animated:
        return left("it is animated")
    if facts.media_type == media.PNG:
        if b"acTL" in png.names(content):
            return left("it is an animated PNG")
        return None if facts.has_icc or png.is_plain_srgb(content) else left("its colours are not those of sRGB")
    if facts.media_type != media.JPEG:
        return None
    exif = jpeg.exif(content)
    if exif is not None and read_exif(exif.content).density:
        return left("its metadata gives it another natural size")
    return jpeg_refusal(content)


def encode_jpeg(image: Any, effort: Effort, quality: int) -> bytes:
    """mozjpeg's tables and trellis: 14 % smaller than libjpeg at equal quality; no trellis when fast."""
    slow = effort != "fast"
    options = {"optimize_coding": True, "interlace": True, "quant_table": 3, "keep": "none"}
    trellis = {"trellis_quant": slow, "overshoot_deringing": slow, "optimize_scans": slow}
    return bytes(image.jpegsave_buffer(Q=quality, **options, **trellis))


def encode_png(image: Any, effort: Effort, quality: int) -> bytes:
    """At most 256 colours by imagequant, dithered, and written as small as the effort allows."""
    palette = bytes(image.pngsave_buffer(palette=True, Q=quality, dither=1.0, effort=7, keep="none"))
    smaller = exact_png(palette, "fast" if effort == "fast" else "default")
    return palette if isinstance(smaller, Refusal) else min(palette, smaller, key=len)


def encode_webp(image: Any, effort: Effort, quality: int) -> bytes:
    return bytes(image.webpsave_buffer(Q=quality, effort=_WEBP_EFFORTS[effort], smart_subsample=True, keep="none"))


def encode_avif(image: Any, effort: Effort, quality: int) -> bytes:
    """AV1 in 8 bits; libheif halves the colour planes below quality 90."""
    options = {"compression": "av1", "bitdepth": 8, "effort": _AVIF_EFFORTS[effort], "keep": "none"}
    return bytes(image.heifsave_buffer(Q=quality, **options))


_AVIF_EFFORTS: dict[Effort, int] = {"fast": 1, "default": 4, "max": 7}
_WEBP_EFFORTS: dict[Effort, int] = {"fast": 2, "default": 4, "max": 6}
# What is encoded anew under its own name: an AVIF is not, since its source is mostly an image that nobody has here
ENCODERS: dict[str, Encoder] = {
    media.JPEG: encode_jpeg,
    media.PNG: encode_png,
    media.WEBP: encode_webp,
}
