"""Small pictures that are the same in each run."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image


def drawing(step: int = 7) -> Image.Image:
    """Flat areas with edges, which are smaller as exact WebP."""
    image = Image.new("RGB", (120, 90), "white")
    for at in range(0, 120, step):
        image.paste((at * 2, 99, 255 - at), (at, at // 2, at + 5, at // 2 + 40))
    return image


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """Return an image as a file."""
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()
