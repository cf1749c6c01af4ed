"""A TOML file with the line of each key, so that a message can name the place of a mistake.

``tomllib`` gives values without positions. Since it has already accepted the text, the scan here may trust
the grammar (TOML 1.0.0) and only has to find the lines of keys: table headers, dotted and quoted keys,
arrays of tables. Keys inside an inline table take the line of the key that holds the table.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.values import dataclass, field

# A place in the tree of values: table names and, in an array of tables, the position counted from 0.
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class TomlSource:
    """Values of a TOML file, its name as messages show it, and the line (from 1) of each key."""

    name: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of ``path``, or of the nearest table around it, or None."""
        return next((self.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.lines), None)

    def complaint(self, path: KeyPath, problem: str) -> str:
        """Return ``problem`` with file and line in front: ``adaptc.toml:12: build.jobs must be ...``."""
        line = self.line(path)
        place = self.name if line is None else f"{self.name}:{line}"
        return printable(f"{place}: {problem}" if place else problem)

    def below(self, name: str) -> TomlSource:
        """Return the table ``name`` alone; its lines are still those of the whole file."""
        inner = self.values.get(name, {})
        return self.part((name,), inner if isinstance(inner, Mapping) else {})

    def part(self, place: KeyPath, values: Mapping[str, Any]) -> TomlSource:
        """Return ``values``, which are at ``place``, as a source of their own with the lines of the whole file."""
        return TomlSource(self.name, values, _LateLines(partial(_lines_below, self.lines, place)))


class _LateLines(Mapping[KeyPath, int]):
    """The lines of keys, found once somebody asks: only mistakes name lines, and they take twice the parsing."""

    def __init__(self, find: Callable[[], Mapping[KeyPath, int]]) -> None:
        self._find = find

    @cached_property
    def _found(self) -> Mapping[KeyPath, int]:
        return self._find()

    def __getitem__(self, path: KeyPath) -> int:
        return self._found[path]

    def __iter__(self) -> Iterator[KeyPath]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _lines_below(lines: Mapping[KeyPath, int], place: KeyPath) -> dict[KeyPath, int]:
    depth = len(place)
    return {path[depth:]: line for path, line in lines.items() if path[:depth] == place}


def read_toml(path: Path, shown: str | None = None) -> TomlSource:
    """Read a TOML file; messages call it ``shown``, else its path.

    Raises ``UsageError`` if it cannot be read, is no UTF-8 or no TOML.
    """
    name = str(path) if shown is None else shown
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(printable(f"{name}: cannot be read ({error.strerror})")) from error
    except UnicodeDecodeError as error:
        raise UsageError(printable(f"{name}: is not UTF-8 text (byte {error.start})")) from error
    return parse_toml(text, name)


def parse_toml(text: str, name: str) -> TomlSource:
    """Parse TOML text that messages call ``name``. Raises ``UsageError`` with the line if it is no TOML."""
    text = text.replace("\r\n", "\n")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_syntax_complaint(name, str(error))) from error
    return TomlSource(name, values, _LateLines(lambda: dict(_lines_of_keys(text))))


def _syntax_complaint(name: str, message: str) -> str:
    """Turn "... (at line 3, column 5)" into "name:3: ..."."""
    match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", message, re.DOTALL)
    problem, place = (match[1], f"{name}:{match[2]}") if match else (message, name)
    return printable(f"{place}: not TOML: {problem[:1].lower()}{problem[1:]}")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``", did you mean X?"`` for the known word nearest to ``word``, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f", did you mean {close[0]}?" if close else ""


def nearest_or_all(word: str, known: Collection[str]) -> str:
    """Return what ``nearest`` returns, or ``"; there are X, Y"`` where no word is near: for the few names of a site."""
    return nearest(word, known) or (f"; there are {', '.join(known)}" if known else "")


def shown(value: Any) -> str:
    """Return a value as a TOML file has it, in 60 characters at most."""
    if isinstance(value, Mapping):
        return "a table"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into tables: ``{"build.jobs": 2}`` into ``{"build": {"jobs": 2}}``."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *tables, leaf = key.split(".")
        table = tree
        for name in tables:
            table = table.setdefault(name, {})
        table[leaf] = value
    return tree


# Longest first: three quotes before one. A newline ends a statement unless a bracket is open.
_TOKEN = re.compile(
    r'(?P<string>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>#[^\n]*)|(?P<newline>\n)|(?P<mark>[\[\]{}=.,])|(?P<space>[ \t]+)"
    r"|(?P<bare>[^\s\[\]{}=.,#\"']+)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind not in ("comment", "space"):
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")


def _statements(text: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each statement: a table header, or a key with its value."""
    depth, statement = 0, list[_Token]()
    for token in _tokens(text):
        if token.kind == "newline" and depth == 0:
            if statement:
                yield statement
            statement = []
        elif token.kind != "newline":
            depth += _DEPTH.get(token.text, 0)
            statement.append(token)
    if statement:
        yield statement


_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


def _lines_of_keys(text: str) -> Iterator[tuple[KeyPath, int]]:
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for statement in _statements(text):
        line = statement[0].line
        if statement[0].text != "[":
            yield from _prefixes(table, _key(statement), line)
            continue
        is_array = statement[1].text == "["
        header = _key(statement[2:] if is_array else statement[1:])
        table = _in_arrays(header, counts, opens=is_array)
        yield table, line


def _prefixes(table: KeyPath, key: KeyPath, line: int) -> Iterator[tuple[KeyPath, int]]:
    """A dotted key ``a.b = 1`` defines the table ``a`` as well."""
    for end in range(1, len(key) + 1):
        yield table + key[:end], line


def _in_arrays(header: KeyPath, counts: dict[KeyPath, int], opens: bool) -> KeyPath:
    """Return the place that a header names: in an array of tables that is the last table (or a new one)."""
    place: KeyPath = ()
    for position, name in enumerate(header):
        place = (*place, name)
        is_last = position == len(header) - 1
        if opens and is_last:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _key(tokens: list[_Token]) -> KeyPath:
    """Return the key that ``tokens`` begin with: up to ``=`` or the end of the header."""
    names: list[str] = []
    for token in tokens:
        if token.kind == "mark" and token.text != ".":
            break
        if token.kind == "bare":
            names.append(token.text)
        elif token.kind == "string":
            names.append(str(tomllib.loads(f"key = {token.text}")["key"]))
    return tuple(names)
