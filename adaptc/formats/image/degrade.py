"""Encoding with a visible loss: the smallest of a few steps of quality that still reaches a score.

WebP comes first: of 138 screenshots and diagrams at 0.71 of their size, lossy WebP was smaller than lossless
WebP, near-lossless WebP and a palette PNG in 136; of 41 photographs mozjpeg takes 1.39 times (median) at equal score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.formats.image.lossy import ENCODERS, Point, samples, search_quality
from adaptc.formats.image.score import ssim, strips
from adaptc.formats.image.vips import load

# Steps between the lowest and the highest quality, both included.
_STEPS: dict[Effort, int] = {"fast": 3, "default": 7, "max": 15}
# Pixels that are scored: 4 and 26 ms, where a whole megapixel takes 105.
_SCORED: dict[Effort, int] = {"fast": 30_000, "default": 250_000, "max": 1_000_000}
# libwebp's method; 4 takes three times as long as 2 for 1 to 4 % of the size.
_METHODS: dict[Effort, int] = {"fast": 2, "default": 4, "max": 6}
_ALPHA_QUALITY = 60  # half the size of a lossless alpha plane in logos, and no difference to be seen
LONGEST_SIDE = 16383  # WebP container: 14 bits a dimension

FORMATS = {"webp": media.WEBP, "jpeg": media.JPEG, "png": media.PNG}


@dataclass(frozen=True, slots=True)
class Goal:
    """What to reach: a score between the lowest and the highest quality, or a fixed quality.

    ``score`` is that of ``adaptc.formats.image.score``, ``None`` for the lowest quality without measuring. Where no
    quality up to ``highest`` reaches the score, ``highest`` it is: grain costs much and hides the loss.
    """

    score: float | None
    lowest: int
    highest: int

    @classmethod
    def of(cls, target: float | str, lowest: int, highest: int) -> Goal:
        """Read a target: a score in [0, 1], or ``"q=60"`` for a fixed quality. Raises ``ValueError``."""
        if isinstance(target, str) and target.startswith("q="):
            return cls(None, int(target[2:]), int(target[2:]))
        return cls(float(target), lowest, highest)

    def qualities(self, effort: Effort) -> list[int]:
        """Return the steps of quality to choose from, rising."""
        steps = _STEPS[effort] - 1
        return sorted({self.lowest + (self.highest - self.lowest) * step // steps for step in range(steps + 1)})


@dataclass(frozen=True, slots=True)
class Degraded:
    """An encoding. ``score`` is ``None`` where it was not measured, ``quality`` where the coding is lossless."""

    content: bytes
    format: str
    quality: int | None
    score: float | None


def degrade(image: Any, goal: Goal, effort: Effort, formats: Iterable[str]) -> Degraded | None:
    """Return the smallest encoding of sRGB pixels that reaches ``goal``; ``None`` if no format can hold them."""
    made = [_searched(image, name, goal, effort) for name in _fitting(image, frozenset(formats))]
    return min(made, key=lambda one: len(one.content), default=None)


def lossless_webp(image: Any, effort: Effort) -> Degraded:
    """Return the pixels, exactly, as WebP."""
    method = 1 if effort == "fast" else _METHODS[effort]
    content = image.webpsave_buffer(lossless=True, effort=method, Q=20 if effort == "fast" else 75, keep="none")
    return Degraded(bytes(content), "webp", None, 1.0)


def _fitting(image: Any, formats: frozenset[str]) -> list[str]:
    """Return the formats to try; the others cannot hold the image or are larger for sure."""
    if "webp" in formats and max(image.width, image.height) <= LONGEST_SIDE:
        return ["webp"]
    return [name for name in ("jpeg", "png") if name in formats and not (name == "jpeg" and image.hasalpha())]


def _searched(image: Any, name: str, goal: Goal, effort: Effort) -> Degraded:
    encode = cache(lambda quality: _ENCODE[name](image, effort, quality))
    qualities = goal.qualities(effort)
    if goal.score is None:
        return Degraded(encode(qualities[0]), name, qualities[0], None)
    point = _best_step(lambda step: encode(qualities[step]), _scorer(image, effort), goal.score, len(qualities))
    quality = qualities[point.quality]
    return Degraded(encode(quality), name, quality, point.score)


def _best_step(encode: Callable[[int], bytes], score: Callable[[bytes], float], target: float, steps: int) -> Point:
    """Return the lowest step that reaches ``target``, else the highest: the first is tried first.

    It is the one for three of four images, which so take a single encoding.
    """
    found = search_quality(encode, score, target, lowest=0, highest=0)
    if found.best is None and steps > 1:
        found = search_quality(encode, score, target, lowest=1, highest=steps - 1)
    return found.best or found.points[-1]


def _scorer(image: Any, effort: Effort) -> Callable[[bytes], float]:
    reference = strips(samples(image), _SCORED[effort])
    return lambda made: ssim(reference, strips(samples(load(made)), _SCORED[effort]))


def encode_webp(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode as lossy WebP, of one frame or of those that the image holds.

    Sharp chroma keeps red text on blue crisp at four times the time: not when fast.
    """
    return bytes(
        image.webpsave_buffer(
            Q=quality, effort=_METHODS[effort], smart_subsample=effort != "fast", alpha_q=_ALPHA_QUALITY, keep="none"
        )
    )


_ENCODE: dict[str, Callable[[Any, Effort, int], bytes]] = {
    "webp": encode_webp,
    "jpeg": ENCODERS[media.JPEG],
    "png": ENCODERS[media.PNG],
}
