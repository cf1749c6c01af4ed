"""Which units are outdated, and why: what changed since the last build, and the reasons to build a unit.

A reason is a value that can be counted, compared and printed (``--explain``).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping

from adaptc.compile.analyse.decisions import (
    CHARACTERS,
    EVIDENCE,
    EXCESS,
    HOSTS,
    ICONS,
    LISTING,
    PIN,
    PLACEMENT,
    SCRIPTS,
    SOLE,
    TWOFOLD,
    UNUSED,
    USAGE,
    Decisions,
    changed_decisions,
    decision_rows,
)
from adaptc.compile.analyse.demotions import DEMOTION, demoted_unit
from adaptc.compile.analyse.popularity import UNRESTRICTED, Restriction
from adaptc.compile.engine.state.results import PRESENCE
from adaptc.compile.engine.state.state import State, Unit
from adaptc.config.rulebook import Level
from adaptc.core.diagnostics import printable
from adaptc.core.digest import digest_parts
from adaptc.core.libraries import NOT_INSTALLED
from adaptc.core.model import Resource
from adaptc.core.values import dataclass
from adaptc.site.source_table import LoadedFiles, read_files


@dataclass(frozen=True, slots=True)
class NeverBuilt:
    """There is no record of this unit: a new file, a new level, or an interrupted build."""

    def __str__(self) -> str:
        return "it was not built before"


@dataclass(frozen=True, slots=True)
class InputChanged:
    """The unit's own source has other content."""

    def __str__(self) -> str:
        return "its source changed"


@dataclass(frozen=True, slots=True)
class DependencyChanged:
    """A file that the unit depends on changed, appeared or disappeared."""

    path: str

    def __str__(self) -> str:
        return f"{printable(self.path)} changed, which it depends on"


@dataclass(frozen=True, slots=True)
class DecisionChanged:
    """A decision about the whole site that the unit depends on changed."""

    subject: str

    def __str__(self) -> str:
        return f"the decision about {printable(self.subject)} changed"


@dataclass(frozen=True, slots=True)
class EvidenceChanged:
    """What a browser saw of a page changed, or was seen for the first time."""

    path: str

    def __str__(self) -> str:
        return f"a browser sees something else on {printable(self.path)}"


@dataclass(frozen=True, slots=True)
class ProofChanged:
    """A proof in a browser drops other passes than before, of this unit or of one that it depends on."""

    level: str
    path: str

    def __str__(self) -> str:
        return f"a proof drops other passes of {printable(self.path)} at {printable(self.level)}"


@dataclass(frozen=True, slots=True)
class RecipeChanged:
    """The level's passes, their options, the configuration or the tool changed."""

    def __str__(self) -> str:
        return "the recipe changed (passes, options, configuration or version)"


@dataclass(frozen=True, slots=True)
class LibrariesChanged:
    """Libraries that the level depends on have other versions: ``changes`` are (name, version now, version then)."""

    changes: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        return "; ".join(f"{name} is {now} now, and was {then}" for name, now, then in self.changes)


@dataclass(frozen=True, slots=True)
class OutputMissing:
    """A file of the tree is missing or was changed."""

    path: str

    def __str__(self) -> str:
        return f"{printable(self.path)} is missing or was changed"


Reason = (
    NeverBuilt
    | InputChanged
    | DependencyChanged
    | DecisionChanged
    | EvidenceChanged
    | ProofChanged
    | RecipeChanged
    | LibrariesChanged
    | OutputMissing
)
REMOVED_FIRST = (InputChanged, DependencyChanged, ProofChanged)
"""With these reasons the files in the tree are wrong: they are removed before work starts."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything but the site that decides a level's bytes: a digest of ``settings``, and versions of libraries."""

    settings: str
    libraries: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest by which units are compared."""
        return digest_parts(self.settings, repr(sorted(self.libraries.items())))

    def below(self, above: Recipe) -> Recipe:
        """Return the recipe of a level whose files may be as they are at the level above."""
        return Recipe(digest_parts(self.settings, above.settings), {**above.libraries, **self.libraries})

    def reason_against(self, last: Recipe | None) -> Reason:
        """Return why what was made by another recipe, if that is known, is outdated."""
        if last is None or last.settings != self.settings:
            return _RECIPE_CHANGED
        names = sorted({*self.libraries, *last.libraries}, key=str.lower)
        pairs = (
            (name, self.libraries.get(name, NOT_INSTALLED), last.libraries.get(name, NOT_INSTALLED)) for name in names
        )
        return LibrariesChanged(tuple(each for each in pairs if each[1] != each[2]))


# The key of recipes by digest in the state, and how many of them are there at most: those of levels, and of some before
_RECIPES, _MOST_RECIPES = "recipes", 64


def record_recipes(state: State, recipes: Iterable[Recipe]) -> None:
    """Record what the recipes of units are, so that a later build can tell why they are outdated."""
    known = state.meta(_RECIPES) or {}
    new = {recipe.digest: [recipe.settings, dict(recipe.libraries)] for recipe in recipes}
    if not new.keys() <= known.keys():
        state.set_meta(
            _RECIPES, dict([*((key, known[key]) for key in known if key not in new), *new.items()][-_MOST_RECIPES:])
        )


def name_libraries(
    state: State, reasons: dict[Unit, Reason], built: Mapping[Unit, str], recipes: Mapping[str, Recipe]
) -> None:
    """Replace the reasons of units that are outdated by versions of libraries alone with reasons that name these."""
    known = {digest: Recipe(*recipe) for digest, recipe in (state.meta(_RECIPES) or {}).items()}
    named: dict[tuple[str, str], Reason] = {}
    for unit in [unit for unit, reason in reasons.items() if reason is _RECIPE_CHANGED]:
        level, last = unit[0], built[unit]
        if (level, last) not in named:
            named[level, last] = recipes[level].reason_against(known.get(last))
        reasons[unit] = named[level, last]


# Times of files move in steps of 10 ms at most (a kernel with HZ=100)
_TICK_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files of the docroot by what happened to them. ``touched`` files have another size, time or inode."""

    touched: tuple[str, ...]
    appeared: frozenset[str]
    disappeared: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.touched or self.appeared or self.disappeared)


def compare_files(now: Mapping[str, Resource], before: Mapping[str, tuple[Resource, str]]) -> FileChanges:
    """Compare files by what ``lstat`` reports."""
    appeared, disappeared = frozenset(missing(now, before)), frozenset(missing(before, now))
    found = read_files(now).items()
    touched = tuple(path for path, resource in found if path in appeared or _differ(before[path][0], resource))
    return FileChanges(touched, appeared, disappeared)


def _differ(before: Resource, now: Resource) -> bool:
    return before is not now and before != now  # most are the same object: loading takes over what it knows


def missing(paths: Mapping[str, object], others: Mapping[str, object]) -> Iterator[str]:
    """Yield the paths that are not among the others: a difference of keys would copy all of them first."""
    if isinstance(paths, LoadedFiles) and paths.known is others:
        return iter(())
    if isinstance(others, LoadedFiles) and others.known is paths:
        return iter(sorted(others.gone))
    if paths.keys() <= others.keys():  # in a tenth of the time
        return iter(())
    return (path for path in paths if path not in others)


def is_other_kind(old: Resource, new: Resource) -> bool:
    """Whether a file became another kind of resource: a link, or of another media type."""
    return (old.media_type, old.alias_of) != (new.media_type, new.alias_of)


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed, of the things that units may depend on.

    ``contents`` are paths whose content changed, or that appeared or disappeared; ``presence`` are paths that
    appeared, disappeared or changed their kind; ``decisions`` are keys of decisions.
    """

    contents: frozenset[str]
    presence: frozenset[str]
    decisions: frozenset[str] = frozenset()

    def keys(self) -> frozenset[str]:
        """Return the keys of the dependencies that changed."""
        return self.contents | self.decisions | {PRESENCE + path for path in self.presence}


def find_changes(
    resources: Mapping[str, Resource], read: Mapping[str, str], before: Mapping[str, tuple[Resource, str]]
) -> Changes:
    """Return what changed; ``read`` are the digests of the files that were read."""
    moved = frozenset((*missing(resources, before), *missing(before, resources)))
    changed_kind = {path for path in read if path in before and is_other_kind(resources[path], before[path][0])}
    contents = {path for path, digest in read.items() if path in before and before[path][1] != digest}
    # of a million files each set takes 64 MB: mostly nothing is to be added
    return Changes(moved | contents if contents else moved, moved | changed_kind if changed_kind else moved)


def racily_clean(resource: Resource, started: int) -> Resource:
    """Return the resource as the state records it (git calls the problem "racily clean").

    A file that was written after the build ``started`` may be written again within the same tick of the file system's
    clock, with the same size and time. It is recorded with a time that no file has, so that the next build reads it.
    """
    return resource._replace(mtime_ns=-1) if is_recent(resource.mtime_ns, started) else resource


def is_recent(mtime_ns: int, started: int) -> bool:
    """Whether a file of this time may be written again, after a build that ``started`` then, and keep its time."""
    return started - _TICK_NS < mtime_ns < time.time_ns() + _TICK_NS


def has_recent(times: Collection[int], started: int) -> bool:
    """Whether one of many files of these ``times`` is recent: mostly the youngest tells it."""
    return max(times, default=0) > started - _TICK_NS and any(is_recent(time, started) for time in times)


def outdated_units(
    state: State,
    built: Mapping[Unit, str] | None,
    changes: Changes,
    recipes: Mapping[str, str],
    resources: Mapping[str, Resource],
    restriction: Restriction = UNRESTRICTED,
    accepted_recipes: frozenset[str] = frozenset(),
) -> dict[Unit, Reason]:
    """Return the units to build and why.

    ``built`` are the recipes of the units in the state, ``None`` if these are just those of all ``resources`` by the
    ``recipes`` of all levels. A unit that was built by one of the ``accepted_recipes`` is up to date, too.

    Of several reasons it returns the one that makes the tree wrong; a change of the source itself comes before that of
    another file.
    """
    reasons: dict[Unit, Reason] = {}
    if built is not None:
        for level, recipe in recipes.items():
            paths = (path for path in resources if not restriction.excludes((level, path)))
            reasons.update(_unbuilt(built, level, {recipe, *accepted_recipes}, paths))
    affected = affected_units(state, changes, recipes) if built is None or built else {}
    known = (unit for unit in affected if built is None or unit in built)
    wanted = (unit for unit in known if unit[0] in recipes and unit[1] in resources)
    reasons.update({unit: affected[unit] for unit in wanted})
    _add_aliases(reasons, resources)
    for unit in [unit for unit in reasons if restriction.excludes(unit)]:
        del reasons[unit]
    return reasons


def affected_units(state: State, changes: Changes, levels: Iterable[str]) -> dict[Unit, Reason]:
    """Return the units of ``levels`` that changes make outdated, built or not, without aliases."""
    reasons: dict[Unit, Reason] = {}
    levels = list(levels)
    for key in sorted(changes.decisions):
        if key.startswith(DEMOTION):
            reasons.update(_proven_otherwise(state, *demoted_unit(key), levels))
        else:
            reasons.update(dict.fromkeys(state.units_of(key), _turned(key)))
    for path in sorted(changes.contents | changes.presence, reverse=True):
        reasons.update(dict.fromkeys(_dependents(state, path, changes), DependencyChanged(path)))
    for path in changes.contents | changes.presence:
        reasons.update(dict.fromkeys(((level, path) for level in levels), _INPUT_CHANGED))
    return reasons


def _proven_otherwise(state: State, level: str, path: str, levels: list[str]) -> dict[Unit, Reason]:
    """Return the units that depend on how ``path`` is made at a level: at this one, and at those below it."""
    below = levels[levels.index(level) :] if level in levels else []
    return {unit: ProofChanged(level, path) for unit in state.units_of(path) if unit[0] in below}


# One for all: a clean build has millions
_NEVER_BUILT, _RECIPE_CHANGED, _INPUT_CHANGED = NeverBuilt(), RecipeChanged(), InputChanged()


def _unbuilt(
    built: Mapping[Unit, str], level: str, recipes: Container[str], paths: Iterable[str]
) -> Iterator[tuple[Unit, Reason]]:
    """Yield those of ``paths`` that were not built at a level, or by none of the ``recipes``."""
    for path in paths:
        known = built.get((level, path))
        if known is None:
            yield (level, path), _NEVER_BUILT
        elif known not in recipes:
            yield (level, path), _RECIPE_CHANGED


def _dependents(state: State, path: str, changes: Changes) -> Iterable[Unit]:
    if path in changes.contents:
        yield from state.units_of(path)
    if path in changes.presence:
        yield from state.units_of(PRESENCE + path)


def _add_aliases(reasons: dict[Unit, Reason], resources: Mapping[str, Resource]) -> None:
    """Add the aliases of the units to build: they are, or may become, links to them."""
    aliases = aliases_of(read_files(resources).values())
    for level, path in [unit for unit in reasons if unit[1] in aliases]:
        for alias in aliases[path]:
            reasons.setdefault((level, alias), DependencyChanged(path))


def aliases_of(resources: Iterable[Resource]) -> dict[str, list[str]]:
    """Return the symbolic links by the files that they lead to."""
    aliases: dict[str, list[str]] = defaultdict(list)
    for resource in resources:
        if resource.alias_of is not None:
            aliases[resource.alias_of].append(resource.path)
    return dict(aliases)


def _turned(key: str) -> Reason:
    if key.startswith(EVIDENCE):
        return EvidenceChanged(key.removeprefix(EVIDENCE))
    return DecisionChanged(_OF_THE_SITE.get(key) or _subject(key))


_OF_THE_SITE = {
    CHARACTERS: "the characters of the site",
    HOSTS: "the header fields of pages",
    ICONS: "the icons of the site",
    SCRIPTS: "the scripts of the site",
}


def _subject(key: str) -> str:
    for prefix in (PLACEMENT, PIN, USAGE, SOLE, TWOFOLD, EXCESS, UNUSED, LISTING):
        key = key.removeprefix(prefix)
    return key


def record_decisions(state: State, decisions: Decisions) -> frozenset[str]:
    """Record decisions in the state; return the keys of those that changed."""
    rows = decision_rows(decisions)
    turned = changed_decisions(state.decisions(), rows)
    state.set_decisions(rows)
    return frozenset(turned)


def in_build_order(reasons: Mapping[Unit, Reason], levels: Iterable[Level]) -> dict[Unit, Reason]:
    """Sort units by path, and the levels of a path highest first: a level is compared with the one above it."""
    rank = {level.name: number for number, level in enumerate(levels)}
    return {unit: reasons[unit] for unit in sorted(reasons, key=lambda unit: (unit[1], rank[unit[0]]))}
