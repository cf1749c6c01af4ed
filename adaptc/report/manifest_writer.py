"""Write ``manifest.json``: every representation that was built (docs/manifest.md describes the schema).

The manifest is written row by row, in the order of paths, with nothing in it that differs between two builds of the
same input: no times, no machine names.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from adaptc.compile.engine.state.results import Output, UnitResult
from adaptc.config.config import CostConfig
from adaptc.config.rulebook import Level
from adaptc.core.media import HTML
from adaptc.core.model import Resource
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.report.collector import Collector
from adaptc.report.figures import DictionaryFigures, LevelFigures, SiteFigures, capacity_factor
from adaptc.report.ledger import Ledger
from adaptc.report.manifest import SCHEMA

NumberOf = Callable[[str], int | None]

_DIGITS = 4  # after the decimal point, of means and factors


@dataclass(frozen=True, slots=True)
class RowWriter:
    """Writes the rows of files; ``number_of`` returns the number of a path's row, ``None`` where it has none."""

    collector: Collector
    number_of: NumberOf
    cost: CostConfig
    has_views: bool

    def row(self, path: str, units: Sequence[UnitResult]) -> bytes:
        """Return the row of a path with its results."""
        resource, facts = self.collector.resources[path], self.collector.facts(path)
        row = _row(resource, facts.digest or None, units, self.collector.embeds(path), self.number_of)
        if resource.media_type == HTML:
            self._add_costs(row, units)
        return _json(row)

    def _add_costs(self, row: dict[str, Any], results: Sequence[UnitResult]) -> None:
        """Add the costs of a page at each level, with all that it embeds, and how often it was viewed."""
        collector, path = self.collector, row["path"]
        if self.has_views:
            row["views"] = collector.hits.get(path, 0)
        first = collector.page_at(collector.first, path, {result.level: result for result in results})
        for result in results:
            page = collector.page(result)
            factor = capacity_factor(
                page.requests,
                page.transfer_bytes,
                first.requests,
                first.transfer_bytes,
                request_ms=self.cost.request_ms,
                kilobyte_ms=self.cost.kilobyte_ms,
                view_ms=self.cost.view_ms,
            )
            cost = _cost(page.requests, page.identity_bytes, page.transfer_bytes, factor)
            row["levels"][result.level]["page"] = cost


def manifest_chunks(head: bytes, rows: Iterable[bytes], ledger: Ledger) -> Iterator[bytes]:
    """Yield the manifest, with separated ``rows``, as UTF-8 JSON.

    Names of undecodable bytes become escaped lone surrogates (PEP 383).
    """
    yield head
    yield from rows
    yield b'\n],"extras":['
    yield from separated(map(_json, _extras(ledger)))
    yield b"\n]}\n"


# Rows that are written at a time
_CHUNK = 256


def separated(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Yield rows on lines of their own, with commas in between."""
    lead = b"\n"
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK)):
        yield lead + b",\n".join(chunk)
        lead = b",\n"


def _extras(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yield the files of the trees that come of no file of the docroot, each once however many units refer to it."""
    for (path, media_type), group in groupby(ledger.extras(), key=lambda extra: extra[:2]):
        levels = {level: {"files": _files(outputs)} for _, _, level, outputs in group}
        yield {"path": path, "media_type": media_type, "levels": levels}


def _files(outputs: Iterable[Output]) -> dict[str, Any]:
    return {output.coding: {"size": output.size, "sha256": output.digest} for output in outputs}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def manifest_head(
    levels: Sequence[Level], recipes: Mapping[str, str], base_url: str | None, figures: SiteFigures
) -> bytes:
    """Return the manifest up to its rows."""
    means = {level.level: _means(level) for level in figures.levels}
    dictionaries = {row.level: {"dictionary": _dictionary(row)} for row in figures.dictionaries if row.path is not None}
    described = [
        {
            "name": level.name,
            "number": level.number,
            "title": level.title,
            "recipe": recipes[level.name],
            **means[level.name],
            **dictionaries.get(level.name, {}),
        }
        for level in levels
    ]
    head = {
        "schema": SCHEMA,
        "tool": f"adaptc {VERSION}",
        "base_url": base_url,
        "effort": figures.effort,
        "cost": {
            "view_ms": figures.view_ms,
            "request_ms": figures.request_ms,
            "kilobyte_ms": figures.kilobyte_ms,
        },
        **({"traffic": dataclasses.asdict(figures.traffic)} if figures.traffic else {}),
        "levels": described,
    }
    return _json(head)[:-1] + b',"resources":['


def _dictionary(row: DictionaryFigures) -> dict[str, Any]:
    described = {"path": row.path, "size": row.size, "sha256": row.sha256, "transfer": row.sent}
    visit = {name: round(value, _DIGITS) for name, value in dataclasses.asdict(row.visit).items()} if row.visit else {}
    return described | {"first": round(row.first, _DIGITS), "next": round(row.next, _DIGITS), "visit": visit}


def _means(level: LevelFigures) -> dict[str, Any]:
    amounts = (level.requests_per_page, level.identity_per_page, level.transfer_per_page, level.capacity_factor)
    return {"pages": level.pages, "mean": _cost(*amounts)}


def _cost(requests: float, identity: float, transfer: float, capacity: float) -> dict[str, float]:
    amounts = {"requests": requests, "bytes": identity, "transfer": transfer, "capacity": capacity}
    return {name: round(amount, _DIGITS) for name, amount in amounts.items()}


def _row(
    resource: Resource,
    digest: str | None,
    units: Sequence[UnitResult],
    embeds: Sequence[str],
    number_of: NumberOf,
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": resource.path,
        "media_type": resource.media_type,
        "source": {"size": resource.size, "sha256": digest},
    }
    if resource.alias_of is not None:
        row["alias_of"] = resource.alias_of
    if embeds:
        row["references"] = _numbered(embeds, number_of)
    row["levels"] = {result.level: _level(result, number_of) for result in units}
    return row


def _numbered(paths: Sequence[str], number_of: NumberOf) -> list[int]:
    return sorted({number for number in map(number_of, paths) if number is not None})


def _level(result: UnitResult, number_of: NumberOf) -> dict[str, Any]:
    row: dict[str, Any] = {"changed": result.changed, "files": _files(result.outputs)}
    if result.embeds is not None:
        images = (background.image for background in result.backgrounds)
        row["references"] = _numbered((*result.embeds, *images), number_of)
    if result.extras:
        row["extras"] = sorted(extra.path for extra in result.extras)
    if result.demoted:
        row["demoted"] = list(result.demoted)
    return row
