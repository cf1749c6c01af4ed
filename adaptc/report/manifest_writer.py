"""Write ``manifest.json``: every representation that was built (docs/manifest.md describes the schema).

The manifest is written row by row, in the order of paths, with nothing in it that differs between two builds of the
same input: no times, no machine names.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from adaptc.compile.engine.results import Output, UnitResult
from adaptc.compile.engine.state import State
from adaptc.config.rulebook import Level
from adaptc.core.media import HTML
from adaptc.core.model import Resource
from adaptc.core.version import VERSION
from adaptc.report.collector import Collector
from adaptc.report.figures import LevelFigures, SiteFigures, capacity_factor
from adaptc.report.manifest import SCHEMA

_DIGITS = 4  # after the decimal point, of means and factors


def manifest_chunks(
    state: State,
    resources: Mapping[str, Resource],
    levels: Sequence[Level],
    recipes: Mapping[str, str],
    base_url: str | None,
    collector: Collector,
    figures: SiteFigures,
) -> Iterator[bytes]:
    """Yield the manifest as UTF-8 JSON; names of undecodable bytes become escaped lone surrogates (PEP 383).

    ``collector`` has the figures of pages, ``figures`` those of levels.
    """
    paths = sorted(resources, key=os.fsencode)  # the order of the state
    numbers = {path: number for number, path in enumerate(paths)}
    digests = {path: digest for path, (_, digest) in state.resources().items()}
    yield _head(levels, recipes, base_url, figures)
    units, extras = _Groups(state), _Extras()
    for number, path in enumerate(paths):
        built = units.take(path)
        extras.add(built)
        row = _row(resources[path], digests.get(path), built, collector.embeds.get(path, ()), numbers)
        if resources[path].media_type == HTML:
            _add_costs(row, built, collector, figures)
        yield (",\n" if number else "\n").encode() + _json(row)
    yield b'\n],"extras":['
    for number, row in enumerate(extras.rows()):
        yield (",\n" if number else "\n").encode() + _json(row)
    yield b"\n]}\n"


class _Extras:
    """The files of the trees that come of no file of the docroot, each once however many units refer to it."""

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
    return {output.coding: {"size": output.size, "sha256": output.digest} for output in outputs}


class _Groups:
    """The results of one path after the other, read as they are asked for, in the order of paths."""

    def __init__(self, state: State) -> None:
        self.groups = groupby(state.results(), key=lambda result: result.path)
        self.next = next(self.groups, None)

    def take(self, path: str) -> list[UnitResult]:
        if self.next is None or self.next[0] != path:
            return []
        results = list(self.next[1])
        self.next = next(self.groups, None)
        return results


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _head(levels: Sequence[Level], recipes: Mapping[str, str], base_url: str | None, figures: SiteFigures) -> bytes:
    means = {level.level: _means(level) for level in figures.levels}
    described = [
        {
            "name": level.name,
            "number": level.number,
            "title": level.title,
            "recipe": recipes[level.name],
            **means[level.name],
        }
        for level in levels
    ]
    head = {
        "schema": SCHEMA,
        "tool": f"adaptc {VERSION}",
        "base_url": base_url,
        "effort": figures.effort,
        "cost": {"request_ms": figures.request_ms, "kilobyte_ms": figures.kilobyte_ms},
        **({"traffic": dataclasses.asdict(figures.traffic)} if figures.traffic else {}),
        "levels": described,
    }
    return _json(head)[:-1] + b',"resources":['


def _means(level: LevelFigures) -> dict[str, Any]:
    amounts = (level.requests_per_page, level.identity_per_page, level.transfer_per_page, level.capacity_factor)
    return {"pages": level.pages, "mean": _cost(*amounts)}


def _cost(requests: float, identity: float, transfer: float, capacity: float) -> dict[str, float]:
    amounts = {"requests": requests, "bytes": identity, "transfer": transfer, "capacity": capacity}
    return {name: round(amount, _DIGITS) for name, amount in amounts.items()}


def _add_costs(row: dict[str, Any], results: Sequence[UnitResult], collector: Collector, figures: SiteFigures) -> None:
    """Add the costs of a page at each level, with all that it embeds, and how often it was viewed."""
    if figures.traffic is not None:
        row["views"] = collector.hits.get(row["path"], 0)
    by_level = {result.level: result for result in results}
    first = collector.page_at(figures.levels[0].level, row["path"], by_level)
    for result in results:
        page = collector.page(result)
        factor = capacity_factor(
            page.requests,
            page.transfer_bytes,
            first.requests,
            first.transfer_bytes,
            request_ms=figures.request_ms,
            kilobyte_ms=figures.kilobyte_ms,
        )
        cost = _cost(page.requests, page.identity_bytes, page.transfer_bytes, factor)
        row["levels"][result.level]["page"] = cost


def _row(
    resource: Resource,
    digest: str | None,
    units: list[UnitResult],
    embeds: Sequence[str],
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
    row: dict[str, Any] = {"changed": result.changed, "files": _files(result.outputs)}
    if result.embeds is not None:
        row["references"] = _numbered(result.embeds, numbers)
    if result.extras:
        row["extras"] = sorted(extra.path for extra in result.extras)
    if result.demoted:
        row["demoted"] = list(result.demoted)
    return row
