"""An image in another format, at its own size or smaller, for pages that let the browser choose (``<picture>``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.formats.image.alternates import ENCODERS, EXACT_ENCODERS
from adaptc.formats.image.halve import ImageCopy, halve, halve_exactly, recompress_hard, scaled_size
from adaptc.formats.image.likeness import rate, recompress_rated
from adaptc.formats.image.lossy import lossy
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe
from adaptc.formats.image.recompress import Target
from adaptc.formats.image.refusal import Refusal, unchanged

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
    that of ``recompress``; a smaller copy is compared with the image at its size. Without loss ("exact") there is no
    smaller copy. An image that is not smaller than ``content`` is refused.
    """
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):
        return facts
    if facts.media_type not in _TYPES or facts.is_animated:
        return unchanged("it is animated, or no PNG, JPEG or GIF")
    size = facts.natural_size
    if width is not None:
        size = scaled_size(*size, width / size[0])
    encodings: list[bytes | Refusal | None] = [_exactly(format, content, effort, limit_pixels)] if width is None else []
    if target != "exact":
        encodings.append(_with_loss(format, content, facts, size, effort, target))
    smallest = min((each for each in encodings if isinstance(each, bytes)), key=len, default=None)
    if smallest is None:
        return _first_refusal(encodings) or unchanged(f"no {format} is close enough to it")
    if len(smallest) >= len(content):
        return unchanged(f"its {format} is not smaller")
    reason = f"{format}, {size[0]}x{size[1]} pixels: {len(smallest):,} of {len(content):,} bytes"
    media_type = media.BY_EXTENSION[format]
    return ImageCopy(smallest, media_type, format, *size, *facts.natural_size, None, reason)


def _first_refusal(encodings: list[bytes | Refusal | None]) -> Refusal | None:
    return next((each for each in encodings if isinstance(each, Refusal)), None)


def _exactly(format: str, content: bytes, effort: Effort, limit_pixels: int) -> bytes | None:
    encode = EXACT_ENCODERS.get(format)
    return None if encode is None else encode(content, effort=effort, limit_pixels=limit_pixels)


def _with_loss(
    format: str, content: bytes, facts: ImageFacts, size: tuple[int, int], effort: Effort, target: float
) -> bytes | Refusal | None:
    resized = None if size == facts.natural_size else size
    search = lossy(content, facts, effort, target, ENCODERS[format], size=resized)
    return search if isinstance(search, Refusal) else search.content


# ---- The functions that make copies of images, by the names that passes use


# Incremented when one writes other bytes for the same image
COPIERS_VERSION = 4
COPIERS: Mapping[str, Callable[..., ImageCopy | Refusal]] = {
    "half": halve,
    "exact": halve_exactly,
    "hard": recompress_hard,
    "format": convert,
    "rated": rate,
    "recompressed": recompress_rated,
}
