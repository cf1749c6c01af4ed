"""Pictures for reports: WebP, half as wide as they were taken."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from adaptc.browser.pictures import first_difference

if TYPE_CHECKING:
    from PIL import Image

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
