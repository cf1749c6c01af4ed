"""What an image file looks like, from a thumbnail: decoded once for the whole site."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.decorations.evidence import ImageEvidence
from adaptc.core import media
from adaptc.formats.image.pillow import BROKEN, open_image
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe
from adaptc.formats.svg.parse import SvgMalformedError, parse_svg

if TYPE_CHECKING:
    from PIL import Image

Colour = tuple[int, int, int]
THUMBNAIL = 64  # px a side: enough to tell a photograph from a drawing, and 0.1 ms to count
_COMMON = 0.25  # share of the pixels from which a colour is that of the image
_HIDES = 250  # alpha from which nothing behind can be seen
_SEE_THROUGH = 64  # alpha below this is mostly background
_LENGTH = re.compile(r"\s*(\d*\.?\d+)(px|pt|pc|mm|cm|in|em|ex)?\s*")
_PX = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96.0,
    "em": 16.0,
    "ex": 8.0,
}


def image_evidence(content: bytes, media_type: str, limit_pixels: int = LIMIT_PIXELS) -> ImageEvidence:
    """Return what a file looks like. One that cannot be read keeps type and size in bytes, and nothing else."""
    if media_type == media.SVG:
        return _vector(content)
    facts = probe(content, limit_pixels)
    if not isinstance(facts, ImageFacts):
        return ImageEvidence(media_type, len(content))
    width, height = facts.natural_size
    measured = _measured(content)
    kind, frames, has_alpha = facts.media_type, facts.frames, facts.has_alpha
    evidence = ImageEvidence(kind, len(content), width, height, frames, has_alpha)
    return replace(evidence, **measured)


def _measured(content: bytes) -> dict[str, Any]:
    """Return what the thumbnail shows, by the fields of ``ImageEvidence``."""
    try:
        with open_image(content) as image:
            image.draft("RGB", (THUMBNAIL, THUMBNAIL))  # JPEG decodes at an eighth of the size
            thumbnail = _thumbnail(image)
    except BROKEN:
        return {}
    pixels = _pixels(thumbnail)
    seen = [(r, g, b) for r, g, b, alpha in pixels if alpha >= _SEE_THROUGH]
    transparent = 1 - len(seen) / max(len(pixels), 1)
    coarse = Counter((r >> 4, g >> 4, b >> 4) for r, g, b in seen)
    return {
        "entropy": _entropy(seen),
        "colours": len(coarse),
        "transparent": round(transparent, 3),
        "opaque": round(sum(pixel[3] >= _HIDES for pixel in pixels) / max(len(pixels), 1), 3),
        "colour": _dominant(seen, coarse),
    }


def _dominant(seen: Sequence[Colour], coarse: Counter[Colour]) -> Colour | None:
    """Return the mean of the pixels of the commonest coarse colour; where none is common, that of all pixels."""
    if not seen:
        return None
    commonest, count = max(coarse.items(), key=lambda item: (item[1], item[0]))
    alike = [one for one in seen if (one[0] >> 4, one[1] >> 4, one[2] >> 4) == commonest]
    chosen = alike if count >= _COMMON * len(seen) else seen
    red, green, blue = (round(sum(channel) / len(chosen)) for channel in zip(*chosen, strict=True))
    return red, green, blue


def _thumbnail(image: Image.Image) -> Image.Image:
    """Return RGBA of at most 64x64. Large images lose most pixels before the conversion, which costs the most."""
    step = max(1, min(image.width, image.height) // (4 * THUMBNAIL))
    if step > 1 and image.mode in ("L", "RGB", "RGBA", "CMYK", "LA"):
        image = image.reduce(step)
    colours = image.convert("RGBA")
    colours.thumbnail((THUMBNAIL, THUMBNAIL))
    return colours


def _pixels(image: Image.Image) -> Sequence[tuple[int, int, int, int]]:
    raw = image.tobytes()
    return [(raw[at], raw[at + 1], raw[at + 2], raw[at + 3]) for at in range(0, len(raw), 4)]


def _entropy(pixels: Sequence[tuple[int, int, int]]) -> float:
    """Return the entropy in bits of the luminance (ITU-R BT.601) in 256 steps."""
    counts = [0] * 256
    for red, green, blue in pixels:
        counts[(299 * red + 587 * green + 114 * blue) // 1000] += 1
    total = max(len(pixels), 1)
    return round(-sum(n / total * math.log2(n / total) for n in counts if n), 2)


def _vector(content: bytes) -> ImageEvidence:
    try:
        root = parse_svg(content, recover=True)
    except SvgMalformedError:
        return ImageEvidence(media.SVG, len(content))
    width, height = _natural_size(root)
    shapes = sum(1 for _ in root.iter("{*}*")) - 1
    return ImageEvidence(media.SVG, len(content), width, height, has_alpha=True, shapes=shapes)


def _natural_size(root: Any) -> tuple[float | None, float | None]:
    """Return the size of an SVG; one dimension and the view box give the other (SVG 2, section 8.12)."""
    width, height = _length(root.get("width")), _length(root.get("height"))
    box = [float(part) for part in re.findall(r"-?\d*\.?\d+", root.get("viewBox") or "")]
    if len(box) != 4 or box[2] <= 0 or box[3] <= 0:
        return width, height
    if width is None and height is None:
        return box[2], box[3]
    ratio = box[2] / box[3]
    return width or (height or 0) * ratio, height or (width or 0) / ratio


def _length(value: str | None) -> float | None:
    found = _LENGTH.fullmatch(value or "")
    return float(found[1]) * _PX[found[2] or ""] if found else None
