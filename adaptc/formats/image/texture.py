"""The kind of a picture, judged by neighbouring pixels: text and lines, or a photograph.

Text and lines are hard edges between flat areas, with little in between. Measured on 180 images of seven sites:
edges over in-between is 0.25 to 30 in screenshots and diagrams, and below 0.17 in nearly all photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adaptc.formats.image.score import sample_rows

_PIXELS = 250_000  # 1 ms
_FLAT, _HARD = 1, 48  # differences of two neighbours, of 255
_FEWEST_EDGES, _EDGES_TO_MIDDLE = 0.01, 0.25
# Below this share, lossless coding at full size is often smaller than lossy coding at 0.71 of it (22 of 138).
_DRAWN = 0.045


@dataclass(frozen=True, slots=True)
class Texture:
    """Shares of all pairs of neighbours in a row: ``edges`` differ strongly, ``middle`` somewhat."""

    edges: float
    middle: float

    @property
    def is_crisp(self) -> bool:
        """Whether it shows text or lines, which become illegible long before a photograph looks soft."""
        return self.edges >= _FEWEST_EDGES and self.edges >= _EDGES_TO_MIDDLE * self.middle

    @property
    def is_drawn(self) -> bool:
        """Whether it is crisp, of a few flat colours, with hardly any smoothing between them."""
        return self.is_crisp and self.middle <= _DRAWN


def measure_texture(samples: Any) -> Texture:
    """Return the texture of samples of shape (height, width, 3 or 4), 8 bits; transparent pixels count as gray."""
    import numpy as np

    sample = sample_rows(samples, _PIXELS)
    green = sample[:, :, 1].astype(np.int16)
    if sample.shape[2] == 4:
        green = (green - 128) * sample[:, :, 3] // 255
    differences = np.abs(np.diff(green, axis=1))
    if not differences.size:
        return Texture(0.0, 0.0)
    edges = float((differences > _HARD).mean())
    return Texture(edges, float((differences > _FLAT).mean()) - edges)
