"""Screenshots as small pictures for the report: WebP, half as wide as they were taken."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptc.formats.image.probe import open_image

if TYPE_CHECKING:
    from PIL import Image

SCALE = 2
# Shades of 255 by which some channel of a pixel differs when an eye sees it; recompressed textures stay below
_VISIBLE = 24
# Tried in this order until the picture is no larger than LARGEST bytes; the last counts in any case
_QUALITIES = (72, 50, 25)
LARGEST = 60_000


@dataclass(frozen=True, slots=True)
class Picture:
    """A screenshot: WebP bytes, size in pixels, and the share of it that does not look like another one."""

    webp: bytes
    width: int
    height: int
    difference: float


def small_picture(png: bytes, other: bytes) -> Picture:
    """Return a screenshot made small, compared with ``other``, one of the same size."""
    shot, compared = (open_image(one).convert("RGB").reduce(SCALE) for one in (png, other))
    return Picture(_webp(shot), *shot.size, _difference(shot, compared))


def _webp(image: Image.Image) -> bytes:
    for quality in _QUALITIES:
        out = io.BytesIO()
        image.save(out, "WEBP", quality=quality, method=4)
        if out.tell() <= LARGEST:
            break
    return out.getvalue()


def _difference(one: Image.Image, other: Image.Image) -> float:
    """Return the share of pixels that differ visibly in some channel."""
    from PIL import ImageChops

    bands = ImageChops.difference(one, other).split()
    brightest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(brightest.histogram()[_VISIBLE:]) / (one.width * one.height)
