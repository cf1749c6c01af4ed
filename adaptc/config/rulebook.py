"""Levels are data: one TOML file each in the package ``adaptc.rules``, with the user's overrides over it.

A level is an ordered list of passes with options. The ladder's numbers are those of Abdelzaher and Bhatti:
the highest is the full site, 0 is reject (no tree at all); a level without a number is next to the ladder.
``[levels.NAME]`` of ``adaptc.toml`` changes a level::

    [levels.lossless]
    skip = ["inline-scripts"]            # passes that are left out
    [levels.lossless.images]
    target = 0.98                        # an option of a pass

or makes a level of the user's own, which ``extends`` another and may give the whole list with ``passes = [...]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from adaptc.config.schema import Check, InvalidSetting, Schema, Wording, any_of, read_table, refuse
from adaptc.config.toml import KeyPath, TomlSource, nearest, nearest_or_all, parse_toml, shown
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import package_file
from adaptc.core.values import dataclass, field, replace

# What a level promises: the page looks and behaves the same, keeps its words, or keeps its article.
PROMISES = ("same", "words", "article")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass: its default, and the check of a value that is set.

    ``Option("exact", "exact", float)`` allows the word "exact" and numbers; without types and values, those of the
    default's type are allowed.
    """

    default: Any
    check: Check

    def __init__(self, default: Any, *allowed: Any) -> None:
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "check", any_of(*(allowed or (type(default),))))

    @classmethod
    def checked(cls, default: Any, check: Check) -> Option:
        """Return an option whose values a check allows, or turns into others."""
        option = cls(default)
        object.__setattr__(option, "check", check)
        return option


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
    """A step of the ladder. ``number`` is its rank (1 and up), ``None`` for a level next to the ladder.

    ``promise`` is one of ``PROMISES``. ``instead`` are levels as which a page is made where that costs less: in bytes,
    ``request`` of them for a request, and ``price`` for a harm of 1. ``bases`` are the names of the levels that it
    extends, the nearest first.
    """

    name: str
    number: int | None
    title: str
    promise: str
    passes: tuple[PassUse, ...] = ()
    instead: tuple[Level, ...] = ()
    price: float = 0.0
    request: float = 0.0
    bases: tuple[str, ...] = ()

    @property
    def lineage(self) -> tuple[str, ...]:
        """Its name and those of the levels that it extends, the nearest first."""
        return (self.name, *self.bases)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A level while it is put together: the options of each pass in the order the passes run.

    ``instead`` are names.
    """

    name: str
    number: int | None = None
    title: str = ""
    promise: str = "same"
    passes: dict[str, dict[str, Any]] = field(default_factory=dict)
    instead: tuple[str, ...] = ()
    price: float = 0.0
    request: float = 0.0
    bases: tuple[str, ...] = ()


def load_levels(overrides: TomlSource | None = None, known_passes: PassTable | None = None) -> dict[str, Level]:
    """Return the levels that ship and the user's, by name: highest number first, those next to the ladder last.

    ``overrides`` is ``Config.levels``. ``known_passes`` has each pass's options; without it pass names and options are
    not checked and defaults not filled in. Raises ``UsageError`` that names every mistake, one a line, with file and
    line.
    """
    reader = _LevelReader(overrides or TomlSource(), known_passes)
    drafts: dict[str, _Draft] = {}
    for source in sorted(shipped_sources(), key=lambda source: "extends" in source.values["level"]):
        drafts[source.values["level"]["name"]] = _shipped_draft(source, drafts, reader)
    for name in _by_dependency(drafts, reader):
        drafts[name] = _user_draft(name, drafts, reader)
    plain = {name: _level(draft, known_passes) for name, draft in drafts.items()}
    levels = [_with_alternatives(level, drafts[name].instead, plain, reader) for name, level in plain.items()]
    refuse(reader.problems)
    return {level.name: level for level in sorted(levels, key=lambda level: (-(level.number or 0), level.name))}


def choose_levels(names: Iterable[str], levels: Mapping[str, Level]) -> tuple[Level, ...]:
    """Return the levels of these names, in the order of ``levels``. Raises ``UsageError`` for other names."""
    wanted = tuple(names)
    unknown = [name for name in wanted if name not in levels]
    if unknown:
        raise UsageError("\n".join(f"there is no level {name}{nearest_or_all(name, levels)}" for name in unknown))
    return tuple(level for name, level in levels.items() if name in wanted)


@cache
def shipped_sources() -> tuple[TomlSource, ...]:
    """Return the level files of the package: those with a ``[level]`` table, sorted by file name."""
    files = sorted(package_file("adaptc.rules", "").glob("*.toml"))
    texts = {f"rules/{file.name}": file.read_text("utf-8") for file in files}
    return tuple(parse_toml(text, name) for name, text in texts.items() if "\n[level]\n" in f"\n{text}")


@dataclass(slots=True)
class _LevelReader:
    """The user's tables and the passes that exist, with the mistakes that were seen."""

    user: TomlSource
    known_passes: PassTable | None
    problems: list[str] = field(default_factory=list)

    def report(self, place: KeyPath, problem: str, source: TomlSource | None = None) -> None:
        """Note a mistake of the user's tables, or of ``source``."""
        self.problems.append((source or self.user).complaint(place, problem))

    def check(self, source: TomlSource, schema: Schema, wording: Wording | None = None) -> None:
        """Compare a table with its schema and note the mistakes."""
        self.problems.extend(read_table(source, schema, wording=wording).problems)

    def has_pass(self, source: TomlSource, place: KeyPath, name: str) -> bool:
        """Tell whether there is a pass of this name; else note the mistake."""
        if self.known_passes is None or name in self.known_passes:
            return True
        self.report(place, f"there is no pass {name}{_gone(name) or nearest(name, self.known_passes)}", source)
        return False

    def options(self, source: TomlSource, name: str) -> dict[str, Any]:
        """Return the options of a pass that ``source`` has, and note the mistakes in them."""
        if self.known_passes is None:
            return dict(source.values)
        schema = {key: as_option(value).check for key, value in self.known_passes.get(name, {}).items()}
        reading = read_table(source, schema, Path(source.name).parent, _option_wording(name))
        self.problems.extend(reading.problems)
        return reading.values


def as_option(value: Any) -> Option:
    """Return an entry of a pass table as an ``Option``: a bare value is a default."""
    return value if isinstance(value, Option) else Option(value)


def _option_wording(name: str) -> Wording:
    return Wording(
        lambda key: f"pass {name} has no option {key}{_gone(f'{name}.{key}')}",
        lambda key: f"option {key} of pass {name}",
        lambda key, known: "" if _gone(f"{name}.{key}") else nearest(key, known),
    )


_COMPOSED = "its pages are composed now, see the options of the pass compose"
# What there was before pages without scripts were composed: a pass, or an option of one, and what there is instead
_GONE = {
    "remove-scripts": "pages without scripts are composed now, by the pass compose",
    "unembed": "pages without scripts are composed now, by the pass compose",
    "reading": "it is the pass compose now",
    "strip.keep": "pages with their logo and story alone are composed now, by the pass compose",
    "strip-sheets.keep": "pages with their logo and story alone are composed now, by the pass compose",
    "half-images.kind": "the pass compose makes smaller copies",
    "used-styles.loads": "sheets keep what they load; pages without are composed now, by the pass compose",
    "compose.pages": "all pages are composed; without compose there is no edition without scripts",
}
_EDITING = frozenset({"strip", "half-images", "inline-images", "used-styles"})  # passes that extreme had


def _gone(name: str, level: str = "") -> str:
    """Return what there is instead of a pass or an option that there was, ``""`` for other names."""
    instead = _GONE.get(name) or (_COMPOSED if level == "extreme" and name in _EDITING else "")
    return f": {instead}" if instead else ""


# ---- level files of the package


def _number(value: Any, base: Path) -> int:
    if any_of(int)(value, base) < 1:
        raise InvalidSetting("must be 1 or more: 0 is reject, which has no tree")
    return int(value)


_LEVEL_KEYS: Schema = {
    "name": any_of(str),
    "number": _number,
    "title": any_of(str),
    "promise": any_of(*PROMISES),
    "extends": any_of(str),
}


def _shipped_draft(source: TomlSource, drafts: Mapping[str, _Draft], reader: _LevelReader) -> _Draft:
    """Read a level file of the package. Its mistakes are reported like a user's, for developers.

    With ``extends`` it has promise and passes of another in ``drafts``; options in the file are set over those.
    """
    reader.check(source.below("level"), _LEVEL_KEYS)
    level = dict(source.values["level"])
    base = drafts[level.pop("extends")] if "extends" in level else _Draft(level["name"])
    passes = {name: dict(options) for name, options in base.passes.items()}
    for position, entry in enumerate(source.values.get("pass", ())):
        place: KeyPath = ("pass", position)
        options = {key: value for key, value in entry.items() if key != "name"}
        if reader.has_pass(source, place, entry["name"]):
            passes.setdefault(entry["name"], {}).update(reader.options(source.part(place, options), entry["name"]))
    return _Draft(**{"promise": base.promise, **level}, passes=passes, bases=_bases(level["name"], base))


def _bases(name: str, base: _Draft) -> tuple[str, ...]:
    """Return the names of the levels that a level extends, given the draft that it starts from."""
    return base.bases if name == base.name else (base.name, *base.bases)


# ---- the user's levels

_USER_KEYS: Schema = {
    **{key: check for key, check in _LEVEL_KEYS.items() if key != "name"},
    "skip": any_of(list),
    "passes": any_of(list),
    "instead": any_of(list),
    "price": any_of(float),
    "request": any_of(float),
}

# A level's name is a directory of the output and a word in server configuration; "reject" is level 0.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_RESERVED = ("reject",)


def _by_dependency(drafts: Mapping[str, _Draft], reader: _LevelReader) -> Iterator[str]:
    """Yield the names of the user's tables so that a level comes after the one it extends."""
    waiting = {name: table for name, table in reader.user.values.items() if _is_valid(name, table, drafts, reader)}
    ready = set(drafts) - set(waiting)
    while waiting:
        names = [name for name, table in waiting.items() if _base(name, table, drafts) in {*ready, None}]
        if not names:
            _report_bases(waiting, {*ready, *waiting}, reader)
            return
        for name in names:
            del waiting[name]
            ready.add(name)
            yield name


def _base(name: str, table: Mapping[str, Any], drafts: Mapping[str, _Draft]) -> str | None:
    """Return the other level that a table starts from; None if it ships or starts from nothing."""
    return None if name in drafts else table.get("extends") or None


def _report_bases(waiting: Mapping[str, Mapping[str, Any]], known: Iterable[str], reader: _LevelReader) -> None:
    for name, table in waiting.items():
        base = table["extends"]
        problem = "closes a cycle" if base in waiting else f"is no level{nearest(base, known)}"
        reader.report((name, "extends"), f"levels.{name}: extends {base}, which {problem}")


def _is_valid(name: str, table: Any, drafts: Mapping[str, _Draft], reader: _LevelReader) -> bool:
    before = len(reader.problems)
    for problem in _table_problems(name, table, drafts):
        reader.report((name,), problem)
    if len(reader.problems) == before:
        keys = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
        reader.check(reader.user.part((name,), keys), _USER_KEYS)
        for key, kind in (("skip", "pass"), ("passes", "pass"), ("instead", "level")):
            if isinstance(table.get(key), list) and not all(isinstance(word, str) for word in table[key]):
                reader.report((name, key), f"levels.{name}.{key} must be a list of {kind} names")
    return len(reader.problems) == before


def _table_problems(name: str, table: Any, drafts: Mapping[str, _Draft]) -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield f"levels.{name} must be a table, not {shown(table)}"
    elif not _NAME.fullmatch(name) or name in _RESERVED:
        yield f'a level cannot be called "{name}": small letters, digits and -, 32 at most, and not reject'
    elif name in drafts and table.get("extends"):
        yield f"level {name} ships with adaptc and cannot extend another: name a level of your own otherwise"
    elif name not in drafts and not table.get("extends") and "number" not in table:
        yield f"level {name} needs extends (the level it starts from) or a number of its own"


def _user_draft(name: str, drafts: Mapping[str, _Draft], reader: _LevelReader) -> _Draft:
    table = reader.user.values[name]
    base = drafts.get(_base(name, table, drafts) or name, _Draft(name))
    passes = _with_options(name, base.name, table, _chosen_passes(name, table, base, reader), reader)
    title = base.title if name == base.name else f"{base.title} (changed)"
    return _Draft(
        name,
        table.get("number", base.number),
        table.get("title", title),
        table.get("promise", base.promise),
        passes,
        tuple(table.get("instead", base.instead)),
        table.get("price", base.price),
        table.get("request", base.request),
        _bases(name, base),
    )


def _chosen_passes(
    name: str, table: Mapping[str, Any], base: _Draft, reader: _LevelReader
) -> dict[str, dict[str, Any]]:
    """Return the passes of the base, or those that ``passes`` lists, without those of ``skip``."""
    for position, word in enumerate(table.get("passes", ())):
        reader.has_pass(reader.user, (name, "passes", position), word)
    listed = {word: base.passes.get(word, {}) for word in table.get("passes", base.passes)}
    skipped = table.get("skip", ())
    for word in skipped:
        if word not in listed:
            suggestion = _gone(word, base.name) or nearest(word, listed)
            reader.report((name, "skip"), f"levels.{name}.skip: level {base.name} has no pass {word}{suggestion}")
    return {word: options for word, options in listed.items() if word not in skipped}


def _with_options(
    name: str, base: str, table: Mapping[str, Any], passes: dict[str, dict[str, Any]], reader: _LevelReader
) -> dict[str, dict[str, Any]]:
    """Return the passes with the options of the table over theirs."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    for word in [word for word in tables if word not in passes]:
        suggestion = _gone(word, base) or f"{nearest(word, passes)}; add it with levels.{name}.passes"
        problem = f"level {name} has no pass {word}{suggestion}"
        reader.report((name, word), problem)
    return {
        word: {**options, **reader.options(reader.user.part((name, word), tables.get(word, {})), word)}
        for word, options in passes.items()
    }


def _level(draft: _Draft, known_passes: PassTable | None) -> Level:
    uses = tuple(_use(name, options, known_passes) for name, options in draft.passes.items())
    level = Level(draft.name, draft.number, draft.title, draft.promise, uses)
    return replace(level, price=draft.price, request=draft.request, bases=draft.bases)


def _with_alternatives(level: Level, names: Iterable[str], levels: Mapping[str, Level], reader: _LevelReader) -> Level:
    """Return a level with the levels as which its pages may be made instead."""
    known = [name for name in names if name in levels]
    for name in names:
        problem = f"there is no level {name}{nearest(name, levels)}" if name not in known else None
        if problem is None and PROMISES.index(levels[name].promise) > PROMISES.index(level.promise):
            problem = f'level {name} promises less: set promise = "{levels[name].promise}" here, too'
        if problem is not None:
            reader.report((level.name, "instead"), f"levels.{level.name}.instead: {problem}")
    return replace(level, instead=tuple(levels[name] for name in known))


def _use(name: str, options: Mapping[str, Any], known_passes: PassTable | None) -> PassUse:
    table = (known_passes or {}).get(name, {})
    complete = {**{key: as_option(value).default for key, value in table.items()}, **options}
    return PassUse(name, tuple((key, _frozen(value)) for key, value in sorted(complete.items())))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
