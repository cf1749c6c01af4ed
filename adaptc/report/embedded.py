"""What pages embed, over a whole level: what the next page of a visit fetches, and which files have most bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from adaptc.report.figures import FileFigures
from adaptc.report.ledger import Ledger

__all__ = ["NOTHING", "Embedded", "embedded_files"]

_HEAVIEST = 3


@dataclass(frozen=True, slots=True)
class Embedded:
    """Requests and bytes of files that a page embeds and the one before it in a visit does not: means.

    ``heaviest`` are the files with most bytes of a mean page, the heaviest first.
    """

    requests: float = 0.0
    transfer: float = 0.0
    heaviest: tuple[FileFigures, ...] = ()


NOTHING = Embedded()


def embedded_files(ledger: Ledger, first: str, times: int, *, weighs_views: bool) -> Mapping[str, Embedded]:
    """Return what pages embed by level; a file that a level does not have is that of the level ``first``.

    Both pages are drawn by their views (``times`` in all): a file that n of N embed is fetched for a page and was not
    for the one before it with the probability n/N (1 - n/N).
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for level, paths, count in ledger.embedding(weighs_views=weighs_views):
        for path in paths:
            counts[level][path] += count
    return {level: _embedded(ledger, (level, first), found, times) for level, found in counts.items()}


def _embedded(ledger: Ledger, levels: tuple[str, str], counts: Counter[str], times: int) -> Embedded:
    files = [FileFigures(path, ledger.transfer(path, levels), count / times) for path, count in counts.items()]
    files.sort(key=lambda file: (-file.transfer * file.share, file.path))
    return Embedded(
        sum(file.share * (1 - file.share) for file in files),
        sum(file.share * (1 - file.share) * file.transfer for file in files),
        tuple(files[:_HEAVIEST]),
    )
