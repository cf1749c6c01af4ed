"""``manifest.json``: every representation that was built (docs/manifest.md describes the schema).

The manifest is written row by row, in the order of paths, with nothing in it that differs between two builds of the
same input: no times, no machine names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from adaptc.engine.results import Output, UnitResult
from adaptc.engine.state import State
from adaptc.model import Resource
from adaptc.rulebook import Level
from adaptc.version import VERSION

SCHEMA = 1


def manifest_chunks(
    state: State,
    resources: Mapping[str, Resource],
    levels: Sequence[Level],
    recipes: Mapping[str, str],
    base_url: str | None,
    effort: str,
) -> Iterator[bytes]:
    """Yield the manifest as UTF-8 JSON; names of undecodable bytes stand as escaped lone surrogates (PEP 383)."""
    paths = sorted(resources, key=os.fsencode)  # the order of the state
    numbers = {path: number for number, path in enumerate(paths)}
    embeds = {path: [target for _, target in facts.embeds] for path, facts in state.facts() if facts.embeds}
    digests = {path: digest for path, (_, digest) in state.resources().items()}
    yield _head(levels, recipes, base_url, effort)
    units, extras = _Groups(state), _Extras()
    for number, path in enumerate(paths):
        built = units.take(path)
        extras.add(built)
        row = _row(resources[path], digests.get(path), built, embeds.get(path, []), numbers)
        yield (",\n" if number else "\n").encode() + _json(row)
    yield b'\n],"extras":['
    for number, row in enumerate(extras.rows()):
        yield (",\n" if number else "\n").encode() + _json(row)
    yield b"\n]}\n"


class _Extras:
    """The files of the trees that stand for none of the docroot, each once however many units refer to it."""

    def __init__(self) -> None:
        self.levels: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, results: Iterable[UnitResult]) -> None:
        for result in results:
            for extra in result.extras:
                row = self.levels.setdefault((extra.path, extra.media_type), {})
                row.setdefault(result.level, {"files": _files(extra.outputs)})

    def rows(self) -> Iterator[dict[str, Any]]:
        for (path, media_type), levels in sorted(self.levels.items()):
            yield {"path": path, "media_type": media_type, "levels": levels}


def _files(outputs: Iterable[Output]) -> dict[str, Any]:
    return {one.coding: {"size": one.size, "sha256": one.digest} for one in outputs}


class _Groups:
    """The results of one path after the other, read as they are asked for, in the order of paths."""

    def __init__(self, state: State) -> None:
        self.groups = groupby(state.results(), key=lambda result: result.path)
        self.next = next(self.groups, None)

    def take(self, path: str) -> list[UnitResult]:
        if self.next is None or self.next[0] != path:
            return []
        found = list(self.next[1])
        self.next = next(self.groups, None)
        return found


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _head(levels: Sequence[Level], recipes: Mapping[str, str], base_url: str | None, effort: str) -> bytes:
    described = [
        {"name": level.name, "number": level.number, "title": level.title, "recipe": recipes[level.name]}
        for level in levels
    ]
    head = {
        "schema": SCHEMA,
        "tool": f"adaptc {VERSION}",
        "base_url": base_url,
        "effort": effort,
        "levels": described,
    }
    return _json(head)[:-1] + b',"resources":['


def _row(
    resource: Resource,
    digest: str | None,
    units: list[UnitResult],
    embeds: list[str],
    numbers: Mapping[str, int],
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": resource.path,
        "media_type": resource.media_type,
        "source": {"size": resource.size, "sha256": digest},
    }
    if resource.alias_of is not None:
        row["alias_of"] = resource.alias_of
    if embeds:
        row["references"] = _numbered(embeds, numbers)
    row["levels"] = {result.level: _level(result, numbers) for result in units}
    return row


def _numbered(paths: Sequence[str], numbers: Mapping[str, int]) -> list[int]:
    return sorted({numbers[path] for path in paths if path in numbers})


def _level(result: UnitResult, numbers: Mapping[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {"changed": result.changed, "files": _files(result.outputs)}
    if result.embeds is not None:
        found["references"] = _numbered(result.embeds, numbers)
    if result.extras:
        found["extras"] = sorted(extra.path for extra in result.extras)
    if result.demoted:
        found["demoted"] = list(result.demoted)
    return found
