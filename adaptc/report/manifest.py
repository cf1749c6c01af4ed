"""``manifest.json`` as values: what a build made, read back (docs/manifest.md has the schema)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from adaptc.config.toml import nearest
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import IDENTITY
from adaptc.core.values import dataclass, field

MANIFEST = "manifest.json"
SCHEMA = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageCost:
    """Requests and bytes of a page with all that a browser loads with it, or the means of a level.

    ``bytes`` counts contents without a content coding, ``transfer`` contents in the best coding.
    """

    requests: float
    bytes: float
    transfer: float


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file as it was built: size in bytes and SHA-256 in hexadecimal digits."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BuiltLevel:
    """A level that was built. ``number`` is its rank, the highest for the full site; None next to the ladder.

    ``pages`` counts the pages that the level has; ``mean`` is over pages, or page views where there are access logs.
    """

    name: str
    number: int | None
    title: str
    pages: int
    mean: PageCost


@dataclass(frozen=True, slots=True)
class BuiltResource:
    """A file of the docroot and its representations: by level, the files by coding (``id``, ``br``, ...).

    ``pages`` are the costs of a page by level; other resources have none.
    """

    path: str
    media_type: str
    size: int
    sha256: str | None
    files: Mapping[str, Mapping[str, BuiltFile]]
    pages: Mapping[str, PageCost] = field(default_factory=dict)

    def at(self, level: str, coding: str = IDENTITY) -> BuiltFile | None:
        """Return the representation of a level and a coding; None where there is none."""
        return self.files.get(level, {}).get(coding)


@dataclass(frozen=True)
class Manifest:
    """The manifest of a build: ``levels`` from the highest quality down, ``resources`` by path in the order of bytes.

    Resources are read when they are asked for: a site may have 100,000 of them. Properties raise ``UsageError`` for
    values that docs/manifest.md does not allow.
    """

    file: Path
    values: Mapping[str, Any]

    @property
    def output(self) -> Path:
        """The output directory of the build."""
        return self.file.parent

    @property
    def base_url(self) -> str | None:
        """The URL of the docroot, if it was configured."""
        url = self._read(lambda: self.values["base_url"])
        return None if url is None else str(url)

    @cached_property
    def levels(self) -> tuple[BuiltLevel, ...]:
        """The levels, those of the highest quality first."""
        return self._read(lambda: tuple(map(_level, self.values["levels"])))

    @cached_property
    def resources(self) -> Mapping[str, BuiltResource]:
        """The files of the docroot by path."""
        return self._read(lambda: {row["path"]: _resource(row) for row in self.values["resources"]})

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels, those of the highest quality first."""
        return tuple(level.name for level in self.levels)

    def require_level(self, level: str) -> None:
        """Raise ``UsageError`` when ``level`` was not built."""
        if level not in self.level_names:
            built = ", ".join(self.level_names)
            hint = nearest(level, self.level_names)
            hint = hint or f"; there are: {built}; to build it: adaptc build --level {level}"
            raise UsageError(f"level {level} is not in {self.output}{hint}")

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise _unreadable(self.file, f"{type(error).__name__}: {error}") from None


def read_manifest(path: Path) -> Manifest:
    """Read the manifest ``path``, or that of the output directory ``path``.

    Raises ``UsageError`` when this version does not understand it, ``OSError`` when it cannot be read.
    """
    file = path / MANIFEST if path.is_dir() else path
    try:
        values = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:  # no JSON, or nested too deeply
        raise _unreadable(file, str(error)) from None
    schema = values.get("schema") if isinstance(values, dict) else None
    if schema != SCHEMA:
        raise _unreadable(file, f"it has schema {schema}, not {SCHEMA}")
    return Manifest(file, values)


def last_manifest(output: Path) -> Manifest:
    """Return the manifest of the last build in ``output``. Raises ``UsageError`` when there is none."""
    from adaptc.compile.engine.state.state import no_build

    try:
        return read_manifest(output / MANIFEST)
    except FileNotFoundError:
        raise no_build(output) from None


def _unreadable(file: Path, reason: str) -> UsageError:
    return UsageError(f"{file} is not a manifest of this version of adaptc: {reason}; build the site again")


def _level(row: Mapping[str, Any]) -> BuiltLevel:
    number = None if row["number"] is None else _amount(row["number"])
    return BuiltLevel(_text(row["name"]), number, _text(row["title"]), _amount(row["pages"]), _cost(row["mean"]))


def _resource(row: Mapping[str, Any]) -> BuiltResource:
    levels = row["levels"].items()
    files = {name: _files(level["files"]) for name, level in levels}
    pages = {name: _cost(level["page"]) for name, level in levels if "page" in level}
    source = row["source"]
    digest = None if source["sha256"] is None else _text(source["sha256"])
    return BuiltResource(_text(row["path"]), _text(row["media_type"]), _amount(source["size"]), digest, files, pages)


def _files(rows: Mapping[str, Any]) -> dict[str, BuiltFile]:
    return {coding: BuiltFile(_amount(row["size"]), _text(row["sha256"])) for coding, row in rows.items()}


def _cost(row: Mapping[str, float]) -> PageCost:
    return PageCost(_number(row["requests"]), _number(row["bytes"]), _number(row["transfer"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _amount(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is not a natural number")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise TypeError(f"{value!r} is not an amount")
    return value
