"""How much a copy of an image looks like it, at the size at which a page shows it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from adaptc.formats.image.halve import ImageCopy, halve, halve_exactly
from adaptc.formats.image.probe import LIMIT_PIXELS, probe
from adaptc.formats.image.recompress import recompress
from adaptc.formats.image.refusal import Refusal, unchanged
from adaptc.formats.image.score import Reference, sample_rows
from adaptc.formats.image.vips import decode_upright, resize_to_srgb, to_pillow

# Pixels that are compared: 26 ms
_COMPARED = 250_000


def likeness(original: bytes, copy: bytes, width: int) -> float:
    """Return the structural similarity of two images in a box ``width`` CSS pixels wide, on a screen of 1x: 0 to 1.

    It is that of ``adaptc.formats.image.score``, but both are first scaled to the pixels of the box: what a smaller
    resolution loses counts. Of animations the first frames count. Raises ``pyvips.Error`` for a damaged image.
    """
    reference, size = _reference(original, width)
    return reference.score(_sample(copy, size))


@lru_cache(2)
def _reference(original: bytes, width: int) -> tuple[Reference, tuple[int, int]]:
    image = decode_upright(original)
    size = (width, max(1, round(image.height * width / image.width)))
    return Reference(_sample(original, size)), size


def _sample(content: bytes, size: tuple[int, int]) -> Any:
    return sample_rows(to_pillow(resize_to_srgb(decode_upright(content), size)), _COMPARED)


def recompress_rated(
    content: bytes, *, media_type: str, limit_pixels: int = LIMIT_PIXELS, **options: Any
) -> ImageCopy | Refusal:
    """Return the smaller file of ``recompress`` as a copy whose likeness is its score, or why there is none."""
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):
        return facts
    smaller = recompress("", content, media_type, limit_pixels=limit_pixels, **options)
    if smaller.content is None:
        return unchanged(smaller.reason)
    size = (facts.width, facts.height, *facts.natural_size)
    extension = media_type.rpartition("/")[2]
    return ImageCopy(smaller.content, media_type, extension, *size, smaller.score, smaller.reason, smaller.score)


def rate(content: bytes, *, shown: int, exact: bool = False, **options: Any) -> ImageCopy | Refusal:
    """Return the copy that ``halve`` makes with ``options``, with its likeness in a box ``shown`` CSS pixels wide.

    With ``exact`` it is that of ``halve_exactly``, for images of style sheets.
    """
    copy = (halve_exactly if exact else halve)(content, **options)
    return copy if isinstance(copy, Refusal) else replace(copy, likeness=likeness(content, copy.content, shown))
