"""The quality scale: structural similarity (SSIM; Wang, Bovik, Sheikh and Simoncelli 2004) by blocks, in [0, 1].

Means and variances are taken over squares of 8 by 8 pixels that start each 4 pixels, so that the edges of
JPEG's own blocks lie inside some of them. Luma counts six times as much as each chroma channel. An image with
alpha is scored over black and over white and the worse score holds.

Pillow calculates, in 32-bit floats: 20 to 30 ms a megapixel. The same in libvips took 110 to 170, and 9 ms for the
smallest image; in numpy, 70 to 150.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from PIL import Image

# The scores that degraded levels aim at, within a range of qualities. Screenshots, diagrams and photographs were
# inspected at display size: of WebP at half size, quality 30 shows blocks in plain walls and skies, 45 does not; above
# 75 nothing is gained on the softness of half resolution.
MODERATE, QUALITIES = 0.95, (45, 75)
HARD, HARD_QUALITIES = 0.90, (25, 60)
# Text of 10 pixels is hardly legible at scale 0.5, legible at 0.71 (half of the pixels).
TEXT_SCALE = 0.71

_STEP = 4  # a window is 2 by 2 squares of this side
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_WEIGHTS = (6 / 8, 1 / 8, 1 / 8)  # luma, blue difference, red difference
# ITU-R BT.601 as in JFIF; the offset of the chroma channels cancels out of the comparison of structure only
# if both have it, and keeps the means positive.
_YCC = (
    (0.299, 0.587, 0.114, 0.0),
    (-0.168736, -0.331264, 0.5, 128.0),
    (0.5, -0.418688, -0.081312, 128.0),
)
_BLACK, _WHITE = 0, 255


class Reference:
    """The image, RGB or RGBA, that others are compared with; what depends on it alone is calculated once."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self._channels: dict[int, list[_Channel]] = {}

    def score(self, other: Image.Image) -> float:
        """Return the score of ``other``; 1.0 means equal. Raises ``ValueError`` if the sizes differ: a bug."""
        if self.image.size != other.size:
            raise ValueError(f"sizes differ: {self.image.size} and {other.size}")
        is_opaque = self.image.mode == other.mode == "RGB"
        return min(self._opaque_score(other, ground) for ground in ((_BLACK,) if is_opaque else (_BLACK, _WHITE)))

    def _opaque_score(self, other: Image.Image, ground: int) -> float:
        if ground not in self._channels:
            self._channels[ground] = [_Channel(samples) for samples in _split(self.image, ground)]
        pairs = zip(self._channels[ground], _split(other, ground), strict=True)
        scores = (weight * channel.score(samples) for weight, (channel, samples) in zip(_WEIGHTS, pairs, strict=True))
        return min(1.0, max(0.0, sum(scores)))


class _Channel:
    """A channel of the reference, with the mean and the variance of each window."""

    def __init__(self, samples: Image.Image) -> None:
        self.samples = samples
        self.mean = _window_means(samples)
        squares = _window_means(_multiply(samples, samples))
        self.variance = _calculate(lambda of: of["squares"] - of["mean"] * of["mean"], squares=squares, mean=self.mean)

    def score(self, samples: Image.Image) -> float:
        likeness = _calculate(
            _likeness,
            mean_x=self.mean,
            mean_y=_window_means(samples),
            variance_x=self.variance,
            squares_y=_window_means(_multiply(samples, samples)),
            products=_window_means(_multiply(self.samples, samples)),
        )
        return cast("float", likeness.reduce(likeness.size).getpixel((0, 0)))


def _likeness(of: dict[str, Any]) -> Any:
    """Return SSIM (equation 13) for each window."""
    mean_x, mean_y = of["mean_x"], of["mean_y"]
    means, squares_of_means = mean_x * mean_y, mean_x * mean_x + mean_y * mean_y
    variance_y = of["squares_y"] - mean_y * mean_y
    likeness = (means * 2 + _C1) * ((of["products"] - means) * 2 + _C2)
    return likeness / ((squares_of_means + _C1) * (of["variance_x"] + variance_y + _C2))


def _calculate(formula: Callable[[dict[str, Any]], Any], **images: Image.Image) -> Image.Image:
    """Return an image of 32-bit floats, calculated from others by their names."""
    from PIL import ImageMath

    result: Image.Image = ImageMath.lambda_eval(formula, **images)
    return result


def _multiply(x: Image.Image, y: Image.Image) -> Image.Image:
    return _calculate(lambda of: of["x"] * of["y"], x=x, y=y)


def _split(image: Image.Image, ground: int) -> list[Image.Image]:
    """Return luma and chroma over a gray ``ground``, as 32-bit floats of whole squares."""
    bands = dict(zip("rgba", (band.convert("F") for band in _pad(image).split()), strict=False))
    if "a" in bands:
        alpha = bands.pop("a")
        bands = {name: _calculate(_over(ground), colour=band, alpha=alpha) for name, band in bands.items()}
    return [_calculate(_weigh(row), **bands) for row in _YCC]


def _over(ground: int) -> Callable[[dict[str, Any]], Any]:
    return lambda of: (of["colour"] - ground) * of["alpha"] / 255 + ground


def _weigh(row: tuple[float, float, float, float]) -> Callable[[dict[str, Any]], Any]:
    red, green, blue, offset = row
    return lambda of: of["r"] * red + of["g"] * green + of["b"] * blue + offset


def _pad(image: Image.Image) -> Image.Image:
    """Return an image continued by its last row and column to whole squares, two at least a side."""
    width, height = image.size
    wide, high = (max(-(-side // _STEP), 2) * _STEP for side in image.size)
    if (wide, high) == image.size:
        return image
    padded = image.crop((0, 0, wide, high))
    for x in range(width, wide):
        padded.paste(image.crop((width - 1, 0, width, height)), (x, 0))
    for y in range(height, high):
        padded.paste(padded.crop((0, height - 1, wide, height)), (0, y))
    return padded


def _window_means(channel: Image.Image) -> Image.Image:
    """Return the mean of each window."""
    squares = channel.reduce(_STEP)
    width, height = squares.size
    corners = {f"{x}{y}": squares.crop((x, y, x + width - 1, y + height - 1)) for x in (0, 1) for y in (0, 1)}
    return _calculate(lambda of: (of["00"] + of["01"] + of["10"] + of["11"]) / 4, **corners)


_ROWS = 32  # a multiple of the squares that are compared


def sample_rows(image: Image.Image, pixels: int) -> Image.Image:
    """Return strips of 32 rows, evenly spread and joined, of at most about ``pixels`` pixels in all.

    A mean is as good over a sample of a large image as over all of it. A small image is returned whole.
    """
    width, height = image.size
    if height * width <= pixels or height <= _ROWS:
        return image
    count = max(1, min(pixels // (_ROWS * width), height // _ROWS))
    sample = image.crop((0, 0, width, count * _ROWS))
    for number in range(1, count):
        top = (height - _ROWS) * number // (count - 1)
        sample.paste(image.crop((0, top, width, top + _ROWS)), (0, number * _ROWS))
    return sample


# ---- The kind of a picture, judged by neighbouring pixels: text and lines, or a photograph
# Text and lines are hard edges between flat areas, with little in between. Measured on 180 images of seven sites:
# edges over in-between is 0.25 to 30 in screenshots and diagrams, and below 0.17 in nearly all photographs.

_PIXELS = 250_000  # 1 ms
_FLAT, _HARD = 1, 48  # differences of two neighbours, of 255
_FEWEST_EDGES, _EDGES_TO_MIDDLE = 0.01, 0.25
_FEWEST_COLOUR_EDGES = 0.001  # a line of red text on a photograph
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


def has_colour_edges(image: Image.Image) -> bool:
    """Whether the hue of an image, RGB or RGBA, changes sharply anywhere, as at red text on a dark photograph.

    There half of the resolution in chroma is seen as a blur.
    """
    from PIL import Image

    sample = sample_rows(image, _PIXELS)
    if sample.mode == "RGBA":
        sample = Image.composite(sample, Image.new("RGBA", sample.size, (_GRAY,) * 4), sample.getchannel("A"))
    chroma = sample.convert("RGB").convert("YCbCr")
    return any(measure_texture(chroma, each).edges >= _FEWEST_COLOUR_EDGES for each in ("Cb", "Cr"))


def measure_texture(image: Image.Image, colour: str = "G") -> Texture:
    """Return the texture of a channel of an image, RGB, RGBA or YCbCr; transparent pixels count as gray."""
    from PIL import Image, ImageChops

    sample = sample_rows(image, _PIXELS)
    width, height = sample.size
    if width < 2:
        return Texture(0.0, 0.0)
    band = sample.getchannel(colour)
    if sample.mode == "RGBA":
        band = Image.composite(band, Image.new("L", sample.size, _GRAY), sample.getchannel("A"))
    left, right = band.crop((0, 0, width - 1, height)), band.crop((1, 0, width, height))
    counts = ImageChops.difference(left, right).histogram()
    edges, middle = sum(counts[_HARD + 1 :]), sum(counts[_FLAT + 1 : _HARD + 1])
    return Texture(edges / sum(counts), middle / sum(counts))
