"""Pictures of a page: compared pixel by pixel, but for what the page changes by itself; and made small for reports.

Those for reports are WebP, half as wide as they were taken.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from PIL import Image

# A page differs from itself around what moves: masks grow by blocks of so many pixels
_BLOCK = 16
# The share of a page that may be masked; beyond it, pixels say nothing
_MOST_MASKED = 0.1
# Skia rounds scaled images now this way, now that: pixels that are one shade off do not count while they are no larger
# a share of the page than this (15 of a million on documentation of seaborn)
_ROUNDING = 0.0005
# What an image loses by another encoding is in its details: the mean colours of squares of so many pixels stay, up to
# some shades of 255
_SQUARE, _LOSS = 8, 24


# Compares two pictures but for a mask
_Compare = Callable[["Image.Image", "Image.Image", "Image.Image | None"], "PixelDifference | None"]


@dataclass(frozen=True, slots=True)
class PixelDifference:
    """The share of a page's area that differs, and where it begins, in CSS pixels from the top."""

    share: float
    top: int


def pixel_difference(originals: Sequence[bytes], picture: bytes) -> PixelDifference | None:
    """Return where ``picture`` differs from all of ``originals``, ``None`` if it does not or they say nothing.

    All are PNGs. What differs between the originals is masked; they say nothing where they differ too much.
    """
    return _difference(originals, picture, _compared)


def coarse_difference(originals: Sequence[bytes], picture: bytes) -> PixelDifference | None:
    """Return what ``pixel_difference`` returns, for the mean colours of small squares: details do not count."""
    return _difference(originals, picture, _compared_coarsely)


def _difference(originals: Sequence[bytes], picture: bytes, compare: _Compare) -> PixelDifference | None:
    if picture in originals:
        return None
    from adaptc.formats.image.probe import open_image

    before = [open_image(png).convert("RGB") for png in originals]
    now = open_image(picture).convert("RGB")
    mask = _instability(before)
    share = mask.histogram()[255] / (mask.width * mask.height) if mask is not None else 0
    if mask is not None and (mask.size != before[0].size or share > _MOST_MASKED):
        return None
    differences = [compare(image, now, mask) for image in before]
    if None in differences:
        return None
    return min((each for each in differences if each is not None), key=lambda each: each.share)


def first_difference(before: bytes, now: bytes) -> int:
    """Return the first row in which two pictures (PNGs) differ, 0 if they do not."""
    from adaptc.formats.image.probe import open_image

    difference = _compared(open_image(before).convert("RGB"), open_image(now).convert("RGB"), None)
    return 0 if difference is None else difference.top


def is_uniform(picture: bytes, height: int) -> bool:
    """Whether the top of a picture, ``height`` pixels high, has a single colour."""
    from adaptc.formats.image.probe import open_image

    image = open_image(picture).convert("RGB")
    return image.crop((0, 0, image.width, min(height, image.height))).getcolors(1) is not None


def _instability(images: Sequence[Image.Image]) -> Image.Image | None:
    """Return a mask of what differs between pictures, white and grown by a block; of another size if theirs differ."""
    from PIL import Image, ImageChops, ImageFilter

    first, *others = images
    if any(other.size != first.size for other in others):
        return Image.new("L", (1, 1), 255)
    union = Image.new("L", first.size)
    for other in others:
        union = ImageChops.lighter(union, _shades(first, other).point(_white_above(0)))
    if union.getbbox() is None:
        return None
    blocks = union.reduce(_BLOCK).point(_white_above(0)).filter(ImageFilter.MaxFilter(3))
    grown = blocks.resize((blocks.width * _BLOCK, blocks.height * _BLOCK), Image.Resampling.NEAREST)
    return grown.crop((0, 0, *first.size))


def _compared(before: Image.Image, now: Image.Image, mask: Image.Image | None) -> PixelDifference | None:
    from PIL import Image

    size = (min(before.width, now.width), min(before.height, now.height))
    area = max(before.width, now.width) * max(before.height, now.height)
    shades = _shades(before.crop((0, 0, *size)), now.crop((0, 0, *size)))
    if mask is not None:
        shades.paste(Image.new("L", size), (0, 0), mask.crop((0, 0, *size)))
    counts = shades.histogram()
    least = 1 if 0 < counts[1] <= _ROUNDING * area else 0
    count = sum(counts[least + 1 :]) + area - size[0] * size[1]
    if not count:
        return None
    box = shades.point(_white_above(least)).getbbox()
    return PixelDifference(count / area, box[1] if box else size[1])


def _compared_coarsely(before: Image.Image, now: Image.Image, mask: Image.Image | None) -> PixelDifference | None:
    size = (min(before.width, now.width), min(before.height, now.height))
    shades = _shades(*(image.crop((0, 0, *size)).reduce(_SQUARE) for image in (before, now)))
    if mask is not None:
        shades.paste(0, (0, 0), mask.crop((0, 0, *size)).reduce(_SQUARE).point(_white_above(0)))
    count = sum(shades.histogram()[_LOSS + 1 :])
    if not count:
        return None
    box = shades.point(_white_above(_LOSS)).getbbox()
    return PixelDifference(count / (shades.width * shades.height), box[1] * _SQUARE if box else 0)


def _shades(before: Image.Image, now: Image.Image) -> Image.Image:
    """Return the largest difference of a channel, pixel by pixel."""
    from PIL import ImageChops

    red, green, blue = ImageChops.difference(before, now).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def _white_above(least: int) -> list[int]:
    return [255 * (shade > least) for shade in range(256)]


# ---- pictures for reports

SCALE = 2
# Tried in this order until the picture is no larger than LARGEST bytes; the last counts in any case
_QUALITIES = (72, 50, 25)
LARGEST = 60_000
# CSS pixels: how much of a page is shown, from how far above the first row that differs
_HEIGHT, _ABOVE = 1000, 150


def small_webp(image: Image.Image) -> bytes:
    """Return an image as WebP, if it can be of no more than ``LARGEST`` bytes."""
    for quality in _QUALITIES:
        out = io.BytesIO()
        image.save(out, "WEBP", quality=quality, method=4)
        if out.tell() <= LARGEST:
            break
    return out.getvalue()


def differing_parts(before: bytes, now: bytes) -> tuple[bytes, bytes]:
    """Return WebP images of the part of two pictures (PNGs) in which they begin to differ, at half their size."""
    top = max(0, first_difference(before, now) - _ABOVE)
    return _part(before, top), _part(now, top)


def first_part(png: bytes) -> bytes:
    """Return a WebP image of the top of a picture (a PNG), at half its size."""
    return _part(png, 0)


def _part(png: bytes, top: int) -> bytes:
    from adaptc.formats.image.probe import open_image

    image: Image.Image = open_image(png).convert("RGB")
    start = min(top, max(0, image.height - _HEIGHT))
    return small_webp(image.crop((0, start, image.width, min(start + _HEIGHT, image.height))).reduce(SCALE))
