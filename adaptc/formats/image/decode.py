"""Comparison of pixels: whether two files of a format decode to the same, alpha and 16 bits included."""

from __future__ import annotations

from typing import Any

from adaptc.core import media
from adaptc.core.shortage import raise_shortage
from adaptc.formats.image import jpeg
from adaptc.formats.image.png import read_unfiltered
from adaptc.formats.image.refusal import Refusal, broken
from adaptc.formats.image.vips import from_pillow, load, load_once, vips


def same_pixels(media_type: str, before: bytes, after: bytes) -> bool | Refusal:
    """Whether both decode to the same samples; ``image-broken`` if ``before`` is damaged.

    The colour under fully transparent pixels counts too. ``after`` is our own output: if it is damaged, the answer is
    no.
    """
    if media_type == media.JPEG and jpeg.without_metadata(before) == jpeg.without_metadata(after):
        damage = jpeg_damage(before)
        return True if damage is None else damage
    error = vips().Error
    try:
        expected = load_once(before).copy_memory()
    except error as problem:
        return _damaged(media_type, problem)
    unfiltered = read_unfiltered(after) if media_type == media.PNG else None
    try:
        return _equal_samples(expected, load(after) if unfiltered is None else from_pillow(unfiltered))
    except error as problem:
        raise_shortage(problem)
        return False


def jpeg_damage(content: bytes) -> Refusal | None:
    """Return ``image-broken`` if a JPEG does not decode without damage.

    It is decoded at an eighth of its size, which reads every coefficient too, in 60 % of the time.
    """
    try:
        load_once(content, shrink=8).avg()
    except vips().Error as problem:
        return _damaged(media.JPEG, problem)
    return None


def _damaged(media_type: str, problem: Exception) -> Refusal:
    """Return ``image-broken`` with the last line of libvips: the first only names the call that failed."""
    raise_shortage(problem)
    return broken(media_type, str(problem).strip().rpartition("\n")[2].strip())


def _equal_samples(before: Any, after: Any) -> bool:
    """Whether two libvips images have the same samples, of 8 or 16 bits."""
    if (before.width, before.height) != (after.width, after.height):
        return False
    if before.format != after.format:
        before, after = _sixteen_bits(before), _sixteen_bits(after)
    if before.bands == after.bands:
        return _are_equal(before, after)
    return all(_are_equal(_plane(before, index), _plane(after, index)) for index in range(4))


def _are_equal(before: Any, after: Any) -> bool:
    return bool((before == after).min())  # a comparison gives 0 or 255; ``min`` ends at the first 0


def _sixteen_bits(image: Any) -> Any:
    """Scale 8 bits by 257, so that white stays white."""
    return image if image.format == "ushort" else (image * 257).cast("ushort")


def _plane(image: Any, index: int) -> Any:
    """Return red, green, blue or alpha (0 to 3): gray serves as all three colours, and no alpha means opaque."""
    if index == 3 and image.bands in (1, 3):
        return image[0].new_from_image(65535 if image.format == "ushort" else 255)
    if index == 3:
        return image[image.bands - 1]
    return image[index if image.bands >= 3 else 0]
