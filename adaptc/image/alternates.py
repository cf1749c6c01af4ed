"""Alternates: the same pixels in another media type, for clients that accept it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from adaptc import media
from adaptc.image import png
from adaptc.image.exact import Effort
from adaptc.image.pillow import BROKEN, open_image
from adaptc.image.probe import LIMIT_PIXELS, ImageFacts, probe

if TYPE_CHECKING:
    from PIL import Image

_LONGEST_SIDE = 16383  # WebP container, VP8L: 14 bits a dimension
# libwebp's method and quality (for lossless: how hard it tries) by effort.
_EFFORTS: dict[Effort, dict[str, int]] = {
    "fast": {"method": 1, "quality": 20},
    "default": {"method": 4, "quality": 75},
    "max": {"method": 6, "quality": 100},
}


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
