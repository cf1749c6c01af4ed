"""Decisions about the whole site, taken from the facts of all its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adaptc import media
from adaptc.analyse.facts import Facts
from adaptc.analyse.placement import DeliveryCost, Use, place_assets
from adaptc.engine.view import PIN, PLACEMENT, Decisions
from adaptc.model import Role
from adaptc.site import Source

_PLACED = frozenset({Role.STYLESHEET.value, Role.SCRIPT.value, Role.IMAGE.value})
_TEXTS = frozenset({media.CSS, media.JS})


@dataclass(slots=True)
class _Sums:
    """What the facts of all files add up to."""

    pages: int = 0
    uses: Counter[str] = field(default_factory=Counter)
    pinned: set[str] = field(default_factory=set)
    transfer: dict[str, int] = field(default_factory=dict)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, path: str, facts: Facts, media_type: str) -> None:
        if media_type == media.HTML:
            self.pages += 1
            self.pinned.update(facts.pinned)
            self.uses.update({target for role, target in facts.embeds if role in _PLACED})
        elif media_type in _TEXTS:
            self.transfer[path] = facts.transfer
            self.imports[path] = tuple(target for role, target in facts.embeds if role == Role.IMPORT.value)


def decide(
    facts: Iterable[tuple[str, Facts]], sources: Mapping[str, Source], cost: DeliveryCost, largest_image: int
) -> Decisions:
    """Decide where each shared asset lives and which are pinned. Images above ``largest_image`` bytes stay files."""
    sums = _Sums()
    for path, found in facts:
        sums.add(path, found, sources[path].media_type)
    uses = {}
    for path, pages in sums.uses.items():
        if path not in sources:  # it could not be read
            continue
        size = _size(path, sums, sources[path])
        if size is not None and (path in sums.transfer or size <= largest_image):
            uses[path] = Use(size, pages)
    return Decisions(place_assets(uses, sums.pages, cost), frozenset(sums.pinned))


def _size(path: str, sums: _Sums, source: Source) -> int | None:
    if path not in sums.transfer:
        return source.size if source.media_type.startswith("image/") else None
    closure, pending = {path}, [path]
    while pending:
        for imported in sums.imports[pending.pop()]:
            if imported in sums.transfer and imported not in closure:
                closure.add(imported)
                pending.append(imported)
    return sum(sums.transfer[one] for one in closure)


def decision_rows(decisions: Decisions) -> dict[str, tuple[bool, str]]:
    """Return decisions by dependency key: (the decision, the figures behind it)."""
    rows = {PLACEMENT + path: (one.inline, one.reason) for path, one in decisions.placements.items()}
    return rows | {PIN + path: (True, "an integrity attribute fixes its bytes") for path in decisions.pinned}


def changed_decisions(before: Mapping[str, tuple[bool, str]], now: Mapping[str, tuple[bool, str]]) -> set[str]:
    """Return the keys of decisions that came, went or turned; other figures with the same result do not count."""
    turned = {key for key in before.keys() & now.keys() if before[key][0] != now[key][0]}
    gone_or_new = before.keys() ^ now.keys()
    default = (False, "")
    return turned | {key for key in gone_or_new if (before.get(key) or now.get(key) or default)[0]}
