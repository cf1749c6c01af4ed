"""Animated images at another size: every frame, with its time, as animated WebP."""

from __future__ import annotations

from typing import Any

from adaptc.formats.image.exact import Effort
from adaptc.formats.image.upright import resize, without_idle_alpha
from adaptc.formats.image.vips import vips

# Pixels of all frames together that are worth decoding and encoding anew: 20 to 60 ms a megapixel.
LIMITS: dict[Effort, int] = {"fast": 10_000_000, "default": 30_000_000, "max": 100_000_000}


def decode_frames(content: bytes) -> Any:
    """Decode all frames of a GIF or WebP, one below the other, each as it is shown. Raises ``pyvips.Error``."""
    image = vips().Image.new_from_buffer(content, "", n=-1, fail_on="warning")
    return without_idle_alpha(image.colourspace("srgb").cast("uchar").copy_memory())


def resize_frames(image: Any, size: tuple[int, int]) -> Any:
    """Return the frames at ``size``; times and repetitions are kept."""
    height = image.get("page-height")
    frames = [resize(image.extract_area(0, top, image.width, height), size) for top in range(0, image.height, height)]
    joined = vips().Image.arrayjoin(frames, across=1).copy()
    joined.set_type(vips().GValue.gint_type, "page-height", size[1])
    for name in ("delay", "loop"):
        if image.get_typeof(name):
            joined.set_type(image.get_typeof(name), name, image.get(name))
    return joined.copy_memory()
