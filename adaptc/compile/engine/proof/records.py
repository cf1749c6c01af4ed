"""What the last build proved, in its state: figures, and the diagnostics of what could not be mended or proven."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from adaptc.compile.analyse.demotions import Demotions
from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.state import State
from adaptc.core.diagnostics import Diagnostic

_KEY = "proof"


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """A proof in figures.

    ``pages`` were proven, each at every level. Of all pages at all levels, ``broken`` broke a promise at first,
    ``left`` still do, ``unproven`` could not be judged, and ``as_above`` stay as they are at the level above.
    ``dropped`` counts passes of pages and files.
    """

    pages: int
    broken: int
    left: int
    unproven: int
    dropped: int
    as_above: int


def count_dropped(demotions: Demotions) -> tuple[int, int]:
    """Return how many passes are dropped, and how many pages, by level, are as they are at the level above."""
    names = [(unit[0], each.name) for unit, dropped in demotions.items() for each in dropped]
    as_above = sum(level == name for level, name in names)
    return len(names) - as_above, as_above


def store_proof(state: State, record: ProofRecord | None, diagnostics: Iterable[Diagnostic] = ()) -> None:
    """Store the proof of a build, or that it made none."""
    packed = (
        None if record is None else {"figures": asdict(record), "diagnostics": pack_diagnostics(tuple(diagnostics))}
    )
    state.set_meta(_KEY, packed)


def last_proof(state: State) -> ProofRecord | None:
    """Return the proof of the last build, ``None`` if it made none."""
    packed = state.meta(_KEY)
    return packed and ProofRecord(**packed["figures"])


def proof_diagnostics(state: State) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the proof of the last build."""
    packed = state.meta(_KEY)
    return unpack_diagnostics(packed["diagnostics"]) if packed else ()
