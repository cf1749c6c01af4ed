"""The functions that make copies of images, by the names that passes use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adaptc.formats.image.convert import convert
from adaptc.formats.image.halve import ImageCopy, halve, halve_exactly, recompress_hard
from adaptc.formats.image.likeness import rate, recompress_rated
from adaptc.formats.image.refusal import Refusal

# Incremented when one writes other bytes for the same image
COPIERS_VERSION = 4
COPIERS: Mapping[str, Callable[..., ImageCopy | Refusal]] = {
    "half": halve,
    "exact": halve_exactly,
    "hard": recompress_hard,
    "format": convert,
    "rated": rate,
    "recompressed": recompress_rated,
}
