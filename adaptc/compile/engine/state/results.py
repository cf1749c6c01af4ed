"""The result of building one unit, and its form in the state (JSON)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptc.compile.analyse.styling import NO_STYLING, Background
from adaptc.core.diagnostics import Diagnostic, Location, Severity
from adaptc.core.facts import pack_facts, unpack_facts
from adaptc.core.model import Action, is_dictionary, is_dictionary_coding
from adaptc.core.values import dataclass, field, replace

if TYPE_CHECKING:
    from adaptc.compile.analyse.facts import Facts

PRESENCE = "/presence/"
"""The prefix of a dependency on whether a file exists, and of which media type it is."""


class Output(NamedTuple):
    """A file of the tree: content coding ("id", "br", ...), object key, SHA-256 of the bytes, size in bytes."""

    coding: str
    key: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Extra:
    """A file of the tree without a file in the docroot: a smaller copy of an image, a bundle.

    It belongs to the units that refer to it, and is removed with the last of them.
    """

    path: str
    media_type: str
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class UnitResult:
    """One resource at one level.

    ``dependencies`` are keys: the paths of files that were read, ``PRESENCE`` and a path for files that were looked up,
    missing ones included, and the keys of decisions. ``published`` is false when the source changed meanwhile or could
    not be read, or when memory was short. ``embeds`` of a style sheet are those that it imports, ``backgrounds``
    are the images that it loads. ``seconds`` is the CPU time that the unit took.
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
    extras: tuple[Extra, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    backgrounds: tuple[Background, ...] = ()

    def files(self) -> Iterator[tuple[str, Output]]:
        """Yield (path, output) of every file in the tree, those that the others refer to first."""
        for extra in self.extras:
            yield from ((extra.path, output) for output in extra.outputs)
        yield from ((self.path, output) for output in self.outputs)


def unpublished(level: str, path: str, media_type: str, diagnostic: Diagnostic) -> UnitResult:
    """Return the result of a unit that cannot be built now: it has no files, and the next build tries again."""
    return UnitResult(level, path, media_type, diagnostics=(diagnostic,), dependencies=(path,), published=False)


def without_dictionary(result: UnitResult) -> UnitResult:
    """Return a result without what was encoded with a dictionary, and without the dictionary."""
    outputs = tuple(output for output in result.outputs if not is_dictionary_coding(output.coding))
    extras = tuple(extra for extra in result.extras if not is_dictionary(extra.path))
    return replace(result, outputs=outputs, extras=extras)


def pack_diagnostics(diagnostics: tuple[Diagnostic, ...]) -> list[list[Any]]:
    """Return diagnostics as JSON values."""
    return [
        [diagnostic.id, diagnostic.severity.value, diagnostic.message, *_place(diagnostic.location)]
        for diagnostic in diagnostics
    ]


def _place(location: Location | None) -> list[Any]:
    return [] if location is None else [location.path, location.line, location.column]


_SEVERITIES = {severity.value: severity for severity in Severity}


def unpack_diagnostics(values: list[list[Any]]) -> tuple[Diagnostic, ...]:
    """Return what ``pack_diagnostics`` packed."""
    return tuple(
        Diagnostic(kind, _SEVERITIES[severity], message, Location(*place) if place else None)
        for kind, severity, message, *place in values
    )


def pack_outputs(result: UnitResult) -> str:
    """Return what is needed to find and count the files of a result; dependencies are stored separately."""
    embeds = None if result.embeds is None else list(result.embeds)
    extras = [[extra.path, extra.media_type, _files(extra.outputs)] for extra in result.extras]
    packed = [result.media_type, result.changed, _files(result.outputs), embeds, extras, result.backgrounds]
    return json.dumps(packed, separators=(",", ":"))


def _files(outputs: tuple[Output, ...]) -> list[list[Any]]:
    return list(map(list, outputs))


def _outputs(files: list[list[Any]]) -> tuple[Output, ...]:
    return tuple(map(Output._make, files))


# Path, content coding, object key, SHA-256, size in bytes: an ``Output`` with its path, in a form that is cheap to read
StoredFile = tuple[str, str, str, str, int]


def unpack_files(path: str, outputs: str) -> list[StoredFile]:
    """Return the files of a unit from what ``pack_outputs`` packed."""
    _, _, files, _, extras, _ = json.loads(outputs)
    stored = [(path, *file) for file in files]
    for name, _, outputs_of_extra in extras:
        stored += [(name, *file) for file in outputs_of_extra]
    return stored


def pack_notes(result: UnitResult) -> str:
    """Return the actions, diagnostics and demoted passes of a result."""
    actions = [
        [action.pass_name, action.verb, action.subject, action.reason, action.count] for action in result.actions
    ]
    return json.dumps([actions, pack_diagnostics(result.diagnostics), list(result.demoted)], separators=(",", ":"))


def unpack_result(level: str, path: str, outputs: str, notes: str = "[[],[],[]]") -> UnitResult:
    """Return what ``pack_outputs`` and ``pack_notes`` packed, without dependencies."""
    media_type, changed, files, embeds, extras, backgrounds = _unpack_outputs(outputs)
    actions, diagnostics, demoted = _unpack_notes(notes)
    noted = (actions, diagnostics, demoted)
    return UnitResult(
        level, path, media_type, files, (), *noted, embeds, changed, extras=extras, backgrounds=backgrounds
    )


# Pages that come from one template, and the links to a file, have equal records: of 5,530 units of a site with 1,857
# links 890 notes are distinct. Unpacked values are immutable, and are shared.
_CACHED_RECORDS = 1024


@lru_cache(_CACHED_RECORDS)
def _unpack_outputs(
    outputs: str,
) -> tuple[str, bool, tuple[Output, ...], tuple[str, ...] | None, tuple[Extra, ...], tuple[Background, ...]]:
    media_type, changed, files, embeds, extras, packed = json.loads(outputs)
    unpacked = tuple(Extra(name, kind, _outputs(outputs_of_extra)) for name, kind, outputs_of_extra in extras)
    backgrounds = tuple(
        Background(path, tuple(map(tuple, selectors)), tuple(map(tuple, ranges))) for path, selectors, ranges in packed
    )
    return media_type, changed, _outputs(files), None if embeds is None else tuple(embeds), unpacked, backgrounds


@lru_cache(_CACHED_RECORDS)
def _unpack_notes(notes: str) -> tuple[tuple[Action, ...], tuple[Diagnostic, ...], tuple[str, ...]]:
    actions, diagnostics, demoted = json.loads(notes)
    return tuple(Action(*action) for action in actions), unpack_diagnostics(diagnostics), tuple(demoted)


# ---- facts of sources

__all__ = ["pack_source", "source_facts", "source_values", "unpack_source"]


def pack_source(facts: Facts) -> bytes:
    """Return the facts of a source as bytes."""
    return zlib.compress(json.dumps(source_values(facts)).encode(), 1)


def unpack_source(packed: bytes) -> Facts:
    """Return what ``pack_source`` packed."""
    return source_facts(json.loads(zlib.decompress(packed)))


def source_values(facts: Facts) -> dict[str, Any]:
    """Return the facts of a source as JSON values."""
    return {
        "digest": facts.digest,
        "embeds": facts.embeds,
        "pinned": facts.pinned,
        "transfer": facts.transfer,
        "diagnostics": pack_diagnostics(facts.diagnostics),
        "images": facts.images,
        "first_image": facts.first_image,
        "photographs": facts.photographs,
        "writing": pack_facts(facts.writing),
        "styling": pack_facts(facts.styling),
        "checks": pack_facts(facts.checks),
    }


def source_facts(values: dict[str, Any], targets: tuple[str, ...] = ()) -> Facts:
    """Return the facts of ``source_values``."""
    from adaptc.compile.analyse.facts import NO_CHECKS, Facts
    from adaptc.formats.characters import NOTHING_WRITTEN

    return Facts(
        values["digest"],
        tuple((role, target) for role, target in values["embeds"]),
        tuple(values["pinned"]),
        targets,
        values["transfer"],
        unpack_diagnostics(values["diagnostics"]),
        tuple(values["images"]),
        values["first_image"],
        tuple(values["photographs"]),
        unpack_facts(values["writing"], NOTHING_WRITTEN),
        unpack_facts(values["styling"], NO_STYLING),
        unpack_facts(values["checks"], NO_CHECKS),
    )
