"""Encoding with a visible loss: the lowest quality that still reaches a score.

WebP is preferred: of 138 screenshots and diagrams at 0.71 of their size, lossy WebP was smaller than lossless WebP,
near-lossless WebP and a palette PNG in 136; 41 photographs take 1.39 times the bytes (median) with mozjpeg at equal
score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.core.values import dataclass
from adaptc.formats.image.lossy import WEBP_METHODS, encode_jpeg, encode_png, finish_png, search_quality
from adaptc.formats.image.score import Reference, has_colour_edges, sample_rows
from adaptc.formats.image.vips import load_once, to_pillow

# Pixels that are scored: 4 and 26 ms, where a whole megapixel takes 105
_SCORED: dict[Effort, int] = {"fast": 30_000, "default": 250_000, "max": 1_000_000}
_ALPHA_QUALITY = 60  # half the size of a lossless alpha plane in logos, without a visible difference
LONGEST_SIDE = 16383  # WebP container: 14 bits a dimension


@dataclass(frozen=True, slots=True)
class Goal:
    """What to reach: a score between the lowest and the highest quality, or a fixed quality.

    ``score`` is that of ``adaptc.formats.image.score``, ``None`` for the lowest quality without measuring. Where no
    quality up to ``highest`` reaches the score, ``highest`` is used: grain takes many bytes and hides the loss.
    """

    score: float | None
    lowest: int
    highest: int

    @classmethod
    def parse(cls, target: float | str, lowest: int, highest: int) -> Goal:
        """Parse a target: a score in [0, 1], or ``"q=60"`` for a fixed quality. Raises ``ValueError``."""
        if isinstance(target, str) and target.startswith("q="):
            return cls(None, int(target[2:]), int(target[2:]))
        return cls(float(target), lowest, highest)


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoded image. ``score`` is ``None`` where it was not measured, ``quality`` where the coding is lossless."""

    content: bytes
    format: str
    quality: int | None
    score: float | None


class Pixels:
    """The sRGB pixels of copies, as libvips has them, and their encodings: each is made once."""

    def __init__(self, image: Any) -> None:
        self.image = image
        self._encodings: dict[tuple[str, Effort, int], bytes] = {}

    @cached_property
    def is_crisp(self) -> bool:
        """Whether its chroma needs the resolution of its luma."""
        return has_colour_edges(to_pillow(self.image))

    def encode(self, name: str, effort: Effort, quality: int) -> bytes:
        """Return the encoding in a format of ``COPY_FORMATS``."""
        key = (name, effort, quality)
        if key not in self._encodings:
            copied = COPY_FORMATS[name]
            is_crisp = copied.encode_crisp is not None and effort != "fast" and self.is_crisp
            encode = (copied.encode_crisp if is_crisp else None) or copied.encode
            self._encodings[key] = encode(self.image, effort, quality)
        return self._encodings[key]


def degrade(pixels: Pixels, goal: Goal, effort: Effort, formats: Iterable[str]) -> Encoding | None:
    """Return the smallest encoding of ``pixels`` that reaches ``goal``; ``None`` if no format can hold them."""
    encodings = [_encode(pixels, name, goal, effort) for name in _choose_formats(pixels.image, frozenset(formats))]
    return min(encodings, key=lambda encoding: len(encoding.content), default=None)


def _choose_formats(image: Any, formats: frozenset[str]) -> list[str]:
    """Return the formats to try; the others cannot hold the image or are larger for sure."""
    if "webp" in formats and max(image.width, image.height) <= LONGEST_SIDE:
        return ["webp"]
    return [name for name in ("jpeg", "png") if name in formats and not (name == "jpeg" and image.hasalpha())]


def _encode(pixels: Pixels, name: str, goal: Goal, effort: Effort) -> Encoding:
    """Return the encoding of a low quality that reaches the goal, else that of the highest.

    The lowest is tried first: it is the one for three of four images, which so need a single encoding.
    """
    encode = partial(pixels.encode, name, effort)
    if goal.score is None:
        return Encoding(encode(goal.lowest), name, goal.lowest, None)
    search = search_quality(
        encode,
        _scorer(pixels.image, effort),
        goal.score,
        lowest=goal.lowest,
        highest=goal.highest,
        first=goal.lowest,
        ends_highest=True,
    )
    point = search.best or search.points[-1]
    return Encoding(encode(point.quality), name, point.quality, point.score)


def _scorer(image: Any, effort: Effort) -> Callable[[bytes], float]:
    reference = Reference(sample_rows(to_pillow(image), _SCORED[effort]))
    return lambda encoded: reference.score(sample_rows(to_pillow(load_once(encoded)), _SCORED[effort]))


# ---- encoders


def encode_webp_copy(image: Any, effort: Effort, quality: int, *, is_sharp: bool = False) -> bytes:
    """Encode as lossy WebP, of one frame or of those that the image holds.

    Sharp chroma keeps red text on blue crisp, and takes four times the time.
    """
    return bytes(
        image.webpsave_buffer(
            Q=quality,
            effort=WEBP_METHODS[effort],
            smart_subsample=is_sharp,
            alpha_q=_ALPHA_QUALITY,
            keep="none",
        )
    )


def encode_lossless(image: Any, effort: Effort) -> Encoding:
    """Encode the pixels as lossless WebP."""
    method = 1 if effort == "fast" else WEBP_METHODS[effort]
    content = image.webpsave_buffer(lossless=True, effort=method, Q=20 if effort == "fast" else 75, keep="none")
    return Encoding(bytes(content), "webp", None, 1.0)


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """A format of smaller copies: media type, extension of files, lossy encoder, and the one of crisp colours."""

    media_type: str
    extension: str
    encode: Callable[[Any, Effort, int], bytes]
    encode_crisp: Callable[[Any, Effort, int], bytes] | None = None


COPY_FORMATS = {
    "webp": CopyFormat(media.WEBP, "webp", encode_webp_copy, partial(encode_webp_copy, is_sharp=True)),
    "jpeg": CopyFormat(media.JPEG, "jpg", encode_jpeg),
    "png": CopyFormat(media.PNG, "png", lambda image, effort, q: finish_png(encode_png(image, effort, q), effort)),
}
