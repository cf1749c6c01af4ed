"""Smaller files with the same pixels in a browser. No result is trusted: ``recompress`` compares the pixels."""

from __future__ import annotations

from typing import Any

from adaptc.core.model import Effort
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.probe import Refusal, broken, read_exif, unchanged

# oxipng's filter trials and DEFLATE level by effort. Measured on 90 real PNGs (44 kB on average), share saved
# and milliseconds an image: level 1 with libdeflate 5 11.8 %, 5; level 2 14.3 %, 52; level 4 15.0 %, 104;
# level 2 with zopfli of 5 iterations 15.3 %, 1,100. Level 4 with zopfli, the choice for "max", was measured
# on 24 others only: 30.6 % against 28.6 % for "default", 780.
_FAST_DEFLATE, _ZOPFLI_ITERATIONS = 7, 5
_LEVELS = {"fast": 0, "default": 2, "max": 4}

# The filter that "fast" tries for every image, and the one that it tries as well where the first does badly. On 1,162
# PNGs of ten documentation sites and templates, seconds of CPU and share of the bytes left, with libdeflate 7: these
# two 4.2, 77.0 %; none alone 3.5, 78.3 %; bigrams alone 5.6, 79.9 %; oxipng's own trial of both at once 7.7, 76.7 %;
# its level 0 6.9, 76.9 %. As the second filter paeth leaves 77.6 %, sub 77.7 %, minsum 77.6 %, entropy 77.5 %. With
# libdeflate 6 77.9 % in 3.5 s, with 5 78.7 % in 3.1 s.
_FAST_FILTERS = ("none", "bigrams")
_SMALL_PHOTOGRAPH = 10_000


def exact_png(content: bytes, effort: Effort) -> bytes | Refusal:
    """Recompress a PNG by oxipng: filters, DEFLATE, smaller colour type and depth where no sample changes.

    Interlacing is dropped. Fully transparent pixels keep their colour. Chunks that change colours are put back byte for
    byte: oxipng itself writes sRGB in place of profiles that are nearly sRGB.
    """
    import oxipng

    if b"acTL" in png.chunk_names(content):
        return unchanged("it is an animated PNG")
    try:
        smaller = _optimize_png(content, effort)
    except oxipng.PngError as problem:
        return broken("image/png", problem)
    return png.insert_after_header(smaller, _essential_chunks(content))


def _optimize_png(content: bytes, effort: Effort) -> bytes:
    """Return a PNG optimized by oxipng, or ``content`` itself if that is smaller. Raises ``oxipng.PngError``."""
    from oxipng import optimize_from_memory

    options = _png_options(content, effort)
    if effort != "fast":
        return optimize_from_memory(content, **options)
    first, second = _FAST_FILTERS
    smaller = optimize_from_memory(content, **options, filter=[first])
    if len(smaller) == len(content) or not _gains_by_filters(smaller):
        return smaller
    return min(smaller, optimize_from_memory(content, **options, filter=[second]), key=len)


def _gains_by_filters(content: bytes) -> bool:
    """Whether a PNG with unfiltered rows looks like a photograph: no palette, over 4 bits a pixel, over 10 kB.

    Filters hardly ever help palettes and drawings: they replace equal neighbours, which DEFLATE compresses anyway
    (PNG, 12.7).
    """
    header = png.read_header(content)
    if header is None or header.colour_type == png.PALETTE or len(content) <= _SMALL_PHOTOGRAPH:
        return False
    return len(content) * 8 > header.width * header.height * 4


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
        # A profile is for gray or for colour samples: gray must stay gray, colour must stay colour (11.3.2.3).
        options |= {"grayscale_reduction": False, "color_type_reduction": False}
    return options


def _essential_chunks(content: bytes) -> tuple[png.Chunk, ...]:
    """Return the chunks to keep: all that change colours, and EXIF if a browser shows it."""
    return tuple(
        chunk for chunk in png.colour_chunks(content) if chunk.name != b"eXIf" or read_exif(chunk.content).is_shown
    )


def keeps_png_colours(before: bytes, after: bytes) -> bool:
    """Whether a PNG kept each chunk that changes what a browser shows."""
    return _essential_chunks(before) == png.colour_chunks(after)


def exact_jpeg(content: bytes, effort: Effort) -> bytes | Refusal:
    """Recompress a JPEG by mozjpeg: the DCT coefficients are kept, their coding becomes smaller.

    The ICC profile and the Adobe marker are kept, and EXIF where a browser shows it (it turns the image or changes its
    natural size); other metadata is dropped.

    With "fast" a progressive JPEG only loses its metadata. Of 566 JPEGs of 13 sites, the 235 progressive ones took half
    of the time (8.7 s of CPU, including one decoding) and saved 2.1 % of their bytes apart from metadata; 115 with the
    Huffman tables of T.81, K.3, saved 13.7 % in 1.5 s, 216 with tables of their own 5.4 % in 5.7 s.
    """
    refusal = jpeg_refusal(content)
    if refusal is not None:
        return refusal
    exif = _shown_exif(content)
    frame = jpeg.read_frame(content)
    if effort == "fast" and frame is not None and frame.is_progressive:
        return jpeg.without_metadata(content, lambda segment: segment.is_icc or segment == exif)
    return _optimize_jpeg(content, exif)


def _shown_exif(content: bytes) -> jpeg.Segment | None:
    exif = jpeg.exif_segment(content)
    return exif if exif is not None and read_exif(exif.content).is_shown else None


def _optimize_jpeg(content: bytes, exif: jpeg.Segment | None) -> bytes | Refusal:
    from adaptc.formats.image.mozjpeg import optimize_jpeg

    try:
        smaller = optimize_jpeg(content)
    except ValueError as problem:
        return broken("image/jpeg", problem)
    return smaller if exif is None else jpeg.insert_after_start(smaller, exif)


def jpeg_refusal(content: bytes) -> Refusal | None:
    """Return why a JPEG is not recompressed, or ``None``."""
    frame = jpeg.read_frame(content)
    if frame is None:
        return broken("image/jpeg", "it has no frame header")
    if not frame.is_huffman or frame.precision != 8:
        return unchanged("it is a JPEG of a kind that browsers do not show (arithmetic, lossless or not 8 bits)")
    if frame.components not in (1, 3):
        return unchanged("it is a CMYK JPEG")
    if jpeg.holds_second_image(content):
        return unchanged("it holds a second image (gain map or multi-picture)")
    return None


def keeps_jpeg_colours(before: bytes, after: bytes) -> bool:
    """Whether a JPEG kept its ICC profile and the number of its components."""
    return jpeg.icc_profile(before) == jpeg.icc_profile(after) and jpeg.frame_shape(before) == jpeg.frame_shape(after)
