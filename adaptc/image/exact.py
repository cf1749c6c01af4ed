"""Smaller files with the same pixels in a browser. Nothing here is trusted: ``decode`` compares."""

from __future__ import annotations

from typing import Any, Literal

from adaptc.image import jpeg, png
from adaptc.image.exif import read_exif
from adaptc.image.refusal import Refusal, broken, left

Effort = Literal["fast", "default", "max"]

# oxipng's filter trials and DEFLATE level by effort. Measured on 90 real PNGs (44 kB on average), share saved
# and milliseconds an image: level 1 with libdeflate 5 11.8 %, 5; level 2 14.3 %, 52; level 4 15.0 %, 104;
# level 2 with zopfli of 5 iterations 15.3 %, 1,100. Level 4 with zopfli, the choice for "max", was measured
# on 24 others only: 30.6 % against 28.6 % for "default", 780. For "fast", on 250 documentation screenshots (21 kB on
# average): level 0 with libdeflate 7 25.8 %, 5.4; level 1 with libdeflate 5 24.7 %, 6.4; with 7 25.9 %, 5.6.
_FAST_DEFLATE, _ZOPFLI_ITERATIONS = 7, 5
_LEVELS = {"fast": 0, "default": 2, "max": 4}


def exact_png(content: bytes, effort: Effort) -> bytes | Refusal:
    """Recompress a PNG by oxipng: filters, DEFLATE, smaller colour type and depth where no sample changes.

    Interlacing goes. Fully transparent pixels keep their colour. Chunks that change colours are put
    back byte for byte: oxipng itself writes sRGB in place of profiles that it knows to be nearly that.
    """
    import oxipng

    if b"acTL" in png.names(content):
        return left("it is an animated PNG")
    try:
        smaller = oxipng.optimize_from_memory(content, **_png_options(content, effort))
    except oxipng.PngError as problem:
        return broken("image/png", problem)
    return png.insert_behind_header(smaller, _kept_chunks(content))


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


def exact_jpeg(content: bytes) -> bytes | Refusal:
    """Recompress a JPEG by mozjpeg: the DCT coefficients are kept, their coding becomes smaller.

    The ICC profile and the Adobe marker are kept; EXIF is kept where a browser shows it (it turns the image
    or changes its natural size), other metadata goes.
    """
    from mozjpeg_lossless_optimization import COPY_MARKERS, optimize

    refused = jpeg_refusal(content)
    if refused is not None:
        return refused
    try:
        smaller = bytes(optimize(content, copy=COPY_MARKERS.ICC))
    except ValueError as problem:
        return broken("image/jpeg", problem)
    exif = jpeg.exif(content)
    if exif is None or not read_exif(exif.content).shown:
        return smaller
    return jpeg.insert_after_start(smaller, exif)


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
