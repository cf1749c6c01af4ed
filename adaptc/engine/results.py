"""What building one unit gave, and its form in the state (JSON)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from adaptc.diagnostics import Diagnostic, Location, Severity
from adaptc.model import Action


@dataclass(frozen=True, slots=True)
class Output:
    """A file of the tree: content coding ("id", "br", ...), object key, SHA-256 of the bytes, size in bytes."""

    coding: str
    key: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class UnitResult:
    """One resource at one level.

    ``dependencies`` are paths that were looked at (missing ones included) and decisions that were asked for
    (``decision:...``). ``published`` is false when the source changed meanwhile or could not be read.
    """

    level: str
    path: str
    media_type: str
    outputs: tuple[Output, ...] = ()
    dependencies: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    demoted: tuple[str, ...] = ()
    embeds: tuple[str, ...] | None = None
    changed: bool = False
    published: bool = True


def pack_diagnostics(diagnostics: tuple[Diagnostic, ...]) -> list[list[Any]]:
    """Return diagnostics as JSON values."""
    return [[one.id, one.severity.value, one.message, *_place(one.location)] for one in diagnostics]


def _place(location: Location | None) -> list[Any]:
    return [] if location is None else [location.path, location.line, location.column]


def unpack_diagnostics(values: list[list[Any]]) -> tuple[Diagnostic, ...]:
    """Return what ``pack_diagnostics`` packed."""
    return tuple(
        Diagnostic(kind, Severity(severity), message, Location(*place) if place else None)
        for kind, severity, message, *place in values
    )


def pack_outputs(result: UnitResult) -> str:
    """Return what is needed to find and count the files of a result; dependencies are kept apart."""
    outputs = [[one.coding, one.key, one.digest, one.size] for one in result.outputs]
    embeds = None if result.embeds is None else list(result.embeds)
    return json.dumps([result.media_type, result.changed, outputs, embeds], separators=(",", ":"))


def pack_notes(result: UnitResult) -> str:
    """Return what is said about a result."""
    actions = [[one.pass_name, one.verb, one.subject, one.reason, one.count] for one in result.actions]
    return json.dumps([actions, pack_diagnostics(result.diagnostics), list(result.demoted)], separators=(",", ":"))


def unpack_result(level: str, path: str, outputs: str, notes: str = "[[],[],[]]") -> UnitResult:
    """Return what ``pack_outputs`` and ``pack_notes`` packed, without dependencies."""
    media_type, changed, files, embeds = json.loads(outputs)
    actions, diagnostics, demoted = json.loads(notes)
    return UnitResult(
        level,
        path,
        media_type,
        tuple(Output(*one) for one in files),
        actions=tuple(Action(*one) for one in actions),
        diagnostics=unpack_diagnostics(diagnostics),
        demoted=tuple(demoted),
        embeds=None if embeds is None else tuple(embeds),
        changed=changed,
    )
