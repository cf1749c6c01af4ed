"""Decoding to compare: whether two files of a format show the same pixels, alpha and 16 bits included."""

from __future__ import annotations

from typing import Any

from adaptc.image.refusal import Refusal, broken
from adaptc.image.vips import load, vips


def same_pixels(media_type: str, before: bytes, after: bytes) -> bool | Refusal:
    """Whether both decode to the same samples; ``image-broken`` if ``before`` does not decode without damage.

    The colour under fully transparent pixels counts too. ``after`` was made by us: if it is damaged, that is
    a no.
    """
    error = vips().Error
    try:
        expected = _samples(before)
    except error as problem:
        return broken(media_type, problem)
    try:
        return _equal(expected, _samples(after))
    except error:
        return False


def _samples(content: bytes) -> Any:
    return load(content).copy_memory()


def _equal(before: Any, after: Any) -> bool:
    if (before.width, before.height) != (after.width, after.height):
        return False
    if (before.bands, before.format) != (after.bands, after.format):
        before, after = _widest(before), _widest(after)
    return bool(before.write_to_memory() == after.write_to_memory())


def _widest(image: Any) -> Any:
    """Return RGBA with 16 bits a sample: gray is repeated, 8 bits scale by 257, no alpha is opaque."""
    if image.format == "uchar":
        image = (image * 257).cast("ushort")
    if image.bands <= 2:
        image = image[0].bandjoin([image[0], image[0], *([image[1]] if image.bands == 2 else [])])
    return image.bandjoin(65535) if image.bands == 3 else image
