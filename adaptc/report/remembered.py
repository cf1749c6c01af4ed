"""The figures and diagnostics of the last build as JSON, for a run that finds nothing to do."""

from __future__ import annotations

import dataclasses
from typing import Any

from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.core.diagnostics import Diagnostic, Severity
from adaptc.report.figures import (
    SAMPLES,
    CodingFigures,
    DiagnosticFigures,
    LevelFigures,
    SiteFigures,
    TrafficFigures,
    TypeFigures,
)


def pack_build(figures: SiteFigures, diagnostics: tuple[Diagnostic, ...]) -> dict[str, Any]:
    """Return a build's figures, without its pages and screenshots, and its diagnostics as JSON values."""
    bare = dataclasses.replace(figures, pages=(), diagnostics=(), screenshots=())
    return {"figures": dataclasses.asdict(bare), "diagnostics": pack_diagnostics(diagnostics)}


def unpack_build(values: dict[str, Any]) -> tuple[SiteFigures, tuple[Diagnostic, ...]]:
    """Return what ``pack_build`` packed."""
    diagnostics = unpack_diagnostics(values["diagnostics"])
    plain = {**values["figures"], "levels": tuple(map(_level, values["figures"]["levels"]))}
    plain["diagnostics"] = diagnostic_figures(diagnostics)
    plain["traffic"] = plain["traffic"] and TrafficFigures(**plain["traffic"])
    return SiteFigures(**plain), diagnostics


def _level(values: dict[str, Any]) -> LevelFigures:
    codings = tuple(CodingFigures(**one) for one in values["bytes_by_coding"])
    types = tuple(TypeFigures(**one) for one in values["bytes_by_type"])
    return LevelFigures(**{**values, "bytes_by_coding": codings, "bytes_by_type": types})


def diagnostic_figures(diagnostics: tuple[Diagnostic, ...]) -> tuple[DiagnosticFigures, ...]:
    """Count diagnostics by id and keep the first of each."""
    found: dict[tuple[Severity, str], list[Diagnostic]] = {}
    for one in diagnostics:
        found.setdefault((one.severity, one.id), []).append(one)
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    order = sorted(found, key=lambda key: (ranks[key[0]], key[1]))
    return tuple(
        DiagnosticFigures(kind, severity, len(found[severity, kind]), tuple(found[severity, kind][:SAMPLES]))
        for severity, kind in order
    )
