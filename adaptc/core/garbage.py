"""How often Python looks for garbage in cycles."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Look seldom: little of a build or a crawl is in cycles, and looking took 5 to 20 % of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
