"""Exports a site at one level as a directory: which files it holds, and under which names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.compile.engine.output import PRIVATE, output_lock
from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose, printable
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, OWN_DIRECTORY, is_dictionary, name_in_tree
from adaptc.core.quantities import written_plural
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.workflow.api import plan
from adaptc.workflow.export.destination import ExportRecord, Item, write_items


@dataclass(frozen=True, slots=True)
class Export:
    """What an export did: files written, kept and removed; ``size`` is in bytes, of all files of the export."""

    destination: Path
    written: int
    kept: int
    removed: int
    size: int
    diagnostics: tuple[Diagnostic, ...]


def export_site(config: Config, level: str, destination: Path, encodings: str, progress: Progress) -> Export:
    """Write the whole site at ``level`` to ``destination``.

    ``encodings`` is a key of ``LAYOUTS``. Raises ``UsageError``, ``Busy`` while a build runs, and ``OSError``
    when the destination cannot be written.
    """
    manifest = last_manifest(config.output)
    manifest.require_level(level)
    docroot, target = _docroot(config), Path(os.path.realpath(destination))
    _refuse_overlap(target, docroot, Path(os.path.realpath(config.output)))
    private = config.output / PRIVATE
    with output_lock(private / "lock"):
        stale = _staleness(config, manifest, level)
        items, left_out = export_items(manifest, docroot, level, LAYOUTS[encodings])
        tally = write_items(items, target, ExportRecord.of(private, target), progress)
    diagnostics = (*stale, *left_out, *tally.diagnostics)
    return Export(destination, tally.written, tally.kept, tally.removed, tally.size, diagnostics)


def _docroot(config: Config) -> Path:
    if config.docroot is None:
        raise UsageError("no docroot: name it on the command line or as docroot in adaptc.toml")
    if not config.docroot.is_dir():
        raise UsageError(f"docroot {config.docroot} is not a directory")
    return config.docroot


def _refuse_overlap(target: Path, docroot: Path, output: Path) -> None:
    for name, directory in (("docroot", Path(os.path.realpath(docroot))), ("output", output)):
        if target == directory or target in directory.parents or directory in target.parents:
            raise UsageError(f"{target} and the {name} {directory} overlap: choose another directory to export to")


def _staleness(config: Config, manifest: Manifest, level: str) -> tuple[Diagnostic, ...]:
    """Return a warning when a build of the levels that there are would change files of this one."""
    reasons = plan(replace(config, build=replace(config.build, levels=tuple(manifest.level_names)))).reasons
    outdated = sum(unit_level == level for unit_level, _ in reasons)
    return (diagnose("export-stale", level=level, files=written_plural(outdated, "file")),) if outdated else ()


# ---- the files of an export

SUFFIXES = {name: f".{name}" for name in (*CODINGS, *FORMATS)}


def _suffixed(path: str, coding: str) -> str:
    return path + SUFFIXES.get(coding, "")


def _parallel(path: str, coding: str) -> str:
    return f"{coding}/{name_in_tree(coding, path)}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of files in an export by path and coding, and the codings and formats next to the identity."""

    name: Callable[[str, str], str]
    codings: tuple[str, ...]


LAYOUTS = {
    "suffix": Layout(_suffixed, (*CODINGS, *FORMATS)),
    "parallel": Layout(_parallel, (*CODINGS, *FORMATS)),
    "none": Layout(_suffixed, ()),
}


def export_items(manifest: Manifest, docroot: Path, level: str, layout: Layout) -> tuple[list[Item], list[Diagnostic]]:
    """Return the site at ``level``, pages last, and a diagnostic for each encoded file that is left out."""
    items = [*_own_items(manifest, level, layout), *_site_items(manifest, docroot, level, layout)]
    free, diagnostics = _without_collisions(items)
    return sorted(free, key=lambda item: item.is_page), diagnostics


def _site_items(manifest: Manifest, docroot: Path, level: str, layout: Layout) -> Iterator[Item]:
    for path, resource in manifest.resources.items():
        tree = manifest.output / level
        built = resource.at(level)
        is_same = built is None or built.sha256 == resource.sha256
        yield Item(
            path,
            (layout.name(path, IDENTITY), docroot / path if built is None else tree / IDENTITY / path),
            _encoded(path, tree, [coding for coding in layout.codings if resource.at(level, coding)], layout),
            docroot / path if is_same else None,
            resource.media_type in (media.HTML, media.XHTML),
        )


def _own_items(manifest: Manifest, level: str, layout: Layout) -> Iterator[Item]:
    """Yield the files that only the tree has: the manifest does not list them, their names are their digests."""
    tree = manifest.output / level
    for file in sorted((tree / IDENTITY / OWN_DIRECTORY).rglob("*")):
        path = os.fspath(file.relative_to(tree / IDENTITY))
        if file.is_file() and not is_dictionary(path):  # which needs a server that chooses by what clients hold
            codings = [coding for coding in layout.codings if (tree / coding / path).is_file()]
            encoded = _encoded(path, tree, codings, layout)
            yield Item(path, (layout.name(path, IDENTITY), file), encoded, origin=None, is_page=False)


def _encoded(path: str, tree: Path, codings: list[str], layout: Layout) -> tuple[tuple[str, Path], ...]:
    return tuple((layout.name(path, coding), tree / coding / name_in_tree(coding, path)) for coding in codings)


def _without_collisions(items: list[Item]) -> tuple[list[Item], list[Diagnostic]]:
    """Leave out encoded files whose names are those of files of the site, with a diagnostic for each."""
    plain = {item.plain[0] for item in items}
    diagnostics = [
        diagnose("export-name-taken", Location(item.path), name=printable(name))
        for item in items
        for name, _ in item.encoded
        if name in plain
    ]
    free = [
        replace(item, encoded=tuple(encoded for encoded in item.encoded if encoded[0] not in plain)) for item in items
    ]
    return free, diagnostics
