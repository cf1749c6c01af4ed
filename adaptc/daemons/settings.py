"""Settings of the daemons: tables of ``[daemons]`` in adaptc.toml as frozen dataclasses, with line numbers.

A settings class has a default for each field. Beside it stands a table of checks by field name, which turn what TOML
gave into the field's value or raise ``Unfit``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from adaptc.config.toml import TomlSource, nearest, parse_toml, shown
from adaptc.core.diagnostics import UsageError


class Unfit(Exception):
    """A value does not fit; the text says what would."""


Check = Callable[[Any], Any]


S = TypeVar("S")


def read_settings(kind: type[S], checks: Mapping[str, Check], source: TomlSource, given: Sequence[str] = ()) -> S:
    """Return the settings of a table, changed by ``given``: texts ``key=value`` of the command line.

    Raises ``UsageError`` that names every mistake, one a line.
    """
    values: dict[str, Any] = {}
    problems = [*_read(source, checks, values), *_read_given(given, checks, values)]
    if problems:
        raise UsageError("\n".join(problems))
    try:
        return kind(**values)
    except Unfit as wanted:
        raise UsageError(source.complaint((), str(wanted))) from None


def _read(source: TomlSource, checks: Mapping[str, Check], values: dict[str, Any]) -> Iterator[str]:
    for key, value in source.values.items():
        problem = _take(key, value, checks, values)
        if problem:
            yield source.complaint((key,), problem)


def _take(key: str, value: Any, checks: Mapping[str, Check], values: dict[str, Any]) -> str | None:
    if key not in checks:
        return f"unknown key {key}{nearest(key, checks)}"
    try:
        values[key] = checks[key](value)
    except Unfit as wanted:
        return f"{key} must be {wanted}, not {shown(value)}"
    return None


def _read_given(given: Sequence[str], checks: Mapping[str, Check], values: dict[str, Any]) -> Iterator[str]:
    for one in given:
        key, sign, text = one.partition("=")
        problem = _take(key.strip(), _value(text), checks, values) if sign else "write KEY=VALUE"
        if problem:
            yield f"--set {one}: {problem}"


def _value(text: str) -> Any:
    """Return a value as TOML has it, or the text itself where the quotes were left out."""
    try:
        return parse_toml(f"value = {text}", "--set").values["value"]
    except UsageError:
        return text


# ---- checks


def number(least: float, most: float) -> Check:
    """A number in a range."""

    def check(value: Any) -> float:
        if type(value) not in (int, float) or not least <= value <= most:
            raise Unfit(f"a number from {least:g} to {most:g}")
        return float(value)

    return check


def whole(least: int, most: int) -> Check:
    """A whole number in a range."""

    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise Unfit(f"a whole number from {least} to {most}")
        return value

    return check


def one_of(*choices: str) -> Check:
    """One of some words."""

    def check(value: Any) -> str:
        if value not in choices:
            raise Unfit(f"one of {', '.join(choices)}")
        return str(value)

    return check


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")


def seconds(text: str) -> float | None:
    """Return the seconds of a text such as ``500ms``, ``10s``, ``5m``, ``2h`` or ``1d``; None for other texts."""
    found = _DURATION.fullmatch(text.strip())
    return float(found[1]) * _UNITS[found[2]] if found else None


def duration(least: float, most: float) -> Check:
    """Seconds, or a text with a unit."""

    def check(value: Any) -> float:
        found = seconds(value) if isinstance(value, str) else value
        if found is None or type(found) not in (int, float) or not least <= found <= most:
            raise Unfit(f'a time from {least:g} s to {most:g} s, such as 10, "500ms" or "5m"')
        return float(found)

    return check


def flag(value: Any) -> bool:
    """true or false."""
    if type(value) is not bool:
        raise Unfit("true or false")
    return value


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise Unfit("a text")
    return value


def path(value: Any) -> Path:
    """A path; relative ones start from the working directory."""
    return Path(text(value)).expanduser()


def paths(value: Any) -> tuple[Path, ...]:
    """A list of paths, or one."""
    return tuple(path(one) for one in (value if isinstance(value, list) else [value]))


def http_url(value: Any) -> str:
    """An http or https URL."""
    if urlsplit(text(value)).scheme not in ("http", "https"):
        raise Unfit('an http URL, such as "http://127.0.0.1/server-status?auto"')
    return str(value)


def pair(check_one: Check) -> Check:
    """Two values of a kind."""

    def check(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, list) or len(value) != 2:
            raise Unfit("a list of two numbers")
        return check_one(value[0]), check_one(value[1])

    return check
