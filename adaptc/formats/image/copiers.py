"""The functions that make copies of images, by name: smaller ones, in another format, with a rating of likeness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.facts import BoundedCache
from adaptc.core.model import Effort
from adaptc.formats.image.alternates import ENCODERS, EXACT_ENCODERS
from adaptc.formats.image.halve import ImageCopy, halve, halve_exactly, recompress_hard, scaled_size
from adaptc.formats.image.lossy import lossy
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, Refusal, probe, unchanged
from adaptc.formats.image.recompress import Target, recompress
from adaptc.formats.image.score import Reference, sample_rows
from adaptc.formats.image.vips import decode_upright, resize_to_srgb, to_pillow

# ---- How much a copy of an image looks like it, at the size at which a page shows it

# Pixels that are compared: 26 ms
_COMPARED = 250_000
# What copies of an image are compared with, for each width of it. Bytes that a worker keeps
_references = BoundedCache[tuple[bytes, int], tuple[Reference, tuple[int, int]]](64 << 20)
_FLOATS = 3 * 4 * 9 // 8  # bytes a pixel: three channels, and two numbers for each window
# The likeness of pairs: different options give the same copy. Bytes that a worker keeps, and what one counts for
_likenesses = BoundedCache[tuple[str, str, int], float](1 << 20)
_LIKENESS = 512


def likeness(original: bytes, copy: bytes, width: int) -> float:
    """Return the structural similarity of two images in a box ``width`` CSS pixels wide, on a screen of 1x: 0 to 1.

    It is that of ``adaptc.formats.image.score``, but both are first scaled to the pixels of the box: what a smaller
    resolution loses counts. Of animations the first frames count. Raises ``pyvips.Error`` for a damaged image.
    """
    key = (digest_bytes(original), digest_bytes(copy), width)
    known = _likenesses.get(key)
    if known is None:
        reference, size = _reference(original, width)
        known = reference.score(_sample(copy, size))
        _likenesses.put(key, known, _LIKENESS)
    return known


def _reference(original: bytes, width: int) -> tuple[Reference, tuple[int, int]]:
    known = _references.get((original, width))
    if known is None:
        image = decode_upright(original)
        size = (width, max(1, round(image.height * width / image.width)))
        known = Reference(_sample(original, size)), size
        _references.put((original, width), known, min(size[0] * size[1], _COMPARED) * _FLOATS)
    return known


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


# A wider copy is compared as a window of a laptop shows it: at 1900 pixels the grain of a photograph, which is not seen
# in 1280, took up to three quarters of the bytes
_WINDOW = 1280
_TYPES = frozenset({media.JPEG, media.PNG, media.GIF})


def convert(
    content: bytes,
    *,
    format: str,
    width: int | None = None,
    target: Target = "exact",
    effort: Effort = "fast",
    limit_pixels: int = LIMIT_PIXELS,
) -> ImageCopy | Refusal:
    """Return an image in ``format`` (``adaptc.core.model.FORMATS``), or why there is none.

    It has ``width`` pixels or a few more, so that its height fits, all of them where that is ``None``. ``target`` is
    that of ``recompress``; a smaller copy is compared with the image at its size, a wide one as a
    laptop shows it. Without loss ("exact") there is no
    smaller copy. An image that is not smaller than ``content`` is refused.
    """
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):
        return facts
    if facts.media_type not in _TYPES or (facts.is_animated and (width is not None or facts.media_type != media.GIF)):
        return unchanged("it is animated, or no PNG, JPEG or GIF")
    size = facts.natural_size
    if width is not None:
        size = scaled_size(*size, width / size[0])
    encodings: list[bytes | Refusal | None] = []
    if width is None and format in EXACT_ENCODERS:
        encodings.append(EXACT_ENCODERS[format](content, effort=effort, limit_pixels=limit_pixels))
    if target != "exact" and not facts.is_animated:
        encodings.append(_with_loss(format, content, facts, size, effort, target))
    smallest = min((each for each in encodings if isinstance(each, bytes)), key=len, default=None)
    if smallest is None:
        refusals = (each for each in encodings if isinstance(each, Refusal))
        return next(refusals, unchanged(f"no {format} is close enough to it"))
    if len(smallest) >= len(content):
        return unchanged(f"its {format} is not smaller")
    reason = f"{format}, {size[0]}x{size[1]} pixels: {len(smallest):,} of {len(content):,} bytes"
    media_type = media.BY_EXTENSION[format]
    return ImageCopy(smallest, media_type, format, *size, *facts.natural_size, None, reason)


def _with_loss(
    format: str, content: bytes, facts: ImageFacts, size: tuple[int, int], effort: Effort, target: float | str
) -> bytes | Refusal | None:
    resized = None if size == facts.natural_size else size
    search = lossy(content, facts, effort, target, ENCODERS[format], size=resized, shown=_WINDOW)
    return search if isinstance(search, Refusal) else search.content


# ---- The functions that make copies of images, by the names that passes use

# Incremented when one writes other bytes for the same image
COPIERS_VERSION = 11
COPIERS: Mapping[str, Callable[..., ImageCopy | Refusal]] = {
    "half": halve,
    "exact": halve_exactly,
    "hard": recompress_hard,
    "format": convert,
    "rated": rate,
    "recompressed": recompress_rated,
}
