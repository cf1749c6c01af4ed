"""The figures of levels, from the sums of the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from adaptc.config.config import CostConfig
from adaptc.config.rulebook import Level
from adaptc.report.embedded import NOTHING, Embedded, embedded_files
from adaptc.report.figures import GROUPS, LevelFigures, capacity_factor
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
