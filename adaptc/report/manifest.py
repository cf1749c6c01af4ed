"""What a build left behind, read back from its ``manifest.json`` (docs/manifest.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptc.compile.engine.state import no_build
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import IDENTITY

MANIFEST = "manifest.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file as it was built: size in bytes and SHA-256 in hexadecimal digits."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BuiltLevel:
    """A level that was built. ``number`` orders the ladder, the dearest level highest; None beside the ladder."""

    name: str
    number: int | None
    title: str


@dataclass(frozen=True, slots=True)
class BuiltResource:
    """A file of the docroot and its representations: by level, the files by coding (``id``, ``br``, ...)."""

    path: str
    media_type: str
    size: int
    sha256: str | None
    files: Mapping[str, Mapping[str, BuiltFile]]

    def at(self, level: str, coding: str = IDENTITY) -> BuiltFile | None:
        """Return the representation of a level and a coding; None where there is none."""
        return self.files.get(level, {}).get(coding)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The output of a build: ``levels`` dearest first, ``resources`` by path in the order of their bytes."""

    output: Path
    base_url: str | None
    levels: tuple[BuiltLevel, ...]
    resources: Mapping[str, BuiltResource]

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels, dearest first."""
        return tuple(level.name for level in self.levels)

    def refuse_unknown(self, level: str) -> None:
        """Raise ``UsageError`` when ``level`` was not built."""
        if level not in self.level_names:
            built = ", ".join(self.level_names)
            raise UsageError(f"level {level} is not in {self.output}; there are: {built}")


def read_catalogue(output: Path) -> Catalogue:
    """Read the manifest of ``output``. Raises ``UsageError`` when there is none that this version understands."""
    try:
        return _catalogue(output, read_manifest(output / MANIFEST))
    except FileNotFoundError:
        raise no_build(output) from None


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Read a manifest as JSON. Raises ``UsageError`` when this version does not understand it, ``OSError``."""
    try:
        written = json.loads(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path} is not JSON ({error}); run adaptc build again") from None
    schema = written.get("schema") if isinstance(written, dict) else None
    if schema != SCHEMA:
        raise UsageError(f"{path} has schema {schema}, this version of adaptc reads schema {SCHEMA}; build again")
    found: Mapping[str, Any] = written
    return found


def _catalogue(output: Path, written: Mapping[str, Any]) -> Catalogue:
    levels = tuple(BuiltLevel(row["name"], row["number"], row["title"]) for row in written["levels"])
    resources = {row["path"]: _resource(row) for row in written["resources"]}
    return Catalogue(output, written["base_url"], levels, resources)


def _resource(row: Mapping[str, Any]) -> BuiltResource:
    files = {name: _files(level["files"]) for name, level in row["levels"].items()}
    return BuiltResource(row["path"], row["media_type"], row["source"]["size"], row["source"]["sha256"], files)


def _files(written: Mapping[str, Any]) -> dict[str, BuiltFile]:
    return {coding: BuiltFile(one["size"], one["sha256"]) for coding, one in written.items()}
