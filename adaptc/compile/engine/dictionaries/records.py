"""What the state has of the dictionaries of levels. Nothing that this module imports parses or encodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from adaptc.core.digest import digest_parts
from adaptc.core.libraries import identify
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.formats import codings

if TYPE_CHECKING:
    from adaptc.compile.engine.spec import BuildSpec
    from adaptc.compile.engine.state.state import State

_META = "dictionaries"
_SETTINGS = "dictionary settings"


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """What the state has of a level: its dictionary, or the reason for none, and what visitors receive with it.

    ``path``, ``digest`` and ``size`` are those of the dictionary, ``sent`` its bytes in the best coding; there is none
    where ``path`` is ``None``. ``first`` and ``next`` are mean bytes of a page (of a view, where there are logs) in the
    best coding, for visitors without and with the dictionary. ``changed`` is the number of pages that were built since
    the last search, which ``key`` identifies.
    """

    path: str | None
    digest: str | None
    size: int
    sent: int
    reason: str
    first: float
    next: float
    changed: int
    key: str


def dictionary_records(state: State) -> dict[str, LevelRecord]:
    """Return the records by level; none where dictionaries are off."""
    return {level: LevelRecord(**record) for level, record in (state.meta(_META) or {}).items()}


def store_records(state: State, records: Mapping[str, LevelRecord], spec: BuildSpec) -> None:
    """Replace the records, which have been made as ``spec`` asks."""
    packed = {level: dataclasses.asdict(record) for level, record in records.items()}
    state.set_meta(_META, packed or None)
    state.set_meta(_SETTINGS, _settings_of(spec))


def are_as_asked(state: State, spec: BuildSpec) -> bool:
    """Return whether the settings of dictionaries are those of the last build."""
    return bool(state.meta(_SETTINGS) == _settings_of(spec))


def search_key(spec: BuildSpec) -> str:
    """Return a digest of what the result of a search depends on, apart from the pages."""
    from adaptc.compile.analyse.dictionary_search import VERSION as SEARCH

    # it is searched by its size in Brotli, and that of pages encoded with it
    used = codings.libraries((*spec.codings, "br", "zst"), spec.coding_effort)
    recipe = (codings.RECIPE, identify(used), spec.coding_effort, repr(spec.codings))
    return digest_parts(SEARCH, VERSION, *recipe, repr(spec.cost))


def _settings_of(spec: BuildSpec) -> str | None:
    asked = spec.config.codings
    return digest_parts(search_key(spec), str(asked.versions_back)) if asked.dictionaries else None
