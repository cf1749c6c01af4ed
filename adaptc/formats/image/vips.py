"""libvips (pyvips-binary): loading and resizing of images, stills and animations.

It is imported when first used, with one thread a computation, since a build works on one image a worker, and without
its cache of operations, which would hold the decoded pixels of images that are not used again.

Pixels for a smaller copy are upright sRGB of 8 bits a sample, with alpha where the image has any. Colours are converted
after resizing, on a quarter of the pixels: a conversion by profile costs 35 ms a megapixel, four times the decoding.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from adaptc.core.facts import BoundedCache
from adaptc.formats.image import png
from adaptc.formats.image.probe import read_orientation

if TYPE_CHECKING:
    from PIL import Image

_PROFILE = "icc-profile-data"
_CMYK = "cmyk"
_HEIF_LOADER, _WEBP_LOADER = "heifload_buffer", "webpload_buffer"
_ORIENTATION = "orientation"


# Threads: a computation takes three, of which two write, and one within it three more
_THREADS = "8"


@cache
def vips() -> ModuleType:
    """Return the ``pyvips`` module, configured for a worker. Costs about 50 ms once."""
    os.environ["VIPS_CONCURRENCY"] = "1"  # read by libvips when it starts
    # A fixed set of threads: else those end that were idle for 15 seconds, and a computation that needs one then was
    # seen to wait for ever (8.18.7)
    os.environ["VIPS_MAX_THREADS"] = _THREADS
    try:
        import pyvips
    except OSError as error:  # of cffi, which loads the library itself where the extension cannot be loaded
        raise ImportError(str(error)) from error
    pyvips.cache_set_max(0)
    return pyvips  # type: ignore[no-any-return]


def load(content: bytes) -> Any:
    """Load an image of any type; a damaged one raises ``pyvips.Error`` when its pixels are read."""
    return vips().Image.new_from_buffer(content, "", fail_on="warning")


def load_once(content: bytes, **options: Any) -> Any:
    """Load an image whose rows are read once, from the top; else like ``load``. Saves a copy: a tenth to a third."""
    return vips().Image.new_from_buffer(content, "", fail_on="warning", access="sequential", **options)


# ---- samples


def to_pillow(image: Any) -> Image.Image:
    """Return a libvips image for Pillow, RGB or RGBA of 8 bits a sample."""
    from PIL import Image

    colours = image.colourspace("srgb").cast("uchar")
    mode = "RGBA" if colours.hasalpha() else "RGB"
    return Image.frombuffer(mode, (colours.width, colours.height), colours.write_to_memory(), "raw", mode, 0, 1)


def from_pillow(image: Image.Image) -> Any:
    """Return an image of Pillow, of 8 bits a sample, for libvips."""
    return vips().Image.new_from_memory(image.tobytes(), image.width, image.height, len(image.getbands()), "uchar")


# ---- decoded images

# Bytes of pixels that a worker keeps: an image is decoded once for its recompression, its other formats and its copies,
# which follow each other
_KEPT_BYTES = 64 << 20


def memory_size(image: Any) -> int:
    """Return the bytes of an image's pixels."""
    return int(image.width * image.height * image.bands * (2 if image.format == "ushort" else 1))


# The images decoded last, by their content
_decoded_images = BoundedCache[bytes, Any](_KEPT_BYTES)


def decode_upright(content: bytes) -> Any:
    """Decode the first frame into memory, turned as browsers do. Raises ``pyvips.Error`` if it is damaged.

    An alpha channel that hides nothing is dropped.
    """
    image = _decoded_images.get(content)
    if image is None:
        image = _decode_upright(content)
        _decoded_images.put(content, image, memory_size(image))
    return image


def _decode_upright(content: bytes) -> Any:
    image = load_once(content)
    orientation = read_orientation(content)
    if orientation != 1 and image.get("vips-loader") != _HEIF_LOADER:  # which has turned the image already
        image = turn(load(content), orientation)
    image = _with_profile(image, content)
    if _has_plain_colours(image):
        image = image.colourspace("srgb").cast("uchar")
    return _drop_opaque_alpha(image.copy_memory())


def turn(image: Any, orientation: int) -> Any:
    """Return an image turned and mirrored as an orientation of EXIF asks (1 to 8)."""
    turned = image.copy()
    turned.set_type(vips().GValue.gint_type, _ORIENTATION, orientation)
    return turned.autorot()


def decode_srgb(content: bytes) -> Any:
    """Return the image of ``decode_upright`` in sRGB of 8 bits a sample, 3 or 4 bands, in memory."""
    return _convert_to_srgb(decode_upright(content)).copy_memory()


# ---- smaller copies


def resize_to_srgb(image: Any, size: tuple[int, int]) -> Any:
    """Return a decoded image at ``size``, as 3 or 4 bands of sRGB in memory. Raises ``pyvips.Error``."""
    return _convert_to_srgb(_resize(image, size)).copy_memory()


def decode_frames(content: bytes) -> Any:
    """Decode all frames of a GIF or WebP, one below the other, each as it is shown. Raises ``pyvips.Error``."""
    image = vips().Image.new_from_buffer(content, "", n=-1, fail_on="warning")
    return _drop_opaque_alpha(image.colourspace("srgb").cast("uchar").copy_memory())


def resize_frames(image: Any, size: tuple[int, int]) -> Any:
    """Return the frames at ``size``; times and repetitions are kept."""
    height = image.get("page-height")
    frames = [_resize(image.extract_area(0, top, image.width, height), size) for top in range(0, image.height, height)]
    joined = vips().Image.arrayjoin(frames, across=1).copy()
    joined.set_type(vips().GValue.gint_type, "page-height", size[1])
    for name in ("delay", "loop"):
        if image.get_typeof(name):
            joined.set_type(image.get_typeof(name), name, image.get(name))
    return joined.copy_memory()


def _resize(image: Any, size: tuple[int, int]) -> Any:
    """Return the image at ``size`` (Lanczos 3); colours are weighted by their alpha."""
    width, height = size
    if (image.width, image.height) == size:
        return image
    weighted = image.premultiply() if image.hasalpha() else image
    scaled = weighted.resize(width / image.width, vscale=height / image.height, kernel="lanczos3")
    return (scaled.unpremultiply() if image.hasalpha() else scaled).cast(image.format)


def _drop_opaque_alpha(image: Any) -> Any:
    """Return the image without its alpha if every pixel is opaque."""
    if not image.hasalpha():
        return image
    opaque = 65535 if image.format == "ushort" else 255
    return image[: image.bands - 1].copy_memory() if image[image.bands - 1].min() >= opaque else image


# ---- colours


def _with_profile(image: Any, content: bytes) -> Any:
    """Return an image with the profile that Chromium applies to it.

    That is none for an animated WebP, and also one for colours of a gray PNG, which libpng refuses.
    """
    if image.get("vips-loader") == _WEBP_LOADER and image.get_typeof("n-pages") and image.get("n-pages") > 1:
        image = image.copy()
        image.remove(_PROFILE)
    profile = png.embedded_profile(content) if not image.get_typeof(_PROFILE) else None
    if profile is not None and _is_of_colours(profile):
        image = image.copy()
        image.set_type(vips().GValue.blob_type, _PROFILE, profile)
    return image


def _has_plain_colours(image: Any) -> bool:
    """Whether neither a profile nor CMYK needs more than the usual conversion."""
    if image.interpretation == _CMYK or not image.get_typeof(_PROFILE):
        return bool(image.interpretation != _CMYK)
    profile = bytes(image.get(_PROFILE))
    return _is_of_colours(profile) and _is_srgb(profile)


def _is_of_colours(profile: bytes) -> bool:
    """Whether a profile is for red, green and blue (ICC.1, 7.2.6), as browsers apply it to gray images too."""
    return profile[16:20] == b"RGB "


@lru_cache(maxsize=256)
def _is_srgb(profile: bytes) -> bool:
    """Whether a profile changes no colour by more than a step of 255: its numbers count, not its name.

    The colours are all grays and a cube of 6 by 6 by 6. The profiles that programs write for sRGB move none; a gamma of
    2.2 moves dark grays by 6.
    """
    steps = range(0, 256, 51)
    cube = bytes(level for red in steps for green in steps for blue in steps for level in (red, green, blue))
    grays = bytes(level for gray in range(256) for level in (gray, gray, gray))
    colours = vips().Image.new_from_memory(cube + grays, (len(cube) + len(grays)) // 3, 1, 3, "uchar")
    colours = colours.copy(interpretation="srgb")
    colours.set_type(vips().GValue.blob_type, _PROFILE, profile)
    moved = colours.icc_transform("srgb", embedded=True)
    return bool((moved.cast("short") - colours.cast("short")).abs().max() <= 1)


def _convert_to_srgb(image: Any) -> Any:
    if image.interpretation == _CMYK and not image.get_typeof(_PROFILE):
        return _convert_uncalibrated_cmyk(image)
    if image.get_typeof(_PROFILE) and not _has_plain_colours(image):
        if image.bands < 3 and _is_of_colours(bytes(image.get(_PROFILE))):
            image = image.colourspace("rgb16" if image.format == "ushort" else "srgb")
        image = image.icc_transform("srgb", embedded=True)
    return image.colourspace("srgb").cast("uchar")


def _convert_uncalibrated_cmyk(image: Any) -> Any:
    """Convert as browsers do without a profile: each ink absorbs its share of the light (checked in Chromium)."""
    light = 255 - image
    colours = [light[band] * light[3] / 255 for band in range(3)]
    return colours[0].bandjoin(colours[1:]).rint().cast("uchar").copy(interpretation="srgb")
