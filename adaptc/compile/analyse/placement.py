"""Where a shared style sheet or script should live: in its own file, or inline in every page that uses it.

The cost of delivery is that of Abdelzaher, Shin and Bhatti, U = aR + bW: ``a`` for a request, ``b`` for a kilobyte.
With the paper's figures (a = 0.83 ms, b = 33 us/kB) a request is worth 25 kB.

A visit is ``v`` pages. A page uses the asset with probability ``p`` (the share of the site's pages that embed it),
so a visit that needs the asset at all meets it on ``e = 1 + (v - 1) p`` pages. A share ``w`` of the visits comes
with a warm cache. For an asset of ``s`` kB as transferred:

    own file:  (1 - w) (a + b s)        one request in a cold visit, none in a warm one
    inline:    e b s                    the bytes again in each of those pages, no request

The cheaper one is chosen; equal costs go to the file, which keeps pages small.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

KILOBYTE = 1000.0


@dataclass(frozen=True, slots=True)
class DeliveryCost:
    """The model's parameters: ms a request, ms a kB, pages a visit (v), share of visits with a warm cache (w)."""

    request_ms: float
    kilobyte_ms: float
    pages_per_visit: float
    warm_share: float

    def own_file(self, size: int) -> float:
        """Return ms for a visit that finds the asset of ``size`` transferred bytes in a file of its own."""
        return (1 - self.warm_share) * (self.request_ms + self.kilobyte_ms * size / KILOBYTE)

    def inline(self, size: int, share: float) -> float:
        """Return ms for a visit that finds the asset inline; ``share`` of the site's pages use it (0 to 1)."""
        expected_pages = 1 + (self.pages_per_visit - 1) * share
        return expected_pages * self.kilobyte_ms * size / KILOBYTE

    def crowd_limit(self) -> int:
        """Return the largest transfer size at which inline costs less in a visit of one page, as in a flash crowd.

        ``b s < (1 - w) (a + b s)``; the share of warm caches is what keeps a file out of the page then.
        """
        if not self.warm_share * self.kilobyte_ms:  # files are never cached, or bytes cost nothing
            return sys.maxsize
        limit = KILOBYTE * (1 - self.warm_share) * self.request_ms / (self.warm_share * self.kilobyte_ms)
        return int(min(limit, sys.maxsize))


@dataclass(frozen=True, slots=True)
class Use:
    """How an asset is used: transferred bytes, number of pages that embed it."""

    size: int
    pages: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The decision for one asset and the sentence that explains it."""

    inline: bool
    reason: str


def place_assets(uses: Mapping[str, Use], pages: int, cost: DeliveryCost) -> dict[str, Placement]:
    """Decide for every asset by path; ``pages`` is the number of pages of the site."""
    return {path: _place(use, pages, cost) for path, use in uses.items()}


def _place(use: Use, pages: int, cost: DeliveryCost) -> Placement:
    share = use.pages / max(pages, 1)
    own, inline = cost.own_file(use.size), cost.inline(use.size, share)
    figures = (
        f"{use.size} bytes used by {use.pages} of {pages} pages: {inline:.2f} ms a visit inline, {own:.2f} ms shared"
    )
    return Placement(inline < own, figures)
