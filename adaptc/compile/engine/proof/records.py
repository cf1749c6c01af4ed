"""What the last build proved, in its state: figures, pictures, and the diagnostics of what could not be mended."""

from __future__ import annotations

from collections.abc import Iterable

from adaptc.compile.analyse.demotions import Demotions
from adaptc.compile.engine.state.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.state.state import State
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.values import asdict, astuple, dataclass

_KEY = "proof"


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """A proof in figures.

    ``pages`` were proven, each at every level. Of all pages at all levels, ``broken`` broke a promise at first,
    ``left`` still do, ``unproven`` could not be judged, and ``as_above`` stay as they are at the level above.
    ``dropped`` counts passes of pages and files; ``alike`` pages that were not proven are built without passes, too,
    since they share the template of a page that broke a promise by them.
    """

    pages: int
    broken: int
    left: int
    unproven: int
    dropped: int
    as_above: int
    alike: int = 0


@dataclass(frozen=True, slots=True)
class ProvenView:
    """A page at a level and a width: what differs, in sentences, or why it is not proven; nothing if all is kept.

    ``pictures`` are the digests of two WebP images in the cache, of the original and of the level, or there are none.
    """

    page: str
    level: str
    width: int
    problems: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


def count_dropped(demotions: Demotions) -> tuple[int, int]:
    """Return how many passes are dropped, and how many pages, by level, are as they are at the level above."""
    names = [(unit[0], each.name) for unit, dropped in demotions.items() for each in dropped]
    as_above = sum(level == name for level, name in names)
    return len(names) - as_above, as_above


def store_proof(
    state: State, record: ProofRecord | None, diagnostics: Iterable[Diagnostic] = (), views: Iterable[ProvenView] = ()
) -> None:
    """Store the proof of a build, or that it made none."""
    packed = record and {
        "figures": asdict(record),
        "diagnostics": pack_diagnostics(tuple(diagnostics)),
        "views": [astuple(view) for view in views],
    }
    state.set_meta(_KEY, packed)


def last_proof(state: State) -> ProofRecord | None:
    """Return the proof of the last build, ``None`` if it made none."""
    packed = state.meta(_KEY)
    return packed and ProofRecord(**packed["figures"])


def proven_views(state: State) -> tuple[ProvenView, ...]:
    """Return what the last build saw of the first pages that it proved."""
    packed = state.meta(_KEY)
    views = packed["views"] if packed else ()
    return tuple(ProvenView(*view[:3], *map(tuple, view[3:])) for view in views)


def proof_diagnostics(state: State) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the proof of the last build."""
    packed = state.meta(_KEY)
    return unpack_diagnostics(packed["diagnostics"]) if packed else ()
