"""Encoding with a measured loss: an encoder for each format, and the smallest encoding that reaches a score."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.exact import exact_png, jpeg_refusal
from adaptc.formats.image.probe import ImageFacts, read_exif
from adaptc.formats.image.quality import Encoder, Search, av1_step, search_quality
from adaptc.formats.image.refusal import Refusal, broken, unchanged
from adaptc.formats.image.score import Reference, sample_rows
from adaptc.formats.image.vips import (
    decode_srgb,
    decode_upright,
    from_pillow,
    load,
    resize_to_srgb,
    to_pillow,
    vips,
)

# Pixels that are encoded and scored at effort "fast", in strips of 32 rows. JPEGs of 34 photographs so take 1.6 s of
# CPU in place of 6.6, for 4 % more bytes; scores of the whole images are 0.94 to 0.99 where 0.95 is asked for (mean
# 0.958, and 0.957 where all pixels count). With 120,000 pixels the least is 0.89.
_SCORED = 250_000


def lossy(
    content: bytes,
    facts: ImageFacts,
    effort: Effort,
    target: float,
    encoder: Encoder | None = None,
    *,
    size: tuple[int, int] | None = None,
) -> Search | Refusal:
    """Return the smallest encoding that scores at least ``target``, of the same media type or by ``encoder``.

    The score compares with the original as a browser shows it: upright, in sRGB, 8 bits a sample. At effort "fast" it
    is that of a sample of a large image. With ``size`` the image is scaled to these pixels first.
    """
    refusal = _refusal(content, facts)
    if refusal is not None:
        return refusal
    try:
        image = decode_srgb(content) if size is None else resize_to_srgb(decode_upright(content), size)
        return _search(image, effort, target, encoder or ENCODERS[facts.media_type])
    except vips().Error as problem:
        return broken(facts.media_type, problem)


def _search(image: Any, effort: Effort, target: float, encoder: Encoder) -> Search:
    pixels = image.width * image.height if effort != "fast" else _SCORED
    whole = to_pillow(image)
    sample = sample_rows(whole, pixels)
    reference = Reference(sample)
    is_part = sample is not whole and encoder.is_local
    searched = from_pillow(sample).copy(interpretation="srgb") if is_part else image

    def score(encoded: bytes) -> float:
        decoded = to_pillow(load(encoded))
        return reference.score(decoded if is_part else sample_rows(decoded, pixels))

    search = search_quality(partial(encoder.encode, searched, effort), score, target, step=encoder.step)
    if search.content is None or search.best is None:
        return search
    content = encoder.encode(image, effort, search.best.quality) if is_part else search.content
    return replace(search, content=content if encoder.finish is None else encoder.finish(content, effort))


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
    if exif is not None and read_exif(exif.content, (facts.width, facts.height)).has_density:
        return unchanged("its metadata gives it another natural size")
    return jpeg_refusal(content)


def encode_jpeg(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode with mozjpeg's tables and trellis: 14 % smaller than libjpeg at equal quality; no trellis when fast."""
    slow = effort != "fast"
    options = {"optimize_coding": True, "interlace": True, "quant_table": 3, "keep": "none"}
    trellis = {"trellis_quant": slow, "overshoot_deringing": slow, "optimize_scans": slow}
    return bytes(image.jpegsave_buffer(Q=quality, **options, **trellis))


def encode_png(image: Any, _effort: Effort, quality: int) -> bytes:
    """Encode with at most 256 colours by imagequant, dithered."""
    return bytes(image.pngsave_buffer(palette=True, Q=quality, dither=1.0, effort=7, keep="none"))


def finish_png(palette: bytes, effort: Effort) -> bytes:
    """Return a PNG as small as the effort allows."""
    smaller = exact_png(palette, "fast" if effort == "fast" else "default")
    return palette if isinstance(smaller, Refusal) else min(palette, smaller, key=len)


def encode_webp(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode as WebP with sharp chroma, which keeps red text on blue crisp."""
    return bytes(image.webpsave_buffer(Q=quality, effort=_WEBP_EFFORTS[effort], smart_subsample=True, keep="none"))


def encode_avif(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode as AV1 in 8 bits; libheif halves the colour planes below quality 90."""
    options = {"compression": "av1", "bitdepth": 8, "effort": _AVIF_EFFORTS[effort], "keep": "none"}
    return bytes(image.heifsave_buffer(Q=quality, **options))


# Milliseconds a megapixel and bytes of eleven images at quality 50, with libaom: 0: 61, 121 kB; 1: 185, 103 kB;
# 2: 294, 100 kB; 3: 619, 96 kB; 4: 2,160, 93 kB; 6: 6,390, 89 kB
_AVIF_EFFORTS: dict[Effort, int] = {"fast": 1, "default": 3, "max": 6}
_WEBP_EFFORTS: dict[Effort, int] = {"fast": 2, "default": 4, "max": 6}
JPEG, WEBP = Encoder(encode_jpeg, is_local=True), Encoder(encode_webp, is_local=True)
PNG, AVIF = Encoder(encode_png, finish=finish_png), Encoder(encode_avif, av1_step, is_local=True)
# Media types whose images are replaced by smaller ones: not AVIF, whose source is usually an image that the site lacks
ENCODERS: dict[str, Encoder] = {media.JPEG: JPEG, media.PNG: PNG, media.WEBP: WEBP}
