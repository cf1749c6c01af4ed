"""Small pictures that are the same in each run."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image, ImageFilter


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


def noise(width: int, height: int, spread: int) -> Image.Image:
    """The same grain in each run."""
    samples = np.random.default_rng(5).normal(128, spread, (height, width))
    return Image.fromarray(samples.clip(0, 255).astype(np.uint8))


def photo(width: int = 240, height: int = 160, grain: int = 60) -> Image.Image:
    """A soft picture with grain, like a photograph."""
    ramp = Image.linear_gradient("L").resize((width, height))
    disc = Image.radial_gradient("L").resize((width, height))
    seen = noise(width, height, grain).filter(ImageFilter.GaussianBlur(1))
    return Image.merge("RGB", [Image.blend(band, seen, 0.2) for band in (ramp, disc, ramp.rotate(180))])


def photo_file(width: int = 400, height: int = 300, kind: str = "JPEG") -> bytes:
    """A soft picture; the same size has the same bytes."""
    ramp = Image.linear_gradient("L").resize((width, height))
    disc = Image.radial_gradient("L").resize((width, height))
    grain = Image.linear_gradient("L").rotate(90).resize((7, 7)).resize((width, height))
    output = io.BytesIO()
    Image.merge("RGB", (ramp, disc, grain)).save(output, kind, quality=95)
    return output.getvalue()
