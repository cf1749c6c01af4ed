"""In which order units are built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adaptc.compile.engine.reasons import Reason
from adaptc.compile.engine.state import Unit
from adaptc.config.rulebook import Level
from adaptc.core.media import CSS, HTML, JS, PNG, SVG
from adaptc.site.site import Source


def phase_of(source: Source) -> int:
    """Assets first: a page may take their artifacts in. Aliases last: they may be links to what they stand for."""
    if source.alias_of is not None:
        return 2
    return 1 if source.media_type == HTML else 0


# How often as long as a page a file of its size takes, at the least effort; JPEG images take as long
_WEIGHTS = {CSS: 8, JS: 3, SVG: 2, PNG: 2}


def weight_of(source: Source) -> int:
    """Return how many bytes of a page take about as long to build as a file of the site."""
    return source.size * _WEIGHTS.get(source.media_type, 1)


def ordered(reasons: Mapping[Unit, Reason], levels: Iterable[Level]) -> dict[Unit, Reason]:
    """Sort units by path, and the levels of a path dearest first: a level looks at the one above it."""
    rank = {level.name: number for number, level in enumerate(levels)}
    return {unit: reasons[unit] for unit in sorted(reasons, key=lambda unit: (unit[1], rank[unit[0]]))}
