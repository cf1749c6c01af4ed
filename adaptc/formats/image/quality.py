"""The search for the lowest quality that reaches a score, in three encodings at most, each of which is measured.

The loss, 1 - score, grows about like a power of the step of the encoder's quantizer. On a scale of logarithms two
points so predict a third (secant method). On 272 curves of real images (WebP, JPEG, PNG, AVIF; scores 0.90 to 0.98)
it takes 2.3 encodings where bisection takes 6.1, for 3 % more bytes an image; for copies of a quality of 45 to 75, 1.3
and 1 %. On the scale of the qualities themselves JPEGs took 30 % more bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from adaptc.core.model import Effort

LOWEST, HIGHEST = 20, 97
_ENCODINGS = 3
# The loss of a typical image, by the logarithm of the quantizer's step: 0.05 at quality 60 of JPEG and WebP
_TYPICAL_LOSS, _TYPICAL_STEP, _SLOPE = log(0.05), 3.74, 0.8
_LEAST_LOSS = 1e-4
# How far below the loss allowed a prediction aims, since it may miss; more so while no quality has reached it
_AIM, _SAFE_AIM = 0.03, 0.1
_CLOSE = 0.05  # a quality whose loss is this close to that allowed is taken
_FLATTEST, _STEEPEST = _SLOPE / 2, _SLOPE * 4  # two points too close to each other predict nothing


@dataclass(frozen=True, slots=True)
class Point:
    """A point of an image's curve: the encoder's quality, the size in bytes and the score in [0, 1]."""

    quality: int
    size: int
    score: float

    @property
    def loss(self) -> float:
        """The logarithm of what is missing to the score 1."""
        return _loss(self.score)


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search: the encoding that reaches the target, or ``None``, and all points in rising quality."""

    content: bytes | None
    best: Point | None
    points: tuple[Point, ...]


def jpeg_step(quality: int) -> float:
    """Return the logarithm of the factor of JPEG's quantization tables (libjpeg); WebP's has about the same shape."""
    return log(102 - quality) if quality >= 50 else log(2600 / max(quality, 1))


def av1_step(quality: int) -> float:
    """Return the logarithm of AV1's quantizer step, whose tables are exponential (AV1, 7.12.2)."""
    return 6.27 - 0.056 * quality


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes a libvips image of sRGB pixels with an effort and a quality of 0 to 100; ``step`` falls with it.

    ``finish`` makes an encoding smaller that has the quality wanted; its pixels stay. An encoder that ``is_local``
    encodes a part of an image as it encodes the whole, but for a few pixels.
    """

    encode: Callable[[Any, Effort, int], bytes]
    step: Callable[[int], float] = jpeg_step
    finish: Callable[[bytes, Effort], bytes] | None = None
    is_local: bool = False


def search_quality(
    encode: Callable[[int], bytes],
    score: Callable[[bytes], float],
    target: float,
    *,
    lowest: int = LOWEST,
    highest: int = HIGHEST,
    first: int | None = None,
    step: Callable[[int], float] = jpeg_step,
    ends_highest: bool = False,
) -> Search:
    """Find a quality in ``lowest``..``highest`` whose score is at least ``target`` and close to it.

    ``first`` is tried first, by default the quality that suits a typical image. The score is expected to rise with the
    quality; where it does not, the result still reaches the target. Where two qualities give the same encoding the
    search ends. It may miss a quality that reaches the target (1 of 122 WebP images); not with ``ends_highest``: its
    last attempt is then the highest, if no other did.
    """
    goal, choices = _loss(target), range(lowest, highest + 1)
    start = _TYPICAL_STEP + _SLOPE * (goal - _TYPICAL_LOSS)
    quality = _quality_of(start, choices, step) if first is None else first
    points: list[Point] = []
    content, best, last = None, None, b""
    while True:
        encoded = encode(quality)
        is_limited = encoded == last and not ends_highest  # by its 256 colours, not by its quality
        last = encoded
        point = Point(quality, len(encoded), score(encoded))
        points.append(point)
        if point.score >= target:
            content, best, choices = encoded, point, range(choices.start, quality)
        else:
            choices = range(quality + 1, choices.stop)
        is_close = best is not None and (len(choices) <= 1 or goal - best.loss <= _CLOSE)
        if is_close or is_limited or not choices or len(points) == _ENCODINGS:
            return Search(content, best, tuple(sorted(points, key=lambda point: point.quality)))
        if ends_highest and best is None and len(points) == _ENCODINGS - 1:
            quality = highest
        else:
            quality = _predict(points, goal - (_SAFE_AIM if best is None else _AIM), choices, step)


def _loss(score: float) -> float:
    return log(max(_LEAST_LOSS, 1 - score))


def _predict(points: Sequence[Point], goal: float, choices: range, step: Callable[[int], float]) -> int:
    """Return the quality of ``choices`` at which the line through the two points nearest to ``goal`` reaches it."""
    nearest, *others = sorted(points, key=lambda point: abs(point.loss - goal))
    slope = _SLOPE
    if others:
        rise = (others[0].loss - nearest.loss) / (step(others[0].quality) - step(nearest.quality))
        slope = min(max(rise, _FLATTEST), _STEEPEST)
    return _quality_of(step(nearest.quality) + (goal - nearest.loss) / slope, choices, step)


def _quality_of(wanted: float, choices: range, step: Callable[[int], float]) -> int:
    """Return the lowest quality whose step is at most ``wanted``, else the highest."""
    return next((quality for quality in choices if step(quality) <= wanted), choices[-1])
