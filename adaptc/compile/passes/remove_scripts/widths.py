"""The widths of windows at which a page is examined, and media queries for some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby

# CSS pixels: below each usual breakpoint (Bootstrap's, and 600, 800 and 1024), and a desktop
WIDTHS = (412, 575, 599, 639, 767, 799, 991, 1023, 1199, 1280)
NARROW = frozenset(WIDTHS[:-1])


def media_rules(rule: str, widths: Collection[int]) -> Iterator[str]:
    """Yield a rule for windows of some of ``WIDTHS``, each width standing for those down to the one before it."""
    for is_in, group in groupby(range(len(WIDTHS)), lambda index: WIDTHS[index] in widths):
        if is_in:
            run = list(group)
            lowest = f"(min-width:{WIDTHS[run[0] - 1] + 1}px)" if run[0] else ""
            highest = f"(max-width:{WIDTHS[run[-1]]}.98px)" if run[-1] < len(WIDTHS) - 1 else ""
            query = " and ".join(filter(None, (lowest, highest)))
            yield f"@media{query}{{{rule}}}" if query else rule
