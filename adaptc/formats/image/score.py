"""The quality scale: structural similarity (SSIM; Wang, Bovik, Sheikh and Simoncelli 2004) by blocks, in [0, 1].

Means and variances are taken over squares of 8 by 8 pixels that start each 4 pixels, so that the edges of
JPEG's own blocks lie inside some of them. Luma counts six times as much as each chroma channel. An image with
alpha is scored over black and over white and the worse score holds. About 105 ms a megapixel.
"""

from __future__ import annotations

from typing import Any

# The scores that degraded levels aim at, within a range of qualities. Screenshots, diagrams and photographs were
# inspected at display size: of WebP at half size, quality 30 shows blocks in plain walls and skies, 45 does not; above
# 75 nothing is gained on the softness of half resolution.
MODERATE, QUALITIES = 0.95, (45, 75)
HARD, HARD_QUALITIES = 0.90, (25, 60)
# Text of 10 pixels is hardly legible at scale 0.5, legible at 0.71 (half of the pixels).
TEXT_SCALE = 0.71

_STEP = 4  # a window is 2 by 2 of these squares
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_WEIGHTS = (6 / 8, 1 / 8, 1 / 8)  # luma, blue difference, red difference
# ITU-R BT.601 as in JFIF; the offset of the chroma channels cancels out of the comparison of structure only
# if both have it, and keeps the means positive.
_YCC = (
    (0.299, 0.587, 0.114, 0.0),
    (-0.168736, -0.331264, 0.5, 128.0),
    (0.5, -0.418688, -0.081312, 128.0),
)


def ssim(before: Any, after: Any) -> float:
    """Return the score of two images as arrays of samples: (height, width, 3 or 4), 8 bits, of the same size.

    1.0 means equal. Raises ``ValueError`` if the sizes differ: a bug of the caller.
    """
    import numpy as np

    if before.shape[:2] != after.shape[:2]:
        raise ValueError(f"sizes differ: {before.shape[:2]} and {after.shape[:2]}")
    if before.shape == after.shape and np.array_equal(before, after):
        return 1.0
    grounds = (0.0, 255.0) if before.shape[2] == 4 or after.shape[2] == 4 else (0.0,)
    return min(_opaque_ssim(_over(before, ground), _over(after, ground)) for ground in grounds)


def _over(samples: Any, ground: float) -> Any:
    """Return the samples composed over a gray ``ground``, as 32-bit floats of shape (height, width, 3)."""
    import numpy as np

    colours = samples[:, :, :3].astype(np.float32)
    if samples.shape[2] == 3:
        return colours
    alpha = samples[:, :, 3:].astype(np.float32) / 255
    return colours * alpha + ground * (1 - alpha)


def _opaque_ssim(before: Any, after: Any) -> float:
    scores = (
        weight * _channel_ssim(_channel(before, row), _channel(after, row))
        for weight, row in zip(_WEIGHTS, _YCC, strict=True)
    )
    return min(1.0, max(0.0, sum(scores)))


def _channel(colours: Any, row: tuple[float, float, float, float]) -> Any:
    import numpy as np

    return colours @ np.array(row[:3], dtype=np.float32) + np.float32(row[3])


def _channel_ssim(x: Any, y: Any) -> float:
    mean_x, mean_y = _window_means(x), _window_means(y)
    variance_x = _window_means(x * x) - mean_x * mean_x
    variance_y = _window_means(y * y) - mean_y * mean_y
    covariance = _window_means(x * y) - mean_x * mean_y
    likeness = (2 * mean_x * mean_y + _C1) * (2 * covariance + _C2)
    return float((likeness / ((mean_x**2 + mean_y**2 + _C1) * (variance_x + variance_y + _C2))).mean())


def _window_means(channel: Any) -> Any:
    """Return the mean of each window; an image is continued by its last row and column to whole squares."""
    import numpy as np

    height, width = channel.shape
    padding = [(0, max(-size % _STEP, 2 * _STEP - size)) for size in (height, width)]
    padded = np.pad(channel, padding, mode="edge")
    rows, columns = padded.shape[0] // _STEP, padded.shape[1] // _STEP
    squares = padded.reshape(rows, _STEP, columns, _STEP).mean(axis=(1, 3), dtype=np.float64)
    return (squares[1:, 1:] + squares[:-1, 1:] + squares[1:, :-1] + squares[:-1, :-1]) / 4


_ROWS = 32  # a multiple of the squares that ``ssim`` compares


def sample_rows(samples: Any, pixels: int) -> Any:
    """Return strips of 32 rows, evenly spread and joined, of at most about ``pixels`` pixels in all.

    A mean is as good over a sample of a large image as over all of it.

    ``samples`` is an array of shape (height, width) or (height, width, bands); a small one is returned whole.
    """
    import numpy as np

    height, width = samples.shape[:2]
    if height * width <= pixels or height <= _ROWS:
        return samples
    count = max(1, min(pixels // (_ROWS * width), height // _ROWS))
    starts = np.linspace(0, height - _ROWS, count).astype(int)
    return np.concatenate([samples[start : start + _ROWS] for start in starts])
