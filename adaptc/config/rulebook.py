"""Levels are data: one TOML file each in the package ``adaptc.rules``, with the user's overrides over it.

A level is an ordered list of passes with options. The ladder's numbers are those of Abdelzaher and Bhatti:
the highest is the full site, 0 is reject (no tree at all); a level without a number stands beside the ladder.
``[levels.NAME]`` of ``adaptc.toml`` changes a level::

    [levels.lossless]
    skip = ["inline-scripts"]            # passes that are left out
    [levels.lossless.images]
    target = 0.98                        # an option of a pass

or makes one of the user's own, which ``extends`` another and may give the whole list with ``passes = [...]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from adaptc.config.toml import KeyPath, TomlSource, nearest, parse_toml, shown
from adaptc.core.diagnostics import UsageError

# What a level promises: the page looks and behaves the same, keeps its words, or keeps its article.
PROMISES = ("same", "words", "article")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass: its default, and what else may be given, as types and as single values.

    ``Option("exact", "exact", float)`` takes the word "exact" or a number.
    """

    default: Any
    allowed: tuple[Any, ...]

    def __init__(self, default: Any, *allowed: Any) -> None:
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "allowed", allowed or (type(default),))

    def fits(self, value: Any) -> bool:
        """Tell whether ``value`` may be given. A whole number is a number; true and false are not numbers."""
        kinds = [float, int] if type(value) is int else [type(value)]
        return any(one in kinds if isinstance(one, type) else _same(one, value) for one in self.allowed)

    def wanted(self) -> str:
        """Return what may be given, in words: ``"exact" or a number``."""
        return " or ".join(_NAMES.get(one, repr(one)) if isinstance(one, type) else shown(one) for one in self.allowed)


def _same(one: Any, value: Any) -> bool:
    return type(one) is type(value) and bool(one == value)


_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}


# Options of each pass by pass name: a default, or an Option where more than the default's type is meant.
PassTable = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PassUse:
    """A pass as a level uses it: its name and its options, all of them, sorted by name."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str) -> Any:
        """Return the value of an option. Raises ``KeyError`` if the pass has none of this name."""
        return dict(self.options)[name]


@dataclass(frozen=True, slots=True)
class Level:
    """A step of the ladder. ``number`` is its rank (1 and up), ``None`` for a level beside the ladder.

    ``promise`` is one of ``PROMISES``.
    """

    name: str
    number: int | None
    title: str
    promise: str
    passes: tuple[PassUse, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A level while it is put together: the options of each pass in the order the passes run."""

    name: str
    number: int | None = None
    title: str = ""
    promise: str = "same"
    passes: dict[str, dict[str, Any]] = field(default_factory=dict)


def load_levels(overrides: TomlSource | None = None, known_passes: PassTable | None = None) -> dict[str, Level]:
    """Return the levels that ship and the user's, by name: highest number first, those beside the ladder last.

    ``overrides`` is ``Config.levels``. ``known_passes`` gives each pass's options; None leaves pass names
    and options unchecked and defaults unfilled. Raises ``UsageError`` that names every mistake, one a line,
    with file and line.
    """
    user = overrides or TomlSource()
    shop = _Workshop(user, known_passes)
    drafts = {source.values["level"]["name"]: _shipped_draft(source, shop) for source in shipped_sources()}
    for name in _by_dependency(user, drafts, shop):
        drafts[name] = _user_draft(name, drafts, shop)
    if shop.problems:
        raise UsageError("\n".join(shop.problems))
    levels = [_level(draft, known_passes) for draft in drafts.values()]
    return {level.name: level for level in sorted(levels, key=lambda level: (-(level.number or 0), level.name))}


def choose_levels(names: Iterable[str], levels: Mapping[str, Level]) -> tuple[Level, ...]:
    """Return the levels of these names, in the order of ``levels``. Raises ``UsageError`` for other names."""
    wanted = tuple(names)
    unknown = [name for name in wanted if name not in levels]
    if unknown:
        raise UsageError("\n".join(f"there is no level {name}{nearest(name, levels)}" for name in unknown))
    return tuple(level for name, level in levels.items() if name in wanted)


@cache
def shipped_sources() -> tuple[TomlSource, ...]:
    """Return the level files of the package: those with a ``[level]`` table, sorted by file name."""
    from importlib import resources

    folder = resources.files("adaptc.rules")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    sources = [parse_toml(file.read_text("utf-8"), f"rules/{file.name}") for file in files]
    return tuple(source for source in sources if "level" in source.values)


@dataclass(slots=True)
class _Workshop:
    """What checking needs: the user's tables, the passes that there are, the problems found so far."""

    user: TomlSource
    known_passes: PassTable | None
    problems: list[str] = field(default_factory=list)

    def refuse(self, source: TomlSource, place: KeyPath, problem: str) -> None:
        self.problems.append(source.complaint(place, problem))

    def accepts_pass(self, source: TomlSource, place: KeyPath, name: str) -> bool:
        """Tell whether there is a pass of this name; else note the problem."""
        if self.known_passes is None or name in self.known_passes:
            return True
        self.refuse(source, place, f"there is no pass {name}{nearest(name, self.known_passes)}")
        return False

    def options(self, source: TomlSource, place: KeyPath, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that a pass takes; note a problem for each of the others."""
        if self.known_passes is None:
            return dict(given)
        known = {key: as_option(value) for key, value in self.known_passes.get(name, {}).items()}
        for key, value in given.items():
            problem = _option_problem(name, key, value, known)
            if problem:
                self.refuse(source, (*place, key), problem)
        return dict(given)


def as_option(value: Any) -> Option:
    """Return an entry of a pass table as an ``Option``: a bare value is a default."""
    return value if isinstance(value, Option) else Option(value)


def _option_problem(name: str, key: str, value: Any, known: Mapping[str, Option]) -> str | None:
    if key not in known:
        return f"pass {name} has no option {key}{nearest(key, known)}"
    if not known[key].fits(value):
        return f"option {key} of pass {name} must be {known[key].wanted()}, not {shown(value)}"
    return None


# ---- level files of the package

_LEVEL_KEYS: dict[str, Option] = {
    "name": Option("", str),
    "number": Option(1, int),
    "title": Option("", str),
    "promise": Option("same", *PROMISES),
}


def _shipped_draft(source: TomlSource, shop: _Workshop) -> _Draft:
    """Read a level file. Its mistakes are told like a user's, for who changes the files of the package."""
    table = dict(source.values["level"])
    _check_heads(source, ("level",), table, _LEVEL_KEYS, shop)
    passes: dict[str, dict[str, Any]] = {}
    for position, entry in enumerate(source.values.get("pass", ())):
        place: KeyPath = ("pass", position)
        options = {key: value for key, value in entry.items() if key != "name"}
        if shop.accepts_pass(source, place, entry["name"]):
            passes[entry["name"]] = shop.options(source, place, entry["name"], options)
    return _Draft(**table, passes=passes)


def _check_heads(
    source: TomlSource, place: KeyPath, table: Mapping[str, Any], known: Mapping[str, Option], shop: _Workshop
) -> None:
    for key, value in table.items():
        if key not in known:
            shop.refuse(source, (*place, key), f"unknown key {key}{nearest(key, known)}")
        elif not known[key].fits(value):
            shop.refuse(source, (*place, key), f"{key} must be {known[key].wanted()}, not {shown(value)}")
    if not _whole(table.get("number", 1)) >= 1:
        shop.refuse(source, (*place, "number"), "number must be 1 or more: 0 is reject, which has no tree")


def _whole(value: Any) -> int:
    return value if type(value) is int else 1


# ---- the user's levels

_USER_KEYS: dict[str, Option] = {
    **{key: option for key, option in _LEVEL_KEYS.items() if key != "name"},
    "extends": Option("", str),
    "skip": Option([], list),
    "passes": Option([], list),
}

# A level's name is a directory of the output and a word in server configuration; "reject" is level 0.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_RESERVED = ("reject",)


def _by_dependency(user: TomlSource, drafts: Mapping[str, _Draft], shop: _Workshop) -> Iterator[str]:
    """Yield the names of the user's tables so that a level comes after the one it extends."""
    waiting = {name: table for name, table in user.values.items() if _is_sound(name, table, drafts, shop)}
    made = set(drafts) - set(waiting)
    while waiting:
        ready = [name for name, table in waiting.items() if _base(name, table, drafts) in {*made, None}]
        if not ready:
            _refuse_bases(waiting, {*made, *waiting}, shop)
            return
        for name in ready:
            del waiting[name]
            made.add(name)
            yield name


def _base(name: str, table: Mapping[str, Any], drafts: Mapping[str, _Draft]) -> str | None:
    """Return the other level that a table starts from; None if it ships or starts from nothing."""
    return None if name in drafts else table.get("extends") or None


def _refuse_bases(waiting: Mapping[str, Mapping[str, Any]], known: Iterable[str], shop: _Workshop) -> None:
    for name, table in waiting.items():
        base = table["extends"]
        is_cycle = base in waiting
        problem = "closes a cycle" if is_cycle else f"is no level{nearest(base, known)}"
        shop.refuse(shop.user, (name, "extends"), f"levels.{name}: extends {base}, which {problem}")


def _is_sound(name: str, table: Any, drafts: Mapping[str, _Draft], shop: _Workshop) -> bool:
    before = len(shop.problems)
    for problem in _table_problems(name, table, drafts):
        shop.refuse(shop.user, (name,), problem)
    if len(shop.problems) > before:
        return False
    heads = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    _check_heads(shop.user, (name,), heads, _USER_KEYS, shop)
    for key in ("skip", "passes"):
        if not all(isinstance(word, str) for word in _sequence(table.get(key))):
            shop.refuse(shop.user, (name, key), f"levels.{name}.{key} must be a list of pass names")
    return len(shop.problems) == before


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _table_problems(name: str, table: Any, drafts: Mapping[str, _Draft]) -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield f"levels.{name} must be a table, not {shown(table)}"
    elif not _NAME.fullmatch(name) or name in _RESERVED:
        yield f'a level cannot be called "{name}": small letters, digits and -, 32 at most, and not reject'
    elif name in drafts and table.get("extends"):
        yield f"level {name} ships with adaptc and cannot extend another: name a level of your own otherwise"
    elif name not in drafts and not table.get("extends") and "number" not in table:
        yield f"level {name} needs extends (the level it starts from) or a number of its own"


def _user_draft(name: str, drafts: Mapping[str, _Draft], shop: _Workshop) -> _Draft:
    table = shop.user.values[name]
    base = drafts.get(_base(name, table, drafts) or name, _Draft(name))
    passes = _options_over(name, table, _chosen_passes(name, table, base, shop), shop)
    title = base.title if name == base.name else f"{base.title} (changed)"
    return _Draft(
        name,
        table.get("number", base.number),
        table.get("title", title),
        table.get("promise", base.promise),
        passes,
    )


def _chosen_passes(name: str, table: Mapping[str, Any], base: _Draft, shop: _Workshop) -> dict[str, dict[str, Any]]:
    """Return the passes of the base, or those that ``passes`` lists, without those of ``skip``."""
    for position, word in enumerate(table.get("passes", ())):
        shop.accepts_pass(shop.user, (name, "passes", position), word)
    listed = {word: base.passes.get(word, {}) for word in table.get("passes", base.passes)}
    for word in table.get("skip", ()):
        if word not in listed:
            problem = f"levels.{name}.skip: level {base.name} has no pass {word}{nearest(word, listed)}"
            shop.refuse(shop.user, (name, "skip"), problem)
    return {word: options for word, options in listed.items() if word not in table.get("skip", ())}


def _options_over(
    name: str, table: Mapping[str, Any], passes: dict[str, dict[str, Any]], shop: _Workshop
) -> dict[str, dict[str, Any]]:
    over = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    for word in [word for word in over if word not in passes]:
        problem = f"level {name} has no pass {word}{nearest(word, passes)}; add it with levels.{name}.passes"
        shop.refuse(shop.user, (name, word), problem)
    return {
        word: {**options, **shop.options(shop.user, (name, word), word, over.get(word, {}))}
        for word, options in passes.items()
    }


def _level(draft: _Draft, known_passes: PassTable | None) -> Level:
    uses = tuple(_use(name, options, known_passes) for name, options in draft.passes.items())
    return Level(draft.name, draft.number, draft.title, draft.promise, uses)


def _use(name: str, given: Mapping[str, Any], known_passes: PassTable | None) -> PassUse:
    table = (known_passes or {}).get(name, {})
    options = {**{key: as_option(value).default for key, value in table.items()}, **given}
    return PassUse(name, tuple((key, _frozen(value)) for key, value in sorted(options.items())))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
