"""How long units took when they were built: what batches of them are sized by, the next time.

The size of a file says little about that: of two pages of one size, at one level, one may take a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from adaptc.core.media import CSS, JS, PNG, SVG

if TYPE_CHECKING:
    from adaptc.compile.engine.state.state import State, Unit
    from adaptc.site.site import Source

# Build time relative to a page of the same size, at the least effort; JPEG images take as long as pages
_WEIGHTS = {CSS: 8, JS: 3, SVG: 2, PNG: 2}
# Bytes of pages that are built in a second, at the least effort: 18 kB in 9 ms (rust-doc)
_PACE = 2 << 20


def weight_of(source: Source) -> int:
    """Return the number of bytes of a page that would take about as long to build."""
    return source.size * _WEIGHTS.get(source.media_type, 1)


def weigh(state: State, units: Iterable[Unit], sources: Mapping[str, Source]) -> list[tuple[Unit, int]]:
    """Return units with their weights: the number of bytes of a page that take as long as they took last time.

    Those that were not built before get the weights of their sources, in the proportion of the others.
    """
    guessed = [(unit, weight_of(sources[unit[1]])) for unit in units]
    if not state.has_durations:
        return guessed
    known = [state.duration(unit) for unit, _ in guessed]
    took = sum(seconds for seconds in known if seconds is not None)
    alike = sum(guess for (_, guess), seconds in zip(guessed, known, strict=True) if seconds is not None)
    scale = _PACE * took / alike if took and alike else 1.0
    return [
        (unit, round(guess * scale if seconds is None else seconds * _PACE))
        for (unit, guess), seconds in zip(guessed, known, strict=True)
    ]
