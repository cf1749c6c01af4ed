"""The figures of levels, from the sums of the ledger, and what pages embed over a whole level."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptc.config.config import CostConfig
from adaptc.config.rulebook import Level
from adaptc.report.figures import GROUPS, FileFigures, LevelFigures, capacity_factor
from adaptc.report.ledger import Ledger, LevelSums

_NOTHING = LevelSums(0, (), {})


def level_figures(
    ledger: Ledger, levels: Sequence[Level], cost: CostConfig, *, weighs_views: bool
) -> tuple[LevelFigures, ...]:
    """Return the figures of each level, those of the highest quality first.

    With ``weighs_views`` the means are over the views of pages and not over pages.
    """
    sums, times = ledger.sums(weighs_views), max(ledger.times(weighs_views), 1)
    first = sums.get(levels[0].name, _NOTHING)
    embedded = embedded_files(ledger, levels[0].name, times, weighs_views=weighs_views)
    return tuple(
        _level_figures(level, sums.get(level.name, _NOTHING), first, embedded.get(level.name, NOTHING), times, cost)
        for level in levels
    )


def _level_figures(
    level: Level, sums: LevelSums, first: LevelSums, embedded: Embedded, times: int, cost: CostConfig
) -> LevelFigures:
    factor = capacity_factor(
        sums.requests / times,
        sums.transfer / times,
        first.requests / times,
        first.transfer / times,
        request_ms=cost.request_ms,
        kilobyte_ms=cost.kilobyte_ms,
        view_ms=cost.view_ms,
    )
    return LevelFigures(
        level.name,
        level.number,
        sums.files,
        sum(kind.bytes_after for kind in sums.kinds.values()),
        sums.codings,
        tuple(sums.kinds[name] for name in GROUPS if name in sums.kinds),
        sums.requests / times,
        sums.identity / times,
        sums.transfer / times,
        factor,
        sums.pages,
        1 + embedded.requests,
        sums.own_transfer / times + embedded.transfer,
        embedded.heaviest,
    )


# ---- what pages embed: what the next page of a visit fetches, and which files have most bytes

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
