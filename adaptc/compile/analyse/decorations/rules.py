"""The rules of the image classifier: ``rules/decorations.toml`` of the package, the user's file, and ``[decorations]``.

A user's file has the same tables as the package's; its values replace single weights, limits and lists of words, and it
may have ``keep`` and ``drop`` tables::

    [[drop]]
    url = "*/banners/*"             # a pattern of the reference as written or of the path in the docroot
    [[keep]]
    selector = "#team img"
    levels = ["moderate"]           # else at every level
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from adaptc.compile.analyse.decorations.evidence import Tag
from adaptc.compile.analyse.decorations.filters import FilterList, read_filters
from adaptc.config.config import Config
from adaptc.config.schema import Check, InvalidSetting, Schema, any_of, fits, pair, read_table, refuse
from adaptc.config.toml import TomlSource, nearest, parse_toml, read_toml
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose, printable
from adaptc.core.digest import digest_parts
from adaptc.core.fs import package_file
from adaptc.core.values import dataclass, field, replace

FILE_NAME = "decorations.toml"
QUESTIONS = ("decoration", "logo", "story")


@dataclass(frozen=True, slots=True)
class Override:
    """A user's rule: images that match ``selector`` or ``pattern`` are kept or dropped."""

    tag: Tag
    selector: str = ""
    pattern: str = ""

    def matches_url(self, ref: str, path: str | None) -> bool:
        """Whether the pattern matches a reference as written, or the path of its file."""
        return bool(self.pattern) and any(fnmatch.fnmatchcase(name, self.pattern) for name in (ref, path) if name)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the weight of each sign for it: yes from ``threshold`` points on."""

    threshold: float
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ads:
    """What advertisements and trackers look like: parts of host and path, words of class names, sizes in px.

    ``badges`` are sizes of badges, ``sponsors`` words of classes and headings where marks of sponsors are; ``globals``
    are names that scripts of all these define.
    """

    url_patterns: str
    widget_patterns: str
    globals: frozenset[str]
    names: frozenset[str]
    sponsors: frozenset[str]
    sizes: frozenset[tuple[int, int]]
    badges: frozenset[tuple[int, int]]

    @property
    def urls(self) -> re.Pattern[str]:
        """What matches URLs of advertisements and trackers: compiled in 5 ms, when first asked for."""
        return _compiled(self.url_patterns)

    @property
    def widgets(self) -> re.Pattern[str]:
        """What matches URLs of buttons and boxes of social networks."""
        return _compiled(self.widget_patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DecorationRules:
    """The rules. ``regions`` maps a class word to its landmark; ``words`` are groups of words of names."""

    questions: Mapping[str, Question]
    limits: Mapping[str, float]
    words: Mapping[str, frozenset[str]]
    regions: Mapping[str, str]
    figures: frozenset[str]
    ads: Ads
    overrides: tuple[Override, ...] = field(default=())
    filters: FilterList = field(default_factory=FilterList)


@cache
def shipped_rules() -> TomlSource:
    """Return the rules of the package as written."""
    text = package_file("adaptc.rules", FILE_NAME).read_text("utf-8")
    return parse_toml(text, f"rules/{FILE_NAME}")


def load_decoration_rules(user: TomlSource | None = None) -> DecorationRules:
    """Return the rules of the package with those of a user's file over them.

    Raises ``UsageError`` that names every mistake, one a line, with file and line.
    """
    shipped = shipped_rules().values
    source = user or TomlSource()
    refuse([*_table_problems(source, shipped), *_override_problems(source)])
    return _make_rules(_over(shipped, source.values), source.values)


def _over(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two trees of tables, leaf by leaf; ``over`` replaces ``base``."""
    both = {key: value for key, value in over.items() if isinstance(value, Mapping) and key in base}
    return {**base, **over, **{key: _over(base[key], value) for key, value in both.items()}}


def _make_rules(values: Mapping[str, Any], user: Mapping[str, Any]) -> DecorationRules:
    ads = values["ads"]
    return DecorationRules(
        {name: Question(values[name]["threshold"], values[name]["weights"]) for name in QUESTIONS},
        values["limits"],
        {name: frozenset(entries) for name, entries in values["words"].items()},
        {word: region for region, entries in values["regions"].items() for word in entries},
        frozenset(values["figures"]["words"]),
        Ads(
            _patterns(ads["urls"]),
            _patterns(ads["widgets"]),
            frozenset(ads["globals"]),
            frozenset(ads["names"]),
            frozenset(ads["sponsors"]),
            frozenset((width, height) for width, height in ads["sizes"]),
            frozenset((width, height) for width, height in ads["badges"]),
        ),
        tuple(_overrides(user)),
    )


def _patterns(globs: list[str]) -> str:
    return "|".join(map(fnmatch.translate, globs)) or r"(?!)"


def _overrides(values: Mapping[str, Any]) -> Iterator[Override]:
    """Yield the overrides that keep before those that drop: where both match, nothing is lost."""
    for verdict in ("keep", "drop"):
        for entry in values.get(verdict, ()):
            selector, pattern = entry.get("selector", ""), entry.get("url", "")
            stated_by = f"the rule {verdict} {selector or pattern}"
            yield Override(Tag(verdict, tuple(entry.get("levels", ())), stated_by), selector, pattern)


# ---- mistakes


def _table_problems(user: TomlSource, shipped: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a message for each table and key that the package's file lacks, and each value of another type."""
    signs = [sign for name in QUESTIONS for sign in shipped[name]["weights"]]  # each sign has a weight there
    weights = {name: {"threshold": 0, "weights": dict.fromkeys(signs, 0)} for name in QUESTIONS}
    schema = {**_schema({**shipped, **weights}), "keep": any_of(list), "drop": any_of(list)}
    return read_table(user, schema).problems


def _schema(example: Mapping[str, Any]) -> Schema:
    """Return the schema of tables that have the keys and types of ``example``."""
    return {
        key: _schema(value)
        if isinstance(value, Mapping)
        else _like_list(value)
        if isinstance(value, list)
        else _like(value)
        for key, value in example.items()
    }


def _like(example: Any) -> Check:
    return any_of(str if isinstance(example, str) else float)


def _like_list(example: list[Any]) -> Check:
    """Allow a list of texts or of pairs of numbers, whichever ``example`` has."""
    is_pairs = isinstance(example[0], list)
    check_item = pair(any_of(float)) if is_pairs else any_of(str)
    wanted = "two numbers" if is_pairs else "a text"

    def check(value: Any, base: Path) -> Any:
        if not all(fits(check_item, item) for item in any_of(list)(value, base)):
            raise InvalidSetting(f"must hold {wanted} each")
        return value

    return check


def _override_problems(source: TomlSource) -> Iterator[str]:
    for verdict in ("keep", "drop"):
        entries = source.values.get(verdict, ())
        for position, entry in enumerate(entries if isinstance(entries, list) else ()):
            problem = _override_problem(entry)
            if problem:
                yield source.complaint((verdict, position), f"{verdict}: {problem}")


def _override_problem(entry: Any) -> str | None:
    if not isinstance(entry, Mapping):
        return "must be a table with selector or url"
    unknown = [key for key in entry if key not in ("selector", "url", "levels")]
    if unknown:
        return f"unknown key {unknown[0]}{nearest(unknown[0], ('selector', 'url', 'levels'))}"
    if ("selector" in entry) == ("url" in entry):
        return "needs either selector or url"
    named = entry.get("selector", entry.get("url"))
    levels = entry.get("levels", [])
    if not isinstance(named, str) or not named.strip():
        return "selector or url must be a text"
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        return "levels must be a list of names"
    return selector_problem(entry["selector"]) if "selector" in entry else None


def selector_problem(selector: str) -> str | None:
    """Return why a CSS selector cannot be used, or ``None``."""
    from adaptc.formats.html.document import parse_bare

    try:
        parse_bare("").select(selector)
    except ValueError as error:
        return str(error)
    return None


# The prefix of a CSS selector, as in filter lists; anything else is a pattern of a URL
SELECTOR = "##"


@dataclass(frozen=True, slots=True)
class ConfiguredRules:
    """The rules, a digest of their sources, and their diagnostics."""

    rules: DecorationRules
    digest: str
    diagnostics: tuple[Diagnostic, ...] = ()


def configured_rules(config: Config, rules_file: Path | None = None) -> ConfiguredRules:
    """Return the rules of ``config``; ``rules_file`` replaces ``decorations.rules``.

    Raises ``UsageError`` with the file and line of a mistake.
    """
    chosen = config.decorations
    path = rules_file or chosen.rules
    source = read_toml(path) if path else TomlSource()
    rules = load_decoration_rules(source)
    own = [
        *_configured_overrides("keep", chosen.keep, config),
        *_configured_overrides("drop", chosen.drop, config),
        *rules.overrides,
    ]
    # where both match, nothing is lost
    own.sort(key=lambda override: override.tag.verdict != "keep")
    texts = [_read(path) for path in chosen.filters]
    filters = read_filters("\n".join(texts), selector_problem)
    parts = (repr(shipped_rules().values), repr(source.values), repr(chosen.keep), repr(chosen.drop), *texts)
    combined = replace(rules, overrides=tuple(own), filters=filters)
    return ConfiguredRules(combined, digest_parts(*parts), tuple(_left_out(filters)))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(printable(f"{path}: cannot be read ({error.strerror})")) from error


def _left_out(filters: FilterList) -> Iterator[Diagnostic]:
    if filters.left_out:
        count, example = len(filters.left_out), filters.left_out[0]
        yield diagnose("filter-unsupported", None, count=f"{count:,}", total=f"{filters.total:,}", example=example)


def _configured_overrides(verdict: str, written: tuple[str, ...], config: Config) -> Iterator[Override]:
    for pattern in written:
        tag = Tag(verdict, (), f"decorations.{verdict} has {pattern}")
        if not pattern.startswith(SELECTOR):
            yield Override(tag, pattern=pattern)
            continue
        selector = pattern.removeprefix(SELECTOR)
        if problem := selector_problem(selector):
            source = read_toml(config.file) if config.file else TomlSource()
            raise UsageError(
                source.complaint(("decorations", verdict), f"decorations.{verdict} has {pattern}: {problem}")
            )
        yield Override(tag, selector)
