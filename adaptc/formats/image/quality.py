"""The search for the lowest quality of an encoder that reaches a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

LOWEST, HIGHEST = 20, 97


@dataclass(frozen=True, slots=True)
class Point:
    """One point of an image's curve: the encoder's quality, the size in bytes and the score in [0, 1]."""

    quality: int
    size: int
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    """What was found: the encoding that reaches the target, or ``None``, and all points measured."""

    content: bytes | None
    best: Point | None
    points: tuple[Point, ...]


def search_quality(
    encode: Callable[[int], bytes],
    score: Callable[[bytes], float],
    target: float,
    *,
    lowest: int = LOWEST,
    highest: int = HIGHEST,
    known: Mapping[int, Point] | None = None,
) -> Search:
    """Find the lowest quality in ``lowest``..``highest`` whose score is at least ``target``, by bisection.

    The score is taken to rise with the quality; where it does not, the result still reaches the target.
    ``known`` are points measured before (a curve that the caller keeps): they are not encoded again. At most
    seven new points for the default range, and one encoding for a result that is known.
    """
    points = dict(known or {})
    made: dict[int, bytes] = {}
    best: Point | None = None
    while lowest <= highest:
        quality = (lowest + highest) // 2
        if quality not in points:
            made[quality] = encode(quality)
            points[quality] = Point(quality, len(made[quality]), score(made[quality]))
        if points[quality].score >= target:
            best, highest = points[quality], quality - 1
        else:
            lowest = quality + 1
    content = None if best is None else made.get(best.quality) or encode(best.quality)
    return Search(content, best, tuple(points[quality] for quality in sorted(points)))
