"""A site's icon as a small PNG. Files of it hold up to ten sizes, of which a tab shows one."""

from __future__ import annotations

import io
from functools import lru_cache

from adaptc.core.shortage import raise_shortage
from adaptc.formats.image.probe import BROKEN, open_image

__all__ = ["ICON_SIDE", "small_icon"]

# Device pixels of an icon on a tab: 16 CSS pixels on a screen of 2x
ICON_SIDE = 32
_COLOURS = 64


@lru_cache(maxsize=16)
def small_icon(content: bytes, limit_pixels: int) -> bytes | None:
    """Return an icon as a PNG of at most 32 by 32 pixels in 64 colours; ``None`` if it cannot be read."""
    from PIL import Image

    try:
        icon = open_image(content)
        if icon.width * icon.height > limit_pixels:
            return None
        sizes = icon.info.get("sizes", ())  # of an ICO
        fitting = min((size for size in sizes if min(size) >= ICON_SIDE), default=None)
        if fitting is not None:
            icon.size = fitting  # type: ignore[misc]  # chooses the picture (Pillow, "ICO")
        pixels = icon.convert("RGBA")
    except BROKEN as problem:
        raise_shortage(problem)
        return None
    if max(pixels.size) > ICON_SIDE:
        pixels.thumbnail((ICON_SIDE, ICON_SIDE), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    pixels.quantize(_COLOURS, Image.Quantize.FASTOCTREE).save(output, "PNG", optimize=True)
    return output.getvalue()
