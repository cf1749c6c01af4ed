"""The work of workers by name. What does it is imported where it runs: a process with workers has no use for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptc.compile.analyse.facts import Facts
    from adaptc.compile.engine.state.results import UnitResult
    from adaptc.compile.engine.unit.snapshot import SharedSnapshot

# What a server of workers imports before it forks them, with the passes
MODULE = "adaptc.compile.engine.unit.unit_builder"


def gather_batch(snapshot: SharedSnapshot, paths: tuple[str, ...]) -> Iterator[tuple[str, Facts | str]]:
    """Yield (path, facts) for each source, or (path, reason) where it cannot be read."""
    from adaptc.compile.engine.unit import unit_builder

    return unit_builder.gather_batch(snapshot, paths)


def build_batch(snapshot: SharedSnapshot, units: tuple[tuple[str, str], ...]) -> Iterator[UnitResult]:
    """Build units into the cache, and yield their results in order."""
    from adaptc.compile.engine.unit import unit_builder

    return unit_builder.build_batch(snapshot, units)
