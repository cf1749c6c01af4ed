"""The size of a smaller copy, chosen so that a browser gives it the box of the original."""

from __future__ import annotations

from math import ceil

# CSS pixels by which the height of the box may be off. Browsers lay out in 64ths of a pixel.
CLOSE = 1 / 16
# The width may be this share larger than asked, where that gives a better height.
_SPREAD = 16


def scaled_size(width: int, height: int, scale: float, widest: int | None = None) -> tuple[int, int]:
    """Return width and height of a copy at ``scale`` (0 to 1), both at least 1; the width is rounded up.

    ``widest`` limits the width.

    A browser multiplies both sides by the original's width over the copy's, so the copy's height times that
    should be the original's height. 401 by 301 halved to 201 by 151 would be shown 301.25 high. Of the widths
    from the one asked for to a sixteenth above it, the first with a height within ``CLOSE`` is taken, or the
    closest for its pixels.
    """
    first = min(width, widest or width, max(1, ceil(round(width * scale, 6))))
    last = min(width, widest or width, first + first // _SPREAD + 2)
    sizes = [(wide, max(1, round(height * wide / width))) for wide in range(first, last + 1)]
    close = (size for size in sizes if slack((width, height), size) <= CLOSE)
    return next(close, None) or min(sizes, key=lambda size: slack((width, height), size) + size[0] / first)


def slack(natural: tuple[int, int], size: tuple[int, int]) -> float:
    """Return how many CSS pixels the box of a copy is higher or lower than that of the original."""
    return abs(size[1] * natural[0] / size[0] - natural[1])
