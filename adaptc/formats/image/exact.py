"""Smaller files with the same pixels in a browser. Nothing here is trusted: ``decode`` compares."""

from __future__ import annotations

from typing import Any

from adaptc.core.model import Effort
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.probe import read_exif
from adaptc.formats.image.refusal import Refusal, broken, left

# oxipng's filter trials and DEFLATE level by effort. Measured on 90 real PNGs (44 kB on average), share saved
# and milliseconds an image: level 1 with libdeflate 5 11.8 %, 5; level 2 14.3 %, 52; level 4 15.0 %, 104;
# level 2 with zopfli of 5 iterations 15.3 %, 1,100. Level 4 with zopfli, the choice for "max", was measured
# on 24 others only: 30.6 % against 28.6 % for "default", 780.
_FAST_DEFLATE, _ZOPFLI_ITERATIONS = 7, 5
_LEVELS = {"fast": 0, "default": 2, "max": 4}

# The one filter that "fast" tries for every image, and the one it tries as well where the first did badly. On 1,162
# PNGs of ten documentation sites and templates, seconds of CPU and share of the bytes left, with libdeflate 7: these
# two 4.2, 77.0 %; none alone 3.5, 78.3 %; bigrams alone 5.6, 79.9 %; oxipng's own trial of both at once 7.7, 76.7 %;
# its level 0 6.9, 76.9 %. As the second filter paeth leaves 77.6 %, sub 77.7 %, minsum 77.6 %, entropy 77.5 %. With
# libdeflate 6 77.9 % in 3.5 s, with 5 78.7 % in 3.1 s.
_FAST_FILTERS = ("none", "bigrams")
_SMALL_PHOTOGRAPH = 10_000


def exact_png(content: bytes, effort: Effort) -> bytes | Refusal:
    """Recompress a PNG by oxipng: filters, DEFLATE, smaller colour type and depth where no sample changes.

    Interlacing goes. Fully transparent pixels keep their colour. Chunks that change colours are put
    back byte for byte: oxipng itself writes sRGB in place of profiles that it knows to be nearly that.
    """
    import oxipng

    if b"acTL" in png.names(content):
        return left("it is an animated PNG")
    try:
        smaller = _optimized(content, effort)
    except oxipng.PngError as problem:
        return broken("image/png", problem)
    return png.insert_behind_header(smaller, _kept_chunks(content))


def _optimized(content: bytes, effort: Effort) -> bytes:
    """Return what oxipng makes of a PNG, ``content`` itself if that is the smallest. Raises ``oxipng.PngError``."""
    from oxipng import optimize_from_memory

    options = _png_options(content, effort)
    if effort != "fast":
        return optimize_from_memory(content, **options)
    plain, other = _FAST_FILTERS
    smaller = optimize_from_memory(content, **options, filter=[plain])
    if len(smaller) == len(content) or not _wants_filters(smaller):
        return smaller
    return min(smaller, optimize_from_memory(content, **options, filter=[other]), key=len)


def _wants_filters(content: bytes) -> bool:
    """Whether a PNG with unfiltered rows looks like a photograph: no palette, over 4 bits a pixel, over 10 kB.

    Filters hardly ever help palettes and drawings: they turn equal neighbours, which DEFLATE finds anyway, into
    others (PNG, 12.7).
    """
    described = png.header(content)
    if described is None or described.colour_type == png.PALETTE or len(content) <= _SMALL_PHOTOGRAPH:
        return False
    return len(content) * 8 > described.width * described.height * 4


def _png_options(content: bytes, effort: Effort) -> dict[str, Any]:
    from oxipng import Deflaters

    options: dict[str, Any] = {
        "level": _LEVELS[effort],
        "interlace": "off",
        "optimize_alpha": False,
        "strip": "all",
    }
    if effort != "default":
        zopfli = Deflaters.zopfli(_ZOPFLI_ITERATIONS)
        options["deflate"] = zopfli if effort == "max" else Deflaters.libdeflater(_FAST_DEFLATE)
    if any(chunk.name in (b"iCCP", b"cICP") for chunk in png.colour_chunks(content)):
        # A profile is made for gray or for colour samples: the colour type must stay on its side (11.3.2.3).
        options |= {"grayscale_reduction": False, "color_type_reduction": False}
    return options


def _kept_chunks(content: bytes) -> tuple[png.Chunk, ...]:
    """Return the chunks to keep: all that change colours, and EXIF only if it is shown."""
    return tuple(c for c in png.colour_chunks(content) if c.name != b"eXIf" or read_exif(c.content).shown)


def same_colour_chunks(before: bytes, after: bytes) -> bool:
    """Whether a PNG kept each chunk that changes what a browser shows."""
    return _kept_chunks(before) == png.colour_chunks(after)


def exact_jpeg(content: bytes, effort: Effort) -> bytes | Refusal:
    """Recompress a JPEG by mozjpeg: the DCT coefficients are kept, their coding becomes smaller.

    The ICC profile and the Adobe marker are kept; EXIF is kept where a browser shows it (it turns the image
    or changes its natural size), other metadata goes.

    With "fast" a progressive JPEG loses its metadata and no more. Of 566 JPEGs of 13 sites, the 235 progressive
    ones took half of the time (8.7 s of CPU, decoding once included) for 2.1 % of their bytes beside metadata; 115
    with the Huffman tables of T.81, K.3, gave 13.7 % in 1.5 s, 216 with tables of their own 5.4 % in 5.7 s.
    """
    refused = jpeg_refusal(content)
    if refused is not None:
        return refused
    exif = _shown_exif(content)
    described = jpeg.frame(content)
    if effort == "fast" and described is not None and described.progressive:
        return jpeg.without_metadata(content, lambda segment: segment.is_icc or segment == exif)
    return _transcoded(content, exif)


def _shown_exif(content: bytes) -> jpeg.Segment | None:
    exif = jpeg.exif(content)
    return exif if exif is not None and read_exif(exif.content).shown else None


def _transcoded(content: bytes, exif: jpeg.Segment | None) -> bytes | Refusal:
    from mozjpeg_lossless_optimization import COPY_MARKERS, optimize

    try:
        smaller = bytes(optimize(content, copy=COPY_MARKERS.ICC))
    except ValueError as problem:
        return broken("image/jpeg", problem)
    return smaller if exif is None else jpeg.insert_after_start(smaller, exif)


def jpeg_refusal(content: bytes) -> Refusal | None:
    """Return why a JPEG is not recompressed, or ``None``."""
    frame = jpeg.frame(content)
    if frame is None:
        return broken("image/jpeg", "it has no frame header")
    if not frame.huffman or frame.precision != 8:
        return left("it is a JPEG of a kind that browsers do not show (arithmetic, lossless or not 8 bits)")
    if frame.components not in (1, 3):
        return left("it is a CMYK JPEG")
    if jpeg.holds_second_image(content):
        return left("it holds a second image (gain map or multi-picture)")
    return None


def same_jpeg_colours(before: bytes, after: bytes) -> bool:
    """Whether a JPEG kept its ICC profile and the number of its components."""
    return jpeg.icc_profile(before) == jpeg.icc_profile(after) and jpeg.frame_shape(before) == jpeg.frame_shape(after)
