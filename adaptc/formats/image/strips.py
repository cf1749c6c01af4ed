"""A sample of an image's rows: what measures a mean need not look at every pixel of a large one."""

from __future__ import annotations

from typing import Any

_ROWS = 32  # a multiple of the squares of ``score``


def strips(samples: Any, pixels: int) -> Any:
    """Return strips of 32 rows, evenly spread and joined, of at most about ``pixels`` pixels in all.

    ``samples`` is an array of shape (height, width) or (height, width, bands); a small one is returned whole.
    """
    import numpy as np

    height, width = samples.shape[:2]
    if height * width <= pixels or height <= _ROWS:
        return samples
    count = max(1, min(pixels // (_ROWS * width), height // _ROWS))
    starts = np.linspace(0, height - _ROWS, count).astype(int)
    return np.concatenate([samples[start : start + _ROWS] for start in starts])
