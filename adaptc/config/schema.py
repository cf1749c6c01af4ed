"""Schemas of settings: checks of single values, and one walk over a table that reports every mistake in it.

A schema maps each key to a check, or to the schema of the table below it::

    {"effort": one_of("fast", "max"), "jobs": whole(0), "images": {"target": number(0, 1)}}

A check takes a value as TOML has it and the directory that relative paths start from. It returns the value of the
setting, or raises ``InvalidValue`` with what would be valid.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from adaptc.config.toml import KeyPath, TomlSource, nearest, parse_toml, shown
from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass, field

Check = Callable[[Any, Path], Any]
Schema = Mapping[str, Any]  # to a Check or to a Schema

T = TypeVar("T")


class InvalidValue(Exception):
    """A value that its key does not allow. The text completes "KEY must be ...": "true or false"."""

    def complaint(self, key: str, value: Any) -> str:
        """Return the message about ``value`` of ``key``."""
        return f"{key} must be {self}, not {shown(value)}"


class InvalidSetting(InvalidValue):
    """A value that breaks a rule. The text completes "KEY ...": "must hold two numbers each"."""

    def complaint(self, key: str, _value: Any) -> str:
        """Return the message about ``key``."""
        return f"{key} {self}"


# ---- the walk over a table


@dataclass(frozen=True, slots=True)
class Wording:
    """How messages speak of a key: ``unknown`` for one that the schema lacks, ``name`` for one with an invalid value.

    Both take the dotted key below the table. ``suggest`` takes that key and the known keys of its table and returns
    ``", did you mean X?"`` or nothing.
    """

    unknown: Callable[[str], str] = "unknown key {}".format
    name: Callable[[str], str] = str
    suggest: Callable[[str, Collection[str]], str] = lambda key, known: nearest(key.rpartition(".")[2], known)


@dataclass(frozen=True, slots=True)
class TableReading:
    """What a table holds: the values that fit its schema, nested like it, and a message for each mistake."""

    values: dict[str, Any]
    problems: tuple[str, ...]

    def checked(self) -> dict[str, Any]:
        """Return the values. Raises ``UsageError`` that names every mistake, one a line."""
        refuse(self.problems)
        return self.values


def read_table(
    source: TomlSource, schema: Schema, base: Path | None = None, wording: Wording | None = None
) -> TableReading:
    """Compare a table with its schema. Relative paths start from ``base``, else from the working directory."""
    walk = _Walk(source, base or Path(), wording or Wording())
    values = walk.table((), source.values, schema)
    return TableReading(values, tuple(walk.problems))


@dataclass(slots=True)
class _Walk:
    source: TomlSource
    base: Path
    wording: Wording
    problems: list[str] = field(default_factory=list)

    def table(self, place: KeyPath, values: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        valid: dict[str, Any] = {}
        for key, value in values.items():
            here = (*place, key)
            dotted = ".".join(map(str, here))
            if key not in schema:
                self._report(here, self.wording.unknown(dotted) + self.wording.suggest(dotted, schema.keys()))
                continue
            try:
                valid[key] = self._value(here, value, schema[key])
            except InvalidValue as error:
                self._report(here, error.complaint(self.wording.name(dotted), value))
        return valid

    def _value(self, here: KeyPath, value: Any, entry: Check | Schema) -> Any:
        if isinstance(entry, Mapping):
            return self.table(here, table(value, self.base), entry)
        return entry(value, self.base)

    def _report(self, place: KeyPath, problem: str) -> None:
        self.problems.append(self.source.complaint(place, problem))


def read_settings(kind: Callable[..., T], schema: Schema, source: TomlSource, assignments: Iterable[str] = ()) -> T:
    """Return the settings of a table as ``kind``, a dataclass with a default for each key or a function that makes one.

    ``assignments`` are texts ``KEY=VALUE`` of the command line (``--set``), which win over the table. Relative paths
    start from the directory of the file, theirs from the working directory. Raises ``UsageError`` that names every
    mistake, one a line.
    """
    readings = [
        read_table(source, schema, Path(source.name).parent),
        *(_read_assignment(text, schema) for text in assignments),
    ]
    refuse(problem for reading in readings for problem in reading.problems)
    values = {key: value for reading in readings for key, value in reading.values.items()}
    try:
        return kind(**values)
    except InvalidValue as error:  # a rule between settings, checked when the dataclass is made
        raise UsageError(source.complaint((), str(error))) from None


def _read_assignment(assignment: str, schema: Schema) -> TableReading:
    key, sign, text = assignment.partition("=")
    source = TomlSource(f"--set {assignment}", {key.strip(): _toml_value(text)})
    return read_table(source, schema) if sign else TableReading({}, (source.complaint((), "write KEY=VALUE"),))


def _toml_value(text: str) -> Any:
    """Return a value as TOML has it, or the text itself if the quotes were left out."""
    try:
        return parse_toml(f"value = {text}", "--set").values["value"]
    except UsageError:
        return text


def refuse(problems: Iterable[str]) -> None:
    """Raise ``UsageError`` with the problems, one a line, if there are any."""
    lines = list(dict.fromkeys(problems))
    if lines:
        raise UsageError("\n".join(lines))


def problems_of(read: Callable[[], object]) -> Iterator[str]:
    """Yield the mistakes for which ``read`` raises ``UsageError``."""
    try:
        read()
    except UsageError as error:
        yield from str(error).splitlines()


# ---- checks


def any_of(*allowed: Any) -> Check:
    """Allow values of some types, and single values: ``any_of("exact", float)``.

    A whole number is a number; true and false are not numbers.
    """
    wanted = " or ".join(_NAMES[item] if isinstance(item, type) else shown(item) for item in allowed)

    def check(value: Any, _base: Path) -> Any:
        types = (float, int) if type(value) is int else (type(value),)
        if not any(item in types if isinstance(item, type) else _is_same(item, value) for item in allowed):
            raise InvalidValue(wanted)
        return value

    return check


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal and of one type: 1 is not true."""
    return type(one) is type(other) and bool(one == other)


_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}

flag = any_of(bool)
string = any_of(str)


def fits(check: Check, value: Any) -> bool:
    """Tell whether a check allows ``value``."""
    try:
        check(value, Path())
    except InvalidValue:
        return False
    return True


def one_of(*choices: str) -> Check:
    """Allow one of some words."""

    def check(value: Any, _base: Path) -> str:
        if value not in choices:
            raise InvalidValue(f"one of {', '.join(choices)}")
        return str(value)

    return check


def subset_of(choices: Collection[str], least: int = 0) -> Check:
    """Allow a list of ``least`` or more of some words."""

    def check(value: Any, _base: Path) -> tuple[str, ...]:
        is_list = isinstance(value, list | tuple) and len(value) >= least
        if not is_list or not all(isinstance(word, str) and word in choices for word in value):
            raise InvalidValue(f"a list of {', '.join(choices)}")
        return tuple(value)

    return check


def whole(least: int, most: int | None = None) -> Check:
    """Allow a whole number in a range."""
    wanted = f"of at least {least}" if most is None else f"from {least} to {most}"

    def check(value: Any, _base: Path) -> int:
        if type(value) is not int or value < least or (most is not None and value > most):
            raise InvalidValue(f"a whole number {wanted}")
        return value

    return check


def number(least: float, most: float = float("inf")) -> Check:
    """Allow a finite number in a range."""
    wanted = f"from {least:g} to {most:g}" if most < float("inf") else f"of at least {least:g}"

    def check(value: Any, _base: Path) -> float:
        # "not (in range)" and not "out of range": nan, which TOML has, is neither.
        if type(value) not in (int, float) or not least <= value <= most or value == float("inf"):
            raise InvalidValue(f"a number {wanted}")
        return float(value)

    return check


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def size(wanted: str = 'a size: a number of bytes, or a text such as "500MB" or "2GiB"') -> Check:
    """Allow a whole number of bytes, or a text with a unit: 500MB is 500,000,000 bytes, 2GiB is 2,147,483,648."""

    def check(value: Any, _base: Path) -> int:
        if type(value) is int and value >= 0:
            return value
        match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise InvalidValue(wanted)
        unit: int = (1024 if match[3] else 1000) ** " kmgt".index(match[2].lower() or " ")
        return round(float(match[1]) * unit)

    return check


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float | None:
    """Return the seconds of a text such as ``500ms``, ``10s``, ``5m``, ``2h`` or ``1d``; None for other texts."""
    match = _DURATION.fullmatch(text.strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def duration(least: float, most: float) -> Check:
    """Allow seconds, or a text with a unit; returns seconds."""

    def check(value: Any, _base: Path) -> float:
        span = seconds(value) if isinstance(value, str) else value
        if span is None or type(span) not in (int, float) or not least <= span <= most:
            raise InvalidValue(f'a time from {least:g} s to {most:g} s, such as 10, "500ms" or "5m"')
        return float(span)

    return check


def text(value: Any, _base: Path) -> str:
    """Allow a text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidValue("a text")
    return value


def texts(value: Any, _base: Path) -> tuple[str, ...]:
    """Allow a list of texts, none of them empty."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item for item in value):
        raise InvalidValue('a list of texts, such as ["a", "b"]')
    return tuple(value)


def path(value: Any, base: Path) -> Path:
    """Allow a path, which ``~`` may begin; a relative one starts from the base."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidValue("a path")
    return base / Path(value).expanduser()


def text_file(value: Any, base: Path) -> str:
    """Allow the path of a text file; the value is what the file holds. An empty text is no file."""
    if value == "":
        return ""
    file = path(value, base)
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"a text file in UTF-8 that can be read ({error})") from None


def paths(value: Any, base: Path) -> tuple[Path, ...]:
    """Allow a list of paths."""
    if isinstance(value, tuple) and all(isinstance(item, Path) for item in value):
        return value
    return tuple(path(item, base) for item in texts(value, base))


def one_or_more(check_item: Check) -> Check:
    """Allow a list of values of a kind, or a single one without brackets."""

    def check(value: Any, base: Path) -> tuple[Any, ...]:
        return tuple(check_item(item, base) for item in (value if isinstance(value, list) else [value]))

    return check


def pair(check_item: Check) -> Check:
    """Allow a list of two numbers."""

    def check(value: Any, base: Path) -> tuple[Any, Any]:
        if not isinstance(value, list) or len(value) != 2:
            raise InvalidValue("a list of two numbers")
        return check_item(value[0], base), check_item(value[1], base)

    return check


def table(value: Any, _base: Path) -> Mapping[str, Any]:
    """Allow a table, whatever its keys."""
    if not isinstance(value, Mapping):
        raise InvalidValue("a table")
    return value


def http_url(value: Any, base: Path) -> str:
    """Allow an http or https URL."""
    if not is_http_url(text(value, base)):
        raise InvalidValue('an http URL, such as "http://127.0.0.1/server-status?auto"')
    return str(value)


def is_http_url(url: str) -> bool:
    """Whether a text is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # of "http://["
        return False


def url_path(value: Any, _base: Path) -> str:
    """Allow a URL path, decoded; it is returned without its final slash, "" for the whole host."""
    if not isinstance(value, str) or not re.fullmatch(r"(/[^/?#\x00-\x1f\x7f]+)*/?", value):
        raise InvalidValue('a URL path, such as "/docs"')
    return value.rstrip("/")


def networks(value: Any, base: Path) -> tuple[str, ...]:
    """Allow a list of IP addresses and networks."""
    try:
        return tuple(str(ipaddress.ip_network(item, strict=False)) for item in texts(value, base))
    except ValueError:
        raise InvalidValue('a list of addresses or networks, such as ["10.0.0.0/8", "2001:db8::1"]') from None


def listener(value: Any, _base: Path) -> str:
    """Allow an address of loopback and a port: ``127.0.0.1:8901``."""
    match = re.fullmatch(r"(127(?:\.\d{1,3}){3}):(\d{1,5})", value) if isinstance(value, str) else None
    if match is None or not 0 < int(match[2]) < 65_536:
        raise InvalidValue('an address of loopback and a port, such as "127.0.0.1:8901"')
    return str(value)


def header_name(value: Any, _base: Path) -> str:
    """Allow the name of a header field."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9-]+", value):
        raise InvalidValue("the name of a header field, such as X-Forwarded-For")
    return value
