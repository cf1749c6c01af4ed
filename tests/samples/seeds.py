"""Seeds of tests by chance: as many as ADAPTC_FUZZ says times the usual number."""

from __future__ import annotations

import os


def seeds(*chosen: int) -> tuple[int, ...]:
    """Return the ``chosen`` seeds; with ADAPTC_FUZZ others as well, so many times as many in all."""
    others = (seed for seed in range(10**9) if seed not in chosen)
    return (*chosen, *(next(others) for _ in range(len(chosen) * (int(os.environ.get("ADAPTC_FUZZ", "1")) - 1))))
