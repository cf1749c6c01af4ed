"""The door to libvips (pyvips-binary): imported when first used, one thread an image, no cache.

Parallelism is one image a worker. The operation cache would hold decoded pixels of images that are never seen
again.
"""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType
from typing import Any


@cache
def vips() -> ModuleType:
    """Return the ``pyvips`` module, set up for a worker. Costs about 50 ms once."""
    os.environ["VIPS_CONCURRENCY"] = "1"  # read by libvips when it starts
    import pyvips

    pyvips.cache_set_max(0)
    return pyvips  # type: ignore[no-any-return]


def load(content: bytes) -> Any:
    """Load an image of any type; a damaged one raises ``pyvips.Error`` when its pixels are read."""
    return vips().Image.new_from_buffer(content, "", fail_on="warning")


def load_once(content: bytes, **options: Any) -> Any:
    """Load an image whose rows are read once, from the top; else like ``load``. Saves a copy, a tenth of the time."""
    return vips().Image.new_from_buffer(content, "", fail_on="warning", access="sequential", **options)
