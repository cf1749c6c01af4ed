"""The kind of a picture, judged by neighbouring pixels: text and lines, or a photograph.

Text and lines are hard edges between flat areas, with little in between. Measured on 180 images of seven sites:
edges over in-between is 0.25 to 30 in screenshots and diagrams, and below 0.17 in nearly all photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptc.formats.image.score import sample_rows

if TYPE_CHECKING:
    from PIL import Image

_PIXELS = 250_000  # 1 ms
_FLAT, _HARD = 1, 48  # differences of two neighbours, of 255
_FEWEST_EDGES, _EDGES_TO_MIDDLE = 0.01, 0.25
# Below this share, lossless coding at full size is often smaller than lossy coding at 0.71 of it (22 of 138).
_DRAWN = 0.045
_GRAY = 128


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


def measure_texture(image: Image.Image) -> Texture:
    """Return the texture of an image, RGB or RGBA; transparent pixels count as gray."""
    from PIL import Image, ImageChops

    sample = sample_rows(image, _PIXELS)
    width, height = sample.size
    if width < 2:
        return Texture(0.0, 0.0)
    green = sample.getchannel("G")
    if sample.mode == "RGBA":
        green = Image.composite(green, Image.new("L", sample.size, _GRAY), sample.getchannel("A"))
    left, right = green.crop((0, 0, width - 1, height)), green.crop((1, 0, width, height))
    counts = ImageChops.difference(left, right).histogram()
    edges, middle = sum(counts[_HARD + 1 :]), sum(counts[_FLAT + 1 : _HARD + 1])
    return Texture(edges / sum(counts), middle / sum(counts))
