"""Alternates: an image in another media type, exactly or with a measured loss, for clients that accept it."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from adaptc.core import media
from adaptc.core.model import FORMATS, Effort
from adaptc.formats.image import png
from adaptc.formats.image.lossy import Encoder, encode_avif, encode_webp, lossy
from adaptc.formats.image.probe import BROKEN, LIMIT_PIXELS, ImageFacts, open_image, probe
from adaptc.formats.image.recompress import Target
from adaptc.formats.image.refusal import Refusal
from adaptc.formats.image.vips import vips

if TYPE_CHECKING:
    from PIL import Image

_LONGEST_SIDE = 16383  # WebP container, VP8L: 14 bits a dimension
# libwebp's method and quality (for lossless: how hard it tries) by effort.
_EFFORTS: dict[Effort, dict[str, int]] = {
    "fast": {"method": 1, "quality": 20},
    "default": {"method": 4, "quality": 75},
    "max": {"method": 6, "quality": 100},
}
# How images are encoded with a loss in each format of ``model.FORMATS``
ENCODERS: dict[str, Encoder] = {"avif": encode_avif, "webp": encode_webp}


@dataclass(frozen=True, slots=True)
class MadeAlternate:
    """An image in another format; ``reason`` says in words how it was made."""

    format: str
    content: bytes
    reason: str


def alternates(
    content: bytes,
    formats: Collection[str],
    *,
    below: int,
    effort: Effort = "default",
    target: Target = "exact",
    limit_pixels: int = LIMIT_PIXELS,
) -> tuple[MadeAlternate, ...]:
    """Return an image in those ``formats`` in which it takes less than ``below`` bytes, in the order of ``FORMATS``.

    ``target`` is that of ``recompress``. What a server prefers must be the smaller one: who accepts AVIF accepts WebP,
    so an AVIF that is not smaller than the WebP is left out.
    """
    facts = probe(content, limit_pixels)
    found: list[MadeAlternate] = []
    if isinstance(facts, Refusal):  # the pass that recompresses says so
        return ()
    for name in reversed(FORMATS):
        made = _smallest(name, content, facts, effort, target, limit_pixels) if name in formats else None
        if made is not None and len(made.content) < below:
            found.insert(0, made)
            below = len(made.content)
    return tuple(found)


@cache
def lacks_codec(name: str) -> str | None:
    """Return why libvips cannot write a format, None when it can."""
    try:
        ENCODERS[name](vips().Image.black(16, 16, bands=3), "fast", 50)
    except vips().Error as problem:
        return (str(problem).strip() or "no reason given").splitlines()[0]
    return None


def _smallest(
    name: str, content: bytes, facts: ImageFacts, effort: Effort, target: Target, limit_pixels: int
) -> MadeAlternate | None:
    made = [_lossy(name, content, facts, effort, target)] if target != "exact" else []
    if name in _EXACT_ENCODERS:
        exact = _EXACT_ENCODERS[name](content, effort=effort, limit_pixels=limit_pixels)
        made.append(None if exact is None else MadeAlternate(name, exact, f"{len(exact):,} bytes, pixels identical"))
    return min((one for one in made if one is not None), key=lambda one: len(one.content), default=None)


def _lossy(name: str, content: bytes, facts: ImageFacts, effort: Effort, target: float) -> MadeAlternate | None:
    found = lossy(content, facts, effort, target, ENCODERS[name])
    if isinstance(found, Refusal) or found.content is None or found.best is None:
        return None
    reason = f"{len(found.content):,} bytes, score {found.best.score:.4f} at quality {found.best.quality}"
    return MadeAlternate(name, found.content, reason)


def webp_exact(content: bytes, *, effort: Effort = "default", limit_pixels: int = LIMIT_PIXELS) -> bytes | None:
    """Return a lossless WebP with the pixels of a PNG or a GIF of one frame, or ``None``.

    ``None`` means: not smaller than ``content``, not provably the same (16 bits, colours other than sRGB,
    EXIF that turns the image), or not readable. Equality is checked on the decoded pixels, colours under
    alpha 0 included.
    """
    facts = probe(content, limit_pixels)
    if not isinstance(facts, ImageFacts) or not _fits(facts, content):
        return None
    try:
        with open_image(content) as image:
            return _encoded(image, content, effort)
    except BROKEN:
        return None


def _fits(facts: ImageFacts, content: bytes) -> bool:
    if facts.animated or facts.mode == "16bit" or max(facts.width, facts.height) > _LONGEST_SIDE:
        return False
    if facts.media_type == media.PNG:
        return facts.orientation == 1 and png.is_plain_srgb(content) and b"acTL" not in png.names(content)
    return facts.media_type == media.GIF


def _encoded(image: Image.Image, content: bytes, effort: Effort) -> bytes | None:
    if not _covers_canvas(image):
        return None
    pixels = image.convert(_webp_mode(image))
    output = io.BytesIO()
    options: dict[str, Any] = {"lossless": True, "exact": True, **_EFFORTS[effort]}
    pixels.save(output, "WEBP", **options)
    encoded = output.getvalue()
    return encoded if len(encoded) < len(content) and _shows(encoded, pixels) else None


def _covers_canvas(image: Image.Image) -> bool:
    """Whether the first frame fills the canvas; elsewhere a GIF shows what is not in its pixels."""
    return all(tile[1] == (0, 0, *image.size) for tile in getattr(image, "tile", ()))


def _webp_mode(image: Image.Image) -> str:
    return "RGBA" if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info else "RGB"


def _shows(encoded: bytes, pixels: Image.Image) -> bool:
    with open_image(encoded) as decoded:
        return decoded.convert(pixels.mode).tobytes() == pixels.tobytes()


# Formats that are worth an exact encoding: an exact AVIF is larger than an exact WebP as a rule
_EXACT_ENCODERS: dict[str, Callable[..., bytes | None]] = {"webp": webp_exact}
