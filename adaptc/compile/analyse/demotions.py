"""Which passes are dropped for a page or file, since a browser showed that a level would break its promise by them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping

from adaptc.core.diagnostics import printable
from adaptc.core.digest import digest_parts
from adaptc.core.values import dataclass

# The prefix of the keys of decisions on passes: a level and a path follow. No unit records a dependency on it: what
# depends on the content of the path depends on how it was made, at this level and those below.
DEMOTION = "/demotion/"


@dataclass(frozen=True, slots=True)
class Demotion:
    """A pass that is dropped, and what it breaks.

    Where ``name`` is that of the level, a page stays as it is at the level above.
    """

    name: str
    reason: str


# By level and path, in the order in which they were found
Demotions = Mapping[tuple[str, str], tuple[Demotion, ...]]

NO_DEMOTIONS: Demotions = {}


def demotion_key(level: str, path: str) -> str:
    """Return the key of the decision on the passes of a unit."""
    return f"{DEMOTION}{level}/{path}"


def demoted_unit(key: str) -> tuple[str, str]:
    """Return the level and the path of a key."""
    level, _, path = key.removeprefix(DEMOTION).partition("/")
    return level, path


def demotion_rows(demotions: Demotions, digits: int) -> dict[str, tuple[int, str]]:
    """Return the rows of decisions: the whole number is made of ``digits`` digits, in hexadecimal, of a digest."""
    rows = {}
    for (level, path), dropped in demotions.items():
        text = json.dumps([[each.name, each.reason] for each in dropped])
        rows[demotion_key(level, path)] = (int(digest_parts(text)[:digits], 16), text)
    return rows


def demotions_of(rows: Mapping[str, tuple[int, str]]) -> dict[tuple[str, str], tuple[Demotion, ...]]:
    """Return the demotions in the decisions of a build."""
    return {
        demoted_unit(key): tuple(Demotion(name, reason) for name, reason in json.loads(text))
        for key, (_, text) in rows.items()
        if key.startswith(DEMOTION)
    }


def with_demotions(demotions: Demotions, added: Iterable[tuple[tuple[str, str], Demotion]]) -> Demotions:
    """Return demotions with others added, sorted by unit; the order of ``added`` does not matter."""
    result = dict(demotions)
    for unit, demotion in sorted(added, key=lambda each: (each[0], each[1].name, each[1].reason)):
        known = result.get(unit, ())
        if demotion.name not in {each.name for each in known}:
            result[unit] = (*known, demotion)
    return dict(sorted(result.items()))


def for_pages_like(
    demotions: Demotions, proven: Collection[str], pages_like: Callable[[str], Iterable[str]]
) -> Demotions:
    """Return demotions with those of ``proven`` pages for the pages like them that were not proven.

    A page of the same template would break the same promise, as far as anybody knows; that another proven page keeps it
    says less of the pages at which nobody looked than one that does not.
    """
    return with_demotions(
        demotions,
        (
            ((level, other), Demotion(each.name, f"a page like it, {printable(path)}, {each.reason}"))
            for (level, path), dropped in demotions.items()
            if path in proven
            for other in pages_like(path)
            if other not in proven
            for each in dropped
        ),
    )


def changed_paths(before: Demotions, now: Demotions) -> frozenset[str]:
    """Return the paths of which other passes are dropped."""
    return frozenset(unit[1] for unit in before.keys() | now.keys() if before.get(unit) != now.get(unit))
