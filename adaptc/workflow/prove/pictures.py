"""Pictures of what differs, of the original and of a level, for the report of a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.browser.pictures import first_difference
from adaptc.report.screenshots import SCALE, small_webp

if TYPE_CHECKING:
    from PIL import Image

# CSS pixels: how much of a page is shown, from how far above the first row that differs
_HEIGHT, _ABOVE = 1000, 150


def differing_parts(before: bytes, now: bytes) -> tuple[bytes, bytes]:
    """Return WebP images of the part of two pictures (PNGs) in which they begin to differ, at half their size."""
    top = max(0, first_difference(before, now) - _ABOVE)
    return _part(before, top), _part(now, top)


def _part(png: bytes, top: int) -> bytes:
    from adaptc.formats.image.probe import open_image

    image: Image.Image = open_image(png).convert("RGB")
    start = min(top, max(0, image.height - _HEIGHT))
    return small_webp(image.crop((0, start, image.width, min(start + _HEIGHT, image.height))).reduce(SCALE))
